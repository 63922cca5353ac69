"""Fits the weights of the classifiers to labelled texts. The server never imports this module."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialogue.safety.message_classifier import odds_of
from dialogue.safety.weights import Floats, Weights, discount_length, find_checksums, make_weights

Flags = NDArray[np.bool_]
# A feature is scaled before the fit by its rarity to this power: log(texts / texts with it). What common words say of a
# text is then found in their rarer company where that says it as well.
RARITY = 2.5
C = 4.0  # how freely weights may grow (the inverse of the penalty)


@dataclass(frozen=True)
class Texts:
    """The features of texts of one language: `matrix` (texts × places of weights) holds the part of a text's sum that
    counts where the text has a feature of that place."""

    matrix: Any  # scipy.sparse.csr_matrix

    def take(self, rows: Flags) -> "Texts":
        return Texts(self.matrix[rows])


@dataclass(frozen=True)
class Outcome:
    """One thing that a classifier predicts: of which texts it is true, and how much each text counts in the fit."""

    is_true: Flags
    counts: Floats


def read_features(texts: Sequence[str], lang: str, places: int) -> Texts:
    """Return the features of folded texts, for a table of so many places."""
    from scipy.sparse import csr_matrix

    per_text = [find_checksums(text, lang) for text in texts]
    columns = np.concatenate(per_text) & (places - 1)
    sizes = [len(one) for one in per_text]
    parts = np.repeat([discount_length(text, lang) for text in texts], sizes)
    # The fit takes no wider numbers.
    starts = np.cumsum([0, *sizes]).astype(np.int32)
    matrix = csr_matrix((parts, columns.astype(np.int32), starts), (len(texts), places))
    matrix.sum_duplicates()
    return Texts(matrix)


def fit(texts: Texts, outcomes: Sequence[Outcome]) -> Weights:
    """Return weights fitted by logistic regression, one fit for each outcome."""
    from scipy.sparse import diags_array
    from sklearn.linear_model import LogisticRegression

    frequency = texts.matrix.getnnz(axis=0)
    used = np.flatnonzero(frequency)
    rarity = np.log(texts.matrix.shape[0] / frequency[used]) ** RARITY
    scale = rarity / rarity.mean()
    scaled = (texts.matrix[:, used] @ diags_array(scale)).tocsr()
    models = [
        LogisticRegression(C=C, max_iter=300, solver="liblinear").fit(scaled, one.is_true, sample_weight=one.counts)
        for one in outcomes
    ]
    weights = np.zeros((len(models), texts.matrix.shape[1]))
    weights[:, used] = np.array([model.coef_[0] for model in models]) * scale
    return make_weights(np.array([model.intercept_[0] for model in models]), weights)


@dataclass(frozen=True)
class Line:
    """A straight line from one log-odds to another."""

    slope: float
    shift: float

    def at(self, odds: Floats) -> Floats:
        return odds * self.slope + self.shift


def calibrate(odds: Floats, is_true: Flags, *, calm: Flags, share: float, limit: float) -> Line:
    """Return the line that makes log-odds of texts that a fit has not seen into honest chances, moved until this share
    of the calm ones reaches the chance `limit` (Platt 1999, in: Advances in Large Margin Classifiers)."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=np.inf).fit(odds[:, None], is_true)
    honest = Line(float(model.coef_[0, 0]), float(model.intercept_[0]))
    highest = np.sort(honest.at(odds[calm]))[-1 - int(share * calm.sum())]
    return Line(honest.slope, honest.shift + odds_of(limit) - float(highest))


def move(weights: Weights, lines: Sequence[Line]) -> Weights:
    """Return weights whose log-odds lie on these lines, one for each outcome."""
    return weights.rescale(np.array([line.slope for line in lines]), np.array([line.shift for line in lines]))
