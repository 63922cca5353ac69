"""Weighs the words of a supporter's reply, for harm that no pattern was written for."""

import json
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from dialogue.safety.classifier import chance_of_odds, features, with_whole
from dialogue.safety.normalisation import HAN, LATIN, SENTENCE_END, sentences
from dialogue.safety.patterns import FOLDER

WEIGHTS = FOLDER / "reply_weights.json"


class ReplyWeights(NamedTuple):
    """The weights of one language. `words`: what each feature adds to the log-odds of harm."""

    intercept: float
    words: dict[str, float]


@cache
def load_reply_weights() -> dict[str, ReplyWeights]:
    """Return the weights of each language."""
    data = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return {
        lang: ReplyWeights(raw["intercept"], {word: weight / 1000 for word, weight in raw["words"].items()})
        for lang, raw in data["languages"].items()
    }


def weigh_reply(folded: str, *, growing: bool = False) -> float:
    """Return the chance that a reader would withhold a folded reply: the higher of its languages.

    Of a growing one each sentence is read when its end has come, and the whole only when it is there.
    """
    spans = sentences(folded[: _end_of_last(folded)] if growing else folded)
    read = spans if growing else with_whole(spans)
    return max(
        (
            chance_of_harm(read, lang, weights)
            for lang, weights in load_reply_weights().items()
            if (HAN if lang == "zh" else LATIN).search(folded)
        ),
        default=0.0,
    )


def _end_of_last(folded: str) -> int:
    return max((end.end() for end in SENTENCE_END.finditer(folded)), default=0)


def chance_of_harm(spans: Sequence[str], lang: str, weights: ReplyWeights) -> float:
    """Return the chance of the most alarming of some texts of one language."""
    known = weights.words
    odds = [weights.intercept + sum(known.get(one, 0.0) for one in features(span, lang)) for span in spans]
    return chance_of_odds(max(odds)) if odds else 0.0
