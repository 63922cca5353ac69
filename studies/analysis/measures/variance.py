"""Intraclass correlations (McGraw & Wong 1996, doi 10.1037/1082-989X.1.1.30) with intervals of full precision."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, fdtri, logit  # noqa: TID253
from scipy.stats import norm  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.measures import mixed
from studies.analysis.notes import Note
from studies.analysis.rows import Undefined

FORMS = ("icc_1_1", "icc_a_1", "icc_c_1", "icc_1_k", "icc_a_k", "icc_c_k")
_UPPER = 0.975  # of the F distribution: 95 % intervals
ROUNDING = 1e-12  # what computing leaves of a residual that is 0, over the mean square between targets


@dataclass(frozen=True)
class MeanSquares:
    """Mean squares of a complete table, targets × raters (Shrout & Fleiss 1979, doi 10.1037/0033-2909.86.2.420, table
    3)."""

    targets: float
    within: float  # targets
    raters: float
    residual: float


@dataclass(frozen=True)
class Icc:
    """An intraclass correlation. `low` and `high` are nan under perfect agreement and where a variance is 0.

    If raters disagree more than by chance, the mean may have no (A,k), then nan, and no `low`, then -inf.
    """

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class OneWay:
    """ICC(1,1) and ICC(1,k); `raters` is k, or k0 where the number differs between targets."""

    single: Icc
    mean: Icc
    raters: float

    def forms(self) -> dict[str, Icc]:
        """Return the forms by the names of the result columns."""
        return {"icc_1_1": self.single, "icc_1_k": self.mean}


def two_way(scores: Array) -> dict[str, Icc]:
    """Return all six forms by the names of the result columns; `scores`: targets × raters, complete."""
    targets, raters = scores.shape
    if targets < 2 or raters < 2:
        raise Undefined("under_two_complete_conversations")
    if np.ptp(_of_targets(scores)) == 0:
        raise Undefined("conversations_alike")
    if all(np.array_equal(scores[:, 0], of_rater) for of_rater in scores.T[1:]):
        return dict.fromkeys(FORMS, Icc(1.0, np.nan, np.nan))
    squares = mean_squares(scores)
    estimates = _estimates(squares, targets, raters)
    bounds = _one_way_bounds(squares.targets / squares.within, targets - 1, targets * (raters - 1), raters, "1")
    bounds |= _consistency_bounds(squares, targets, raters)
    bounds |= _agreement_bounds(squares, estimates["icc_a_1"], targets, raters)
    return {name: Icc(estimates[name], *bounds[name]) for name in FORMS}


def mean_squares(scores: Array) -> MeanSquares:
    """Return the mean squares of a complete table, targets × raters.

    pingouin gives the same ratios, but takes hundreds of times longer.
    """
    targets, raters = scores.shape
    of_targets = _of_targets(scores)
    deviations = scores - of_targets[:, np.newaxis]
    between = raters * _squares(of_targets - of_targets.mean()) / (targets - 1)
    within = _squares(deviations) / (targets * (raters - 1))
    shifts = np.ones(targets) @ deviations / targets
    deviations -= shifts
    residual = _squares(deviations) / ((targets - 1) * (raters - 1))
    return MeanSquares(
        targets=between,
        within=within,
        raters=targets * _squares(shifts) / (raters - 1),
        residual=residual if residual > ROUNDING * between else 0.0,
    )


def _of_targets(scores: Array) -> Array:
    """Return the targets' means by a product with ones; numpy takes nine times as long to sum many short rows."""
    return np.asarray(scores @ np.ones(scores.shape[1]) / scores.shape[1])


def _squares(deviations: Array) -> float:
    return float(np.vdot(deviations, deviations))


def _estimates(squares: MeanSquares, targets: int, raters: int) -> dict[str, float]:
    """Return each form, (between - error) / (between + the terms that the form adds)."""
    between, within, residual = squares.targets, squares.within, squares.residual
    of_raters = (squares.raters - residual) / targets
    return {
        "icc_1_1": (between - within) / (between + (raters - 1) * within),
        "icc_a_1": (between - residual) / (between + (raters - 1) * residual + raters * of_raters),
        "icc_c_1": (between - residual) / (between + (raters - 1) * residual),
        "icc_1_k": (between - within) / between,
        "icc_a_k": (between - residual) / spread if (spread := between + of_raters) > 0 else np.nan,
        "icc_c_k": (between - residual) / between,
    }


def one_way(scores: Array, targets: NDArray[np.intp]) -> OneWay:
    """Return the one-way forms.

    `targets`: the target of each score, numbered from 0 without gaps; targets may differ in their number of scores.
    """
    sizes = np.bincount(targets)
    if len(sizes) < 2 or len(scores) == len(sizes):
        raise Undefined("under_two_targets")
    means = np.bincount(targets, weights=scores) / sizes
    between = float((sizes * (means - scores.mean()) ** 2).sum()) / (len(sizes) - 1)
    within = float(((scores - means[targets]) ** 2).sum()) / (len(scores) - len(sizes))
    if between == 0:
        raise Undefined("targets_alike")
    raters = (len(scores) - float((sizes**2).sum()) / len(scores)) / (len(sizes) - 1)
    ratio = between / within if within else np.inf
    bounds = _one_way_bounds(ratio, len(sizes) - 1, len(scores) - len(sizes), raters, "1")
    return OneWay(
        single=Icc((between - within) / (between + (raters - 1) * within), *bounds["icc_1_1"]),
        mean=Icc((between - within) / between, *bounds["icc_1_k"]),
        raters=raters,
    )


def _one_way_bounds(ratio: float, df1: int, df2: int, raters: float, form: str) -> dict[str, tuple[float, float]]:
    if not np.isfinite(ratio):
        return bounds_of_ratio(np.nan, np.nan, raters, form)
    return bounds_of_ratio(ratio / fdtri(df1, df2, _UPPER), ratio * fdtri(df2, df1, _UPPER), raters, form)


def bounds_of_ratio(low: float, high: float, raters: float, form: str) -> dict[str, tuple[float, float]]:
    """Return the bounds of the forms (1,·) and (C,·), whose interval is that of one ratio of mean squares."""
    single = tuple(float((bound - 1) / (bound + raters - 1)) for bound in (low, high))
    mean = tuple(float(1 - 1 / bound) if bound else -np.inf for bound in (low, high))
    return {f"icc_{form}_1": single, f"icc_{form}_k": mean}  # type: ignore[dict-item]


def _consistency_bounds(squares: MeanSquares, targets: int, raters: int) -> dict[str, tuple[float, float]]:
    ratio = squares.targets / squares.residual if squares.residual else np.inf
    return _one_way_bounds(ratio, targets - 1, (targets - 1) * (raters - 1), raters, "c")


def _agreement_bounds(
    squares: MeanSquares, estimate: float, targets: int, raters: int
) -> dict[str, tuple[float, float]]:
    """Return the bounds of (A,·), with Satterthwaite's degrees of freedom, in units of the residual mean square."""
    if not squares.residual or estimate >= 1:
        return {"icc_a_1": (np.nan, np.nan), "icc_a_k": (np.nan, np.nan)}
    between, rater = squares.targets / squares.residual, squares.raters / squares.residual
    a = raters * estimate / (targets * (1 - estimate))
    b = 1 + raters * estimate * (targets - 1) / (targets * (1 - estimate))
    df = (a * rater + b) ** 2 / ((a * rater) ** 2 / (raters - 1) + b**2 / ((targets - 1) * (raters - 1)))
    rest = raters * rater + (raters * targets - raters - targets)
    below, above = fdtri(targets - 1, df, _UPPER), fdtri(df, targets - 1, _UPPER)
    with np.errstate(invalid="ignore", over="ignore"):  # next to no degrees of freedom: no finite F, nor a bound
        low = targets * (between - below) / (below * rest + targets * between)
        high = targets * (above * between - 1) / (rest + targets * above * between)
    single = float(low), float(high)
    return {"icc_a_1": single, "icc_a_k": (spearman_brown(single[0], raters), spearman_brown(single[1], raters))}


def spearman_brown(single: float, raters: int) -> float:
    """Return the reliability of a mean of raters by Spearman–Brown.

    A bound at or below the least possible value for so many raters is no bound.
    """
    divisor = 1 + single * (raters - 1)
    return single * raters / divisor if divisor > 0 or np.isnan(divisor) else -np.inf


def two_way_by_components(
    scores: Array, targets: NDArray[np.intp], raters: NDArray[np.intp], ratings: float
) -> dict[str, Icc]:
    """Return the four two-way forms for incomplete ratings, by REML with targets and raters as crossed effects.

    Each rater rated each target at most once. `ratings`: the number of ratings in a mean, for the forms (·,k).
    Intervals by the delta method on the logit.
    """
    fit = components(scores, targets, raters)
    covariance = _covariance(fit.data, fit.relative)
    return {
        f"icc_{form}_{name}": _of_components(fit.relative, covariance, agreement=form == "a", ratings=count)
        for form in ("a", "c")
        for name, count in (("1", 1.0), ("k", ratings))
    }


@dataclass(frozen=True)
class FittedComponents:
    """Fitted variances over that of the error. `relative`: of targets and, unless it is 0, of raters."""

    data: mixed.Data
    relative: Array


def components(scores: Array, targets: NDArray[np.intp], raters: NDArray[np.intp]) -> FittedComponents:
    for reason in mixed.unidentified_terms({"target": targets, "rater": raters}).values():
        raise Undefined(reason)
    data = _make_data(scores, targets, raters)
    deviations = mixed.best_deviations(data)
    if deviations.max() > mixed.MOST / 2:
        raise Undefined("error_variance_is_zero")
    if not deviations[0]:
        raise Undefined("term_variance_is_zero", term=Note("conversation"))
    return FittedComponents(data, np.square(deviations[deviations > 0]))


def _make_data(scores: Array, targets: NDArray[np.intp], raters: NDArray[np.intp]) -> mixed.Data:
    if len(scores) < 4:
        raise Undefined("too_few_ratings_for_model")
    if np.ptp(scores) == 0:
        raise Undefined("scores_alike")
    return mixed.Data(scores - scores.mean(), np.ones((len(scores), 1)), {"target": targets, "rater": raters})


def _covariance(data: mixed.Data, relative: Array) -> Array | None:
    """Return the covariance of the relative variances of targets and, unless it is 0, raters.

    It follows from the curvature of the criterion and is None where that is not positive definite.
    """

    def at(variances: Array) -> float:
        return mixed.profile_deviance(data, np.sqrt(np.resize([*variances, 0.0], 2)))

    def slope(place: int) -> Callable[[Array], float]:
        return lambda variances: float(mixed.gradient(at, variances)[place])

    curvature = np.array([mixed.gradient(slope(place), relative) for place in range(len(relative))])
    curvature = (curvature + curvature.T) / 2
    if not np.isfinite(curvature).all() or np.linalg.eigvalsh(curvature).min() <= 0:
        return None
    return np.asarray(2 * np.linalg.inv(curvature))


def _of_components(relative: Array, covariance: Array | None, *, agreement: bool, ratings: float) -> Icc:
    def on_logit(variances: Array) -> float:
        error = 1 + (variances[1:].sum() if agreement else 0.0)
        return float(logit(variances[0] / (variances[0] + error / ratings)))

    place = on_logit(relative)
    if covariance is None:
        return Icc(float(expit(place)), np.nan, np.nan)
    slope = mixed.gradient(on_logit, relative)
    half = float(norm.ppf(_UPPER) * np.sqrt(slope @ covariance @ slope))
    return Icc(*(float(expit(place + move)) for move in (0, -half, half)))
