"""Weighs the words of a sentence, for signs of danger that no pattern was written for."""

import json
import math
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from dialogue.safety.normalisation import HAN, LATIN, NOT_WORD, sentences
from dialogue.safety.patterns import FOLDER

WEIGHTS = FOLDER / "weights.json"
TOKEN = re.compile("[a-z]+|[0-9]+")
REACH = 6  # groups further apart than this many groups say nothing about one another
LONGEST = 60  # tokens; a longer stretch without a sentence end is read in pieces of this many
START, END = "<", ">"


class Weights(NamedTuple):
    """`words`: what each feature adds to the log-odds of level 2 or more, and of level 3 or more."""

    version: str
    intercepts: tuple[float, float]
    words: dict[str, tuple[float, float]]
    thresholds: tuple[float, float]


class Chances(NamedTuple):
    """How likely a reader would call the most alarming sentence level 2 or more, and level 3 or more."""

    two: float
    three: float


@cache
def load_weights() -> dict[str, Weights]:
    """Return the weights of each language."""
    data = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return {
        lang: Weights(
            version=data["version"],
            intercepts=tuple(raw["intercepts"]),
            words={word: (two / 1000, three / 1000) for word, (two, three) in raw["words"].items()},
            thresholds=tuple(raw["thresholds"]),
        )
        for lang, raw in data["languages"].items()
    }


@cache
def load_groups() -> tuple[dict[str, str], re.Pattern[str], dict[str, str]]:
    """Return the English word groups, a pattern of all Chinese words in groups, and the Chinese groups."""
    data = tomllib.loads((FOLDER / "words.toml").read_text(encoding="utf-8"))
    english = {word: group for group, words in data["en"].items() for word in words.split()}
    chinese = {word: group for group, words in data["zh"].items() for word in words.split()}
    return english, re.compile("|".join(sorted(chinese, key=len, reverse=True))), chinese


def spans(folded: str) -> list[str]:
    """Return what is weighed by itself: each sentence, and each with the one after it."""
    parts = sentences(folded)
    return parts + [f"{one} . {other}" for one, other in zip(parts, parts[1:], strict=False)]


def features(span: str, lang: str) -> set[str]:
    """Return the features of a sentence: runs of words or characters, and groups that follow one another."""
    return set(_english(span) if lang == "en" else _chinese(span))


def _english(span: str) -> Iterator[str]:
    groups_of, _, _ = load_groups()
    words = TOKEN.findall(span)
    padded = [START, *words, END]
    yield from words
    for one, other in zip(padded, padded[1:], strict=False):
        yield f"{one} {other}"
    for run in zip(padded, padded[1:], padded[2:], strict=False):
        yield " ".join(run)
    for word in words:
        if len(word) > 4:
            yield f"^{word[:4]}"
            yield f"^{word[:6]}"
    lifted = [f"#{groups_of[word]}" if word in groups_of else word for word in padded]
    for run in zip(lifted, lifted[1:], lifted[2:], strict=False):
        yield " ".join(run)
    for one, other in zip(lifted, lifted[1:], strict=False):
        yield f"{one} {other}"
    yield from _pairs([group for group in lifted if group[0] == "#"])


def _chinese(span: str) -> Iterator[str]:
    _, words, groups_of = load_groups()
    text = START + NOT_WORD.sub("", span) + END
    for size in (1, 2, 3, 4):
        for at in range(len(text) - size + 1):
            yield text[at : at + size]
    groups = [f"#{groups_of[word]}" for word in words.findall(text)]
    yield from _pairs(groups)
    lifted = words.sub(lambda found: chr(0xE000 + ORDER[groups_of[found[0]]]), text)
    for size in (2, 3):
        for at in range(len(lifted) - size + 1):
            yield lifted[at : at + size]


def _pairs(groups: list[str]) -> Iterator[str]:
    yield from groups
    for at, one in enumerate(groups):
        for other in groups[at + 1 : at + 1 + REACH]:
            yield f"{one}+{other}"


ORDER = {group: at for at, group in enumerate(tomllib.loads((FOLDER / "words.toml").read_text(encoding="utf-8"))["zh"])}


def weigh(folded: str) -> Chances:
    """Return the chances for the most alarming sentence of a folded text."""
    two = three = 0.0
    for lang, weights in load_weights().items():
        if not (HAN if lang == "zh" else LATIN).search(folded):
            continue
        for span in spans(folded):
            chances = chances_of(span, lang, weights)
            two, three = max(two, chances.two), max(three, chances.three)
    return Chances(two, three)


def chances_of(span: str, lang: str, weights: Weights) -> Chances:
    """Return the chances for one sentence."""
    two, three = weights.intercepts
    words = weights.words
    for feature in features(span, lang):
        if weight := words.get(feature):
            two += weight[0]
            three += weight[1]
    return Chances(1 / (1 + math.exp(-two)), 1 / (1 + math.exp(-three)))
