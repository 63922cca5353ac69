"""The weights of a classifier, by checksums of their features: small on disk, and found quickly."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialogue.safety.features import count_words, find_features

Floats = NDArray[np.float64]
Checksums = NDArray[np.uint32]
JOINT = " . "  # between sentences
LARGEST = 127  # of the whole numbers that weights are kept as
# Texts longer than this many words (Chinese: characters) have more features; their sum counts for less.
LONG = 15
# A sentence of a longer text must have this much more log-odds than the whole: what alarms by itself is often harmless
# in its company, and most texts have a sentence that sounds worse than it is meant.
ALONE = 0.75


class Weights(NamedTuple):
    """The weights of one language's features: each is added to the log-odds of each outcome.

    `intercepts` and `steps` have one number an outcome; `checksums` are those of the n features, ascending; `numbers`
    (outcomes × n) are whole, and times `steps` they are the weights.
    """

    intercepts: Floats
    checksums: Checksums
    numbers: NDArray[np.int8]
    steps: Floats

    def log_odds(self, sentences: Sequence[str], lang: str, *, growing: bool = False) -> Floats:
        """Return, for each outcome, the log-odds of a text of these sentences; there must be one.

        They are those of the whole text, or those of its most alarming sentence less `ALONE` where that is more. A
        growing text may still turn out harmless, so all of it counts like a sentence.
        """
        whole = self._log_odds(JOINT.join(sentences), lang)
        if len(sentences) == 1:
            return whole - ALONE if growing else whole
        alone = np.max([self._log_odds(sentence, lang) for sentence in sentences], axis=0) - ALONE
        odds: Floats = np.maximum(whole - ALONE if growing else whole, alone)
        return odds

    def _log_odds(self, text: str, lang: str) -> Floats:
        checksums = find_checksums(text, lang)
        places = self.checksums.searchsorted(checksums)
        columns = places[self.checksums.take(places, mode="clip") == checksums]
        sums: Floats = self.numbers[:, columns].sum(axis=1) * self.steps
        return self.intercepts + discount_length(text, lang) * sums

    def rescale(self, slopes: Floats, shifts: Floats) -> "Weights":
        """Return weights whose log-odds are these times `slopes`, and `shifts` more."""
        return self._replace(intercepts=self.intercepts * slopes + shifts, steps=self.steps * slopes)


def make_weights(intercepts: Floats, checksums: Checksums, weights: Floats) -> Weights:
    """Return weights (outcomes × features), rounded to whole steps of which the largest weight has `LARGEST`; what is
    rounded to nothing for each outcome is left out."""
    steps = np.abs(weights).max(axis=1) / LARGEST
    numbers = np.rint(weights / steps[:, None]).astype(np.int8)
    nonzero = numbers.any(axis=0)
    return Weights(intercepts, checksums[nonzero], numbers[:, nonzero], steps)


# Of a growing reply the same sentences are read again with each piece; two thousand are those of some hundred replies.
@lru_cache(maxsize=2048)
def find_checksums(text: str, lang: str) -> Checksums:
    """Return the checksums of the features of a folded text, ascending; not to be written to."""
    features = find_features(text, lang)
    return np.sort(np.fromiter(features, dtype=np.uint32, count=len(features)))


def discount_length(text: str, lang: str) -> float:
    """Return the part of the sum of its weights that counts for a text: 1, or less if the text is long."""
    return min(1.0, math.sqrt(LONG / max(count_words(text, lang), 1)))


def write_weights(path: Path, version: str, languages: Mapping[str, Weights]) -> None:
    """Write the weights of all languages. Of the checksums it keeps how far they are apart, which takes less room."""
    arrays = {
        f"{lang}_{name}": np.diff(array, prepend=array.dtype.type(0)) if name == "checksums" else array
        for lang, weights in languages.items()
        for name, array in weights._asdict().items()
    }
    np.savez_compressed(path, version=np.array(version), **arrays)


def read_weights(path: Path) -> tuple[str, dict[str, Weights]]:
    """Return the version of a file of weights, and the weights of each language."""
    with np.load(path) as data:
        languages = {name.partition("_")[0]: None for name in data.files if "_" in name}
        return str(data["version"]), {
            lang: Weights(
                intercepts=data[f"{lang}_intercepts"],
                checksums=np.cumsum(data[f"{lang}_checksums"], dtype=np.uint32),
                numbers=data[f"{lang}_numbers"],
                steps=data[f"{lang}_steps"],
            )
            for lang in languages
        }
