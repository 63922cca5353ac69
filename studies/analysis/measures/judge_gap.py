"""Judge gaps (how far a judge's scores lie from people's) as statistics of sums, so that all resamples are computed at
once.

Each statistic takes the sums over rows of the function that its docstring names; nan where it is undefined.
"""

import numpy as np
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array, fisher_z

WITHIN = 1.959963984540054  # standard deviations within which 95 % of a normal distribution lie
ROUNDING = 1e-12


def deviations(human: Array, judge: Array) -> Array:
    """Return rows × (1, d, |d|, dd), d being judge minus human."""
    d = judge - human
    return np.column_stack([np.ones_like(d), d, np.abs(d), d * d])


def bias(sums: Array) -> Array:
    """Return the mean deviation, from `deviations`."""
    return np.asarray(sums[..., 1] / sums[..., 0])


def mean_absolute_error(sums: Array) -> Array:
    """Return the mean absolute deviation, from `deviations`."""
    return np.asarray(sums[..., 2] / sums[..., 0])


def lower_limit(sums: Array) -> Array:
    """Return Bland and Altman's lower limit of agreement, from `deviations`.

    It is the bias less 1.96 standard deviations of single differences (1986, doi 10.1016/S0140-6736(86)90837-8).
    """
    return bias(sums) - WITHIN * _standard_deviation(sums)


def upper_limit(sums: Array) -> Array:
    """Return Bland and Altman's upper limit of agreement, from `deviations`."""
    return bias(sums) + WITHIN * _standard_deviation(sums)


def _standard_deviation(sums: Array) -> Array:
    n, total, _absolute, squares = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (squares - total * total / n) / (n - 1)
    return np.asarray(np.sqrt(np.where(n > 1, np.maximum(variance, 0), np.nan)))


def common_moments(human: Array, judge: Array) -> Array:
    """Return rows × (1, x, y, xx, yy, xy), both counted from the people's mean."""
    x, y = human - human.mean(), judge - human.mean()
    return np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y])


def concordance_z(sums: Array) -> Array:
    """Return Fisher's z of Lin's coefficient (moments over n), from `common_moments`."""
    n = sums[..., 0]
    x, y, xx, yy, xy = np.moveaxis(sums[..., 1:] / n[..., np.newaxis], -1, 0)
    spread = xx - x * x + yy - y * y + (x - y) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        concordance = np.where(spread > ROUNDING, 2 * (xy - x * y) / spread, np.nan)
    return _z(concordance)


def arm_sums(human: Array, judge: Array, arms: NDArray[np.str_]) -> Array:
    """Return rows × (1, x, y) of each arm that has a name."""
    names, numbers = np.unique(arms, return_inverse=True)
    there = np.eye(len(names))[numbers][:, names != ""]
    values = np.column_stack([np.ones_like(human), human - human.mean(), judge - judge.mean()])
    return np.asarray((there[:, :, np.newaxis] * values[:, np.newaxis, :]).reshape(len(human), -1))


def arm_means_z(sums: Array) -> Array:
    """Return Fisher's z of Pearson's r over the means of the arms, from `arm_sums`; nan where an arm has no row."""
    by_arm = sums.reshape(*sums.shape[:-1], -1, 3)
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = (by_arm[..., place] / by_arm[..., 0] for place in (1, 2))
    moments = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=-1).sum(axis=-2)
    return fisher_z(moments)


def unit_sums(scores: Array, units: NDArray[np.intp], count: int) -> Array:
    """Return units × (1, k, s, ss / k, squares): number, sum, squared sum and sum of squares of each unit's scores.

    `units`: which of `count` each score is of; each has one or more.
    """
    centred = scores - scores.mean()
    k, s, squares = (np.bincount(units, weights, count) for weights in (None, centred, centred**2))
    return np.column_stack([np.ones(count), k, s, s * s / k, squares])


def reliability(sums: Array) -> Array:
    """Return ICC(1,k) of the units' means, one-way, from `unit_sums`; nan where it is not above 0."""
    units, scores, total, of_means, squares = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (of_means - total * total / scores) / (units - 1)
        found = 1 - (squares - of_means) / (scores - units) / between
    return np.asarray(np.where((between > ROUNDING) & (found > 0), found, np.nan))


def _z(coefficient: Array) -> Array:
    return np.asarray(np.arctanh(np.clip(coefficient, -1 + ROUNDING, 1 - ROUNDING)))
