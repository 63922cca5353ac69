"""Comparisons of two correlations of the same rows.

Variables are numbered: `r12` is the correlation of the first and the second. Positive statistics and bounds mean that
the correlation named first is the larger. All but `difference_of_r` and `differences_of_r` take the rows as independent
and normal, and raise `Undefined` for fewer than four rows or a correlation of 1 or -1.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # noqa: TID253

from studies.analysis.bootstrap import Array, fisher_z
from studies.analysis.rows import Undefined

EXACT = 1e-12  # below lies what rounding leaves of 0
ROUNDED = 12  # decimals of a difference, likewise
Z_95 = float(stats.norm.ppf(0.975))

# Places of (n, x, y, xx, yy, xy) for each of the two among the sums that `difference_of_r` takes.
_FIRST, _SECOND = [0, 1, 2, 4, 5, 7], [0, 1, 3, 4, 6, 8]
_SUMS = 6  # of one correlation


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


def differences_of_r(sums: Array, first: NDArray[np.intp], second: NDArray[np.intp]) -> Array:
    """Return differences of correlations without a common variable: those at `first` less those at `second`.

    (…, 6 × correlations) → (…, differences). `sums` has (n, x, y, xx, yy, xy) of roughly centred values for each
    correlation in turn; nan where one is undefined.
    """
    r = np.tanh(fisher_z(sums.reshape(*sums.shape[:-1], -1, _SUMS)))
    return np.asarray(np.round(r[..., first] - r[..., second], ROUNDED))


def williams(r12: float, r13: float, r23: float, n: int) -> CorrelationTest:
    """Return Williams' t with n - 3 degrees of freedom for r12 = r13 (Williams 1959; equation 7 of Steiger 1980, doi
    10.1037/0033-2909.87.2.245)."""
    _check(n, r12, r13, r23)
    t = float(williams_t(np.array(r12), np.array(r13), np.array(r23), n))
    if math.isnan(t):
        raise Undefined("the difference has no variance")
    return CorrelationTest(t, float(2 * stats.t.sf(abs(t), n - 3)))


def williams_t(r12: Array, r13: Array, r23: Array, n: int) -> Array:
    """Return Williams' t of many differences; nan where the difference has no variance."""
    determinant = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    spread = 2 * (n - 1) / (n - 3) * determinant + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    spread = np.where(spread < EXACT, np.nan, spread)
    return np.asarray((r12 - r13) * np.sqrt((n - 1) * (1 + r23) / spread))


def steiger(r12: float, r13: float, r23: float, n: int) -> CorrelationTest:
    """Return Steiger's Z1* for r12 = r13, the covariance at their mean (Steiger 1980, equation 14)."""
    _check(n, r12, r13, r23)
    square = ((r12 + r13) / 2) ** 2
    covariance = r23 * (1 - 2 * square) - square * (1 - 2 * square - r23**2) / 2
    return _of_fisher_z(r12, r13, covariance / (1 - square) ** 2, n)


def steiger_apart(r: Array, n: int) -> CorrelationTest:
    """Return Steiger's Z2* for r12 = r34, two correlations without a common variable, the covariance at their mean
    (Steiger 1980, equation 15). `r`: the correlations of all four variables, 4 × 4."""
    r12, r34 = float(r[0, 1]), float(r[2, 3])
    _check(n, r12, r34)
    (r13, r14), (r23, r24) = r[:2, 2:].tolist()
    mean = (r12 + r34) / 2
    covariance = (
        (r13 - mean * r23) * (r24 - mean * r23)
        + (r14 - mean * r13) * (r23 - mean * r13)
        + (r13 - mean * r14) * (r24 - mean * r14)
        + (r14 - mean * r24) * (r23 - mean * r24)
    ) / 2
    return _of_fisher_z(r12, r34, covariance / (1 - mean**2) ** 2, n)


def meng(r12: float, r13: float, r23: float, n: int) -> tuple[CorrelationTest, tuple[float, float]]:
    """Return z for r12 = r13, and the 95 % interval of the difference of their Fisher z (Meng, Rosenthal & Rubin 1992,
    doi 10.1037/0033-2909.111.1.172)."""
    _check(n, r12, r13, r23)
    square = (r12**2 + r13**2) / 2
    f = min(1, (1 - r23) / (2 * (1 - square)))
    h = (1 - f * square) / (1 - square)
    error = _root(2 * (1 - r23) * h / (n - 3))
    difference = math.atanh(r12) - math.atanh(r13)
    return _normal(difference / error), (difference - Z_95 * error, difference + Z_95 * error)


def zou(r12: float, r13: float, r23: float, n: int) -> tuple[float, float]:
    """Return the 95 % interval of r12 - r13 (Zou 2007, doi 10.1037/1082-989X.12.4.399, page 409)."""
    _check(n, r12, r13, r23)
    covariance = (r23 - r12 * r13 / 2) * (1 - r12**2 - r13**2 - r23**2) + r23**3
    c = covariance / ((1 - r12**2) * (1 - r13**2))
    (low12, high12), (low13, high13) = _bounds(r12, n), _bounds(r13, n)
    below = (r12 - low12) ** 2 + (high13 - r13) ** 2 - 2 * c * (r12 - low12) * (high13 - r13)
    above = (high12 - r12) ** 2 + (r13 - low13) ** 2 - 2 * c * (high12 - r12) * (r13 - low13)
    return r12 - r13 - _root(below), r12 - r13 + _root(above)


def _check(n: int, *correlations: float) -> None:
    if n < 4:
        raise Undefined("fewer than four rows")
    if max(map(abs, correlations)) > 1 - EXACT:
        raise Undefined("a correlation is 1 or -1")


def _of_fisher_z(r: float, other: float, correlation: float, n: int) -> CorrelationTest:
    """Test two correlations whose Fisher z are correlated by `correlation`."""
    return _normal((math.atanh(r) - math.atanh(other)) * math.sqrt(n - 3) / _root(2 - 2 * correlation))


def _normal(z: float) -> CorrelationTest:
    return CorrelationTest(z, float(2 * stats.norm.sf(abs(z))))


def _bounds(r: float, n: int) -> tuple[float, float]:
    reach = Z_95 / math.sqrt(n - 3)
    return math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach)


def _root(variance: float) -> float:
    if variance < EXACT:
        raise Undefined("the difference has no variance")
    return math.sqrt(variance)
