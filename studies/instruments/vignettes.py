"""The calibration dialogues of fixtures/instruments/vignettes.json, with the scores that are known of them. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from studies.instruments.definitions import Text
from studies.instruments.loading import FIXTURES

FILE = FIXTURES / "vignettes.json"


@dataclass(frozen=True)
class KnownScore:
    """The known answer to one item: the score, and in a line why."""

    score: int
    why: Text


@dataclass(frozen=True)
class Vignette:
    key: str
    instrument: str  # the rating scale that the scores are on
    turns: Sequence[tuple[Text, Text]]  # what the seeker and the supporter say
    scores: Mapping[str, KnownScore]  # by item


@cache
def vignettes(file: Path = FILE) -> tuple[Vignette, ...]:
    """Return the vignettes in the order in which reviewers get them."""
    data = json.loads(file.read_text(encoding="utf-8"))
    return tuple(_vignette(node, data["instrument"]) for node in data["vignettes"])


def vignette(key: str) -> Vignette:
    return next(one for one in vignettes() if one.key == key)


def _vignette(node: Mapping[str, Any], instrument: str) -> Vignette:
    return Vignette(
        key=node["key"],
        instrument=instrument,
        turns=[(turn["seeker"], turn["supporter"]) for turn in node["turns"]],
        scores={score["item"]: KnownScore(score["score"], score["why"]) for score in node["scores"]},
    )
