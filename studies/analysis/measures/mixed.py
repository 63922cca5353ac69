"""Linear mixed models with crossed random intercepts, fitted by REML.

During the search the terms' variances are relative to the residual one (Bates et al. 2015, doi 10.18637/jss.v067.i01).
The largest term is eliminated before any matrix is factorised (its block of the equations is diagonal), and its levels
count by their number of rows alone, so that the work grows with the number of levels of the other terms and hardly with
that of the rows. Degrees of freedom after Satterthwaite, as Giesbrecht and Burns 1985 (doi 10.2307/2530872) have them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve  # noqa: TID253
from scipy.optimize import minimize  # noqa: TID253
from scipy.sparse import csr_array, hstack, vstack  # noqa: TID253
from scipy.stats import chi2, norm, t  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.notes import Note
from studies.analysis.rows import Undefined

MOST = 1e4  # a standard deviation, relative to the residual one, above which this counts as 0
MOST_LEVELS = 1500  # of the random terms but the largest: matrices have a row and a column for each
LARGEST = 1e100  # a score above which its squares are infinite
EXACT = 1e-9
FEWEST_DEGREES = 1.0  # of freedom: below, the upper bound of a variance means nothing
_DEPENDENT = 1e-10  # a singular value, relative to the largest, that counts as 0
_SMALL = 0.05  # a standard deviation, relative to the residual one, that may be 0
_STARTS = (1.0, 0.05, 20.0)  # relative standard deviations
_AS_GOOD = 1e-8  # by how much a criterion may be higher and count as the same
_TAIL = 0.975
_STEP = 1e-3  # relative, of numerical derivatives


@dataclass(frozen=True)
class Estimate:
    """An estimate; `low` and `high` are nan without an interval, `df` is that of Student's t, nan where normal."""

    estimate: float
    low: float
    high: float
    df: float = np.nan

    def without_interval(self) -> Note:
        """Return why a variance has no interval."""
        if not self.estimate:
            return Note("variance_is_zero")
        return Note("no_curvature") if np.isnan(self.df) else Note("too_uncertain")


@dataclass(frozen=True)
class Data:
    """The data of one model. `fixed`: rows × columns of full rank; `terms`: the level of each row, numbered from 0
    without gaps."""

    scores: Array
    fixed: Array
    terms: Mapping[str, NDArray[np.intp]]

    @cached_property
    def sizes(self) -> dict[str, int]:
        return {name: int(levels.max()) + 1 for name, levels in self.terms.items()}

    @cached_property
    def largest(self) -> str:
        """Return the term that is eliminated; "" without terms."""
        return max(self.terms, key=lambda name: self.sizes[name], default="")

    @cached_property
    def others(self) -> list[str]:
        return [name for name in self.terms if name != self.largest]

    def repeat_by_level(self, values: Mapping[str, float]) -> Array:
        """Return each other term's value, repeated for each of its levels."""
        sizes = [self.sizes[name] for name in self.others]
        return np.repeat(np.array([values[name] for name in self.others]), np.array(sizes, dtype=np.intp))

    @cached_property
    def largest_levels(self) -> NDArray[np.intp]:
        """Return each row's level of the largest term; without terms all rows have one level."""
        return self.terms.get(self.largest, np.zeros(len(self.scores), dtype=np.intp))

    @cached_property
    def columns(self) -> csr_array:
        """Return rows × (indicators of the other terms' levels, fixed, score)."""
        indicators = [_indicators(self.terms[name]) for name in self.others]
        return hstack([*indicators, csr_array(np.column_stack([self.fixed, self.scores]))], format="csr")

    @cached_property
    def cross_products(self) -> Array:
        """Return all inner products of the columns."""
        return np.asarray((self.columns.T @ self.columns).toarray())

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """Return the number of rows of each level of the largest term."""
        return np.bincount(self.largest_levels)

    @cached_property
    def sums(self) -> csr_array:
        """Return the sums of the columns within each level of the largest term."""
        return csr_array(_indicators(self.largest_levels).T @ self.columns)

    @cached_property
    def alike(self) -> tuple[Array, Array, csr_array]:
        """Return the levels of the largest term, grouped by their number of rows, because these count alike.

        The numbers, how many levels have each, and all inner products of these levels' sums, flat, one column for each
        number.
        """
        numbers, levels = np.unique(self.counts, return_counts=True)
        of_number = [self.sums[self.counts == number] for number in numbers]
        flat = vstack([(sums.T @ sums).reshape(1, -1) for sums in of_number], format="csc")
        return numbers.astype(float), levels.astype(float), csr_array(flat.T)

    def eliminate_largest(self, weigh: Callable[[Array], Array]) -> Array:
        """Return the inner products of the columns with the largest term eliminated.

        `weigh`: the weight of the square of the sum within a level, by the number of its rows.
        """
        numbers, _levels, products = self.alike
        return np.asarray(self.cross_products - (products @ weigh(numbers)).reshape(self.cross_products.shape))


def _indicators(levels: NDArray[np.intp]) -> csr_array:
    rows = len(levels)
    return csr_array((np.ones(rows), levels, np.arange(rows + 1)), shape=(rows, int(levels.max()) + 1))


def _shrinking(ratio: float) -> Callable[[Array], Array]:
    """Return the weights that eliminate a term; `ratio`: its variance over the residual one."""
    return lambda counts: ratio / (1 + ratio * counts)


@dataclass(frozen=True)
class Solution:
    """Estimates for given relative variances; covariances are in units of the residual variance."""

    coefficients: Array
    covariance: Array
    squares: float  # generalised residual sum of squares
    logarithms: float  # of the determinants that the REML criterion counts


def solve(data: Data, relative: Array) -> Solution:
    """Estimate the model; `relative`: each term's standard deviation over the residual one."""
    deviations = dict(zip(data.terms, relative.tolist(), strict=True))
    ratio = deviations.get(data.largest, 0.0) ** 2
    scale = data.repeat_by_level(deviations)
    crossed, levels, columns = data.eliminate_largest(_shrinking(ratio)), len(scale), data.fixed.shape[1]
    factor = cho_factor(np.eye(levels) + scale[:, None] * crossed[:levels, :levels] * scale, lower=True)
    beside = scale[:, None] * crossed[:levels, levels:]
    rest = crossed[levels:, levels:] - beside.T @ cho_solve(factor, beside)
    within = cho_factor(rest[:columns, :columns], lower=True)
    coefficients = cho_solve(within, rest[:columns, columns])
    numbers, of_number, _products = data.alike
    logarithms = of_number @ np.log1p(ratio * numbers)
    logarithms += 2 * sum(np.log(np.diag(triangle[0])).sum() for triangle in (factor, within))
    squares = float(rest[columns, columns] - rest[:columns, columns] @ coefficients)
    return Solution(coefficients, cho_solve(within, np.eye(columns)), squares, float(logarithms))


@dataclass(frozen=True)
class Fit:
    """A fitted model. `variances` by term, `residual` last; terms in `absent` have variance 0 and are not in the model.

    `data` has the terms that are not absent: each of their variances is above 0.
    """

    data: Data
    variances: Mapping[str, float]
    absent: tuple[str, ...]
    criterion: float  # REML, -2 log likelihood

    @cached_property
    def positive_variances(self) -> Array:
        """Return the variances above 0, the residual one last."""
        return np.array([value for value in self.variances.values() if value > 0])

    def fixed_effects(self) -> list[Estimate]:
        """Return an estimate for each column of the fixed part.

        Intervals use t with Satterthwaite's degrees of freedom, or the normal distribution if there are none.
        """
        return [self._fixed_effect(column) for column in range(self.data.fixed.shape[1])]

    def _fixed_effect(self, column: int) -> Estimate:
        estimate = float(solve(self.data, _relative(self.positive_variances)).coefficients[column])
        variance = _variance_of(self.data, column)
        spread, df = variance(self.positive_variances), self.degrees(variance)
        half = float(np.sqrt(spread)) * float(norm.ppf(_TAIL) if np.isnan(df) else t.ppf(_TAIL, df))
        return Estimate(estimate, estimate - half, estimate + half, df)

    def degrees(self, variance: Callable[[Array], float]) -> float:
        """Return Satterthwaite's degrees of freedom of an estimate.

        `variance`: the variance of the estimate as a function of the terms' variances. NaN if the criterion's curvature
        gives none.
        """
        if self.covariance is None:
            return np.nan
        slope = gradient(variance, self.positive_variances)
        return float(2 * variance(self.positive_variances) ** 2 / (slope @ self.covariance @ slope))

    @cached_property
    def covariance(self) -> Array | None:
        """Return the covariance of `positive_variances` from the criterion's curvature.

        It is None if that is not positive definite.
        """
        curvature = _hessian(lambda variances: criterion(self.data, variances), self.positive_variances)
        if not np.isfinite(curvature).all() or np.linalg.eigvalsh(curvature).min() <= 0:
            return None
        return np.asarray(2 * np.linalg.inv(curvature))

    def components(self) -> dict[str, Estimate]:
        """Return the variances, with intervals by a chi-square of 2 (estimate / standard error)² degrees of freedom.

        There is no interval with less than one degree of freedom.
        """
        present = {name: place for place, name in enumerate(name for name, value in self.variances.items() if value)}
        return {name: self._component(value, present.get(name)) for name, value in self.variances.items()}

    def _component(self, value: float, place: int | None) -> Estimate:
        if place is None or self.covariance is None:
            return Estimate(value, np.nan, np.nan)
        df = float(2 * value**2 / self.covariance[place, place])
        if df < FEWEST_DEGREES:
            return Estimate(value, np.nan, np.nan, df)
        low, high = (float(df * value / chi2.ppf(tail, df)) for tail in (_TAIL, 1 - _TAIL))
        return Estimate(value, low, high, df)

    def effects(self, term: str) -> list[Estimate]:
        """Return best linear unbiased predictions of the levels of a term that is not absent.

        The intervals are normal and take the variances as known.
        """
        predicted, spread = self._largest_effects() if term == self.data.largest else self._other_effects(term)
        places = zip(predicted.tolist(), (norm.ppf(_TAIL) * np.sqrt(spread)).tolist(), strict=True)
        return [Estimate(value, value - half, value + half) for value, half in places]

    @cached_property
    def _ratios(self) -> dict[str, float]:
        return {name: self.variances[name] / self.variances["residual"] for name in self.data.terms}

    @cached_property
    def _henderson(self) -> tuple[Array, Array]:
        """Return the solution of Henderson's equations without the largest term, and its error covariance.

        The solution holds the other levels' effects and the coefficients. The covariance is in units of the residual
        variance.
        """
        left = self.data.eliminate_largest(_shrinking(self._ratios[self.data.largest]))
        inverse_ratios = 1 / self.data.repeat_by_level(self._ratios)
        left[np.diag_indices(len(inverse_ratios))] += inverse_ratios
        covariance = np.linalg.inv(left[:-1, :-1])
        return covariance @ left[:-1, -1], np.asarray(covariance)

    def _other_effects(self, term: str) -> tuple[Array, Array]:
        """Return effects and error variances of a term that was not eliminated."""
        solution, covariance = self._henderson
        before = self.data.others[: self.data.others.index(term)]
        start = sum(self.data.sizes[name] for name in before)
        there = slice(start, start + self.data.sizes[term])
        return solution[there], np.diag(covariance)[there] * self.variances["residual"]

    def _largest_effects(self) -> tuple[Array, Array]:
        """Return effects and error variances of the largest term, which was eliminated."""
        solution, covariance = self._henderson
        shrunken = _shrinking(self._ratios[self.data.largest])(self.data.counts.astype(float))
        others, scores = self.data.sums[:, :-1], self.data.sums[:, [-1]].toarray().ravel()
        spread = shrunken + shrunken**2 * (others * (others @ covariance)).sum(axis=1)
        return shrunken * (scores - others @ solution), spread * self.variances["residual"]


def fit(scores: Array, fixed: Array, terms: Mapping[str, NDArray[np.intp]]) -> Fit:
    """Fit a model by REML; a term whose variance comes out as 0 is left out. Raises `Undefined` if nothing can be
    estimated."""
    require_estimable(scores, fixed, terms)
    data = Data(scores, fixed, terms)
    relative = best_deviations(data)
    absent = tuple(name for name, deviation in zip(terms, relative, strict=True) if not deviation)
    if absent:
        data = Data(scores, fixed, {name: levels for name, levels in terms.items() if name not in absent})
        relative = relative[relative > 0]
    if relative.size and relative.max() > MOST / 2:
        raise Undefined("error_variance_is_zero")
    residual = solve(data, relative).squares / (len(scores) - fixed.shape[1])
    components = dict(zip(data.terms, (relative**2 * residual).tolist(), strict=True))
    variances = {name: components.get(name, 0.0) for name in terms} | {"residual": residual}
    return Fit(data, variances, absent, criterion(data, np.array([*components.values(), residual])))


def require_estimable(scores: Array, fixed: Array, terms: Mapping[str, NDArray[np.intp]]) -> None:
    if len(scores) < fixed.shape[1] + 3:
        raise Undefined("too_few_ratings_for_model")
    counts = sorted(int(levels.max()) + 1 for levels in terms.values())
    if (count := sum(counts[:-1])) > MOST_LEVELS:
        raise Undefined("too_many_levels_for_model", count=count, most=MOST_LEVELS)
    if np.abs(scores).max() > LARGEST:
        raise Undefined("too_large_scores_for_model")
    if np.ptp(scores) == 0:
        raise Undefined("scores_alike")
    if np.abs(scores - fixed @ np.linalg.lstsq(fixed, scores)[0]).max() < EXACT:
        raise Undefined("differ_between_arms_alone")
    if terms and _is_saturated(Data(scores, fixed, terms)):
        raise Undefined("no_error_left")


def _is_saturated(data: Data) -> bool:
    """Return whether levels and fixed part, although fewer than the scores, give them exactly."""
    within = data.eliminate_largest(lambda counts: 1 / counts)
    solution, _squares, rank, _values = np.linalg.lstsq(within[:-1, :-1], within[:-1, -1], rcond=_DEPENDENT)
    if rank + len(data.counts) >= len(data.scores):
        return False
    left = data.scores - data.columns[:, :-1] @ solution
    means = np.bincount(data.largest_levels, weights=left) / data.counts
    return bool(np.abs(left - means[data.largest_levels]).max() < EXACT)


def unidentified_terms(terms: Mapping[str, NDArray[np.intp]]) -> dict[str, Note]:
    """Return the terms that cannot be distinguished from the error or from an earlier term, with the reason."""
    reasons: dict[str, Note] = {}
    identified: list[str] = []
    for name, levels in terms.items():
        count = int(levels.max()) + 1
        same = [other for other in identified if _same(levels, terms[other])]
        if count < 2:
            reasons[name] = Note("one_level", term=Note(name))
        elif count == len(levels):
            reasons[name] = Note("own_level", term=Note(name))
        elif same:
            reasons[name] = Note("terms_go_together", term=Note(name), other=Note(same[0]))
        else:
            identified.append(name)
    return reasons


def _same(one: NDArray[np.intp], other: NDArray[np.intp]) -> bool:
    pairs = len(set(zip(one.tolist(), other.tolist(), strict=True)))
    return bool(pairs == one.max() + 1 == other.max() + 1)


def criterion(data: Data, variances: Array) -> float:
    """Return -2 log of the restricted likelihood; `variances`: of the terms and, last, the residual one."""
    freedom = len(data.scores) - data.fixed.shape[1]
    solved = solve(data, _relative(variances))
    return float(freedom * np.log(2 * np.pi * variances[-1]) + solved.logarithms + solved.squares / variances[-1])


def _relative(variances: Array) -> Array:
    return np.asarray(np.sqrt(variances[:-1] / variances[-1]))


def profile_deviance(data: Data, relative: Array) -> float:
    """Return the criterion, up to a constant, at the residual variance that makes it least; infinite if
    there is none."""
    try:
        solved = solve(data, relative)
    except LinAlgError:
        return float("inf")
    freedom = len(data.scores) - data.fixed.shape[1]
    return float(freedom * np.log(max(solved.squares, 1e-300)) + solved.logarithms)


def best_deviations(data: Data) -> Array:
    """Return the relative standard deviations at which the profiled criterion is least.

    A term that does not lower the criterion gets exactly 0. With few ratings the criterion can have several minima, one
    of them at 0 or without an error, so the search starts from several deviations.
    """
    minima = [_best_from(data, start) for start in _STARTS]
    lowest = min(profile_deviance(data, one) for one in minima)
    return next(one for one in minima if profile_deviance(data, one) <= lowest + _AS_GOOD)


def _best_from(data: Data, start: float) -> Array:
    deviations = np.full(len(data.terms), start)
    free = np.ones(len(data.terms), dtype=bool)
    while free.any():
        deviations[free] = _least(partial(_with, data, deviations, free), deviations[free])
        nothing = [
            place for place in np.flatnonzero(free & (deviations < _SMALL)) if _is_nothing(data, deviations, place)
        ]
        if not nothing:
            break
        free[nothing], deviations[nothing] = False, 0.0
    return deviations


def _least(function: Callable[[Array], float], start: Array) -> Array:
    """Return the deviations at which a function of them is least.

    It treats a negative deviation like a positive one: a simplex that is stopped at 0 lies flat on that bound and never
    leaves it again.
    """
    options = {"xatol": 1e-9, "fatol": 1e-11, "maxiter": 4000, "maxfev": 4000}
    bounds = [(-MOST, MOST)] * len(start)
    minimum = minimize(function, start, method="Nelder-Mead", bounds=bounds, options=options)
    return np.asarray(np.abs(minimum.x), dtype=float)


def _with(data: Data, deviations: Array, free: NDArray[np.bool_], values: Array) -> float:
    """Return the profiled criterion with these values of the free deviations."""
    tried = deviations.copy()
    tried[free] = values
    return profile_deviance(data, tried)


def _is_nothing(data: Data, deviations: Array, place: np.intp) -> bool:
    """Return whether the criterion is no higher with 0 at this place."""
    without = deviations.copy()
    without[place] = 0.0
    return profile_deviance(data, without) <= profile_deviance(data, deviations) + _AS_GOOD


def _variance_of(data: Data, column: int) -> Callable[[Array], float]:
    """Return the sampling variance of a coefficient, as a function of the variances."""
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
