"""Weighs the sentences of a supporter's reply, for harm that no pattern was written for."""

import json
import math
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from dialogue.safety.classifier import features
from dialogue.safety.normalisation import HAN, SENTENCE_END, fold
from dialogue.safety.patterns import FOLDER

WEIGHTS = FOLDER / "reply_weights.json"
WITHHELD_FROM = {"en": 0.5, "zh": 0.5}  # from this chance on a sentence is withheld
ASKED = "?"  # the feature of a question
SHORT = {"en": 4, "zh": 7}  # a sentence of fewer words or characters is read together with the one before
# Where a sentence of a growing text ends; the dot of "1.5" or "e.g" ends none.
END = re.compile(r"(?:[.](?!\w)|[!?;。！？；\n…])+")


class ReplyWeights(NamedTuple):
    """`words`: what each feature adds to the log-odds that a sentence is harmful."""

    version: str
    intercept: float
    words: dict[str, float]


@cache
def load_reply_weights() -> dict[str, ReplyWeights]:
    """Return the weights of each language."""
    data = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return {
        lang: ReplyWeights(
            version=data["version"],
            intercept=raw["intercept"],
            words={word: weight / 1000 for word, weight in raw["words"].items()},
        )
        for lang, raw in data["languages"].items()
    }


class Span(NamedTuple):
    """A sentence as the classifier reads it: folded, a short one together with the one before."""

    text: str
    asked: bool
    lang: str


def spans(text: str) -> Iterator[Span]:
    """Yield the sentences of a raw text."""
    before = ""
    at = 0
    for end in [*(found.end() for found in END.finditer(text)), len(text)]:
        raw = text[at:end]
        at = end
        folded = SENTENCE_END.sub(" ", fold(raw)).strip()
        if not folded or not any(sign.isalnum() for sign in folded):
            continue
        lang = "zh" if HAN.search(folded) else "en"
        size = len(folded) if lang == "zh" else folded.count(" ") + 1
        asked = "?" in raw or "？" in raw
        yield Span(f"{before} {folded}" if before and size < SHORT[lang] else folded, asked, lang)
        before = folded


def reply_features(span: Span) -> set[str]:
    """Return the features of a sentence of a reply."""
    found = features(span.text, span.lang, "reply_words")
    if span.asked:
        found.add(ASKED)
    return found


def chance_of_harm(span: Span, weights: ReplyWeights) -> float:
    """Return how likely a reader would call a sentence of a reply harmful, 0–1."""
    words = weights.words
    odds = weights.intercept + sum(words.get(feature, 0.0) for feature in reply_features(span))
    return 1 / (1 + math.exp(-odds))


def is_harmful(text: str) -> bool:
    """Return whether a sentence of a raw text is harmful by its words."""
    weights = load_reply_weights()
    return any(chance_of_harm(span, weights[span.lang]) >= WITHHELD_FROM[span.lang] for span in spans(text))
