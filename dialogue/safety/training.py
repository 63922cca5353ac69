"""Trains the classifier of the first line from the labelled sentences. The server never imports this module."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialogue.safety.classifier import Chances, Weights, chances_of, features
from dialogue.safety.normalisation import HAN, fold, sentences
from dialogue.safety.patterns import FOLDER, LANGUAGES

SENTENCES = FOLDER / "sentences"
KEPT_FOR_MEASURING = frozenset("wxyz")
JOINED = 3000  # pairs of sentences that are added, since people write more than one
SMALLEST = 0.06  # a weight nearer to nothing than this is left out
VERSION = "2.0"


@dataclass(frozen=True)
class Labelled:
    batch: str
    level: int
    text: str  # folded

    @property
    def lang(self) -> str:
        return "zh" if HAN.search(self.text) else "en"


def read_sentences(batches: str = "", folder: Path = SENTENCES) -> Iterator[Labelled]:
    """Yield the labelled sentences of some batches, or of all that may be trained on."""
    for path in sorted(folder.glob("*_*.txt")):
        batch = path.name[0]
        if batch in batches if batches else batch not in KEPT_FOR_MEASURING:
            for line in path.read_text(encoding="utf-8").splitlines():
                level, _, text = line.partition("|")
                if level.isdigit():
                    yield Labelled(batch, int(level), fold(text))


def fit(rows: Sequence[Labelled], lang: str, *, version: str = VERSION) -> Weights:
    """Return weights fitted on sentences of one language."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    rows = [*rows, *_pairs_of(rows)]
    found = [features(row.text, lang) for row in rows]
    often = Counter(feature for one in found for feature in one)
    vectorizer = DictVectorizer()
    matrix = vectorizer.fit_transform([{feature: 1 for feature in one if often[feature] > 1} for one in found])
    # liblinear takes no wider numbers.
    matrix.indices, matrix.indptr = matrix.indices.astype("int32"), matrix.indptr.astype("int32")
    models = [
        LogisticRegression(C=1.0, max_iter=300, solver="liblinear").fit(matrix, [row.level >= level for row in rows])
        for level in (2, 3)
    ]
    two, three = (model.coef_[0] for model in models)
    return Weights(
        version=version,
        intercepts=(float(models[0].intercept_[0]), float(models[1].intercept_[0])),
        words={
            word: (round(float(two[at]), 3), round(float(three[at]), 3))
            for word, at in vectorizer.vocabulary_.items()
            if max(abs(two[at]), abs(three[at])) >= SMALLEST
        },
    )


def _pairs_of(rows: Sequence[Labelled]) -> Iterator[Labelled]:
    chance = random.Random(0)
    calm = [row for row in rows if row.level <= 1]
    grave = [row for row in rows if row.level >= 2]
    for number in range(JOINED if calm else 0):
        one, other = chance.choice(calm), chance.choice(grave if grave and number % 4 == 0 else calm)
        first, second = chance.sample([one, other], 2)
        yield Labelled("", max(one.level, other.level), f"{first.text} . {second.text}")


def cross_validate(rows: Sequence[Labelled], lang: str) -> list[tuple[int, Chances]]:
    """Return level and chances of each sentence, by weights that never saw its batch."""
    judged = []
    for batch in sorted({row.batch for row in rows}):
        weights = fit([row for row in rows if row.batch != batch], lang)
        judged += [(row.level, most_alarming(row.text, lang, weights)) for row in rows if row.batch == batch]
    return judged


def most_alarming(text: str, lang: str, weights: Weights) -> Chances:
    chances = [chances_of(one, lang, weights) for one in sentences(text)] or [Chances(0.0, 0.0)]
    return Chances(max(one.two for one in chances), max(one.three for one in chances))


def tabulate(judged: Sequence[tuple[int, Chances]], *, two: float, three: float) -> list[dict[str, Any]]:
    """Return, for each level, the shares that reach level 2 and level 3."""
    table = []
    for level in range(5):
        chances = [one for known, one in judged if known == level]
        if chances:
            table.append(
                {
                    "level": level,
                    "sentences": len(chances),
                    "2 or more": round(sum(one.two >= two or one.three >= three for one in chances) / len(chances), 3),
                    "3 or more": round(sum(one.three >= three for one in chances) / len(chances), 3),
                }
            )
    return table


def train(*, two: float, three: float) -> dict[str, Any]:
    """Return the content of the weights file: a card with the cross-validated table, and the weights."""
    rows = list(read_sentences())
    languages, tables = {}, {}
    for lang in LANGUAGES:
        own = [row for row in rows if row.lang == lang]
        tables[lang] = tabulate(cross_validate(own, lang), two=two, three=three)
        weights = fit(own, lang)
        languages[lang] = {
            "intercepts": [round(one, 4) for one in weights.intercepts],
            "words": {word: [round(1000 * one) for one in both] for word, both in sorted(weights.words.items())},
        }
    return {
        "version": VERSION,
        "card": {
            "what": "Logistic regression on words, characters and word groups; for level 2 or more, and for 3.",
            "data": f"{len(rows)} invented sentences of fixtures/safety/sentences, batches "
            f"{', '.join(sorted({row.batch for row in rows}))}; labelled by this project, validated by nobody.",
            "kept for measuring": sorted(KEPT_FOR_MEASURING),
            "thresholds": {"2 or more": two, "3 or more": three},
            "cross-validated, each batch by weights that never saw it, patterns not counted": tables,
        },
        "languages": languages,
    }


def write(content: dict[str, Any], path: Path) -> None:
    """Write the weights, one feature a line, so that a change can be read."""
    path.write_text(json.dumps(content, ensure_ascii=False, indent=0, separators=(",", ":")) + "\n", encoding="utf-8")
