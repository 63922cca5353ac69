"""The features of a text that the classifiers weigh: runs of words or characters, and groups of words.

A feature is known by the CRC-32 of its UTF-8 text, such as "jump", "i jump" or "#wish+#death". That of a longer run
goes on from that of its beginning, so its text need not be put together.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from zlib import crc32

from dialogue.safety.normalisation import NOT_WORD
from dialogue.safety.patterns import FOLDER

TOKEN = re.compile(b"[a-z]+|[0-9]+")
# Words that say nothing about danger by themselves, however often they stand in sentences that do.
PLAIN_WORDS = b"""
< > a an the of in on at to for with from by as is are was were be been being am and or but so that this these
those it its there theres here do does did have has had ive what which who where how than then too very just
also more most some any other another one when while if because about into out up down over off again get got
much many way thing things really
"""
PLAIN = frozenset(PLAIN_WORDS.split())
REACH = 6  # groups further apart than this many groups say nothing about one another
START, END = "<", ">"


@cache
def load_groups() -> tuple[dict[bytes, bytes], re.Pattern[str], dict[str, str]]:
    """Return the group of each English word, a pattern of all Chinese words in groups, and the group of each."""
    data = tomllib.loads((FOLDER / "words.toml").read_text(encoding="utf-8"))
    english = {word.encode(): f"#{group}".encode() for group, words in data["en"].items() for word in words.split()}
    chinese = {word: f"#{group}" for group, words in data["zh"].items() for word in words.split()}
    return english, re.compile("|".join(sorted(chinese, key=len, reverse=True))), chinese


@cache
def load_signs() -> dict[str, str]:
    """Return one private character for each Chinese group, to stand for its words in a run of characters."""
    _, _, chinese = load_groups()
    return {group: chr(0xE000 + at) for at, group in enumerate(dict.fromkeys(chinese.values()))}


def count_words(text: str, lang: str) -> int:
    """Return how many words (Chinese: characters) a text has."""
    return len(TOKEN.findall(text.encode())) if lang == "en" else len(NOT_WORD.sub("", text))


def find_features(text: str, lang: str) -> set[int]:
    """Return the checksums of the features of a folded text."""
    return _english(text) if lang == "en" else _chinese(text)


def _english(text: str) -> set[int]:
    words = [START.encode(), *TOKEN.findall(text.encode()), END.encode()]
    tells = [word not in PLAIN for word in words]
    telling = [word for word in words if word not in PLAIN]
    around = zip(words, words[2:], tells, tells[2:], strict=False)
    checksums = {crc32(word) for word in telling}
    checksums.update([crc32(b"^" + word[:size]) for word in telling if len(word) > 4 for size in (4, 6)])
    checksums.update([crc32(b"_" + other, crc32(one)) for one, other in pairwise(telling)])
    checksums.update([crc32(b"__" + other, crc32(one)) for one, other in zip(telling, telling[2:], strict=False)])
    checksums.update([crc32(b" * " + other, crc32(one)) for one, other, first, second in around if first or second])
    checksums.update(_runs(words, tells))
    groups_of, _, _ = load_groups()
    lifted = [groups_of.get(word, word) for word in words]
    groups = [word for word in lifted if word[:1] == b"#"]
    if groups:
        checksums.update(_runs(lifted, [word[:1] == b"#" for word in lifted]))
        checksums.update(_pairs(groups))
    return checksums


def _runs(words: Sequence[bytes], tells: Sequence[bool]) -> list[int]:
    """Return the runs of two and of three words of which one tells something."""
    spaced = [b" " + word for word in words]
    twos = [crc32(other, crc32(one)) for one, other in zip(words, spaced[1:], strict=False)]
    threes = zip(twos, spaced[2:], tells, tells[1:], tells[2:], strict=False)
    return [two for two, first, second in zip(twos, tells, tells[1:], strict=False) if first or second] + [
        crc32(other, two) for two, other, first, second, third in threes if first or second or third
    ]


def _chinese(text: str) -> set[int]:
    _, words, groups_of = load_groups()
    padded = START + NOT_WORD.sub("", text) + END
    signs = load_signs()
    lifted = words.sub(lambda match: signs[groups_of[match[0]]], padded)
    checksums = set(_pairs([groups_of[word].encode() for word in words.findall(padded)]))
    for runs, shortest, longest in ((padded, 1, 4), (lifted, 2, 3)):
        characters = [character.encode() for character in runs]
        ending = [0] * len(characters)
        for size in range(1, longest + 1):
            ending = [crc32(last, run) for last, run in zip(characters[size - 1 :], ending, strict=False)]
            if size >= shortest:
                checksums.update(ending)
    return checksums


def _pairs(groups: Sequence[bytes]) -> Iterator[int]:
    """Yield each group, and the pairs of groups that are near."""
    for at, one in enumerate(groups):
        own = crc32(one)
        yield own
        for other in groups[at + 1 : at + 1 + REACH]:
            yield crc32(b"+" + other, own)
