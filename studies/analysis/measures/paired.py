"""Statistics of paired differences: Wilcoxon's signed-rank test and standardised effects."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # noqa: TID253
from scipy.optimize import brentq  # noqa: TID253
from scipy.special import ndtr  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.rows import Undefined

EXACT = 50  # pairs, all choices of whose signs are counted
ROUNDED = 9  # decimals: below lies what computing a mean leaves, which is no difference

NODES, SHARES = np.polynomial.legendre.leggauss(200)  # of a quadrature from -1 to 1


@dataclass(frozen=True)
class Wilcoxon:
    p: float
    smallest: float  # that so many pairs allow
    method: str


def wilcoxon(differences: Array) -> Wilcoxon:
    """Test paired differences, two-sided; differences of 0 are dropped (Wilcoxon 1945). Raises `Undefined` if no other
    is left."""
    differing = _differing(differences)
    sizes = np.abs(differing)
    tied = len(np.unique(sizes)) < len(sizes)
    smallest = 2.0 ** (1 - len(sizes))
    if len(sizes) <= EXACT:
        return Wilcoxon(_exact(differing), smallest, "exact, all signs tried" if tied else "exact")
    p = stats.wilcoxon(differing, zero_method="wilcox", correction=False, method="asymptotic").pvalue
    return Wilcoxon(float(p), smallest, "asymptotic")


def _exact(differing: Array) -> float:
    """Return the two-sided p over all choices of signs.

    It uses the distribution of the sum of positive ranks: each rank, doubled so that midranks are whole, is added or
    not. scipy tries the choices one by one, which takes 0.1 s for thirteen pairs with ties.
    """
    ranks = np.rint(2 * stats.rankdata(np.abs(differing))).astype(int)
    chances = rank_sum_chances(ranks)
    smaller = min(int(ranks[differing > 0].sum()), int(ranks[differing < 0].sum()))
    return min(1.0, 2 * float(chances[: smaller + 1].sum()))


def rank_sum_chances(ranks: NDArray[np.intp]) -> Array:
    """Return the chance of each sum from 0 on, if each rank is included with chance 1/2."""
    chances = np.ones(1)
    for rank in ranks:
        apart = np.zeros(rank)
        chances = (np.append(chances, apart) + np.append(apart, chances)) / 2
    return chances


def rank_biserial(differences: Array) -> float:
    """Return the matched-pairs rank-biserial correlation, -1 to 1.

    It is (T+ - T-) / (T+ + T-), differences of 0 dropped (Kerby 2014, doi 10.2466/11.IT.3.1).
    """
    differing = _differing(differences)
    ranks = stats.rankdata(np.abs(differing))
    return float((ranks * np.sign(differing)).sum() / ranks.sum())


def t_interval(differences: Array) -> tuple[float, float]:
    """Return the 95 % interval of the mean difference (Student 1908, doi 10.1093/biomet/6.1.1)."""
    if len(differences) < 2:
        raise Undefined("one pair")
    if np.ptp(differences) == 0:
        raise Undefined("the differences do not vary")
    found = stats.ttest_1samp(differences, 0).confidence_interval(0.95)
    return float(found.low), float(found.high)


def d_z(differences: Array) -> tuple[float, float, float]:
    """Return mean over standard deviation of the differences, with a 95 % interval from the noncentral t."""
    if len(differences) < 2:
        raise Undefined("one pair")
    spread = differences.std(ddof=1)
    if np.ptp(np.round(differences, ROUNDED)) == 0:
        raise Undefined("the differences do not vary")
    d, root = float(differences.mean() / spread), np.sqrt(len(differences))
    low, high = (float(_noncentrality(d * root, len(differences) - 1, tail) / root) for tail in (0.975, 0.025))
    return d, low, high


def d_av(first: Array, second: Array) -> tuple[float, float, float]:
    """Return the mean difference over the root of the mean of both variances (Cumming 2012), with a 95 % interval.

    The interval is that of `d_z` on the other scale (Algina & Keselman 2003, doi 10.1177/0013164403256358), nan where
    the differences do not vary.
    """
    if len(first) < 2:
        raise Undefined("one pair")
    differences = first - second
    spread = float(np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / 2))
    if np.ptp(np.round(first, ROUNDED)) == np.ptp(np.round(second, ROUNDED)) == 0:
        raise Undefined("the scores do not vary")
    d = float(differences.mean()) / spread
    if np.ptp(np.round(differences, ROUNDED)) == 0:
        return d, np.nan, np.nan
    scale = float(differences.std(ddof=1)) / spread
    _d_z, low, high = d_z(differences)
    return d, low * scale, high * scale


def counts_by_sign(differences: Array) -> Array:
    """Return the rows that `rank_biserial_of` sums.

    Columns: 1 for a difference above 0 of each size, from the smallest, then the same for differences below 0.
    """
    rounded = np.round(differences, ROUNDED)
    sizes = np.unique(np.abs(_differing(differences)))
    return np.asarray(np.hstack([rounded[:, np.newaxis] == sizes, rounded[:, np.newaxis] == -sizes]), dtype=float)


def rank_biserial_of(sums: Array) -> Array:
    """Return `rank_biserial` of sums, (…, sums) → (…), ranking anew; nan where all differences are 0."""
    above, below = np.split(sums, 2, axis=-1)
    tied = above + below
    ranks = np.cumsum(tied, axis=-1) - tied + (tied + 1) / 2
    count = tied.sum(axis=-1)
    with np.errstate(invalid="ignore"):
        found = (ranks * (above - below)).sum(axis=-1) / (count * (count + 1) / 2)
    return np.asarray(found)


def _differing(differences: Array) -> Array:
    rounded = np.round(differences, ROUNDED)
    if not rounded.any():
        raise Undefined("no pair differs")
    return np.asarray(rounded[rounded != 0])


def _noncentrality(t: float, degrees: int, tail: float) -> float:
    """Return the noncentrality with which t lies at this place of its distribution.

    scipy's own function gives nan far from the middle.
    """
    scales = np.sqrt(stats.chi2.ppf((NODES + 1) / 2, degrees) / degrees)
    reach = 10 + 3 * abs(t)
    return float(brentq(lambda shift: SHARES @ ndtr(t * scales - shift) / 2 - tail, -reach, reach))
