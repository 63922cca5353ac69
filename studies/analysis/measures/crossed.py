"""Two crossed random effects, of rows and of columns, where each row met each column once at most."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve  # noqa: TID253
from scipy.optimize import minimize  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.measures import mixed


@dataclass(frozen=True)
class Criterion:
    """REML's, as mixed.py has it (which is the reference in the tests), but the rows, of which there may be thousands,
    are eliminated before any matrix is factorised, so that the work hardly grows with their number."""

    met: NDArray[np.bool_]
    scores: Array  # 0 where nobody met

    @cached_property
    def sums(self) -> Array:
        """Of each row, what the model has: columns, one, score."""
        return np.asarray(np.column_stack([self.met, self.sizes, self.scores.sum(axis=1)]), dtype=np.float64)

    @cached_property
    def sizes(self) -> Array:
        return np.asarray(self.met.sum(axis=1), dtype=np.float64)

    @cached_property
    def crossed(self) -> Array:
        """All inner products of these."""
        n, total = self.sizes.sum(), self.scores.sum()
        by_column = np.column_stack([self.met.sum(axis=0), self.scores.sum(axis=0)])
        corner = np.array([[n, total], [total, (self.scores**2).sum()]])
        return np.asarray(np.block([[np.diag(by_column[:, 0]), by_column], [by_column.T, corner]]), dtype=np.float64)

    def __call__(self, deviations: Array) -> float:
        """-2 log likelihood but for a constant; `deviations`: of rows and of columns, over that of the error."""
        of_rows, of_columns = deviations**2
        columns = self.met.shape[1]
        left = self.crossed - self.sums.T @ (self.sums * (of_rows / (1 + of_rows * self.sizes))[:, np.newaxis])
        factor = cho_factor(np.eye(columns) + of_columns * left[:columns, :columns], lower=True)
        beside = left[:columns, columns:]
        rest = left[columns:, columns:] - of_columns * beside.T @ cho_solve(factor, beside)
        squares = max(rest[1, 1] - rest[0, 1] ** 2 / rest[0, 0], 1e-300)
        logarithms = np.log1p(of_rows * self.sizes).sum() + 2 * np.log(np.diag(factor[0])).sum() + np.log(rest[0, 0])
        return float((self.sizes.sum() - 1) * np.log(squares) + logarithms)

    def least(self) -> Array:
        """The deviations at which it is least; rows that met one column each cannot be told from the error."""
        alone = self.sizes.max() == 1
        bounds = [(0, 0 if alone else mixed.MOST), (0, mixed.MOST)]
        start = np.array([0.0 if alone else 1.0, 1.0])
        options = {"xatol": 1e-9, "fatol": 1e-11, "maxiter": 4000, "maxfev": 4000}
        return np.asarray(minimize(self, start, method="Nelder-Mead", bounds=bounds, options=options).x)
