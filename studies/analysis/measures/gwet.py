"""Gwet's AC2 with quadratic weights and its resampling; it consists of means over units.

Gwet 2008, doi 10.1348/000711006X126600 (AC1); Gwet 2014, Handbook of Inter-Rater Reliability, 4th ed., part II (AC2).
Chance agreement does not follow the raters' margins as kappa's does, so that ratings at one end of a scale do not make
a high agreement look like none.
"""

import numpy as np
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array, Bootstrap, Resampled, sum_by_cluster
from studies.analysis.rows import Undefined

_EXACT = 1e-9


def quadratic(levels: Array) -> Array:
    """Return weights of agreement, levels × levels: 1 on the diagonal, 0 between the ends."""
    return np.asarray(1 - ((levels[:, np.newaxis] - levels) / np.ptp(levels)) ** 2)


def counts(scores: Array, units: NDArray[np.intp], levels: Array) -> Array:
    """Count the raters who gave each level, units × levels; `levels`: all levels of the scale, rising."""
    if len(levels) < 2:
        raise Undefined("scale_with_one_level")
    places = np.searchsorted(levels, scores - _EXACT).clip(max=len(levels) - 1)
    if np.abs(levels[places] - scores).max() > _EXACT:
        raise Undefined("scores_between_levels")
    table = np.zeros((units.max() + 1, len(levels)))
    np.add.at(table, (units, places), 1)
    return table


def agreement(counted: Array, weights: Array) -> float:
    """Return AC2, or AC1 for the weights of identity. Units with one rating inform chance agreement alone."""
    if (counted.sum(axis=1) > 1).sum() < 2:
        raise Undefined("under_two_conversations")
    return float(agreement_from_sums(_means(counted, weights).sum(axis=0), weights))


def resample(counted: Array, weights: Array, clusters: NDArray[np.intp], bootstrap: Bootstrap) -> Resampled:
    """Resample the coefficient; `clusters`: the cluster of each unit, numbered from 0 without gaps."""
    resampled = bootstrap.resample(
        lambda sums: agreement_from_sums(sums, weights), sum_by_cluster(_means(counted, weights), clusters)
    )
    if np.ptp(resampled.replicates) < _EXACT:
        raise Undefined("resamples_agree_alike")
    return resampled


def agreement_from_sums(sums: Array, weights: Array) -> Array:
    """Return the coefficient from (…, sums).

    The sums are: units with several ratings, their weighted agreement, all units, the shares of each level.
    """
    several, agreed, units = sums[..., 0], sums[..., 1], sums[..., 2]
    levels = len(weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = sums[..., 3:] / units[..., np.newaxis]
        chance = weights.sum() / (levels * (levels - 1)) * (shares * (1 - shares)).sum(axis=-1)
        return np.asarray((agreed / several - chance) / (1 - chance))


def _means(counted: Array, weights: Array) -> Array:
    """Return the rows that `agreement_from_sums` sums, one per unit."""
    sizes = counted.sum(axis=1)
    several = sizes > 1
    pairs = (counted * (counted @ weights - 1)).sum(axis=1)
    agreed = np.divide(pairs, sizes * (sizes - 1), out=np.zeros_like(pairs), where=several)
    return np.column_stack([several, agreed, np.ones_like(sizes), counted / sizes[:, np.newaxis]])
