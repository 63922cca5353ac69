"""Trains the classifier of replies from the labelled replies. The server never imports this module."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialogue.safety.patterns import FOLDER, LANGUAGES
from dialogue.safety.reply_classifier import ReplyWeights, Span, chance_of_harm, reply_features, spans

REPLIES = FOLDER / "replies"
SMALLEST = 0.03  # a weight nearer to nothing than this is left out
STRENGTH = 3.0  # the inverse of the penalty on large weights
VERSION = "1.0"


@dataclass(frozen=True)
class Reply:
    batch: str
    harmful: bool
    lang: str
    spans: tuple[Span, ...]


def read_replies(folder: Path = REPLIES) -> Iterator[Reply]:
    """Yield the labelled replies of all batches."""
    for path in sorted(folder.glob("*_*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            kind, _, text = line.partition("|")
            if kind in ("harm", "kind"):
                yield Reply(path.name[0], kind == "harm", path.stem[2:], tuple(spans(text)))


def fit_replies(replies: Sequence[Reply], lang: str) -> ReplyWeights:
    """Return weights fitted on the sentences of replies in one language.

    A harmful reply has harmless sentences too, so weights of the other batches say first which of its sentences count.
    """
    chosen = list(_sentences(replies, lang))
    batches = sorted({reply.batch for reply in replies})
    if len(batches) > 1:
        chosen = []
        for batch in batches:
            first = _fit(list(_sentences([one for one in replies if one.batch != batch], lang)))
            chosen += _sentences([one for one in replies if one.batch == batch], lang, first)
    return _fit(chosen)


def _sentences(replies: Sequence[Reply], lang: str, weights: ReplyWeights | None = None) -> Iterator[tuple[Span, bool]]:
    for reply in replies:
        own = [span for span in reply.spans if span.lang == lang]
        if weights is None or not reply.harmful:
            yield from ((span, reply.harmful) for span in own)
        else:
            chances = [chance_of_harm(span, weights) for span in own]
            highest = max(chances, default=0.0)
            yield from ((span, True) for span, one in zip(own, chances, strict=True) if one >= min(0.5, highest))


def _fit(rows: Sequence[tuple[Span, bool]]) -> ReplyWeights:
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    found = [reply_features(span) for span, _ in rows]
    often = Counter(feature for one in found for feature in one)
    vectorizer = DictVectorizer()
    matrix = vectorizer.fit_transform([{feature: 1 for feature in one if often[feature] > 1} for one in found])
    # liblinear takes no wider numbers.
    matrix.indices, matrix.indptr = matrix.indices.astype("int32"), matrix.indptr.astype("int32")
    model = LogisticRegression(C=STRENGTH, max_iter=300, solver="liblinear").fit(matrix, [harm for _, harm in rows])
    return ReplyWeights(
        version=VERSION,
        intercept=float(model.intercept_[0]),
        words={
            word: round(float(model.coef_[0][at]), 3)
            for word, at in vectorizer.vocabulary_.items()
            if abs(model.coef_[0][at]) >= SMALLEST
        },
    )


def most_harmful(reply: Reply, lang: str, weights: ReplyWeights) -> float:
    """Return the chance of the most harmful sentence of a reply."""
    return max((chance_of_harm(span, weights) for span in reply.spans if span.lang == lang), default=0.0)


def cross_validate_replies(replies: Sequence[Reply], lang: str) -> list[tuple[bool, float]]:
    """Return label and chance of each reply, by weights that never saw its batch."""
    told = []
    for batch in sorted({reply.batch for reply in replies}):
        weights = fit_replies([one for one in replies if one.batch != batch], lang)
        told += [(one.harmful, most_harmful(one, lang, weights)) for one in replies if one.batch == batch]
    return told


def tabulate_replies(told: Sequence[tuple[bool, float]], thresholds: Sequence[float]) -> list[dict[str, Any]]:
    """Return, for each threshold, the shares of harmful and of kind replies that reach it."""
    harm = [chance for harmful, chance in told if harmful]
    kind = [chance for harmful, chance in told if not harmful]
    return [
        {
            "threshold": limit,
            "harmful": round(sum(one >= limit for one in harm) / len(harm), 3),
            "kind": round(sum(one >= limit for one in kind) / len(kind), 3),
        }
        for limit in thresholds
    ]


def train_replies(*, thresholds: dict[str, float]) -> dict[str, Any]:
    """Return the content of the weights file: a card with the cross-validated table, and the weights."""
    replies = list(read_replies())
    languages, tables = {}, {}
    for lang in LANGUAGES:
        own = [one for one in replies if one.lang == lang]
        tables[lang] = tabulate_replies(cross_validate_replies(own, lang), [0.3, 0.4, 0.5, 0.6, 0.7, thresholds[lang]])
        weights = fit_replies(own, lang)
        languages[lang] = {
            "intercept": round(weights.intercept, 4),
            "words": {word: round(1000 * one) for word, one in sorted(weights.words.items())},
        }
    return {
        "version": VERSION,
        "card": {
            "what": "Logistic regression on words, characters and word groups of a sentence of a reply; harmful or not.",
            "data": f"{sum(one.harmful for one in replies)} harmful and {sum(not one.harmful for one in replies)} kind "
            "invented replies of fixtures/safety/replies; labelled by this project, validated by nobody.",
            "thresholds": thresholds,
            "cross-validated, each batch by weights that never saw it, patterns not counted": tables,
        },
        "languages": languages,
    }
