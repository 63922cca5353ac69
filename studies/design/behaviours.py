"""The five behaviours of seekers who are hard to help, as seeker_behaviours.json tells of them. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from studies.design.spec import Text

FILE = Path(__file__).resolve().parents[2] / "fixtures" / "instruments" / "seeker_behaviours.json"
STRONGEST = 3
MARKED = 2  # from here on a behaviour is marked
MARKED_IN_WORST_CASE = 2  # so many marked behaviours make a worst case

Lines = Mapping[str, tuple[str, ...]]  # by language


@dataclass(frozen=True)
class Behaviour:
    key: str
    label: Text
    definition: Text
    do: Lines
    avoid: Lines
    samples: Lines


@dataclass(frozen=True)
class Preset:
    key: str
    label: Text
    intensities: Mapping[str, int]


def behaviours() -> tuple[Behaviour, ...]:
    return tuple(
        Behaviour(
            key=node["key"],
            label=node["label"],
            definition=node["definition"],
            do=_lines(node["role_play_card"]["do"]),
            avoid=_lines(node["role_play_card"]["avoid"]),
            samples=_lines(node["sample_lines"]),
        )
        for node in _file()["components"]
    )


def behaviour_keys() -> tuple[str, ...]:
    return tuple(node["key"] for node in _file()["components"])


def levels() -> tuple[Text, ...]:
    """What each intensity from 0 on means, in words."""
    return tuple({language: node[language] for language in ("en", "zh")} for node in _file()["intensity"]["levels"])


def presets() -> tuple[Preset, ...]:
    return tuple(Preset(node["key"], node["label"], node["values"]) for node in _file()["presets"])


def rules() -> Lines:
    """What holds for whoever plays any card."""
    return _lines(_file()["common_rules"])


def is_worst_case(intensities: Mapping[str, int]) -> bool:
    return sum(intensity >= MARKED for intensity in intensities.values()) >= MARKED_IN_WORST_CASE


def _lines(node: Mapping[str, list[str]]) -> Lines:
    return {language: tuple(node[language]) for language in ("en", "zh")}


@cache
def _file() -> Any:
    return json.loads(FILE.read_text(encoding="utf-8"))
