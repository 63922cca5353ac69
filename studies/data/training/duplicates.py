"""Texts that have been there already, word for word or nearly. Pure; what was seen is kept on disk, not in memory."""

import hashlib
import json
import sqlite3
import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from types import TracebackType
from typing import Self
from zlib import crc32

PIECE = 5  # characters
NEAR = 0.9  # of their pieces two texts share, to be nearly the same
BINS = 126
BAND = 6  # bins that must agree for two texts to be compared: one pair in 8 million with a similarity of 0.9 is missed
EMPTY = 2**32


class Duplicate(StrEnum):
    EXACT = "exact"
    NEAR = "near"


def fold(text: str) -> str:
    """Return the text without differences of case, width or white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def pieces(text: str) -> frozenset[str]:
    """Return all runs of five characters of a folded text, or a shorter text itself."""
    return frozenset(text[start : start + PIECE] for start in range(max(1, len(text) - PIECE + 1)))


def similarity(first: str, second: str) -> float:
    """Return Jaccard's index of the pieces of two folded texts, 0 to 1."""
    ours, others = pieces(first), pieces(second)
    return len(ours & others) / len(ours | others)


def nearly_same(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether two texts are nearly the same, part by part.

    So two pairs of replies to one long prompt are not taken for the same.
    """
    return len(first) == len(second) and all(similarity(*both) >= NEAR for both in zip(first, second, strict=True))


def signature(text: str) -> list[int]:
    """Return the smallest hash in each bin (MinHash by one permutation). Similar texts agree in most bins."""
    smallest = [EMPTY] * BINS
    for piece in pieces(text):
        number = crc32(piece.encode("utf-8", "surrogatepass"))
        place = number % BINS
        if number < smallest[place]:
            smallest[place] = number
    return smallest


def bands(text: str) -> list[str]:
    """Return the bands of a text's signature; texts without any band in common are not compared.

    A band without a single piece says nothing and is left out.
    """
    hashes = signature(text)
    starts = (start for start in range(0, BINS, BAND) if min(hashes[start : start + BAND]) != EMPTY)
    return [f"{start} {hashes[start : start + BAND]}" for start in starts]


class SeenTexts:
    """The texts that have been let through. The first of several that are alike is kept."""

    def __init__(self) -> None:
        self.rows = sqlite3.connect("")  # a private file that SQLite itself removes
        self.rows.executescript(
            "PRAGMA journal_mode = OFF;"
            "CREATE TABLE text (id INTEGER PRIMARY KEY, digest BLOB UNIQUE, parts TEXT);"
            "CREATE TABLE band (key BLOB, text INTEGER, PRIMARY KEY (key, text)) WITHOUT ROWID;"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.rows.close()

    def look(self, *texts: str) -> Duplicate | None:
        """Return which kind of duplicate this is, or remember a text that is none."""
        parts = [fold(text) for text in texts]
        dump = json.dumps(parts)
        digest = hashlib.sha256(dump.encode()).digest()
        if self.rows.execute("SELECT 1 FROM text WHERE digest = ?", [digest]).fetchone():
            return Duplicate.EXACT
        keys = [hashlib.blake2b(band.encode(), digest_size=8).digest() for band in bands("\n".join(parts))]
        if any(nearly_same(parts, json.loads(other)) for other in self._candidates(keys)):
            return Duplicate.NEAR
        number = self.rows.execute("INSERT INTO text (digest, parts) VALUES (?, ?)", [digest, dump]).lastrowid
        self.rows.executemany("INSERT INTO band VALUES (?, ?)", [(key, number) for key in keys])
        return None

    def _candidates(self, keys: Sequence[bytes]) -> list[str]:
        marks = ", ".join("?" * len(keys))
        rows = self.rows.execute(
            f"SELECT parts FROM text WHERE id IN (SELECT text FROM band WHERE key IN ({marks}))",  # noqa: S608 - marks only
            keys,
        )
        return [parts for (parts,) in rows]
