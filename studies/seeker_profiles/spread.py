"""The spread of a study's profiles: how often each age, gender, occupation, type, problem and feeling occurs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

MOST_VALUES = 8  # that are shown of one characteristic
YEARS = 10  # in a band of ages
CHARACTERISTICS: Mapping[str, str | Promise] = {
    "D.age": _("Age"),
    "D.gender": _("Gender"),
    "C.problem_category": _("Problem area"),
    "C.emotion": _("Feeling at first"),
    "P.mbti": _("MBTI"),
    "D.occupation": _("Occupation"),
}


@dataclass(frozen=True)
class Bar:
    """A value with the number of profiles that have it, and their share of those of which it is known."""

    value: str
    count: int
    percent: int


@dataclass(frozen=True)
class Characteristic:
    """A characteristic with its commonest values. `total`: profiles that tell it; `more`: values that are not shown."""

    label: str | Promise
    total: int
    bars: Sequence[Bar]
    more: int


def get_part(path: str, content: Mapping[str, Any]) -> Any:
    """Return the value of a profile at a path such as `P.big5.E`; None where it has none."""
    value: Any = content
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def describe_spread(contents: Iterable[Mapping[str, Any]]) -> Iterator[Characteristic]:
    """Yield each characteristic that some profile tells."""
    profiles = list(contents)
    for path, label in CHARACTERISTICS.items():
        values = [value for content in profiles if (value := name_value(path, get_part(path, content)))]
        if values:
            yield describe(label, Counter(values), by_value=path == "D.age")


def name_value(path: str, value: Any) -> str:
    """Return a value as a bar is called: an age by its band."""
    if path != "D.age":
        return str(value).strip() if isinstance(value, str | int | float) else ""
    if not isinstance(value, int):
        return ""
    return f"{value // YEARS * YEARS}–{value // YEARS * YEARS + YEARS - 1}"


def describe(label: str | Promise, counts: Counter[str], *, by_value: bool) -> Characteristic:
    """Return the commonest values, or all in their own order."""
    ordered = sorted(counts.items()) if by_value else sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    top = ordered if by_value else ordered[:MOST_VALUES]
    total = counts.total()
    bars = [Bar(value, count, round(100 * count / total)) for value, count in top]
    return Characteristic(label, total, bars, len(ordered) - len(top))
