"""Trains the classifier of replies from the labelled ones. The server never imports this module."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dialogue.safety.fitting import Outcome, calibrate, fit, move, read_features
from dialogue.safety.message_classifier import odds_of
from dialogue.safety.normalisation import HAN, fold, sentences
from dialogue.safety.patterns import FOLDER, LANGUAGES
from dialogue.safety.reply_classifier import ALONE
from dialogue.safety.weights import Floats, Weights

REPLIES = FOLDER / "replies"
KEPT_FOR_MEASURING = frozenset({*"cdeiktvz", "aa", "ab", "af"})
HARMFUL, KIND = "harm", "kind"
KIND_COUNTS = 1.5  # times a harmful one: to withhold a kind reply is the greater mistake
ORDINARY = frozenset("gr")  # what supporters say to ordinary trouble; real ones say little else
ORDINARY_COUNTS = 20.0
# The shares of kind replies that may be withheld in the cross-validation; most of them use the words of harmful ones.
KIND_WITHHELD = {"en": 0.035, "zh": 0.025}
PLACES = {"en": 1 << 22, "zh": 1 << 21}  # of the weights
FOLDS = 5
VERSION = "1.7"


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


def make_outcome(rows: Sequence[Reply]) -> Outcome:
    is_harmful = np.array([row.is_harmful for row in rows])
    is_ordinary = np.array([row.batch in ORDINARY for row in rows])
    return Outcome(is_harmful, np.where(is_harmful, 1.0, np.where(is_ordinary, ORDINARY_COUNTS, KIND_COUNTS)))


def cross_validate_replies(rows: Sequence[Reply], lang: str) -> Floats:
    """Return the log-odds of harm of each reply, by weights that never saw its batch; not a number for those of the
    batches that have kind ones alone, which all weights see."""
    texts = read_features([row.text for row in rows], lang, PLACES[lang])
    names = np.array([row.batch for row in rows])
    batches = sorted({row.batch for row in rows if row.is_harmful})
    odds = np.full(len(rows), np.nan)
    for first in range(FOLDS):
        unseen = np.isin(names, batches[first::FOLDS])
        seen = [row for row, is_unseen in zip(rows, unseen, strict=True) if not is_unseen]
        weights = fit(texts.take(~unseen), [make_outcome(seen)])
        for at in np.flatnonzero(unseen).tolist():
            odds[at] = weights.log_odds(sentences(rows[at].text), lang, alone=ALONE)[0]
    return odds


def train_replies(*, suspects: float) -> tuple[dict[str, Any], dict[str, Weights]]:
    """Return a card with the cross-validated shares, and the weights of each language."""
    rows = list(read_replies())
    languages, shares = {}, {}
    for lang in LANGUAGES:
        own = [row for row in rows if row.lang == lang]
        odds = cross_validate_replies(own, lang)
        judged = ~np.isnan(odds)
        is_harmful, odds = np.array([row.is_harmful for row in own])[judged], odds[judged]
        line = calibrate(odds, is_harmful, calm=~is_harmful, share=KIND_WITHHELD[lang], limit=suspects)
        hits = line.at(odds) >= odds_of(suspects)
        shares[lang] = {
            name: round(float(hits[sort].mean()), 3) for name, sort in (("harmful", is_harmful), ("kind", ~is_harmful))
        }
        languages[lang] = move(
            fit(read_features([row.text for row in own], lang, PLACES[lang]), [make_outcome(own)]), [line]
        )
    card = {
        "version": VERSION,
        "what": "Logistic regression on words, characters and word groups; for replies that must be withheld.",
        "data": f"{len(rows)} invented replies of fixtures/safety/replies, batches "
        f"{', '.join(sorted({row.batch for row in rows}))}; labelled by this project, validated by no one.",
        "kept for measuring": sorted(KEPT_FOR_MEASURING),
        "threshold": suspects,
        "shares of kind replies that may reach it in the cross-validation": KIND_WITHHELD,
        "cross-validated shares above it, each batch by weights that never saw it, patterns not counted": shares,
    }
    return card, languages
