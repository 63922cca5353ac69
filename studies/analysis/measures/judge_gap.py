"""Judge gaps (how far a judge's scores lie from people's); those with intervals as statistics of sums, so that they are
computed without each cluster at once.

Each of these takes the sums over rows of the function that its docstring names; nan where it is undefined.
"""

import numpy as np
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array, fisher_z

WITHIN = 1.959963984540054  # standard deviations within which 95 % of a normal distribution lie
ROUNDING = 1e-12


def bias_and_limits(human: Array, judge: Array) -> tuple[float, float, float]:
    """Return the mean of judge minus human, and Bland and Altman's limits of agreement, nan of a single row.

    They lie 1.96 standard deviations of single differences from it (1986, doi 10.1016/S0140-6736(86)90837-8).
    """
    differences = judge - human
    bias, half = float(differences.mean()), WITHIN * float(differences.std(ddof=1)) if len(differences) > 1 else np.nan
    return bias, bias - half, bias + half


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


def _z(coefficient: Array) -> Array:
    return np.asarray(np.arctanh(np.clip(coefficient, -1 + ROUNDING, 1 - ROUNDING)))
