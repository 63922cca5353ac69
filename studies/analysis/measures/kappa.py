"""Cohen's kappa of two raters, Conger's of several, and their resampling, for which tables of clusters add up.

Cohen 1960, doi 10.1177/001316446002000104; Cohen 1968, doi 10.1037/h0026256. Weights are of disagreements. Conger 1980,
doi 10.1037/0033-2909.88.2.322.
"""

import numpy as np
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array, Bootstrap, Resampled, sum_by_cluster
from studies.analysis.measures.coincidence import MOST_LEVELS
from studies.analysis.rows import Undefined

_EXACT = 1e-9


def nominal(levels: Array) -> Array:
    """Return weights of disagreement, levels × levels: any disagreement weighs the same."""
    return 1 - np.eye(len(levels))


def quadratic(levels: Array) -> Array:
    """Return weights of disagreement by the squared distance of scores, so that an unused level changes nothing."""
    return np.asarray((levels[:, np.newaxis] - levels) ** 2)


def kappa(table: Array, weights: Array) -> float:
    """Return Cohen's kappa.

    `table`: how often, or in which share, the first rater gave the row's level and the second the column's; flat.
    """
    found = float(_kappas(table, weights))
    if np.isnan(found):
        raise Undefined("scores_alike")
    return found


def tables(scores: Array, levels: Array, clusters: NDArray[np.intp]) -> Array:
    """Return the table of two raters' scores in each cluster, flat.

    `scores`: targets × two raters; `clusters`: the cluster of each target, numbered from 0 without gaps.
    """
    if len(levels) > MOST_LEVELS:
        raise Undefined("too_many_scores", most=MOST_LEVELS)
    first, second = np.searchsorted(levels, scores).T
    counted = np.zeros((clusters.max() + 1, len(levels) ** 2))
    np.add.at(counted, (clusters, first * len(levels) + second), 1)
    return counted


def resample(of_clusters: Array, weights: Array, bootstrap: Bootstrap) -> Resampled:
    """Resample Cohen's kappa from the result of `tables`."""
    return require_variation(bootstrap.resample(lambda sums: _kappas(sums, weights), of_clusters))


def require_variation(found: Resampled) -> Resampled:
    """Raise `Undefined` if all resamples are the same, because no interval follows from them."""
    if np.ptp(found.replicates) < _EXACT:
        raise Undefined("resamples_agree_alike")
    return found


def _kappas(sums: Array, weights: Array) -> Array:
    """Return kappa of flattened tables (…, levels²); nan where chance leaves no disagreement."""
    square = sums.reshape(*sums.shape[:-1], *weights.shape)
    expected = np.einsum("...i,...j,ij->...", square.sum(axis=-1), square.sum(axis=-2), weights)
    total = square.sum(axis=(-1, -2))
    observed = (square * weights).sum(axis=(-1, -2)) * total
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > 0, 1 - observed / expected, np.nan)


def conger(scores: Array) -> float:
    """Return Conger's nominal kappa; `scores`: targets × raters, the same raters throughout."""
    if np.isnan(scores).any():
        raise Undefined("incomplete")
    if len(scores) < 2:
        raise Undefined("under_two_conversations")
    found = float(_congers(_agreements(scores).sum(axis=0), scores.shape[1]))
    if np.isnan(found):
        raise Undefined("scores_alike")
    return found


def resample_conger(scores: Array, clusters: NDArray[np.intp], bootstrap: Bootstrap) -> Resampled:
    """Resample Conger's kappa; `clusters`: the cluster of each target, numbered from 0 without gaps."""
    if len(np.unique(scores)) > MOST_LEVELS:
        raise Undefined("too_many_scores", most=MOST_LEVELS)
    sums = sum_by_cluster(_agreements(scores), clusters)
    return require_variation(bootstrap.resample(lambda rows: _congers(rows, scores.shape[1]), sums))


def _agreements(scores: Array) -> Array:
    """Return the rows that `_congers` sums, one per target.

    Columns: 1, the share of the pairs of raters that agree, and for each rater 1 at their level.
    """
    targets, raters = scores.shape
    given = (scores[:, :, np.newaxis] == np.unique(scores)).astype(float)
    agreed = (given.sum(axis=1) ** 2).sum(axis=1) - raters
    return np.column_stack([np.ones(targets), agreed / (raters * (raters - 1)), given.reshape(targets, -1)])


def _congers(sums: Array, raters: int) -> Array:
    """Return Conger's kappa of sums; nan where chance leaves no disagreement."""
    targets = sums[..., 0]
    shares = (sums[..., 2:] / targets[..., np.newaxis]).reshape(*targets.shape, raters, -1)
    alike = (shares.sum(axis=-2) ** 2).sum(axis=-1) - (shares**2).sum(axis=(-1, -2))
    chance = alike / (raters * (raters - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(chance < 1 - _EXACT, (sums[..., 1] / targets - chance) / (1 - chance), np.nan)
