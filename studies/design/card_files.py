"""Files of role cards, each a seeker to be played: {"profiles": [{"id", "lang", "D", "P", "C", "S", …}, …]}. Pure.

A profile is P = {D, P, C, S} (EmoHarbor, arXiv:2601.01530, Section 2.1): who someone is, how they are, what they are
troubled by, and how a talk with them goes. `worst_case_default` says how strongly each behaviour shows.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NotRequired

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo
from typing_extensions import TypedDict

from dialogue.documents import DocumentError, Fault, Place, check_size, parse_json, place_of, read_bytes, read_text
from dialogue.documents import translate as _
from dialogue.schema import KNOWN_KEYS_ONLY, Line, Needed, NeededLine, Slug, Whole, check, check_unlike
from dialogue.seekers.profile_schema import BigFive, Language, Person, Texts, WorstCase
from studies.design.behaviours import behaviour_keys

REACTIONS = ("generic_comfort", "premature_advice", "accurate_reflection", "open_question", "pressure")
BELONGINGS = {"fixed_belief": "rigid_negative_interpretation", "trigger_word": "emotional_volatility"}
LARGEST_FILE = 2_000_000  # bytes
CHINESE_DIGITS = "零一二三四五六七八九"
CHINESE_NUMBER = r"(\d+|[一二三四五六七八九十]+)"
TURN = re.compile(
    rf"\bturn (\d+)|\bafter (\d+) turns?\b|第\s*{CHINESE_NUMBER}\s*轮|{CHINESE_NUMBER}\s*轮(?:之后|以后|后)",
    re.IGNORECASE | re.ASCII,
)


class CardFileError(DocumentError):
    """Every fault of a file of cards; as text one line for each, `FILE: place: what is wrong`."""


@dataclass(frozen=True)
class CardSpec:
    key: str
    language: str
    profile: Mapping[str, Any]  # id, D, P, C, S, and where it is given fixed_belief and trigger_word
    intensities: Mapping[str, int]  # of each behaviour, 0 to 3


# What a card may say: the parts of a profile, without further keys.


def check_end(text: str, info: ValidationInfo) -> str:
    """Return when the person leaves, where that is no turn before the least number of a conversation."""
    least: int = info.context or 0
    if early := [turn for turn in turns_in(text) if turn < least]:
        message = _(
            "lets the talk end at turn %(turn)s, but a conversation has at least %(least)s", turn=early[0], least=least
        )
        raise ValueError(message)
    return text


UnlikeTexts = Annotated[Texts, AfterValidator(check_unlike)]
Habits = Annotated[list[Line], AfterValidator(check_unlike)]


class CardPerson(Person, total=False):
    """D: who someone is."""

    __pydantic_config__ = KNOWN_KEYS_ONLY  # type: ignore[misc]

    gender: Line
    occupation: Line
    education: Line
    relationship: Line
    living: Line


class CardBigFive(BigFive, total=False):
    """The five factors of personality, and the file that scores them."""

    __pydantic_config__ = KNOWN_KEYS_ONLY  # type: ignore[misc]

    scale: Line


class CardManner(TypedDict, total=False):
    """P: personality and preferences."""

    __pydantic_config__ = KNOWN_KEYS_ONLY  # type: ignore[misc]

    big5: CardBigFive
    mbti: Line
    speech_style: Line
    habits: Habits
    hobbies: Habits
    support_preference: Line


class Roles(TypedDict, total=False):
    """The roles in a card: whom the person hopes to find, and who else is in the story."""

    __pydantic_config__ = KNOWN_KEYS_ONLY  # type: ignore[misc]

    partner: Line
    others: Habits


class CardConcern(TypedDict):
    """C: what someone comes to talk about."""

    __pydantic_config__ = KNOWN_KEYS_ONLY  # type: ignore[misc]

    problem: NeededLine
    goals: UnlikeTexts
    problem_category: NotRequired[Line]
    emotion: NotRequired[Line]
    intensity: NotRequired[Annotated[Whole, Field(ge=1, le=5)]]
    background: NotRequired[Line]
    roles: NotRequired[Roles]


class Reactions(TypedDict, total=False):
    """The reactions of the person in a card."""

    __pydantic_config__ = KNOWN_KEYS_ONLY  # type: ignore[misc]

    generic_comfort: Line
    premature_advice: Line
    accurate_reflection: Line
    open_question: Line
    pressure: Line


class CardScript(TypedDict):
    """S: how a talk with them goes."""

    __pydantic_config__ = KNOWN_KEYS_ONLY  # type: ignore[misc]

    opening: NeededLine
    layers: UnlikeTexts
    reactions: NotRequired[Reactions]
    ends_when: Annotated[NeededLine, AfterValidator(check_end)]


class CardFile(TypedDict):
    """One card."""

    __pydantic_config__ = KNOWN_KEYS_ONLY  # type: ignore[misc]

    id: Slug
    lang: Language
    D: CardPerson
    P: NotRequired[CardManner]
    C: CardConcern
    S: CardScript
    worst_case_default: NotRequired[WorstCase]
    fictional: NotRequired[Any]


class CardsFile(TypedDict):
    """A file of cards; the rest is for people who read it."""

    __pydantic_config__ = ConfigDict(extra="ignore")  # type: ignore[misc]

    profiles: Annotated[list[CardFile], Needed()]


def read_cards(path: Path, *, min_turns: int = 0) -> tuple[CardSpec, ...]:
    """Return the cards of a file. Raise CardFileError, also where it cannot be read, and where a role may end before
    `min_turns`."""
    try:
        content = read_bytes(path, limit=LARGEST_FILE)
    except DocumentError as error:
        raise CardFileError(path.name, error.faults) from error
    return parse_cards(content, name=path.name, min_turns=min_turns)


@lru_cache(maxsize=32)  # a study's cards are read again with each check of its file
def parse_cards(content: bytes, *, name: str, min_turns: int = 0) -> tuple[CardSpec, ...]:
    """Return the cards of a file's content. Raise CardFileError."""
    try:
        check_size(content, name, limit=LARGEST_FILE)
        document = parse_json(read_text(content, name), name)
    except DocumentError as error:
        raise CardFileError(name, error.faults) from error
    file, fault_list = check(CardsFile, document, around=min_turns, json=True)
    if file:
        fault_list.add(repeated_ids([card.get("id", "") for card in file["profiles"]]))
    if fault_list.places:
        raise CardFileError(name, fault_list.faults())
    return tuple(card_from(card) for card in file["profiles"])


def repeated_ids(ids: Sequence[str]) -> list[tuple[Place, str]]:
    """Return which cards have the id of an earlier one."""
    return [
        (("profiles", number, "id"), _('"%(id)s" is already the id of %(place)s', id=id, place=first_place(ids, id)))
        for number, id in enumerate(ids)
        if id and id in ids[:number]
    ]


def first_place(ids: Sequence[str], id: str) -> str:
    """Return the place of the first card with this id."""
    return place_of(("profiles", ids.index(id)))


def read_card(document: Mapping[str, Any], *, min_turns: int = 0) -> tuple[CardSpec | None, list[Fault]]:
    """Return one card, and what is wrong with it; None where too little of it can be read."""
    card, fault_list = check(CardFile, dict(document), around=min_turns, json=True)
    return card_from(card) if card else None, fault_list.faults()


def card_from(card: Mapping[str, Any]) -> CardSpec:
    """Return a card without what is blank."""
    behaviour = card.get("worst_case_default", {})
    intensities = {key: behaviour.get(key, 0) for key in behaviour_keys()}
    belongings = {key: behaviour[key] for key in BELONGINGS if behaviour.get(key)}
    parts = {part: without_blanks(card.get(part, {})) for part in "DPCS"}
    return CardSpec(card["id"], card["lang"], {"id": card["id"], **parts, **belongings}, intensities)


def dump_cards(cards: Iterable[CardSpec]) -> str:
    """Return the content of a file that gives these cards when it is read."""
    profiles = []
    for card in cards:
        parts = {part: card.profile[part] for part in "DPCS" if part in card.profile}
        belongings = {key: card.profile[key] for key in BELONGINGS if key in card.profile}
        behaviour = {key: intensity for key, intensity in card.intensities.items() if intensity} | belongings
        profiles.append({"id": card.key, "lang": card.language, **parts, "worst_case_default": behaviour})
    return json.dumps({"profiles": profiles}, ensure_ascii=False, indent=2) + "\n"


def without_blanks(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table without what is blank, at every depth."""
    table = {key: without_blanks(value) if isinstance(value, dict) else value for key, value in values.items()}
    return {key: value for key, value in table.items() if value not in (None, "", [], {})}


def turns_in(text: str) -> list[int]:
    """Return the places in a talk that a text names: turn 6, after 6 turns, 第6轮, 六轮之后."""
    return [_number(digits) for match in TURN.finditer(text) for digits in match.groups() if digits]


def _number(digits: str) -> int:
    """Return the number in Arabic digits, or in Chinese ones up to 99."""
    if digits.isdecimal():
        return int(digits)
    tens, ten, ones = digits.rpartition("十")
    return (10 * (CHINESE_DIGITS.find(tens) if tens else 1) if ten else 0) + max(CHINESE_DIGITS.find(ones), 0)
