"""Statistics of ranks: concordance of users, the shift between two arms."""

from dataclasses import dataclass

import numpy as np
from scipy import stats  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.measures.paired import EXACT, ROUNDED, rank_sum_chances
from studies.analysis.rows import Undefined

TAIL = 0.025  # of 95 % intervals
CERTAIN = 1e-12  # a correlation no further from 1 is 1


@dataclass(frozen=True)
class Concordance:
    w: float  # Kendall's, 0 to 1
    p: float  # Friedman's test


def concordance(scores: Array) -> Concordance:
    """Return Kendall's W and Friedman's test of users × arms without gaps.

    Ties get midranks (Kendall & Babington Smith 1939, doi 10.1214/aoms/1177732186); Friedman's chi-square is users ×
    (arms - 1) × W.
    """
    users, arms = scores.shape
    if users < 2:
        raise Undefined("one_user")
    ranks = stats.rankdata(np.round(scores, ROUNDED), axis=1)
    spread = float(((ranks - (arms + 1) / 2) ** 2).sum()) * users
    if not spread:
        raise Undefined("no_order")
    w = float(((ranks.sum(axis=0) - users * (arms + 1) / 2) ** 2).sum()) / spread
    return Concordance(w, float(stats.chi2.sf(users * (arms - 1) * w, arms - 1)))


def concordance_interval(scores: Array) -> tuple[float, float]:
    """Return the 95 % interval of Kendall's W of users × arms by a jackknife of users (Tukey 1958).

    It works on Fisher's z of the mean correlation of two users' ranks, (users × W - 1) / (users - 1). In 1,000
    simulated studies each of 5 to 60 users and 3 to 12 arms it held the planted value in 89 to 98 %, a BCa bootstrap of
    users in 37 to 92 %, because a user who is drawn twice agrees with themselves.
    """
    users, arms = scores.shape
    if users < 3:
        raise Undefined("under_three_users")
    ranks = stats.rankdata(np.round(scores, ROUNDED), axis=1) - (arms + 1) / 2
    spread = (ranks**2).sum(axis=1)
    total = ranks.sum(axis=0)
    mean = _mean_correlation(total, spread.sum(), users)
    if mean > 1 - CERTAIN:
        raise Undefined("perfect_agreement")
    with np.errstate(divide="ignore"):  # the others may agree perfectly
        left_out = np.arctanh(_mean_correlation(total - ranks, spread.sum() - spread, users - 1).clip(max=1))
    if not np.isfinite(left_out).all():
        raise Undefined("no_interval")
    half = stats.t.ppf(1 - TAIL, users - 1) * np.sqrt(left_out.var() * (users - 1))
    low, high = np.tanh(np.arctanh(mean) + np.array([-half, half]))
    return max(0.0, _w(low, users)), _w(high, users)


def _mean_correlation(totals: Array, spread: Array, users: int) -> Array:
    """Return the mean correlation of two users' ranks.

    `totals`: of each arm's centred ranks; `spread`: all users' sums of their squares.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(((totals**2).sum(axis=-1) / spread - 1) / (users - 1))


def _w(correlation: float, users: int) -> float:
    return float(((users - 1) * correlation + 1) / users)


def pseudomedian(differences: Array) -> float:
    """Return the median of the means of all pairs of differences, each with itself too (Hodges & Lehmann 1963, doi
    10.1214/aoms/1177704172)."""
    return float(np.median(_walsh(differences)))


def hodges_lehmann(differences: Array) -> tuple[float, float, float]:
    """Return the `pseudomedian` and the interval of the signed-rank test, at least 95 %.

    Hollander & Wolfe 1973, sections 3.2 and 3.3; with over `EXACT` differences the interval is by the normal
    approximation. Raises `Undefined` where no interval has 95 %.
    """
    n = len(differences)
    place = _first_place(n)
    if not place:
        raise Undefined("under_six_pairs")
    means = np.sort(_walsh(differences))
    return float(np.median(means)), float(means[place - 1]), float(means[-place])


def _walsh(differences: Array) -> Array:
    """Return the means of all pairs, each difference with itself too."""
    first, second = np.triu_indices(len(differences))
    return np.asarray(differences[first] + differences[second]) / 2


def _first_place(n: int) -> int:
    """Return the place of the bounds among the ordered means, from either end; 0 if there is no interval."""
    if n <= EXACT:
        return int((np.cumsum(rank_sum_chances(np.arange(1, n + 1))) < TAIL).sum())
    spread = np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return int(n * (n + 1) / 4 + stats.norm.ppf(TAIL) * spread) + 1
