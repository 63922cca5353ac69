"""Cohen's kappa of two raters, with weights of disagreement, and its standard error.

Cohen 1960, doi 10.1177/001316446002000104; Cohen 1968, doi 10.1037/h0026256; the error by Fleiss, Cohen and Everitt
1969, doi 10.1037/h0028106.
"""

import numpy as np
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array
from studies.analysis.measures.coincidence import MOST_LEVELS, error_of_mean
from studies.analysis.rows import Undefined


def nominal(levels: Array) -> Array:
    """Return weights of disagreement, levels × levels: any disagreement weighs the same."""
    return 1 - np.eye(len(levels))


def linear(levels: Array) -> Array:
    """Return weights of disagreement by the distance of scores (Cicchetti & Allison 1971)."""
    return np.asarray(np.abs(levels[:, np.newaxis] - levels))


def quadratic(levels: Array) -> Array:
    """Return weights of disagreement by the squared distance of scores, so that an unused level changes nothing."""
    return np.asarray((levels[:, np.newaxis] - levels) ** 2)


def places(scores: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the place of each score among the levels that were given, and these; `scores`: targets × two raters."""
    levels = np.unique(scores)
    if len(levels) > MOST_LEVELS:
        raise Undefined("too_many_scores", most=MOST_LEVELS)
    return np.searchsorted(levels, scores), levels


def kappa(scores: NDArray[np.intp], weights: Array, clusters: NDArray[np.intp]) -> tuple[float, float]:
    """Return Cohen's kappa and its standard error, the clusters of targets being independent of each other.

    `scores`: targets × two raters, places of levels; `clusters`: of each target, numbered from 0 without gaps.
    """
    first, second = (np.bincount(rater, minlength=len(weights)) / len(scores) for rater in scores.T)
    of_targets = weights[scores[:, 0], scores[:, 1]]
    observed, expected = float(of_targets.mean()), float(first @ weights @ second)
    if not expected > 0:
        raise Undefined("scores_alike")
    moved = (weights @ second)[scores[:, 0]] + (first @ weights)[scores[:, 1]] - 2 * expected
    influence = (observed / expected * moved - (of_targets - observed)) / expected
    return 1 - observed / expected, error_of_mean(influence, clusters)
