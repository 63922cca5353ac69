"""Comparisons of two correlations of the same rows.

Variables are numbered: `r12` is the correlation of the first and the second. Positive statistics and bounds mean that
the correlation named first is the larger. `williams` takes the rows as independent and normal, and raises `Undefined`
for fewer than four rows or a correlation of 1 or -1.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats  # noqa: TID253

from studies.analysis.bootstrap import Array, fisher_z
from studies.analysis.rows import Undefined

EXACT = 1e-12  # below lies what rounding leaves of 0
ROUNDED = 12  # decimals of a difference, likewise

# Places of (n, x, y, xx, yy, xy) for each of the two among the sums that `difference_of_r` takes.
_FIRST, _SECOND = [0, 1, 2, 4, 5, 7], [0, 1, 3, 4, 6, 8]


@dataclass(frozen=True)
class CorrelationTest:
    statistic: float
    p: float  # two-sided


def difference_of_r(sums: Array) -> Array:
    """Return r12 - r13, from the sums (n, 1, 2, 3, 11, 22, 33, 12, 13) of roughly centred values; nan where one is
    undefined.

    Where the second and the third are the same but for unit and origin, it is exactly 0.
    """
    first, second = (np.tanh(fisher_z(sums[..., places])) for places in (_FIRST, _SECOND))
    return np.asarray(np.round(first - second, ROUNDED))


def williams(r12: float, r13: float, r23: float, n: int) -> CorrelationTest:
    """Return Williams' t with n - 3 degrees of freedom for r12 = r13 (Williams 1959; equation 7 of Steiger 1980, doi
    10.1037/0033-2909.87.2.245)."""
    _check(n, r12, r13, r23)
    t = float(williams_t(np.array(r12), np.array(r13), np.array(r23), n))
    if math.isnan(t):
        raise Undefined("difference_without_variance")
    return CorrelationTest(t, float(2 * stats.t.sf(abs(t), n - 3)))


def williams_t(r12: Array, r13: Array, r23: Array, n: int) -> Array:
    """Return Williams' t of many differences; nan where the difference has no variance."""
    determinant = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    spread = 2 * (n - 1) / (n - 3) * determinant + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    spread = np.where(spread < EXACT, np.nan, spread)
    return np.asarray((r12 - r13) * np.sqrt((n - 1) * (1 + r23) / spread))


def _check(n: int, *correlations: float) -> None:
    if n < 4:
        raise Undefined("under_four_rows")
    if max(map(abs, correlations)) > 1 - EXACT:
        raise Undefined("correlation_is_one")
