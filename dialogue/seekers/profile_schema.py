"""Schema of a file of profiles. Pure.

D, P and C may have further keys, so that profiles of others fit: texts, numbers, lists of these, or one more table of
these. Role cards (`studies/design/card_files.py`) have the same parts without further keys.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NotRequired, Required

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field
from typing_extensions import TypedDict

from dialogue.documents import translate as _
from dialogue.languages import CODES
from dialogue.schema import KNOWN_KEYS_ONLY, Line, Needed, NeededLine, Number, OneOf, Rule, Whole, refuse
from dialogue.seekers.components import STRONGEST

FURTHER_KEYS = ConfigDict(extra="allow")
OLDEST = 120  # years
LONGEST_ID = 100  # characters

Age = Annotated[Whole, Field(ge=1, le=OLDEST)]
FivePoints = Annotated[Number, Field(ge=1, le=5)]
Intensity = Annotated[Whole, Field(ge=0, le=STRONGEST)]
Texts = Annotated[list[NeededLine], Needed()]
Language = Annotated[Line, OneOf(CODES), Needed()]


def check_id(text: str) -> str:
    """Return the id where it is one short line."""
    if len(text) > LONGEST_ID or text != " ".join(text.split()):
        limit = LONGEST_ID
        raise ValueError(_("must be one line of at most %(limit)s characters without spaces around it", limit=limit))
    return text


def check_leaves(part: Any) -> Any:
    """Return the part where it has texts and numbers, in lists or one table more."""
    if isinstance(part, dict) and (wrong := list(odd_leaves(part))):
        raise refuse(wrong)
    return part


def odd_leaves(value: Any, place: tuple[str | int, ...] = (), depth: int = 0) -> Iterator[Rule]:
    """Return the places of what is neither text nor number, nor a list or table of these."""
    if isinstance(value, dict) and depth < 2:
        for key, member in value.items():
            yield from odd_leaves(member, (*place, key), depth + 1)
    elif isinstance(value, list) and depth < 3:
        for number, member in enumerate(value):
            yield from odd_leaves(member, (*place, number), 3)
    elif isinstance(value, bool) or not isinstance(value, str | int | float):
        yield place, _("must be text, a number, a list or a table of these")


class Person(TypedDict, total=False):
    """D: who someone is."""

    __pydantic_config__ = FURTHER_KEYS  # type: ignore[misc]

    alias: Required[NeededLine]
    age: Age


class BigFive(TypedDict, total=False):
    """The five factors of personality, from 1 to 5."""

    __pydantic_config__ = FURTHER_KEYS  # type: ignore[misc]

    E: FivePoints
    A: FivePoints
    C: FivePoints
    N: FivePoints
    O: FivePoints  # noqa: E741


class Manner(TypedDict, total=False):
    """P: personality and preferences."""

    __pydantic_config__ = FURTHER_KEYS  # type: ignore[misc]

    big5: BigFive


class Concern(TypedDict, total=False):
    """C: what someone comes to talk about."""

    __pydantic_config__ = FURTHER_KEYS  # type: ignore[misc]

    problem: Required[NeededLine]
    goals: Required[Texts]


class Script(TypedDict, total=False):
    """S: how a talk with them goes."""

    __pydantic_config__ = KNOWN_KEYS_ONLY  # type: ignore[misc]

    opening: Required[NeededLine]
    layers: Required[Texts]
    reactions: Mapping[str, str]
    ends_when: Required[NeededLine]


class WorstCase(TypedDict, total=False):
    """The strength of each behaviour in a worst case."""

    __pydantic_config__ = KNOWN_KEYS_ONLY  # type: ignore[misc]

    low_engagement: Intensity
    resistance: Intensity
    limited_self_disclosure: Intensity
    emotional_volatility: Intensity
    rigid_negative_interpretation: Intensity
    fixed_belief: Line
    trigger_word: Line


class ProfileFile(TypedDict):
    """One profile."""

    __pydantic_config__ = KNOWN_KEYS_ONLY  # type: ignore[misc]

    id: Annotated[str, AfterValidator(check_id), Needed()]
    lang: Language
    D: Annotated[Person, BeforeValidator(check_leaves)]
    P: Annotated[Manner, BeforeValidator(check_leaves)]
    C: Annotated[Concern, BeforeValidator(check_leaves)]
    S: Annotated[Script, BeforeValidator(check_leaves)]
    worst_case_default: NotRequired[WorstCase]
    fictional: NotRequired[Any]
