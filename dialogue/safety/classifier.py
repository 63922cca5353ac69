"""Weighs the words of a sentence, for signs of danger that no pattern was written for."""

import json
import math
import re
import tomllib
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from dialogue.safety.normalisation import HAN, LATIN, NOT_WORD, sentences
from dialogue.safety.patterns import FOLDER

WEIGHTS = FOLDER / "weights.json"
TOKEN = re.compile("[a-z]+|[0-9]+")
# Words that say nothing about danger by themselves, however often they stand in sentences that do.
PLAIN_WORDS = """
< > a an the of in on at to for with from by as is are was were be been being am and or but so that this these
those it its there theres here do does did have has had ive what which who where how than then too very just
also more most some any other another one when while if because about into out up down over off again get got
much many way thing things really
"""
PLAIN = frozenset(PLAIN_WORDS.split())
PLAIN_STEMS = frozenset(f"^{word[:size]}" for word in PLAIN for size in (4, 6) if len(word) > 4)
REACH = 6  # groups further apart than this many groups say nothing about one another
START, END = "<", ">"
# A text has the mark "@10" if it has 10 words or more (Chinese: characters). Long texts have more features, and this
# evens it out.
LENGTHS = {"en": (3, 6, 10, 16, 25, 40), "zh": (4, 8, 12, 18, 28, 45)}


class Weights(NamedTuple):
    """The weights of one language. `words`: what each feature adds to the log-odds of level 2 or more, and of 3 or
    more."""

    version: str
    intercepts: tuple[float, float]
    words: dict[str, tuple[float, float]]


class Chances(NamedTuple):
    """The chances that a reader would call a text level 2 or more, and level 3 or more."""

    two: float
    three: float


@cache
def load_weights() -> dict[str, Weights]:
    """Return the weights of each language."""
    data = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return {
        lang: Weights(
            version=data["version"],
            intercepts=(raw["intercepts"][0], raw["intercepts"][1]),
            words={word: (two / 1000, three / 1000) for word, (two, three) in raw["words"].items()},
        )
        for lang, raw in data["languages"].items()
    }


@cache
def load_groups() -> tuple[dict[str, str], re.Pattern[str], dict[str, str]]:
    """Return the group of each English word, a pattern of all Chinese words in groups, and the group of each."""
    data = tomllib.loads((FOLDER / "words.toml").read_text(encoding="utf-8"))
    english = {word: group for group, words in data["en"].items() for word in words.split()}
    chinese = {word: group for group, words in data["zh"].items() for word in words.split()}
    return english, re.compile("|".join(sorted(chinese, key=len, reverse=True))), chinese


@cache
def load_signs() -> dict[str, str]:
    """Return one private character for each Chinese group, to stand for its words in a run of characters."""
    _, _, chinese = load_groups()
    return {group: chr(0xE000 + at) for at, group in enumerate(dict.fromkeys(chinese.values()))}


def features(span: str, lang: str) -> set[str]:
    """Return the features of a text: runs of words or characters, groups that follow one another, and its length."""
    return {one for one in _english(span) if _says_something(one)} if lang == "en" else set(_chinese(span))


def _says_something(feature: str) -> bool:
    if feature[0] == "^":
        return feature not in PLAIN_STEMS
    return not PLAIN.issuperset(feature.split(" "))


def _english(span: str) -> Iterator[str]:
    groups_of, _, _ = load_groups()
    words = TOKEN.findall(span)
    padded = [START, *words, END]
    yield from _lengths(len(words), "en")
    yield from words
    for one, other in pairwise(padded):
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
    for one, other in pairwise(lifted):
        yield f"{one} {other}"
    yield from _pairs([group for group in lifted if group[0] == "#"])


def _chinese(span: str) -> Iterator[str]:
    _, words, groups_of = load_groups()
    bare = NOT_WORD.sub("", span)
    text = START + bare + END
    yield from _lengths(len(bare), "zh")
    for size in (1, 2, 3, 4):
        for at in range(len(text) - size + 1):
            yield text[at : at + size]
    groups = [f"#{groups_of[word]}" for word in words.findall(text)]
    yield from _pairs(groups)
    order = load_signs()
    lifted = words.sub(lambda found: order[groups_of[found[0]]], text)
    for size in (2, 3):
        for at in range(len(lifted) - size + 1):
            yield lifted[at : at + size]


def _lengths(size: int, lang: str) -> Iterator[str]:
    return (f"@{length}" for length in LENGTHS[lang] if size >= length)


def _pairs(groups: list[str]) -> Iterator[str]:
    yield from groups
    for at, one in enumerate(groups):
        for other in groups[at + 1 : at + 1 + REACH]:
            yield f"{one}+{other}"


def weigh(folded: str, without: Collection[str] = ()) -> Chances:
    """Return the chances of a folded text, but for the sentences in `without`: the higher of its languages."""
    left_out = {NOT_WORD.sub("", sentence) for sentence in without}
    spans = [span for span in sentences(folded) if NOT_WORD.sub("", span) not in left_out]
    chances = [
        chances_of(spans, lang, weights)
        for lang, weights in load_weights().items()
        if (HAN if lang == "zh" else LATIN).search(folded)
    ]
    return Chances(max((one.two for one in chances), default=0.0), max((one.three for one in chances), default=0.0))


def chances_of(spans: Sequence[str], lang: str, weights: Weights) -> Chances:
    """Return the chances of a text of these sentences: of the most alarming one, or of the whole text if that is more.

    A plan can be spread over sentences of which none says it, and one grave sentence can stand among many calm ones.
    """
    odds = [_odds(span, lang, weights) for span in with_whole(spans)]
    if not odds:
        return Chances(0.0, 0.0)
    return Chances(chance_of_odds(max(two for two, _ in odds)), chance_of_odds(max(three for _, three in odds)))


def with_whole(spans: Sequence[str]) -> Sequence[str]:
    """Return the sentences of a text, and behind several the text as a whole."""
    return [*spans, " . ".join(spans)] if len(spans) > 1 else spans


def _odds(span: str, lang: str, weights: Weights) -> tuple[float, float]:
    two, three = weights.intercepts
    words = weights.words
    for feature in features(span, lang):
        if weight := words.get(feature):
            two += weight[0]
            three += weight[1]
    return two, three


def chance_of_odds(odds: float) -> float:
    """Return the chance of log-odds."""
    return 1 / (1 + math.exp(-odds))
