"""The features of a text that the classifiers weigh: runs of words or characters, and groups of words."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from dialogue.safety.normalisation import NOT_WORD
from dialogue.safety.patterns import FOLDER

TOKEN = re.compile("[a-z]+|[0-9]+")
# Words that say nothing about danger by themselves, however often they stand in sentences that do.
PLAIN_WORDS = """
< > a an the of in on at to for with from by as is are was were be been being am and or but so that this these
those it its there theres here do does did have has had ive what which who where how than then too very just
also more most some any other another one when while if because about into out up down over off again get got
much many way thing things really
"""
PLAIN = frozenset(PLAIN_WORDS.split())
REACH = 6  # groups further apart than this many groups say nothing about one another
START, END = "<", ">"


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


def count_words(text: str, lang: str) -> int:
    """Return how many words (Chinese: characters) a text has."""
    return len(TOKEN.findall(text)) if lang == "en" else len(NOT_WORD.sub("", text))


def find_features(text: str, lang: str) -> set[str]:
    """Return the features of a folded text."""
    return _english(text) if lang == "en" else set(_chinese(text))


def _english(text: str) -> set[str]:
    words = TOKEN.findall(text)
    telling = [word for word in words if word not in PLAIN]
    padded = [START, *words, END]
    groups_of, _, _ = load_groups()
    lifted = [f"#{groups_of[word]}" if word in groups_of else word for word in padded]
    found = set(telling)
    found.update(f"^{word[:size]}" for word in telling if len(word) > 4 for size in (4, 6))
    found.update([f"{one}_{other}" for one, other in pairwise(telling)])
    found.update([f"{one}__{other}" for one, other in zip(telling, telling[2:], strict=False)])
    around = zip(padded, padded[2:], strict=False)
    found.update([f"{one} * {other}" for one, other in around if one not in PLAIN or other not in PLAIN])
    found.update(_runs(padded))
    found.update(run for run in _runs(lifted) if "#" in run)
    found.update(_pairs([group for group in lifted if group[0] == "#"]))
    return found


def _runs(words: list[str]) -> list[str]:
    """Return the runs of two and of three words of which one says something."""
    plain = [word in PLAIN for word in words]
    pairs = zip(pairwise(words), pairwise(plain), strict=True)
    threes = zip(words, words[1:], words[2:], plain, plain[1:], plain[2:], strict=False)
    return [f"{one} {other}" for (one, other), (first, second) in pairs if not (first and second)] + [
        f"{one} {middle} {other}" for one, middle, other, *are_plain in threes if not all(are_plain)
    ]


def _chinese(text: str) -> Iterator[str]:
    _, words, groups_of = load_groups()
    padded = START + NOT_WORD.sub("", text) + END
    for size in (1, 2, 3, 4):
        for at in range(len(padded) - size + 1):
            yield padded[at : at + size]
    yield from _pairs([f"#{groups_of[word]}" for word in words.findall(padded)])
    signs = load_signs()
    lifted = words.sub(lambda found: signs[groups_of[found[0]]], padded)
    for size in (2, 3):
        for at in range(len(lifted) - size + 1):
            yield lifted[at : at + size]


def _pairs(groups: list[str]) -> Iterator[str]:
    yield from groups
    for at, one in enumerate(groups):
        for other in groups[at + 1 : at + 1 + REACH]:
            yield f"{one}+{other}"
