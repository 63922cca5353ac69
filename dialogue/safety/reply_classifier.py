"""Classify a supporter's replies by their words: find harm that no pattern matches."""

from functools import cache
from typing import TYPE_CHECKING

from dialogue.safety.message_classifier import chance_of, is_written_in
from dialogue.safety.normalisation import SENTENCE_END, sentences
from dialogue.safety.patterns import FOLDER

if TYPE_CHECKING:
    from dialogue.safety.weights import Weights

WEIGHTS = FOLDER / "reply_weights.npz"
# A sentence of a reply must have this much more log-odds than the whole: what a kind one says back sounds grave alone.
ALONE = 2.0


@cache
def load_reply_weights() -> dict[str, "Weights"]:
    """Return the weights of each language."""
    from dialogue.safety.weights import read_weights

    _, languages = read_weights(WEIGHTS)
    return languages


def weigh_reply(folded: str, *, growing: bool = False) -> float:
    """Return the chance that a reader would withhold a folded reply: the higher of its languages.

    Of a growing one the sentences are read whose end has come.
    """
    spans = sentences(folded[: _end_of_last(folded)] if growing else folded)
    if not spans:
        return 0.0
    odds = [
        float(weights.log_odds(spans, lang, alone=ALONE, growing=growing)[0])
        for lang, weights in load_reply_weights().items()
        if is_written_in(folded, lang)
    ]
    return chance_of(max(odds)) if odds else 0.0


def _end_of_last(folded: str) -> int:
    return max((end.end() for end in SENTENCE_END.finditer(folded)), default=0)
