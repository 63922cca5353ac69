"""The highest r that the reliabilities of two sides allow, and r corrected for it, with its jackknife interval.

r compares means of raters, so the reliability that limits it is that of the mean. Where the same raters scored all
conversations it is ICC(C,k) (McGraw & Wong 1996, doi 10.1037/1082-989X.1.1.30): the strictness that a rater shows
everywhere cannot lower r. Where raters differ between conversations it does, and the reliability follows from variance
components. One-way, ICC(1,k), it is of replicates, which have no names, and where raters and conversations
cannot be told apart.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t  # noqa: TID253

from studies.analysis.bootstrap import Array, Statistic, sum_by_cluster
from studies.analysis.measures import clustered, variance
from studies.analysis.notes import Note
from studies.analysis.rows import Undefined

Numbers = NDArray[np.intp]
MOST_CELLS = 20_000_000  # of the matrix of targets and raters

_UPPER = 0.975


@dataclass(frozen=True)
class Reliability:
    """The reliability of a side's means.

    `left_out`: without each cluster, nan where it does not exist. `beside`: variance of its logarithm that comes from
    the raters, not from clusters.
    """

    estimate: float
    left_out: Array
    method: Note
    beside: float = 0.0


def reliability_of(scores: Array, targets: Numbers, raters: Numbers | None, clusters: Numbers) -> Reliability:
    """Return the reliability of the targets' means.

    `targets` and `raters` (None of replicates): of each score, numbered from 0 without gaps. `clusters`: of each
    target. Raises `Undefined` where no target has several scores or the targets' means are alike.
    """
    one_way = _one_way(scores, targets, clusters)
    if raters is None:
        return one_way
    if _is_complete(targets, raters):
        return _by_consistency(_matrix(scores, targets, raters), clusters)
    try:
        return _by_components(scores, targets, raters, clusters)
    except Undefined:  # components cannot be had, as where each rater had conversations of their own
        return one_way


def _is_complete(targets: Numbers, raters: Numbers) -> bool:
    cells = (int(targets.max()) + 1) * (int(raters.max()) + 1)
    return len(targets) == cells <= MOST_CELLS and len(np.unique(targets * (raters.max() + 1) + raters)) == cells


def _matrix(scores: Array, targets: Numbers, raters: Numbers) -> Array:
    matrix = np.empty((targets.max() + 1, raters.max() + 1))
    matrix[targets, raters] = scores
    return matrix


def _by_consistency(matrix: Array, clusters: Numbers) -> Reliability:
    sums = sum_by_cluster(clustered.target_sums(matrix - matrix.mean()), clusters)
    whole, *left_out = (
        clustered.consistency_of_mean(part) for part in (sums.sum(axis=0)[np.newaxis], sums.sum(axis=0) - sums)
    )
    return Reliability(float(whole[0]), left_out[0], Note("reliability_by_consistency"))


def _one_way(scores: Array, targets: Numbers, clusters: Numbers) -> Reliability:
    sums = sum_by_cluster(clustered.one_way_sums(scores, targets), clusters)
    left_out = clustered.one_way_of_mean(sums.sum(axis=0) - sums)
    return Reliability(variance.one_way(scores, targets).mean.estimate, left_out, Note("reliability_one_way"))


def _by_components(scores: Array, targets: Numbers, raters: Numbers, clusters: Numbers) -> Reliability:
    """Return the reliability from variance components, the raters' counted as error.

    A target's mean has a k-th of the error, so over all targets k counts as the harmonic mean.
    """
    if raters.max() >= clustered.MOST_RATERS or clusters.max() < 1:
        raise Undefined("too_many_levels_for_model", count=int(raters.max()) + 1, most=clustered.MOST_RATERS)
    components = variance.components(scores, targets, raters)
    share = float((1 / np.bincount(targets)).mean())
    logs = np.log(components.relative)
    steps, curvature = clustered.jackknife_logs(clustered.Criterion(components, clusters), logs)
    estimate = _of_components(components.relative, share)
    if steps is None:
        return Reliability(float(estimate), np.full(clusters.max() + 1, np.nan), Note("reliability_by_components"))
    beside = 0.0
    if len(logs) > 1:
        of_raters = float(components.relative[1])
        slope = of_raters * share / (float(components.relative[0]) + (1 + of_raters) * share)
        beside = float(2 * np.linalg.inv(curvature)[-1, -1] * slope**2)
    left_out = _of_components(np.exp(steps.left_out), share)
    return Reliability(float(estimate), left_out, Note("reliability_by_components"), beside)


def _of_components(relative: Array, share: float) -> Array:
    of_targets, error = relative[..., 0], 1 + relative[..., 1:].sum(axis=-1)
    return np.asarray(of_targets / (of_targets + error * share))


@dataclass(frozen=True)
class Ceiling:
    """The highest r that the reliabilities of both sides, or of the people alone, allow."""

    sides: tuple[Reliability, ...]

    @property
    def estimate(self) -> float:
        return float(np.sqrt(np.prod([side.estimate for side in self.sides])))

    @property
    def left_out(self) -> Array:
        """Return the ceiling without each cluster; nan where a reliability is not above 0 there."""
        reliabilities = np.stack([side.left_out for side in self.sides])
        return np.asarray(np.sqrt(np.where((reliabilities > 0).all(axis=0), reliabilities.prod(axis=0), np.nan)))

    @property
    def beside(self) -> float:
        """Return the variance of the ceiling's logarithm that does not come from clusters."""
        return sum(side.beside for side in self.sides) / 4

    def interval_of_corrected(self, r: Statistic, sums: Array) -> tuple[float, float]:
        """Return the interval of r over the ceiling; `r`: as a statistic of `sums`, one row per cluster.

        It may be above 1 (Spearman 1904, doi 10.2307/1412159).
        """
        total = sums.sum(axis=0)
        corrected = float(r(total)) / self.estimate
        half = _half(r(total - sums) / self.left_out, self.beside * corrected**2)
        return corrected - half, corrected + half


def _half(left_out: Array, beside: float) -> float:
    """Return half the length of a jackknife interval."""
    if len(left_out) < 2:
        raise Undefined("under_two_clusters")
    if not np.isfinite(left_out).all():
        raise Undefined("undefined_without_cluster")
    error = float(np.sqrt(left_out.var() * (len(left_out) - 1) + beside))
    if error < variance.ROUNDING:
        raise Undefined("left_out_alike")
    return float(student_t.ppf(_UPPER, len(left_out) - 1)) * error
