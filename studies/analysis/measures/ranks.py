"""Statistics of ranks: concordance of users, the shift between two arms, places of arms."""

from dataclasses import dataclass

import numpy as np
from scipy import stats  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.measures.bradley_terry import is_connected
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
        raise Undefined("one user")
    ranks = stats.rankdata(np.round(scores, ROUNDED), axis=1)
    spread = float(((ranks - (arms + 1) / 2) ** 2).sum()) * users
    if not spread:
        raise Undefined("no user puts the arms in any order")
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
        raise Undefined("fewer than three users")
    ranks = stats.rankdata(np.round(scores, ROUNDED), axis=1) - (arms + 1) / 2
    spread = (ranks**2).sum(axis=1)
    total = ranks.sum(axis=0)
    mean = _mean_correlation(total, spread.sum(), users)
    if mean > 1 - CERTAIN:
        raise Undefined("perfect agreement has no interval")
    with np.errstate(divide="ignore"):  # the others may agree perfectly
        left_out = np.arctanh(_mean_correlation(total - ranks, spread.sum() - spread, users - 1).clip(max=1))
    if not np.isfinite(left_out).all():
        raise Undefined("no interval could be had")
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


def places_within_users(scores: Array) -> Array:
    """Return the rank of each arm with each user, 1 for the highest score, midranks for ties."""
    ranks: Array = stats.rankdata(-np.round(scores, ROUNDED), axis=1)
    return ranks


def shares_of_best(scores: Array) -> Array:
    """Return users × arms: 1 if a user scored no arm higher, shared evenly if there are several."""
    rounded = np.round(scores, ROUNDED)
    best = rounded == rounded.max(axis=1, keepdims=True)
    return np.asarray(best / best.sum(axis=1, keepdims=True))


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
        raise Undefined("fewer than six pairs")
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


def sums_for_effects(scores: Array) -> Array:
    """Return each user's row for `arm_effects`; `scores`: users × arms, nan where a user did not meet an arm."""
    met = np.isfinite(scores)
    counts = met.sum(axis=1, keepdims=True)
    own = np.where(met, scores, 0.0)
    centred = np.where(met, own - own.sum(axis=1, keepdims=True) / counts, 0.0)
    weights = met / counts
    together = met[:, :, np.newaxis] * (np.eye(scores.shape[1]) - weights[:, np.newaxis, :])
    return np.column_stack([centred, together.reshape(len(scores), -1)])


def arm_effects(sums: Array) -> Array:
    """Return arm effects by least squares of score ~ arm + user: (…, sums) → (…, arms).

    0 is the mean of the arms; without gaps the effects are the arms' means. nan if users do not connect all arms,
    directly or through others.
    """
    arms = int((np.sqrt(1 + 4 * sums.shape[-1]) - 1) / 2)
    flat = sums.reshape(-1, sums.shape[-1])
    together = flat[:, arms:].reshape(-1, arms, arms)
    connected = is_connected(np.where(together < -1e-9, 1.0, 0.0))
    found = np.full((len(flat), arms), np.nan)
    found[connected] = np.linalg.solve(together[connected] + 1 / arms, flat[connected, :arms, np.newaxis])[..., 0]
    return found.reshape(*sums.shape[:-1], arms)


def chances_of_places(effects: Array) -> Array:
    """Return the share in which an arm stands at each place: replicates × arms → arms × places, ties shared evenly."""
    rounded = np.round(effects, ROUNDED)
    above = (rounded[:, np.newaxis, :] > rounded[:, :, np.newaxis]).sum(axis=2)[..., np.newaxis]
    level = (rounded[:, np.newaxis, :] == rounded[:, :, np.newaxis]).sum(axis=2)[..., np.newaxis]
    places = np.arange(effects.shape[1])
    return np.asarray((((above <= places) & (places < above + level)) / level).mean(axis=0))
