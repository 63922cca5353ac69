"""Polychoric correlations, which assume normal variables behind ordered categories.

They are maximum likelihood estimates in two steps: the thresholds from each variable's own shares, then the correlation
(Olsson 1979, doi 10.1007/BF02296207).
"""

from functools import lru_cache
from itertools import combinations

import numpy as np
from scipy.optimize import minimize_scalar  # noqa: TID253
from scipy.special import ndtr, ndtri  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.rows import Undefined

MOST_CATEGORIES = 10
BOUND = 0.999  # of a correlation; beyond, nothing but the bound holds it
_LEAST = 1e-12  # of a chance whose logarithm is taken
_NODES = 64


def correlations(scores: Array) -> Array:
    """Return the polychoric correlations, items × items.

    `scores`: ratings × items, complete, in whole points. Raises `Undefined` if they are not ordered categories, or a
    pair of items has no correlation within BOUND.
    """
    if not np.array_equal(scores, np.rint(scores)):
        raise Undefined("scores_not_whole")
    places = [np.unique(item, return_inverse=True)[1] for item in scores.T]
    if max(place.max() for place in places) >= MOST_CATEGORIES:
        raise Undefined("too_many_categories", most=MOST_CATEGORIES)
    matrix: Array = np.eye(len(places))
    for one, other in combinations(range(len(places)), 2):
        matrix[one, other] = matrix[other, one] = correlation(_cross_table(places[one], places[other]))
    return matrix


def _cross_table(rows: np.ndarray, columns: np.ndarray) -> Array:
    table = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(table, (rows, columns), 1)
    return table


def correlation(table: Array) -> float:
    """Return the polychoric correlation of a cross table.

    `table`: counts of the categories of one variable × those of the other; each category occurs.
    """
    if min(table.shape) < 2:
        raise Undefined("item_alike")
    rows, columns = thresholds(table.sum(axis=1)), thresholds(table.sum(axis=0))
    seen = table > 0

    def deviance(r: float) -> float:
        chances = _chances(rows, columns, r)[seen]
        return -2 * float(table[seen] @ np.log(np.maximum(chances, _LEAST)))

    best = float(minimize_scalar(deviance, bounds=(-1, 1), method="bounded", options={"xatol": 1e-7}).x)
    if abs(best) > BOUND:
        raise Undefined("polychoric_at_bound")
    return best


def thresholds(counts: Array) -> Array:
    """Return the thresholds at which a standard normal variable gives these shares."""
    return np.asarray(ndtri(np.cumsum(counts)[:-1] / counts.sum()))


def _chances(rows: Array, columns: Array, r: float) -> Array:
    """Return the chance of each cell for a correlation of `r`."""
    below = np.zeros((len(rows) + 2, len(columns) + 2))
    below[1:-1, 1:-1] = both_below(rows[:, np.newaxis], columns, r)
    below[-1, 1:] = [*ndtr(columns), 1]
    below[1:, -1] = [*ndtr(rows), 1]
    return np.asarray(np.diff(np.diff(below, axis=0), axis=1))


def both_below(x: Array, y: Array, r: float) -> Array:
    """Return the chance that two standard normal variables with the correlation `r` lie below x and y.

    It is computed by quadrature over the correlations up to `r` (Genz 2004, doi 10.1023/B:STCO.0000035304.20635.31).
    """
    nodes, weights = _quadrature()
    angle = np.arcsin(r) / 2
    angles = angle * (nodes + 1)
    x, y = (np.asarray(side)[..., np.newaxis] for side in (x, y))
    density = np.exp(-(x * x + y * y - 2 * x * y * np.sin(angles)) / (2 * np.cos(angles) ** 2))
    return np.asarray((ndtr(x) * ndtr(y))[..., 0] + density @ weights * angle / (2 * np.pi))


@lru_cache(maxsize=1)
def _quadrature() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights
