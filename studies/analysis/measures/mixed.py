"""Linear mixed models with crossed random intercepts, fitted by REML.

The terms' variances stand relative to the residual one while they are sought (Bates et al. 2015, doi
10.18637/jss.v067.i01), so that the work grows with the number of levels and hardly with that of the rows. Degrees of
freedom after Satterthwaite, as Giesbrecht and Burns 1985 (doi 10.2307/2530872) have them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve  # noqa: TID253
from scipy.optimize import minimize  # noqa: TID253
from scipy.stats import chi2, norm, t  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.rows import Undefined

NOTHING = 1e-6  # a standard deviation, relative to the residual one, below which a term has no variance
MOST = 1e4  # the same, above which the residual one counts as 0
MOST_LEVELS = 1500  # of all random terms together: matrices have a row and a column for each
EXACT = 1e-9
_TAIL = 0.975
_STEP = 1e-3  # relative, of numerical derivatives


@dataclass(frozen=True)
class Estimate:
    """`low` and `high` are nan where there is no interval; `df` is that of Student's t, nan where normal."""

    estimate: float
    low: float
    high: float
    df: float = np.nan


@dataclass(frozen=True)
class Data:
    """`fixed`: rows × columns of full rank; `terms`: the level of each row, numbered from 0 without gaps."""

    scores: Array
    fixed: Array
    terms: Mapping[str, NDArray[np.intp]]

    @cached_property
    def crossed(self) -> Array:
        """All inner products of (indicators of the levels, fixed, scores)."""
        indicators = [np.eye(levels.max() + 1)[levels] for levels in self.terms.values()]
        everything = np.column_stack([*indicators, self.fixed, self.scores])
        return np.asarray(everything.T @ everything)

    def sizes(self) -> list[int]:
        return [int(levels.max()) + 1 for levels in self.terms.values()]


@dataclass(frozen=True)
class Solved:
    """What follows once the relative variances are given; covariances are in units of the residual variance."""

    coefficients: Array
    covariance: Array
    squares: float  # generalised residual sum of squares
    logarithms: float  # of the determinants that the REML criterion counts


def solve(data: Data, relative: Array) -> Solved:
    """`relative`: each term's standard deviation over the residual one."""
    levels = sum(data.sizes())
    scale = np.repeat(relative, data.sizes())
    crossed, columns = data.crossed, data.fixed.shape[1]
    factor = cho_factor(np.eye(levels) + scale[:, None] * crossed[:levels, :levels] * scale, lower=True)
    beside = scale[:, None] * crossed[:levels, levels:]
    rest = crossed[levels:, levels:] - beside.T @ cho_solve(factor, beside)
    within = cho_factor(rest[:columns, :columns], lower=True)
    coefficients = cho_solve(within, rest[:columns, columns])
    logarithms = 2 * sum(np.log(np.diag(triangle[0])).sum() for triangle in (factor, within))
    squares = float(rest[columns, columns] - rest[:columns, columns] @ coefficients)
    return Solved(coefficients, cho_solve(within, np.eye(columns)), squares, float(logarithms))


@dataclass(frozen=True)
class Fit:
    """`variances` by term, `residual` last; those of terms in `absent` are 0 and the model is that without them."""

    data: Data
    variances: Mapping[str, float]
    absent: tuple[str, ...]
    criterion: float  # REML, -2 log likelihood

    @cached_property
    def kept(self) -> Array:
        """The variances that are not 0, the residual one last."""
        return np.array([value for value in self.variances.values() if value > 0])

    def fixed(self) -> list[Estimate]:
        """One for each column of the fixed part; t with Satterthwaite's degrees of freedom, else normal."""
        return [self._fixed(column) for column in range(self.data.fixed.shape[1])]

    def _fixed(self, column: int) -> Estimate:
        estimate = float(solve(self.data, _relative(self.kept)).coefficients[column])
        variance = _variance_of(self.data, column)
        spread, df = variance(self.kept), self._degrees(variance)
        half = float(np.sqrt(spread)) * float(norm.ppf(_TAIL) if np.isnan(df) else t.ppf(_TAIL, df))
        return Estimate(estimate, estimate - half, estimate + half, df)

    def _degrees(self, variance: Callable[[Array], float]) -> float:
        if self.covariance is None:
            return np.nan
        slope = gradient(variance, self.kept)
        return float(2 * variance(self.kept) ** 2 / (slope @ self.covariance @ slope))

    @cached_property
    def covariance(self) -> Array | None:
        """Of `kept`, from the curvature of the criterion; None where that is not positive definite."""
        curvature = _hessian(lambda variances: criterion(self.data, variances), self.kept)
        if not np.isfinite(curvature).all() or np.linalg.eigvalsh(curvature).min() <= 0:
            return None
        return np.asarray(2 * np.linalg.inv(curvature))

    def components(self) -> dict[str, Estimate]:
        """The variances, with intervals by a chi-square of 2 (estimate / standard error)² degrees of freedom."""
        present = {name: place for place, name in enumerate(name for name, value in self.variances.items() if value)}
        return {name: self._component(value, present.get(name)) for name, value in self.variances.items()}

    def _component(self, value: float, place: int | None) -> Estimate:
        if place is None or self.covariance is None:
            return Estimate(value, np.nan, np.nan)
        df = float(2 * value**2 / self.covariance[place, place])
        low, high = (float(df * value / chi2.ppf(tail, df)) for tail in (_TAIL, 1 - _TAIL))
        return Estimate(value, low, high, df)

    def effects(self, term: str) -> list[Estimate]:
        """Best linear unbiased predictions of the levels of a term that is not absent; normal intervals that take the
        variances as known."""
        start, end, predicted, spread = self._predicted(term)
        half = norm.ppf(_TAIL) * np.sqrt(spread[start:end])
        places = zip(predicted[start:end], half, strict=True)
        return [Estimate(float(value), float(value - width), float(value + width)) for value, width in places]

    def _predicted(self, term: str) -> tuple[int, int, Array, Array]:
        """Henderson's equations of the terms that are there: all levels' effects and their error variances."""
        data, residual = self.data, self.variances["residual"]
        sizes = data.sizes()
        ratios = np.repeat([residual / self.variances[name] for name in data.terms], sizes)
        left = data.crossed[:-1, :-1].copy()
        left[: len(ratios), : len(ratios)] += np.diag(ratios)
        inverse = np.linalg.inv(left)
        start = sum(sizes[: list(data.terms).index(term)])
        end = start + int(data.terms[term].max()) + 1
        return start, end, inverse @ data.crossed[:-1, -1], np.diag(inverse) * residual


def fit(scores: Array, fixed: Array, terms: Mapping[str, NDArray[np.intp]]) -> Fit:
    """Raises `Undefined` where the data leave nothing to estimate. A term whose variance comes out as 0 is left out."""
    refuse(scores, fixed, terms)
    data = Data(scores, fixed, terms)
    relative = _best(data)
    absent = tuple(name for name, ratio in zip(terms, relative, strict=True) if ratio < NOTHING)
    if absent:
        without = {name: levels for name, levels in terms.items() if name not in absent}
        data = Data(scores, fixed, without)
        relative = _best(data)
    if relative.size and relative.max() > MOST / 2:
        raise Undefined("the error's variance comes out as 0")
    residual = solve(data, relative).squares / (len(scores) - fixed.shape[1])
    found = dict(zip(data.terms, (relative**2 * residual).tolist(), strict=True))
    variances = {name: found.get(name, 0.0) for name in terms} | {"residual": residual}
    return Fit(data, variances, absent, criterion(data, np.array([*found.values(), residual])))


def refuse(scores: Array, fixed: Array, terms: Mapping[str, NDArray[np.intp]]) -> None:
    if len(scores) < fixed.shape[1] + 3:
        raise Undefined("too few ratings for a mixed model")
    if (count := sum(int(levels.max()) + 1 for levels in terms.values())) > MOST_LEVELS:
        raise Undefined(f"{count} levels of random effects; this model is not fitted with more than {MOST_LEVELS}")
    if np.ptp(scores) == 0:
        raise Undefined("the scores do not vary")
    if np.abs(_left_over(scores, fixed)).max() < EXACT:
        raise Undefined("the scores differ between the arms alone")
    everything = np.column_stack([fixed, *(np.eye(levels.max() + 1)[levels] for levels in terms.values())])
    rank = int(np.linalg.matrix_rank(everything))
    if rank < len(scores) and np.abs(_left_over(scores, everything)).max() < EXACT:
        raise Undefined("nothing is left to estimate the error of")


def _left_over(scores: Array, columns: Array) -> Array:
    return np.asarray(scores - columns @ np.linalg.lstsq(columns, scores)[0])


def telling(terms: Mapping[str, NDArray[np.intp]]) -> dict[str, str]:
    """The terms that cannot be told from the error or from an earlier term, with the reason."""
    reasons: dict[str, str] = {}
    kept: list[str] = []
    for name, levels in terms.items():
        count = int(levels.max()) + 1
        same = [other for other in kept if _same(levels, terms[other])]
        if count < 2:
            reasons[name] = f"one {name} only"
        elif count == len(levels):
            reasons[name] = f"every rating has its own {name}"
        elif same:
            reasons[name] = f"{name} and {same[0]} go together"
        else:
            kept.append(name)
    return reasons


def _same(one: NDArray[np.intp], other: NDArray[np.intp]) -> bool:
    pairs = len(set(zip(one.tolist(), other.tolist(), strict=True)))
    return bool(pairs == one.max() + 1 == other.max() + 1)


def criterion(data: Data, variances: Array) -> float:
    """-2 log of the restricted likelihood; `variances`: of the terms and, last, the residual one."""
    freedom = len(data.scores) - data.fixed.shape[1]
    solved = solve(data, _relative(variances))
    return float(freedom * np.log(2 * np.pi * variances[-1]) + solved.logarithms + solved.squares / variances[-1])


def _relative(variances: Array) -> Array:
    return np.asarray(np.sqrt(variances[:-1] / variances[-1]))


def _best(data: Data) -> Array:
    """The relative standard deviations at which the profiled criterion is least."""
    if not data.terms:
        return np.zeros(0)
    start = np.ones(len(data.terms))
    freedom = len(data.scores) - data.fixed.shape[1]

    def profiled(relative: Array) -> float:
        try:
            solved = solve(data, relative)
        except LinAlgError:
            return float("inf")
        return float(freedom * np.log(max(solved.squares, 1e-300)) + solved.logarithms)

    options = {"xatol": 1e-9, "fatol": 1e-11, "maxiter": 4000, "maxfev": 4000}
    found = minimize(profiled, start, method="Nelder-Mead", bounds=[(0, MOST)] * len(start), options=options)
    return np.asarray(found.x, dtype=float)


def _variance_of(data: Data, column: int) -> Callable[[Array], float]:
    """The sampling variance of a coefficient, as a function of the variances."""
    return lambda variances: float(variances[-1] * solve(data, _relative(variances)).covariance[column, column])


def gradient(function: Callable[[Array], float], at: Array) -> Array:
    steps = _STEP * at
    return np.array([(function(at + move) - function(at - move)) / (2 * move.sum()) for move in np.diag(steps)])


def _hessian(function: Callable[[Array], float], at: Array) -> Array:
    moves = np.diag(_STEP * at)
    return np.array([[_second(function, at, one, other) for one in moves] for other in moves])


def _second(function: Callable[[Array], float], at: Array, one: Array, other: Array) -> float:
    corners: Sequence[tuple[int, Array]] = [
        (1, one + other), (-1, one - other), (-1, other - one), (1, -one - other)
    ]  # fmt: skip
    return sum(sign * function(at + move) for sign, move in corners) / (4 * float(one.sum() * other.sum()))
