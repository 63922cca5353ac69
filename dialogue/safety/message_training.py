"""Trains the classifier of messages from the labelled sentences. The server never imports this module."""

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialogue.safety.fitting import Flags, Outcome, calibrate, fit, move, read_features
from dialogue.safety.message_classifier import odds_of
from dialogue.safety.normalisation import HAN, fold, sentences
from dialogue.safety.patterns import FOLDER, LANGUAGES
from dialogue.safety.weights import Floats, Weights

SENTENCES = FOLDER / "sentences"
KEPT_FOR_MEASURING = frozenset(
    {*"vwxyz", "ab", "ac", "ah", "aj", "ak", "al", "at", "au", "aw", "ax", "ay", "ii", "nn", "oo"}
)
JOINED = 3000  # pairs of sentences that are added, since people write more than one
LIMITS = (2, 3)
# Of level 1, where level 2 is learned: to take distress for a sign of danger is the smaller mistake.
DISTRESS_COUNTS = 0.5
# Ordinary trouble, as it is told to a supporter. It counts more: real conversations have little else.
ORDINARY = frozenset({"ad", "ae", "af", "ag", "ff", "gg", "hh", "rr", "yy", "zz"})
ORDINARY_COUNTS = 100.0
FOLDS = 5
# The shares of ordinary sentences of level 0 that may reach level 2 and level 3 in the cross-validation.
HARMLESS = {"en": (0.16, 0.0125), "zh": (0.11, 0.012)}
PLACES = 1 << 22  # of the weights of one language
VERSION = "2.10"


@dataclass(frozen=True)
class LabelledSentence:
    batch: str
    level: int
    text: str  # folded

    @property
    def lang(self) -> str:
        return "zh" if HAN.search(self.text) else "en"


def read_sentences(batches: Collection[str] = (), folder: Path = SENTENCES) -> Iterator[LabelledSentence]:
    """Yield the labelled sentences of some batches, or of all that may be trained on."""
    for path in sorted(folder.glob("*_*.txt")):
        batch = path.stem.rpartition("_")[0]
        if batch in batches if batches else batch not in KEPT_FOR_MEASURING:
            for line in path.read_text(encoding="utf-8").splitlines():
                level, _, text = line.partition("|")
                if level.isdigit():
                    yield LabelledSentence(batch, int(level), fold(text))


def make_outcomes(rows: Sequence[LabelledSentence]) -> list[Outcome]:
    """Return the outcomes level 2 or more, and level 3 or more."""
    levels = np.array([row.level for row in rows])
    ordinary = np.array([row.batch in ORDINARY and row.level <= 1 for row in rows])
    return [
        Outcome(
            is_true=levels >= limit,
            counts=np.where((levels == 1) & (limit == 2), DISTRESS_COUNTS, 1.0)
            * np.where(ordinary, ORDINARY_COUNTS, 1.0),
        )
        for limit in LIMITS
    ]


def join_pairs(rows: Sequence[LabelledSentence]) -> Iterator[LabelledSentence]:
    """Yield pairs of sentences as one, with the higher level; three in four are calm."""
    chance = random.Random(0)
    calm = [row for row in rows if row.level <= 1]
    grave = [row for row in rows if row.level >= 2]
    for number in range(JOINED if calm else 0):
        one, other = chance.choice(calm), chance.choice(grave if grave and number % 4 == 0 else calm)
        first, second = chance.sample([one, other], 2)
        yield LabelledSentence("", max(one.level, other.level), f"{first.text} . {second.text}")


def cross_validate(rows: Sequence[LabelledSentence], lang: str) -> Floats:
    """Return the log-odds (rows × limits) of each sentence, by weights that never saw its batch."""
    texts = read_features([row.text for row in rows], lang, PLACES)
    names = np.array([row.batch for row in rows])
    odds = np.zeros((len(rows), len(LIMITS)))
    for first in range(FOLDS):
        unseen = np.isin(names, sorted(set(names))[first::FOLDS])
        seen = [row for row, is_unseen in zip(rows, unseen, strict=True) if not is_unseen]
        weights = fit(texts.take(~unseen), make_outcomes(seen))
        for at in np.flatnonzero(unseen).tolist():
            odds[at] = weights.log_odds(sentences(rows[at].text), lang)
    return odds


def tabulate(levels: NDArray[np.int_], reached: Flags) -> list[dict[str, Any]]:
    """Return, for each level, the shares that reach level 2 and level 3; `reached` is rows × limits."""
    table = []
    for level in range(5):
        own = reached[levels == level]
        if len(own):
            noticed, held = own.any(axis=1).mean(), own[:, 1].mean()
            table.append(
                {
                    "level": level,
                    "sentences": len(own),
                    "2 or more": round(float(noticed), 3),
                    "3 or more": round(float(held), 3),
                }
            )
    return table


def train(*, two: float, three: float) -> tuple[dict[str, Any], dict[str, Weights]]:
    """Return a card with the cross-validated table, and the weights of each language."""
    rows = list(read_sentences())
    limits = (two, three)
    languages, tables = {}, {}
    for lang in LANGUAGES:
        own = [row for row in rows if row.lang == lang]
        levels = np.array([row.level for row in own])
        calm = np.array([row.batch in ORDINARY and row.level == 0 for row in own])
        odds = cross_validate(own, lang)
        lines = [
            calibrate(odds[:, at], levels >= LIMITS[at], calm=calm, share=HARMLESS[lang][at], limit=limits[at])
            for at in range(len(LIMITS))
        ]
        reached = [line.at(odds[:, at]) >= odds_of(limits[at]) for at, line in enumerate(lines)]
        tables[lang] = tabulate(levels, np.column_stack(reached))
        joined = [*own, *join_pairs(own)]
        languages[lang] = move(
            fit(read_features([row.text for row in joined], lang, PLACES), make_outcomes(joined)), lines
        )
    card = {
        "version": VERSION,
        "what": "Logistic regression on words, characters and word groups; for level 2 or more, and for 3.",
        "data": f"{len(rows)} invented sentences of fixtures/safety/sentences, batches "
        f"{', '.join(sorted({row.batch for row in rows}))}; labelled by this project, validated by no one.",
        "kept for measuring": sorted(KEPT_FOR_MEASURING),
        "thresholds": {"2 or more": two, "3 or more": three},
        "shares of ordinary sentences of level 0 that reach them in the cross-validation": HARMLESS,
        "cross-validated, each batch by weights that never saw it, patterns not counted": tables,
    }
    return card, languages
