"""The model score ~ fixed part + (1 | user) for many users, who are eliminated before any matrix is factorised.

`mixed.py`, which has crossed terms and far more work with each user, is the reference in the tests. Effects have the
degrees of freedom of an analysis of variance in which the users are a factor, which suits what varies within users.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve  # noqa: TID253
from scipy.optimize import minimize_scalar  # noqa: TID253
from scipy.stats import f, t  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.measures.mixed import MOST
from studies.analysis.rows import Undefined

_ROUNDING = 1e-12  # a share of the sum of squares
_TAIL = 0.975
_NOTHING = 1e-6  # a relative standard deviation that counts as 0


@dataclass(frozen=True)
class Effect:
    estimate: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Test:
    """The result of Wald's F test."""

    f: float
    numerator: int
    df: int
    p: float


@dataclass(frozen=True)
class Solution:
    """Estimates for a given variance of the users; `covariance` is in units of the error's variance."""

    coefficients: Array
    covariance: Array
    squares: float
    of_users: float  # log determinant
    of_fixed: float  # log determinant


@dataclass(frozen=True)
class Model:
    """The data of one model. `fixed`: rows × columns of full rank; `users`: the user of each row, numbered from 0
    without gaps."""

    scores: Array
    fixed: Array
    users: NDArray[np.intp]

    @cached_property
    def sizes(self) -> Array:
        return np.bincount(self.users).astype(np.float64)

    @cached_property
    def columns(self) -> Array:
        return np.asarray(np.column_stack([self.fixed, self.scores]))

    @cached_property
    def sums(self) -> Array:
        """Return the sums of each column within each user."""
        return np.stack([np.bincount(self.users, weights=column) for column in self.columns.T], axis=1)

    @cached_property
    def cross_products(self) -> Array:
        return np.asarray(self.columns.T @ self.columns)

    def freedom(self) -> int:
        """Return the residual degrees of freedom beside the users and the fixed part that varies within them.

        Raises `Undefined` where no error is left.
        """
        within = self.columns - (self.sums / self.sizes[:, np.newaxis])[self.users]
        fixed, scores = within[:, :-1], within[:, -1]
        solution, _squares, rank, _values = np.linalg.lstsq(fixed, scores)
        left = float(((scores - fixed @ solution) ** 2).sum())
        df = len(scores) - len(self.sizes) - int(rank)
        if df < 1 or left <= _ROUNDING * float((self.scores**2).sum()):
            raise Undefined("no_error_left")
        return df

    def solve(self, relative: float) -> Solution:
        """Estimate the model; `relative`: the users' standard deviation over the error's."""
        weights = relative**2 / (1 + relative**2 * self.sizes)
        left = self.cross_products - self.sums.T @ (self.sums * weights[:, np.newaxis])
        factor = cho_factor(left[:-1, :-1], lower=True)
        coefficients = cho_solve(factor, left[:-1, -1])
        return Solution(
            coefficients=coefficients,
            covariance=cho_solve(factor, np.eye(len(coefficients))),
            squares=float(left[-1, -1] - left[:-1, -1] @ coefficients),
            of_users=float(np.log1p(relative**2 * self.sizes).sum()),
            of_fixed=float(2 * np.log(np.diag(factor[0])).sum()),
        )

    def deviance(self, relative: float) -> float:
        """Return -2 log restricted likelihood."""
        solved = self.solve(relative)
        n = len(self.scores) - self.fixed.shape[1]
        return float(n * (np.log(2 * np.pi * solved.squares / n) + 1) + solved.of_users + solved.of_fixed)

    def least_deviance_ratio(self) -> float:
        """Return the relative standard deviation at which the deviance is least."""

        def deviance(turned: float) -> float:
            return self.deviance(turned / (1 - turned))

        # It has no upper bound; turned, it lies between 0 and 1.
        minimum = minimize_scalar(deviance, bounds=(0, MOST / (1 + MOST)), method="bounded", options={"xatol": 1e-10})
        relative = float(minimum.x / (1 - minimum.x))
        return relative if relative > _NOTHING and minimum.fun < deviance(0.0) else 0.0


@dataclass(frozen=True)
class Fit:
    """A model that was fitted by REML."""

    coefficients: Array
    covariance: Array
    df: int

    def effect(self, contrast: Array) -> Effect:
        """Return a weighted sum of the coefficients with a 95 % t interval and two-sided p."""
        estimate, error = float(contrast @ self.coefficients), float(np.sqrt(contrast @ self.covariance @ contrast))
        half = error * float(t.ppf(_TAIL, self.df))
        return Effect(estimate, estimate - half, estimate + half, float(2 * t.sf(abs(estimate) / error, self.df)))

    def test(self, contrasts: Array) -> Test:
        """Test that all `contrasts`, rows of weights of the coefficients, are 0.

        With few users this is more accurate than the likelihood ratio, whose chi-square has no degrees of freedom for
        the error.
        """
        estimates, covariance = contrasts @ self.coefficients, contrasts @ self.covariance @ contrasts.T
        statistic = float(estimates @ np.linalg.solve(covariance, estimates)) / len(contrasts)
        return Test(statistic, len(contrasts), self.df, float(f.sf(statistic, len(contrasts), self.df)))


def fit(model: Model) -> Fit:
    """Fit the model by REML. Raises `Undefined` where no error is left."""
    df = model.freedom()
    solved = model.solve(model.least_deviance_ratio())
    residual = solved.squares / (len(model.scores) - model.fixed.shape[1])
    return Fit(solved.coefficients, solved.covariance * residual, df)
