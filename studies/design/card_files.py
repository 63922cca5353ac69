"""Files of role cards, each a seeker to be played: {"profiles": [{"id", "lang", "D", "P", "C", "S", …}, …]}. Pure.

A profile is P = {D, P, C, S} (EmoHarbor, arXiv:2601.01530, Section 2.1): who somebody is, how they are, what they are
troubled by, and how a talk with them goes. `worst_case_default` says how strongly each behaviour shows.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialogue.seekers.components import STRONGEST
from studies.design.behaviours import behaviour_keys
from studies.design.fields import LANGUAGES, Fault, Table, unkept_values

REACTIONS = ("generic_comfort", "premature_advice", "accurate_reflection", "open_question", "pressure")
BELONGINGS = {"fixed_belief": "rigid_negative_interpretation", "trigger_word": "emotional_volatility"}
BIG_FIVE = ("E", "A", "C", "N", "O")
OLDEST = 120  # years
LARGEST_FILE = 2_000_000  # bytes
CHINESE_DIGITS = "零一二三四五六七八九"
CHINESE_NUMBER = r"(\d+|[一二三四五六七八九十]+)"
TURN = re.compile(
    rf"\bturn (\d+)|\bafter (\d+) turns?\b|第\s*{CHINESE_NUMBER}\s*轮|{CHINESE_NUMBER}\s*轮(?:之后|以后|后)",
    re.IGNORECASE | re.ASCII,
)


class CardFileError(Exception):
    """Every fault of a file of cards; as text one line for each, `FILE: key.path: what is wrong`."""

    def __init__(self, name: str, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(f"{name}: {fault}" for fault in faults))
        self.faults = list(faults)


@dataclass(frozen=True)
class CardSpec:
    key: str
    language: str
    profile: Mapping[str, Any]  # id, D, P, C, S, and where it is given fixed_belief and trigger_word
    intensities: Mapping[str, int]  # of each behaviour, 0 to 3


def read_cards(path: Path, *, min_turns: int = 0) -> tuple[CardSpec, ...]:
    """Raises CardFileError, also where the file cannot be read, and where a role may end before `min_turns`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CardFileError(path.name, [Fault("", f"cannot be read: {error.strerror}")]) from error
    return parse_cards(content, name=path.name, min_turns=min_turns)


def parse_cards(content: bytes, *, name: str, min_turns: int = 0) -> tuple[CardSpec, ...]:
    faults: list[Fault] = []
    table = Table(_document(content, name), "", faults)
    if not table.has("profiles") or table.values["profiles"] == []:
        table.fault("profiles", "there are none")
    nodes = table.tables("profiles")
    cards = tuple(read_card(node, min_turns=min_turns) for node in nodes)
    faults += _twice(cards)
    if faults:
        raise CardFileError(name, faults)
    return cards


def _document(content: bytes, name: str) -> Mapping[str, Any]:
    if len(content) > LARGEST_FILE:
        raise CardFileError(name, [Fault("", f"is larger than {LARGEST_FILE // 1_000_000} MB")])
    try:
        document = json.loads(content.decode("utf-8-sig"))
    except RecursionError as error:
        raise CardFileError(name, [Fault("", "is nested too deeply")]) from error
    except ValueError as error:
        raise CardFileError(name, [Fault("", f"no JSON: {error}")]) from error
    if not isinstance(document, dict):
        raise CardFileError(name, [Fault("", "is no JSON object")])
    if unkept := list(unkept_values(document)):
        raise CardFileError(name, unkept)
    return document


def _twice(cards: Sequence[CardSpec]) -> Iterator[Fault]:
    keys = [card.key for card in cards]
    for number, key in enumerate(keys, 1):
        if key and key in keys[: number - 1]:
            yield Fault(f"profiles.{number}.id", f'"{key}" is already the id of profiles.{keys.index(key) + 1}')


def read_card(table: Table, *, min_turns: int = 0) -> CardSpec:
    """One profile; what is wrong with it is among the table's faults."""
    table.known.append("fictional")
    table.require("lang")
    key = table.slug("id")
    language = table.choice("lang", LANGUAGES, "")
    intensities, belongings = _behaviour(table.table("worst_case_default"))
    parts = {"D": _person(table), "P": _manner(table), "C": _trouble(table), "S": _script(table, min_turns)}
    table.refuse_unknown()
    return CardSpec(key, language, {"id": key, **parts, **belongings}, intensities)


def _behaviour(table: Table) -> tuple[dict[str, int], dict[str, str]]:
    intensities = {key: _between(table, key, 0, STRONGEST) or 0 for key in behaviour_keys()}
    belongings = _texts(table, *BELONGINGS)
    table.refuse_unknown()
    return intensities, belongings


def _person(whole: Table) -> dict[str, Any]:
    table = whole.table("D")
    table.require("alias")
    part = _texts(table, "alias", "gender", "occupation", "education", "relationship", "living")
    return _whole(table, {**part, "age": _between(table, "age", 1, OLDEST)})


def _manner(whole: Table) -> dict[str, Any]:
    table = whole.table("P")
    part = _texts(table, "mbti", "speech_style", "support_preference") | _lists(table, "habits", "hobbies")
    return _whole(table, {**part, "big5": _big_five(table.table("big5"))})


def _big_five(table: Table) -> dict[str, Any]:
    scores = {factor: table.optional_number(factor, minimum=1, maximum=5) for factor in BIG_FIVE}
    return _whole(table, {**_texts(table, "scale"), **scores})


def _trouble(whole: Table) -> dict[str, Any]:
    table = whole.table("C")
    table.require("problem")
    part = _texts(table, "problem_category", "problem", "emotion", "background") | _needed_list(table, "goals")
    roles = table.table("roles")
    people = _whole(roles, _texts(roles, "partner") | _lists(roles, "others"))
    return _whole(table, {**part, "intensity": _between(table, "intensity", 1, 5), "roles": people})


def _script(whole: Table, min_turns: int) -> dict[str, Any]:
    table = whole.table("S")
    table.require("opening")
    table.require("ends_when")
    for turn in turns_named(str(table.values.get("ends_when", ""))):
        if turn < min_turns:
            table.fault("ends_when", f"lets the talk end at turn {turn}, but a conversation has at least {min_turns}")
    part = _texts(table, "opening", "ends_when") | _needed_list(table, "layers")
    reactions = table.table("reactions")
    return _whole(table, {**part, "reactions": _whole(reactions, _texts(reactions, *REACTIONS))})


def turns_named(text: str) -> list[int]:
    """The places in a talk that a text names: turn 6, after 6 turns, 第6轮, 六轮之后."""
    return [_number(digits) for match in TURN.finditer(text) for digits in match.groups() if digits]


def _number(digits: str) -> int:
    """In Arabic digits, or in Chinese ones up to 99."""
    if digits.isdecimal():
        return int(digits)
    tens, ten, ones = digits.rpartition("十")
    return (10 * (CHINESE_DIGITS.find(tens) if tens else 1) if ten else 0) + max(CHINESE_DIGITS.find(ones), 0)


def _whole(table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
    """What is given, and a fault for each key that nobody asked for."""
    table.refuse_unknown()
    return {key: value for key, value in values.items() if value not in (None, "", [], {})}


def _texts(table: Table, *keys: str) -> dict[str, str]:
    return {key: text for key in keys if (text := table.string(key))}


def _lists(table: Table, *keys: str) -> dict[str, list[str]]:
    return {key: list(table.strings(key)) for key in keys}


def _needed_list(table: Table, key: str) -> dict[str, list[str]]:
    if not table.values.get(key):
        table.fault(key, "is missing")
    return _lists(table, key)


def _between(table: Table, key: str, least: int, most: int) -> int | None:
    value = table.optional_integer(key)
    if value is not None and not least <= value <= most:
        table.fault(key, f"must be between {least} and {most}")
        return None
    return value
