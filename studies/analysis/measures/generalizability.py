"""Variance components of crossed random facets, and how well a mean over the other facets distinguishes the levels of
the first.

The first facet is conversations, over raters (and items), or arms, over users and raters (and items).

Brennan 2001, Generalizability Theory (doi 10.1007/978-1-4757-3456-0): expected mean squares of complete data in section
3.3, coefficients in chapter 4. Data with gaps: REML of the same model, or Henderson's first method.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit  # noqa: TID253
from scipy.stats import chi2, norm  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.measures import mixed
from studies.analysis.measures.mixed import FEWEST_DEGREES, Estimate
from studies.analysis.notes import Note
from studies.analysis.rows import Undefined

# First what is to be told apart.
FACETS = ("conversation", "rater", "item")
OF_ARMS = ("arm", "user", "rater", "item")
RESIDUAL = "residual"  # the last interaction and the error, which cannot be told from each other
MOST_LEVELS = 500  # of the facet with fewer: above, REML takes minutes
ANALYSIS_OF_VARIANCE, LIKELIHOOD, TOTALS = Note("anova"), Note("reml"), Note("henderson")
_TAIL = 0.975

Effect = tuple[str, ...]  # the facets that cross in it


@dataclass(frozen=True)
class Components:
    """Variance components with their covariance.

    `variances` may be below 0; the first is that of the object of measurement. `covariance` has their order and is None
    where it is unknown.
    """

    variances: Mapping[Effect, float]
    covariance: Array | None
    method: Note

    @cached_property
    def apart(self) -> Effect:
        """Return the effect of the object of measurement."""
        return next(iter(self.variances))

    @cached_property
    def positive(self) -> dict[Effect, float]:
        """Return the variances, with 0 in place of negative ones."""
        return {effect: max(value, 0.0) for effect, value in self.variances.items()}

    def intervals(self) -> dict[Effect, Estimate]:
        """Return intervals by a chi-square of 2 (estimate / standard error)² degrees of freedom.

        There is none with less than one degree of freedom or a variance that is not above 0.
        """
        return {effect: self._interval(place) for place, effect in enumerate(self.variances)}

    def _interval(self, place: int) -> Estimate:
        value = list(self.variances.values())[place]
        if value <= 0 or self.covariance is None:
            return Estimate(value, np.nan, np.nan)
        df = float(2 * value**2 / self.covariance[place, place])
        if df < FEWEST_DEGREES:
            return Estimate(value, np.nan, np.nan, df)
        low, high = (float(df * value / chi2.ppf(tail, df)) for tail in (_TAIL, 1 - _TAIL))
        return Estimate(value, low, high, df)

    def coefficient(self, numbers: Mapping[str, int], *, absolute: bool) -> Estimate:
        """Return the coefficient of a mean over so many levels of each facet: Phi if `absolute`, else E rho².

        The interval is by the delta method on the logit.
        """
        universe, shares = self.positive[self.apart], self._error_shares(numbers, absolute)
        error = sum(share * self.positive[effect] for effect, share in shares.items())
        if not universe + error:
            raise Undefined("no_positive_variance")
        if not universe or not error or self.covariance is None:
            return Estimate(universe / (universe + error), np.nan, np.nan)
        slope = [self._slope(effect, shares, universe, error) for effect in self.variances]
        place = np.log(universe / error)
        half = norm.ppf(_TAIL) * np.sqrt(np.array(slope) @ self.covariance @ np.array(slope))
        return Estimate(*(float(expit(place + move)) for move in (0, -half, half)))

    def _error_shares(self, numbers: Mapping[str, int], absolute: bool) -> dict[Effect, float]:
        """Return how much of each variance is in the error of a mean."""
        [apart] = self.apart
        counted = {effect: np.prod([numbers[name] for name in effect if name != apart]) for effect in self.variances}
        return {
            effect: float(1 / count)
            for effect, count in counted.items()
            if effect != self.apart and (absolute or apart in effect)
        }

    def _slope(self, effect: Effect, shares: Mapping[Effect, float], universe: float, error: float) -> float:
        """Return the slope of the logit; a variance set to 0 counts as known."""
        if not self.positive[effect]:
            return 0.0
        return 1 / universe if effect == self.apart else -shares.get(effect, 0.0) / error


def effect_name(effect: Effect, facets: int) -> str:
    return RESIDUAL if len(effect) == facets else ":".join(effect)


def components_of_complete(scores: Array, names: Sequence[str] = FACETS) -> Components:
    """Estimate components from scores without gaps by expected mean squares.

    `scores` has an axis for each facet; the axes are called by the first of `names`.
    """
    for name, size in zip(names, scores.shape, strict=False):
        if size < 2:
            raise Undefined("one_level", term=Note(name))
    if np.ptp(scores) == 0:
        raise Undefined("scores_alike")
    effects = list(_effects(scores.ndim))
    squares, freedom = map(np.array, zip(*(_mean_square(scores, effect) for effect in effects), strict=True))
    equations = np.array([[_weight(one, other, scores.shape) for other in effects] for one in effects])
    return Components(
        dict(zip(_name_effects(names[: scores.ndim]), (equations @ squares).tolist(), strict=True)),
        equations @ np.diag(2 * squares**2 / freedom) @ equations.T,
        ANALYSIS_OF_VARIANCE,
    )


def _effects(facets: int) -> Iterator[tuple[int, ...]]:
    for size in range(1, facets + 1):
        yield from combinations(range(facets), size)


def _name_effects(names: Sequence[str]) -> list[Effect]:
    return [tuple(names[axis] for axis in effect) for effect in _effects(len(names))]


def _mean_square(scores: Array, effect: tuple[int, ...]) -> tuple[float, int]:
    """Return the mean square of an effect with its degrees of freedom."""
    deviations = scores
    for axis in range(scores.ndim):
        mean = deviations.mean(axis=axis, keepdims=True)
        deviations = deviations - mean if axis in effect else mean
    freedom = int(np.prod([scores.shape[axis] - 1 for axis in effect]))
    return float((deviations**2).sum() * _others(effect, scores.shape) / freedom), freedom


def _weight(one: tuple[int, ...], other: tuple[int, ...], shape: tuple[int, ...]) -> float:
    """Return the weight of the mean square of `other` in the variance of `one`."""
    if not set(one) <= set(other):
        return 0.0
    sign: int = (-1) ** (len(other) - len(one))
    return float(sign / _others(one, shape))


def _others(effect: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """Return how many scores each level of the effect has."""
    return int(np.prod([size for axis, size in enumerate(shape) if axis not in effect]))


def components_of_incomplete(scores: Array, facets: Mapping[str, NDArray[np.intp]]) -> Components:
    """Estimate components from scores with gaps: REML for two facets, Henderson's first method for three.

    REML of three facets would take minutes. Henderson's estimates are unbiased but have no interval. `facets`: the
    level of each score, numbered from 0 without gaps, first those of the object of measurement. Raises `Undefined`.
    """
    for reason in mixed.unidentified_terms(facets).values():
        raise Undefined(reason)
    levels = min(int(column.max()) + 1 for column in facets.values())
    return (
        _by_likelihood(scores, facets)
        if len(facets) == 2 and levels <= MOST_LEVELS
        else components_by_totals(scores, facets)
    )


def _by_likelihood(scores: Array, facets: Mapping[str, NDArray[np.intp]]) -> Components:
    fit = mixed.fit(scores, np.ones((len(scores), 1)), facets)
    effects = _name_effects(list(facets))
    values = [fit.variances[effect_name(effect, len(facets))] for effect in effects]
    return Components(dict(zip(effects, values, strict=True)), _covariance(fit, values), LIKELIHOOD)


def components_by_totals(scores: Array, facets: Mapping[str, NDArray[np.intp]]) -> Components:
    """Estimate components by Henderson's method 1: squared totals of each effect's cells equal their expectations.

    Henderson 1953, doi 10.2307/3001853; Brennan 2001, section 7.1.1. For complete data these are the expected mean
    squares.
    """
    if np.ptp(scores) == 0:
        raise Undefined("scores_alike")
    effects = _name_effects(list(facets))
    cells = {effect: _levels(effect, facets) for effect in effects}
    sizes = {effect: np.bincount(numbers)[numbers].astype(float) for effect, numbers in cells.items()}
    sizes[()] = np.full(len(scores), float(len(scores)))
    expected = np.array([[_expectation(one, other, facets, sizes) for other in effects] for one in ((), *effects)])
    equations = expected[1:] - expected[0]
    if np.linalg.matrix_rank(equations) < len(effects):
        raise Undefined("facets_go_together")
    centred = scores - scores.mean()
    values = np.linalg.solve(equations, np.array([_sum_squared_totals(centred, cells[effect]) for effect in effects]))
    return Components(dict(zip(effects, values.tolist(), strict=True)), None, TOTALS)


def _sum_squared_totals(scores: Array, cells: NDArray[np.intp]) -> float:
    return float((np.bincount(cells, weights=scores) ** 2 / np.bincount(cells)).sum())


def _expectation(one: Effect, other: Effect, facets: Iterable[str], sizes: Mapping[Effect, Array]) -> float:
    """Return how often the variance of `other` is in the squared totals of the cells of `one`.

    Without facets, `one` is the grand total. `sizes`: for each score, how many are in its cell.
    """
    both = tuple(name for name in facets if name in one or name in other)
    return float((sizes[both] / sizes[one]).sum())


def _levels(effect: Effect, facets: Mapping[str, NDArray[np.intp]]) -> NDArray[np.intp]:
    sizes = [int(facets[name].max()) + 1 for name in effect]
    cells = np.ravel_multi_index([facets[name] for name in effect], sizes)
    numbers: NDArray[np.intp] = np.unique(cells, return_inverse=True)[1]
    return numbers


def _covariance(fit: mixed.Fit, values: list[float]) -> Array | None:
    """Return the covariance of all components; 0 where one came out as 0."""
    if fit.covariance is None:
        return None
    nonzero = np.flatnonzero(values)
    covariance = np.zeros((len(values), len(values)))
    covariance[np.ix_(nonzero, nonzero)] = fit.covariance
    return covariance
