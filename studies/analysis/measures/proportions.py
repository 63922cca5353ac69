"""Wilson's score interval of a share (Wilson 1927, doi 10.1080/01621459.1927.10502953)."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t  # noqa: TID253
from statsmodels.stats.proportion import proportion_confint  # noqa: TID253

from studies.analysis.notes import Note, Notes
from studies.analysis.rows import Row, Undefined

METHOD, BY_CLUSTERS = Notes(Note("wilson")), Notes(Note("wilson_effective"))
_UPPER = 0.975
_ROUNDING = 1e-18  # what is left of a variance of 0

Counts = NDArray[np.float64] | NDArray[np.intp]


def effective(hits: Counts, totals: Counts) -> float:
    """Return how many independent answers would leave the share as uncertain as these, fewer for few clusters.

    Korn & Graubard 1998, Survey Methodology 24:193. `hits`, `totals`: one per cluster, which may differ in size. If
    each cluster has one answer, or all answers are alike, it is the number of clusters.
    """
    hits, totals = hits[totals > 0], totals[totals > 0]
    clusters, answers = len(totals), float(totals.sum())
    if clusters == answers or not 0 < hits.sum() < answers or clusters < 2:
        return float(clusters)
    share = hits.sum() / answers
    variance = clusters / (clusters - 1) * float(((hits - share * totals) ** 2).sum()) / answers**2
    return _independent(float(share), variance, clusters, answers)


def effective_by_jackknife(share: float, without: Counts, answers: int) -> float:
    """Return `effective` of a product or sum of shares, whose variance is Tukey's (1958).

    `without`: the share without each of the clusters. If one of them is nan, so is the result.
    """
    clusters = len(without)
    return _independent(share, float(without.var()) * (clusters - 1), clusters, answers)


def _independent(share: float, variance: float, clusters: int, answers: float) -> float:
    if variance < _ROUNDING:
        return float(clusters)
    few = (norm.ppf(_UPPER) / t.ppf(_UPPER, clusters - 1)) ** 2
    return float(np.clip(share * (1 - share) / variance * few, 1.0, answers))


def wilson(share: float, n: float) -> tuple[float, float]:
    """Return the 95 % Wilson interval; `n`: the independent answers, so `share` × `n` need not be a whole number."""
    if n < 1:
        raise Undefined("share_of_nothing")
    low, high = proportion_confint(share * n, n, method="wilson")
    return (0.0 if share == 0 else float(low)), (1.0 if share == 1 else float(high))


def exact_interval(hits: int, total: int) -> tuple[float, float]:
    """Return the exact 95 % interval of a share (Clopper & Pearson 1934, doi 10.1093/biomet/26.4.404)."""
    if total < 1:
        raise Undefined("share_of_nothing")
    low, high = proportion_confint(hits, total, method="beta")
    return float(low), float(high)


def add_by_clusters(row: Row, hits: Counts, totals: Counts) -> None:
    """Add `estimate`, `low`, `high` and `method` for answers that may be alike within a cluster.

    `hits`, `totals`: one per cluster.
    """
    if not totals.sum():
        raise Undefined("share_of_nothing")
    share, n = float(hits.sum() / totals.sum()), effective(hits, totals)
    low, high = wilson(share, n)
    method = METHOD if n == np.count_nonzero(totals) else BY_CLUSTERS
    row.values |= {"estimate": share, "low": low, "high": high, "method": method}


def add_wilson(row: Row, share: float) -> None:
    """Add `estimate`, `low`, `high` and `method`. Only the row's `clusters` count as independent."""
    low, high = wilson(share, row.values["clusters"])
    row.values |= {"estimate": share, "low": low, "high": high, "method": METHOD}
