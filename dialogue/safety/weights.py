"""The weights of a classifier, in a table whose places are given by the checksums of features: small, and fast."""

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
LARGEST = 31  # of the whole numbers that weights are kept as
# Texts longer than this many words (Chinese: characters) have more features; their sum counts for less.
LONG = 15
# A sentence of a longer text must have this much more log-odds than the whole: what alarms by itself is often harmless
# in its company, and most texts have a sentence that sounds worse than it is meant.
ALONE = 0.75
GROWING = 0.75  # a text that still grows must have this much more


class Weights(NamedTuple):
    """The weights of one language's features: each is added to the log-odds of each outcome.

    `intercepts` and `steps` have one number an outcome; `numbers` (outcomes × places, a power of two) are whole, and
    times `steps` they are the weights. Features whose checksums end in the same bits share a place (Weinberger et al.
    2009, Feature hashing for large scale multitask learning), so that a feature of a single text costs next to nothing.
    """

    intercepts: Floats
    numbers: NDArray[np.int8]
    steps: Floats

    def log_odds(self, sentences: Sequence[str], lang: str, *, alone: float = ALONE, growing: bool = False) -> Floats:
        """Return, for each outcome, the log-odds of a text of these sentences; there must be one.

        They are those of the whole text, or those of its most alarming sentence less `alone` where that is more. A
        growing text may still turn out harmless, so it must say more, by `GROWING`.
        """
        whole = self._log_odds(JOINT.join(sentences), lang) - (GROWING if growing else 0)
        if len(sentences) == 1:
            return whole
        highest = np.max([self._log_odds(sentence, lang) for sentence in sentences], axis=0)
        odds: Floats = np.maximum(whole, highest - alone)
        return odds

    def _log_odds(self, text: str, lang: str) -> Floats:
        places = find_checksums(text, lang) & (self.numbers.shape[1] - 1)
        sums: Floats = self.numbers.take(places, axis=1).sum(axis=1) * self.steps
        return self.intercepts + discount_length(text, lang) * sums

    def rescale(self, slopes: Floats, shifts: Floats) -> "Weights":
        """Return weights whose log-odds are these times `slopes`, and `shifts` more."""
        return self._replace(intercepts=self.intercepts * slopes + shifts, steps=self.steps * slopes)


def make_weights(intercepts: Floats, weights: Floats) -> Weights:
    """Return weights (outcomes × places), rounded to whole steps of which the largest weight has `LARGEST`."""
    steps = np.abs(weights).max(axis=1) / LARGEST
    return Weights(intercepts, np.rint(weights / steps[:, None]).astype(np.int8), steps)


# Of a growing reply the same sentences are read again with each piece; two thousand are those of some hundred replies.
@lru_cache(maxsize=2048)
def find_checksums(text: str, lang: str) -> Checksums:
    """Return the checksums of the features of a folded text; not to be written to."""
    features = find_features(text, lang)
    return np.fromiter(features, dtype=np.uint32, count=len(features))


def discount_length(text: str, lang: str) -> float:
    """Return the part of the sum of its weights that counts for a text: 1, or less if the text is long."""
    return min(1.0, math.sqrt(LONG / max(count_words(text, lang), 1)))


def write_weights(path: Path, version: str, languages: Mapping[str, Weights]) -> None:
    """Write the weights of all languages."""
    arrays = {f"{lang}_{name}": array for lang, one in languages.items() for name, array in one._asdict().items()}
    np.savez_compressed(path, version=np.array(version), **arrays)


def read_weights(path: Path) -> tuple[str, dict[str, Weights]]:
    """Return the version of a file of weights, and the weights of each language."""
    with np.load(path) as data:
        languages = {name.partition("_")[0]: None for name in data.files if "_" in name}
        return str(data["version"]), {
            lang: Weights(*(data[f"{lang}_{name}"] for name in Weights._fields)) for lang in languages
        }
