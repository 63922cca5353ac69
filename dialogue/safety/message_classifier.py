"""Classify messages by their words: find signs of danger that no pattern matches."""

import math
from collections.abc import Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from dialogue.safety.normalisation import HAN, LATIN, NOT_WORD, sentences
from dialogue.safety.patterns import FOLDER

if TYPE_CHECKING:
    from dialogue.safety.weights import Weights

WEIGHTS = FOLDER / "weights.npz"


class Chances(NamedTuple):
    """The chances that a reader would call a text level 2 or more, and level 3 or more."""

    two: float
    three: float


@cache
def load_weights() -> tuple[str, dict[str, "Weights"]]:
    """Return the version of the weights, and those of each language."""
    # It imports numpy, for which commands that screen nothing need not wait.
    from dialogue.safety.weights import read_weights

    return read_weights(WEIGHTS)


def weigh(folded: str, without: Collection[str] = ()) -> Chances:
    """Return the chances of a folded text, but for the sentences in `without`: the higher of its languages."""
    left_out = {NOT_WORD.sub("", sentence) for sentence in without}
    spans = [span for span in sentences(folded) if NOT_WORD.sub("", span) not in left_out]
    _, languages = load_weights()
    chances = [chances_of(spans, lang, weights) for lang, weights in languages.items() if is_written_in(folded, lang)]
    return Chances(max((one.two for one in chances), default=0.0), max((one.three for one in chances), default=0.0))


def is_written_in(folded: str, lang: str) -> bool:
    """Return whether any of a folded text is written in a language's letters."""
    return bool((HAN if lang == "zh" else LATIN).search(folded))


def chances_of(spans: Sequence[str], lang: str, weights: "Weights") -> Chances:
    """Return the chances of a text of these sentences.

    A plan can be spread over sentences of which none says it, and one grave sentence can stand among many calm ones.
    """
    if not spans:
        return Chances(0.0, 0.0)
    two, three = weights.log_odds(spans, lang)
    return Chances(chance_of(two), chance_of(three))


def chance_of(odds: float) -> float:
    """Return the chance of log-odds."""
    return 1 / (1 + math.exp(-odds))


def odds_of(chance: float) -> float:
    """Return the log-odds of a chance between 0 and 1."""
    return math.log(chance / (1 - chance))
