"""Trains the classifier of replies from the labelled ones. The server never imports this module."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialogue.safety.classifier import with_whole
from dialogue.safety.normalisation import HAN, fold, sentences
from dialogue.safety.patterns import FOLDER, LANGUAGES
from dialogue.safety.reply_classifier import ReplyWeights, chance_of_harm
from dialogue.safety.training import SMALLEST, make_matrix

REPLIES = FOLDER / "replies"
KEPT_FOR_MEASURING = frozenset("cdei")
HARMFUL, KIND = "harm", "kind"
KIND_COUNTS = 1.5  # times a harmful one: to withhold a kind reply is the greater mistake
VERSION = "1.0"


@dataclass(frozen=True)
class Reply:
    batch: str
    is_harmful: bool
    text: str  # folded

    @property
    def lang(self) -> str:
        return "zh" if HAN.search(self.text) else "en"


def read_replies(batches: Collection[str] = (), folder: Path = REPLIES) -> Iterator[Reply]:
    """Yield the labelled replies of some batches, or of all that may be trained on."""
    for path in sorted(folder.glob("*_*.txt")):
        batch = path.stem.rpartition("_")[0]
        if batch in batches if batches else batch not in KEPT_FOR_MEASURING:
            for line in path.read_text(encoding="utf-8").splitlines():
                sort, _, text = line.partition("|")
                if sort in (HARMFUL, KIND):
                    yield Reply(batch, sort == HARMFUL, fold(text))


def fit_replies(rows: Sequence[Reply], lang: str) -> ReplyWeights:
    """Return weights fitted on replies of one language."""
    from sklearn.linear_model import LogisticRegression

    vocabulary, matrix = make_matrix([row.text for row in rows], lang)
    model = LogisticRegression(C=1.0, max_iter=300, solver="liblinear").fit(
        matrix,
        [row.is_harmful for row in rows],
        sample_weight=[1.0 if row.is_harmful else KIND_COUNTS for row in rows],
    )
    (weights,) = model.coef_
    return ReplyWeights(
        float(model.intercept_[0]),
        {word: round(float(weights[at]), 3) for word, at in vocabulary.items() if abs(weights[at]) >= SMALLEST},
    )


def cross_validate_replies(rows: Sequence[Reply], lang: str) -> list[tuple[bool, float]]:
    """Return of each reply whether it is harmful, and its chance by weights that never saw its batch."""
    batches = sorted({row.batch for row in rows})
    judged = []
    for batch in batches:
        weights = fit_replies([row for row in rows if row.batch != batch], lang)
        unseen = [row for row in rows if row.batch == batch]
        judged += [(row.is_harmful, chance_of_harm(with_whole(sentences(row.text)), lang, weights)) for row in unseen]
    return judged


def train_replies(*, suspects: float) -> dict[str, Any]:
    """Return the content of the weights file: a card with the cross-validated shares, and the weights."""
    rows = list(read_replies())
    languages, shares = {}, {}
    for lang in LANGUAGES:
        own = [row for row in rows if row.lang == lang]
        judged = cross_validate_replies(own, lang)
        shares[lang] = {
            name: round(sum(chance >= suspects for sort, chance in judged if sort is is_harmful) / count, 3)
            for name, is_harmful in (("harmful", True), ("kind", False))
            if (count := sum(sort is is_harmful for sort, _ in judged))
        }
        weights = fit_replies(own, lang)
        languages[lang] = {
            "intercept": round(weights.intercept, 4),
            "words": {word: round(1000 * one) for word, one in sorted(weights.words.items())},
        }
    return {
        "version": VERSION,
        "card": {
            "what": "Logistic regression on words, characters and word groups; for replies that must be withheld.",
            "data": f"{len(rows)} invented replies of fixtures/safety/replies, batches "
            f"{', '.join(sorted({row.batch for row in rows}))}; labelled by this project, validated by nobody.",
            "kept for measuring": sorted(KEPT_FOR_MEASURING),
            "threshold": suspects,
            "cross-validated shares above it, each batch by weights that never saw it, patterns not counted": shares,
        },
        "languages": languages,
    }
