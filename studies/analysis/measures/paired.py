"""Statistics of paired differences: Wilcoxon's signed-rank test and standardised effects."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # noqa: TID253
from scipy.optimize import brentq  # noqa: TID253
from scipy.special import ndtr  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.notes import Note
from studies.analysis.rows import Undefined

EXACT = 50  # pairs, all choices of whose signs are counted
ROUNDED = 9  # decimals: below lies what computing a mean leaves, which is no difference

NODES, SHARES = np.polynomial.legendre.leggauss(200)  # of a quadrature from -1 to 1


@dataclass(frozen=True)
class Wilcoxon:
    p: float
    smallest: float  # that so many pairs allow
    method: Note


def wilcoxon(differences: Array) -> Wilcoxon:
    """Test paired differences, two-sided; differences of 0 are dropped (Wilcoxon 1945). Raises `Undefined` if no other
    is left."""
    differing = _differing(differences)
    sizes = np.abs(differing)
    tied = len(np.unique(sizes)) < len(sizes)
    smallest = 2.0 ** (1 - len(sizes))
    if len(sizes) <= EXACT:
        return Wilcoxon(_exact(differing), smallest, Note("wilcoxon_exact_with_ties" if tied else "wilcoxon_exact"))
    p = stats.wilcoxon(differing, zero_method="wilcox", correction=False, method="asymptotic").pvalue
    return Wilcoxon(float(p), smallest, Note("wilcoxon_asymptotic"))


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


@dataclass(frozen=True)
class TTest:
    """A two-sided t test and the 95 % interval that belongs to it."""

    low: float
    high: float
    p: float


def t_test(differences: Array) -> TTest:
    """Return the test of whether the mean difference is 0 (Student 1908, doi 10.1093/biomet/6.1.1)."""
    if len(differences) < 2:
        raise Undefined("one_pair")
    if np.ptp(differences) == 0:
        raise Undefined("differences_alike")
    return _as_test(stats.ttest_1samp(differences, 0))


def welch(first: Array, second: Array) -> TTest:
    """Return the test of whether the means of two groups are equal, second minus first (Welch 1947, doi
    10.1093/biomet/34.1-2.28)."""
    if min(len(first), len(second)) < 2:
        raise Undefined("under_two_clusters_in_a_group")
    if not any(np.ptp(values) for values in (first, second)):
        raise Undefined("scores_alike")
    return _as_test(stats.ttest_ind(second, first, equal_var=False))


def _as_test(result: Any) -> TTest:
    interval = result.confidence_interval(0.95)
    return TTest(float(interval.low), float(interval.high), float(result.pvalue))


def d_z(differences: Array) -> tuple[float, float, float]:
    """Return mean over standard deviation of the differences, with a 95 % interval from the noncentral t."""
    if len(differences) < 2:
        raise Undefined("one_pair")
    spread = differences.std(ddof=1)
    if np.ptp(np.round(differences, ROUNDED)) == 0:
        raise Undefined("differences_alike")
    d, root = float(differences.mean() / spread), np.sqrt(len(differences))
    low, high = (float(_noncentrality(d * root, len(differences) - 1, tail) / root) for tail in (0.975, 0.025))
    return d, low, high


def _differing(differences: Array) -> Array:
    rounded = np.round(differences, ROUNDED)
    if not rounded.any():
        raise Undefined("no_pair_differs")
    return np.asarray(rounded[rounded != 0])


@lru_cache(maxsize=4)  # a run asks again and again for the few numbers of users that it has
def _scales(degrees: int) -> Array:
    """Return the nodes as quantiles of what a standard deviation is in units of the true one."""
    return np.asarray(np.sqrt(stats.chi2.ppf((NODES + 1) / 2, degrees) / degrees))


def _noncentrality(t: float, degrees: int, tail: float) -> float:
    """Return the noncentrality with which t lies at this place of its distribution.

    scipy's own function gives nan far from the middle.
    """
    scales = _scales(degrees)
    reach = 10 + 3 * abs(t)
    return float(brentq(lambda shift: SHARES @ ndtr(t * scales - shift) / 2 - tail, -reach, reach))
