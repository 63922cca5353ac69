"""Intervals of intraclass correlations for clustered targets, such as conversations of the same person.

F takes targets as independent. Here the logarithms of mean squares, or of ratios of variances, are jackknifed: one
cluster at a time is left out, and Student's t does the rest (Arvesen & Schmitz 1970, Biometrics 26:677). Drawing
clusters again would hold the raters as they are: with two of them, such intervals of (A,·) held the planted value in 67
to 85 % of simulated studies.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit  # noqa: TID253
from scipy.stats import t as student_t  # noqa: TID253

from studies.analysis.bootstrap import Array, Bootstrap, sum_by_cluster
from studies.analysis.measures.variance import (
    ROUNDING,
    FittedComponents,
    Icc,
    MeanSquares,
    OneWay,
    bounds_of_ratio,
    components,
    mean_squares,
    spearman_brown,
)
from studies.analysis.rows import Undefined

Numbers = NDArray[np.intp]
Bounds = tuple[float, float]

_UPPER = 0.975
_NONE = np.nan, np.nan
_STEP = 0.01  # of logarithms, for numerical derivatives
MOST_RATERS = 50  # of a mixed model: a matrix of so many rows is solved for each cluster


@dataclass(frozen=True)
class Jackknife:
    """Several statistics without each cluster; `left_out`: clusters × statistics."""

    left_out: Array

    @property
    def freedom(self) -> int:
        return len(self.left_out) - 1

    @cached_property
    def covariance(self) -> Array:
        deviations = self.left_out - self.left_out.mean(axis=0)
        return np.asarray(self.freedom / len(self.left_out) * deviations.T @ deviations)

    def half(self, slope: Array, beside: float = 0.0) -> float:
        """Return half the length of the interval of a weighted sum; `beside`: variance that does not come from
        clusters."""
        error = np.sqrt(slope @ self.covariance @ slope + beside)
        return float(student_t.ppf(_UPPER, self.freedom) * error)

    def draws(self, count: int, random: np.random.Generator) -> Array:
        """Draw from a t distribution about 0 with these covariances: draws × statistics."""
        values, vectors = np.linalg.eigh(self.covariance)
        normal = random.normal(size=(count, len(values))) @ (vectors * np.sqrt(values.clip(min=0))).T
        return np.asarray(normal / np.sqrt(random.chisquare(self.freedom, (count, 1)) / self.freedom))


def _require_clusters(clusters: Numbers) -> None:
    if clusters.max() < 1:
        raise Undefined("under_two_clusters")


# All raters rated all targets.


def two_way(forms: dict[str, Icc], scores: Array, clusters: Numbers, bootstrap: Bootstrap) -> dict[str, Icc]:
    """Replace the intervals of `forms` by jackknife intervals of clusters.

    `forms`: the result of `variance.two_way`, whose estimates stay. `scores`: targets × raters, complete. `clusters`:
    the cluster of each target, numbered from 0 without gaps.
    """
    _require_clusters(clusters)
    raters = scores.shape[1]
    squares = mean_squares(scores)
    sums = sum_by_cluster(target_sums(scores - scores.mean()), clusters)
    between, within, residual = _squares_of(sums.sum(axis=0) - sums)
    bounds = bounds_of_ratio(*_ratio_bounds(squares.targets, squares.within, between, within), raters, "1")
    bounds |= bounds_of_ratio(*_ratio_bounds(squares.targets, squares.residual, between, residual), raters, "c")
    bounds |= dict.fromkeys(("icc_a_1", "icc_a_k"), _NONE)
    if squares.residual and forms["icc_a_1"].estimate < 1 and _are_positive(between, residual):
        logs = Jackknife(np.log(np.column_stack([between, residual])))
        low, high = _agreement_bounds(squares, logs, len(scores), raters, bootstrap)
        bounds |= {"icc_a_1": (low, high), "icc_a_k": (spearman_brown(low, raters), spearman_brown(high, raters))}
    return {name: Icc(icc.estimate, *bounds[name]) for name, icc in forms.items()}


def target_sums(scores: Array) -> Array:
    """Return the terms that `_squares_of` sums: targets × (1, mean, its square, squares within, score of
    each rater)."""
    means = scores.mean(axis=1)
    within = ((scores - means[:, np.newaxis]) ** 2).sum(axis=1)
    return np.column_stack([np.ones_like(means), means, means**2, within, scores])


def consistency_of_mean(sums: Array) -> Array:
    """Return ICC(C,k), from rows of sums of `target_sums`; nan where the targets do not differ."""
    between, _within, residual = _squares_of(sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(between > ROUNDING, 1 - residual / between, np.nan))


def _squares_of(sums: Array) -> tuple[Array, Array, Array]:
    """Return the mean squares between targets, within them, and of the residual."""
    targets, means, squared, within = sums[:, :4].T
    raters = sums.shape[1] - 4
    with np.errstate(divide="ignore", invalid="ignore"):
        shifts = (sums[:, 4:].T - means) / targets
        between = raters * (squared - means**2 / targets) / (targets - 1)
        residual = (within - targets * (shifts**2).sum(axis=0)) / ((targets - 1) * (raters - 1))
        return between, within / (targets * (raters - 1)), residual


def _ratio_bounds(above: float, below: float, above_left: Array, below_left: Array) -> Bounds:
    """Return the bounds of the ratio of two mean squares, from their values and those without each cluster."""
    if below <= ROUNDING * above or not _are_positive(above_left, below_left):
        return _NONE
    half = Jackknife(np.log(above_left / below_left)[:, np.newaxis]).half(np.ones(1))
    return above / below * float(np.exp(-half)), above / below * float(np.exp(half))


def _are_positive(above: Array, below: Array) -> bool:
    return bool(np.isfinite(above).all() and (above > 0).all() and (below > ROUNDING * above).all())


def _agreement_bounds(squares: MeanSquares, logs: Jackknife, targets: int, raters: int, bootstrap: Bootstrap) -> Bounds:
    """Return the bounds of (A,1).

    Raters are too few to be left out. Their mean square is taken as a chi-square and joined with the jackknifed mean
    squares in a generalised interval (Weerahandi 1993, Journal of the American Statistical Association 88:899). `logs`:
    jackknifed logarithms of the mean squares of targets and residual.
    """
    random = np.random.default_rng(bootstrap.seed)
    between, residual = (np.exp(logs.draws(bootstrap.replicates, random)) * (squares.targets, squares.residual)).T
    of_raters = squares.raters * (raters - 1) / random.chisquare(raters - 1, bootstrap.replicates)
    error = (raters - 1) * residual + raters * (of_raters - residual) / targets
    low, high = np.quantile((between - residual) / (between + error), (1 - _UPPER, _UPPER))
    return float(low), float(high)


# Targets may differ in who rated them, and in how many did.


def one_way(forms: OneWay, scores: Array, targets: Numbers, clusters: Numbers) -> OneWay:
    """Replace the intervals of `forms` by jackknife intervals of clusters.

    `forms`: the result of `variance.one_way`, whose estimates stay. `clusters`: the cluster of each target.
    """
    _require_clusters(clusters)
    sums = sum_by_cluster(one_way_sums(scores, targets), clusters)
    total = sums.sum(axis=0)
    (above,), (below,) = _one_way_squares(total[np.newaxis])
    low, high = _ratio_bounds(float(above), float(below), *_one_way_squares(total - sums))
    bounds = bounds_of_ratio(low, high, forms.raters, "1")
    single, mean = Icc(forms.single.estimate, *bounds["icc_1_1"]), Icc(forms.mean.estimate, *bounds["icc_1_k"])
    return OneWay(single, mean, forms.raters)


def one_way_sums(scores: Array, targets: Numbers) -> Array:
    """Return the terms that `_one_way_squares` sums: targets × (1, scores, their total, its square over their number,
    squares within)."""
    centred, sizes = scores - scores.mean(), np.bincount(targets)
    means = np.bincount(targets, weights=centred) / sizes
    within = np.bincount(targets, weights=(centred - means[targets]) ** 2)
    return np.column_stack([np.ones_like(means), sizes, sizes * means, sizes * means**2, within])


def one_way_of_mean(sums: Array) -> Array:
    """Return ICC(1,k), from rows of sums of `one_way_sums`; nan where it is not above 0."""
    between, within = _one_way_squares(sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where((between > ROUNDING) & (within < between), 1 - within / between, np.nan))


def _one_way_squares(sums: Array) -> tuple[Array, Array]:
    targets, scores, total, squared, within = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        return (squared - total**2 / scores) / (targets - 1), within / (scores - targets)


def two_way_by_components(
    scores: Array, targets: Numbers, raters: Numbers, ratings: float, clusters: Numbers
) -> dict[str, Icc]:
    """Return the two-way forms by REML as `variance.two_way_by_components`, with jackknife intervals.

    The estimates without each cluster are one Newton step away. The raters' variance is uncertain because they are few;
    its uncertainty from the curvature of the criterion is added. `clusters`: the cluster of each target.
    """
    _require_clusters(clusters)
    fit = components(scores, targets, raters)
    steps, curvature = jackknife_logs(Criterion(fit, clusters), np.log(fit.relative))
    return {
        f"icc_{form}_{name}": _icc_from_logs(fit.relative, steps, curvature, agreement=form == "a", ratings=count)
        for form in ("a", "c")
        for name, count in (("1", 1.0), ("k", ratings))
    }


class Criterion:
    """REML's criterion of score ~ 1 + (1 | target) + (1 | rater), for all data and without each cluster.

    It is taken at the residual variance that makes it least. It consists of sums over targets, so all clusters are left
    out at once.
    """

    def __init__(self, fit: FittedComponents, clusters: Numbers) -> None:
        targets, columns = fit.data.terms["target"], self._columns(fit)
        self.clusters = clusters
        self.counts = np.bincount(targets).astype(float)
        self.of_targets = sum_by_cluster(columns, targets)
        self.products = _leave_one_out_products(columns, np.ones(len(columns)), clusters[targets])
        self.freedom = _leave_one_out_sums(self.counts[:, np.newaxis], clusters)[:, 0] - 1
        self.raters = columns.shape[1] - 2

    @staticmethod
    def _columns(fit: FittedComponents) -> Array:
        """Return rows × (raters' indicators, if they vary, one, score)."""
        raters = fit.data.terms["rater"]
        indicators = np.eye(raters.max() + 1 if len(fit.relative) > 1 else 0)
        there = indicators[raters] if len(indicators) else np.empty((len(raters), 0))
        return np.column_stack([there, fit.data.fixed, fit.data.scores])

    def __call__(self, logs: Array) -> Array:
        """Return the criterion for all data, then without each cluster; `logs`: logarithms of the
        relative variances."""
        of_targets, of_raters = np.exp(logs[0]), np.exp(logs[1:])
        shrunken = of_targets / (1 + of_targets * self.counts)
        inner = self.products - _leave_one_out_products(self.of_targets, shrunken, self.clusters)
        for place in range(self.raters):
            inner[:, place, place] += 1 / of_raters[0]
        solved = np.linalg.solve(inner[:, :-1, :-1], inner[:, :-1, -1:])[..., 0]
        squares = inner[:, -1, -1] - (inner[:, :-1, -1] * solved).sum(axis=1)
        logarithms = _leave_one_out_sums(np.log1p(of_targets * self.counts)[:, np.newaxis], self.clusters)[:, 0]
        logarithms += np.linalg.slogdet(inner[:, :-1, :-1])[1] + self.raters * logs[1:].sum()
        return np.asarray(self.freedom * np.log(squares) + logarithms)


def _leave_one_out_sums(values: Array, clusters: Numbers) -> Array:
    """Return sums over all rows, then without those of each cluster: 1 + clusters × columns."""
    sums = sum_by_cluster(values, clusters)
    total = sums.sum(axis=0)
    return np.vstack([total, total - sums])


def _leave_one_out_products(values: Array, weights: Array, clusters: Numbers) -> Array:
    """Return the same sums of weighted products of any two columns: 1 + clusters × columns × columns."""
    weighted = values * weights[:, np.newaxis]
    products = [_leave_one_out_sums(weighted * column[:, np.newaxis], clusters) for column in values.T]
    return np.asarray(np.stack(products, axis=1), dtype=np.float64)


def jackknife_logs(criterion: Criterion, at: Array) -> tuple[Jackknife | None, Array]:
    """Return the logarithms without each cluster and the curvature of all data.

    The first is None where one of the criteria has no minimum nearby.
    """
    moves = _STEP * np.eye(len(at))
    slopes = np.stack([criterion(at + move) - criterion(at - move) for move in moves], axis=1) / (2 * _STEP)
    curvatures = np.stack(list(_curvatures(criterion, at, moves)), axis=1).reshape(-1, len(at), len(at))
    if not np.isfinite(curvatures).all() or np.linalg.eigvalsh(curvatures).min() <= 0:
        return None, curvatures[0]
    steps = np.linalg.solve(curvatures, slopes[..., np.newaxis])[..., 0]
    return Jackknife(at - steps[1:]), curvatures[0]


def _curvatures(criterion: Criterion, at: Array, moves: Array) -> Iterator[Array]:
    for one in moves:
        for other in moves:
            corners = criterion(at + one + other) - criterion(at + one - other)
            corners += criterion(at - one - other) - criterion(at - one + other)
            yield corners / (4 * _STEP**2)


def _icc_from_logs(
    relative: Array, logs: Jackknife | None, curvature: Array, *, agreement: bool, ratings: float
) -> Icc:
    """Return the coefficient and its interval; its logit is a sum of these logarithms."""
    of_raters = float(relative[1:].sum()) if agreement else 0.0
    place = float(np.log(relative[0] * ratings / (1 + of_raters)))
    if logs is None:
        return Icc(float(expit(place)), *_NONE)
    slope = np.array([1.0, -of_raters / (1 + of_raters)])[: len(relative)]
    beside = 2 * np.linalg.inv(curvature)[-1, -1] * slope[-1] ** 2 if len(relative) > 1 else 0.0
    half = logs.half(slope, beside)
    return Icc(*(float(expit(place + move)) for move in (0, -half, half)))
