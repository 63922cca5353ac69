"""Intraclass correlations (McGraw & Wong 1996, doi 10.1037/1082-989X.1.1.30) with intervals of full precision."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit  # noqa: TID253
from scipy.stats import f as f_distribution  # noqa: TID253
from scipy.stats import norm  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.measures import mixed
from studies.analysis.measures.pingouin_adapter import FORMS, MeanSquareRatios, intraclass
from studies.analysis.rows import Undefined

_UPPER = 0.975  # of the F distribution: 95 % intervals


@dataclass(frozen=True)
class Icc:
    """`low` and `high` are nan under perfect agreement, where no F exists, and where a variance comes out as 0."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class OneWay:
    """ICC(1,1) and ICC(1,k); `raters` is k, or k0 where the number differs between targets."""

    single: Icc
    mean: Icc
    raters: float


def two_way(scores: Array) -> dict[str, Icc]:
    """All six forms by the names of the result columns; `scores`: targets × raters, complete."""
    targets, raters = scores.shape
    if targets < 2 or raters < 2:
        raise Undefined("fewer than two conversations that all raters rated")
    if np.ptp(scores.mean(axis=1)) == 0:
        raise Undefined("the conversations' means do not differ")
    if not np.ptp(scores, axis=1).any():
        return dict.fromkeys(FORMS, Icc(1.0, np.nan, np.nan))
    estimates, ratios = intraclass(scores)
    bounds = _one_way_bounds(ratios.one_way, targets - 1, targets * (raters - 1), raters, "1")
    bounds |= _one_way_bounds(ratios.two_way, targets - 1, (targets - 1) * (raters - 1), raters, "c")
    bounds |= _agreement_bounds(ratios, estimates["icc_a_1"], targets, raters)
    return {name: Icc(estimate, *bounds[name]) for name, estimate in estimates.items()}


def one_way(scores: Array, targets: NDArray[np.intp]) -> OneWay:
    """`targets`: what each score is of, numbered from 0 without gaps; they may differ in their number of scores."""
    sizes = np.bincount(targets)
    if len(sizes) < 2 or len(scores) == len(sizes):
        raise Undefined("fewer than two targets, or no target with several scores")
    means = np.bincount(targets, weights=scores) / sizes
    between = float((sizes * (means - scores.mean()) ** 2).sum()) / (len(sizes) - 1)
    within = float(((scores - means[targets]) ** 2).sum()) / (len(scores) - len(sizes))
    if between == 0:
        raise Undefined("the targets' means do not differ")
    raters = (len(scores) - float((sizes**2).sum()) / len(scores)) / (len(sizes) - 1)
    ratio = between / within if within else np.inf
    bounds = _one_way_bounds(ratio, len(sizes) - 1, len(scores) - len(sizes), raters, "1")
    return OneWay(
        single=Icc((between - within) / (between + (raters - 1) * within), *bounds["icc_1_1"]),
        mean=Icc((between - within) / between, *bounds["icc_1_k"]),
        raters=raters,
    )


def _one_way_bounds(ratio: float, df1: int, df2: int, raters: float, form: str) -> dict[str, tuple[float, float]]:
    """For the forms (1,·) and (C,·), whose interval is that of one F ratio."""
    if not np.isfinite(ratio):
        return {f"icc_{form}_1": (np.nan, np.nan), f"icc_{form}_k": (np.nan, np.nan)}
    low = ratio / f_distribution.ppf(_UPPER, df1, df2)
    high = ratio * f_distribution.ppf(_UPPER, df2, df1)
    single = tuple(float((bound - 1) / (bound + raters - 1)) for bound in (low, high))
    mean = tuple(float(1 - 1 / bound) if bound else -np.inf for bound in (low, high))
    return {f"icc_{form}_1": single, f"icc_{form}_k": mean}  # type: ignore[dict-item]


def _agreement_bounds(
    ratios: MeanSquareRatios, estimate: float, targets: int, raters: int
) -> dict[str, tuple[float, float]]:
    """For (A,·), with Satterthwaite's degrees of freedom. In units of the residual mean square."""
    if not np.isfinite(ratios.two_way) or estimate >= 1:
        return {"icc_a_1": (np.nan, np.nan), "icc_a_k": (np.nan, np.nan)}
    between, rater = ratios.two_way, ratios.raters(targets)
    a = raters * estimate / (targets * (1 - estimate))
    b = 1 + raters * estimate * (targets - 1) / (targets * (1 - estimate))
    df = (a * rater + b) ** 2 / ((a * rater) ** 2 / (raters - 1) + b**2 / ((targets - 1) * (raters - 1)))
    rest = raters * rater + (raters * targets - raters - targets)
    below, above = f_distribution.ppf(_UPPER, targets - 1, df), f_distribution.ppf(_UPPER, df, targets - 1)
    low = targets * (between - below) / (below * rest + targets * between)
    high = targets * (above * between - 1) / (rest + targets * above * between)
    single = float(low), float(high)
    return {"icc_a_1": single, "icc_a_k": (_of_mean(single[0], raters), _of_mean(single[1], raters))}


def _of_mean(single: float, raters: int) -> float:
    """Spearman–Brown."""
    return single * raters / (1 + single * (raters - 1))


def by_components(scores: Array, targets: NDArray[np.intp], raters: NDArray[np.intp], ratings: float) -> dict[str, Icc]:
    """The four two-way forms where not every rater rated every target: REML of both as crossed random effects.

    `ratings`: the number of them that a mean is of, for the forms (·,k). Intervals by the delta method on the logit.
    """
    terms = {"target": targets, "rater": raters}
    for reason in mixed.telling(terms).values():
        raise Undefined(reason)
    found = mixed.fit(scores, np.ones((len(scores), 1)), terms)
    if not found.variances["target"]:
        raise Undefined("the variance of the conversations comes out as 0")
    return {
        f"icc_{form}_{name}": _of_components(found, agreement=form == "a", ratings=of)
        for form in ("a", "c")
        for name, of in (("1", 1.0), ("k", ratings))
    }


def _of_components(found: mixed.Fit, *, agreement: bool, ratings: float) -> Icc:
    names = [name for name, value in found.variances.items() if value]

    def on_logit(kept: Array) -> float:
        variances = dict(zip(names, kept, strict=True))
        return float(logit(_share(variances, agreement, ratings)))

    place = on_logit(found.kept)
    if found.covariance is None:
        return Icc(float(expit(place)), np.nan, np.nan)
    slope = mixed.gradient(on_logit, found.kept)
    half = float(norm.ppf(_UPPER) * np.sqrt(slope @ found.covariance @ slope))
    return Icc(*(float(expit(place + move)) for move in (0, -half, half)))


def _share(variances: Mapping[str, float], agreement: bool, ratings: float) -> float:
    error = variances["residual"] + (variances.get("rater", 0.0) if agreement else 0.0)
    return variances["target"] / (variances["target"] + error / ratings)
