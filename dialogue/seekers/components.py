"""The five components of behaviour in seeker_behaviours.json: names, instructions, levels, presets. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dialogue.languages import CODES

FILE = Path(__file__).resolve().parents[2] / "fixtures" / "instruments" / "seeker_behaviours.json"
STRONGEST = 3
MARKED = 2  # from here on a component is marked
MARKED_IN_WORST_CASE = 2  # so many marked components make a worst case

Text = Mapping[str, str]  # by language


@dataclass(frozen=True)
class Component:
    key: str
    label: Text
    instruction: Text
    samples: Mapping[str, tuple[str, ...]]


@cache
def components() -> Mapping[str, Component]:
    """Return the components by key, in the file's order."""
    return {node["key"]: _component(node) for node in instrument()["components"]}


def levels(language: str) -> tuple[str, ...]:
    """Return what each intensity from 0 on means, in words."""
    return tuple(node[language] for node in instrument()["intensity"]["levels"])


def preset(key: str) -> Mapping[str, int]:
    return next(node["values"] for node in instrument()["presets"] if node["key"] == key)


def is_worst_case(intensities: Mapping[str, int]) -> bool:
    return sum(intensity >= MARKED for intensity in intensities.values()) >= MARKED_IN_WORST_CASE


def _component(node: Mapping[str, Any]) -> Component:
    samples = {language: tuple(node["sample_lines"][language]) for language in CODES}
    return Component(node["key"], node["label"], node["llm_instruction"], samples)


@cache
def instrument() -> Any:
    """Return the whole file."""
    return json.loads(FILE.read_text(encoding="utf-8"))
