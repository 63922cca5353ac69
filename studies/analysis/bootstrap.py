"""Cluster bootstrap of statistics that depend on the data through sums.

Rows are summed within clusters once; a replicate is then a weighted sum of clusters, so all replicates are one matrix
product, and so is the jackknife that BCa needs (Efron 1987, doi 10.1080/01621459.1987.10478410).

Where two kinds of clusters are crossed, each is drawn alone, and so are their cells (`resample_two_way`). Drawing both
at once would count what is left of a single row three times (Owen 2007, doi 10.1214/07-AOAS122), which is most of what
makes a correlation uncertain: its intervals were up to 1.4 times too long.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t  # noqa: TID253

from studies.analysis.notes import Note
from studies.analysis.rows import Undefined

Array = NDArray[np.float64]
Statistic = Callable[[Array], Array]  # (…, sums) → (…); nan where the sums leave it undefined

FEW_CLUSTERS = 30
LEVEL = 0.95
TAILS = (1 - LEVEL) / 2, (1 + LEVEL) / 2  # of an interval
ALIKE = 1e-9  # an interval that is no longer is what rounding leaves of none
ALL_ALIKE = "resamples_alike"  # code of the note
_NORMAL = NormalDist()
_IN_CACHE = 2**16  # numbers that a processor's cache holds


@dataclass(frozen=True)
class Interval:
    low: float
    high: float
    method: Note


def refuse_alike(low: float, high: float) -> None:
    """Raise `Undefined` where all resamples are equal, because no interval and no test follows from them."""
    if high - low < ALIKE:
        raise Undefined(ALL_ALIKE)


class Inference(ABC):
    """The inference that resamples allow."""

    estimate: float
    undefined: int  # replicates in which the statistic did not exist

    @abstractmethod
    def clusters(self) -> tuple[int, ...]:
        """Return how many there are of each kind."""

    def enough_clusters(self) -> int:
        """Return how many clusters of each kind the interval needs to hold what it should."""
        return FEW_CLUSTERS

    @abstractmethod
    def n_replicates(self) -> int:
        """Return how many replicates the statistic has."""

    @abstractmethod
    def interval(self) -> Interval:
        """Return the interval (95 %)."""

    @abstractmethod
    def spread(self) -> "Spread": ...

    def p_value(self) -> float:
        """Return the two-sided p for "the statistic is 0", by Student's t.

        The share of replicates as far from the estimate as 0 is cannot be below 1 over their number, and is too small
        with few clusters: where r was 0, 10 % of tests with 8 clusters and 8 % with 20 were below .05, and 5 % of those
        by t.
        """
        spread = self.spread()
        if spread.error == 0:
            raise Undefined(ALL_ALIKE)
        return float(2 * student_t.sf(abs(self.estimate) / spread.error, spread.freedom))

    def interval_of_r(self) -> Interval:
        """Return the interval of a statistic that is Fisher's z, as correlations.

        Raises `Undefined` where all resamples are alike, as they are where r is 1 or -1.
        """
        interval = self.interval()
        low, high = float(np.tanh(interval.low)), float(np.tanh(interval.high))
        refuse_alike(low, high)
        return Interval(low, high, interval.method)

    def notes(self, column: str | Note, *, lacking: str = "resamples_without_variance") -> list[Note]:
        """Return the cautions about an interval; `lacking` as `note_on_undefined` has it."""
        notes = []
        if min(self.clusters()) < self.enough_clusters():
            notes.append(Note("few_clusters", count=" × ".join(map(str, self.clusters()))).on(column))
        return notes + self.notes_on_undefined(column, lacking)

    def notes_on_undefined(self, column: str | Note, lacking: str) -> list[Note]:
        """Return how many resamples are left out; `lacking` is the code of the note that says why."""
        if not self.undefined:
            return []
        return [Note(lacking, count=self.undefined, all=self.undefined + self.n_replicates()).on(column)]


@dataclass(frozen=True)
class Resampled(Inference):
    """A statistic with its replicates and its leave-one-cluster-out values."""

    estimate: float
    replicates: Array  # the defined ones
    jackknife: Array
    undefined: int

    def clusters(self) -> tuple[int, ...]:
        return (len(self.jackknife),)

    def n_replicates(self) -> int:
        return len(self.replicates)

    def interval(self) -> Interval:
        """Return the BCa interval, or the plain percentile interval where BCa's corrections do not exist."""
        corrected = self._find_bca_interval()
        low, high = np.quantile(self.replicates, corrected or TAILS)
        return Interval(float(low), float(high), Note("bca" if corrected else "percentile"))

    def spread(self) -> "Spread":
        """Return the spread of the replicates, corrected: a draw of n clusters varies by (n - 1) / n too little."""
        clusters = len(self.jackknife)
        variance = float(self.replicates.var()) * clusters / (clusters - 1)
        return Spread(variance**0.5, clusters - 1)

    def _find_bca_interval(self) -> tuple[float, float] | None:
        below = float(np.mean(self.replicates < self.estimate) + np.mean(self.replicates == self.estimate) / 2)
        deviations = self.jackknife.mean() - self.jackknife
        spread = float((deviations**2).sum())
        if not 0 < below < 1 or not np.isfinite(spread) or spread <= 0:
            return None
        bias = _NORMAL.inv_cdf(below)
        acceleration = float((deviations**3).sum()) / (6 * spread**1.5)
        shifted = [bias + _NORMAL.inv_cdf(tail) for tail in TAILS]
        if min(1 - acceleration * shift for shift in shifted) <= 0:
            return None
        low, high = (_NORMAL.cdf(bias + shift / (1 - acceleration * shift)) for shift in shifted)
        return low, high


@dataclass(frozen=True)
class Spread:
    """A standard error and how many degrees of freedom it has."""

    error: float
    freedom: float

    def half(self) -> float:
        """Return half the length of an interval."""
        return float(student_t.ppf(TAILS[1], self.freedom)) * self.error


def spread_two_way(variances: Array, counts: NDArray[np.intp]) -> Spread:
    """Return the spread from the variance of rows plus that of columns less that of cells, which both hold.

    The sum is by Cameron, Gelbach & Miller 2011 (doi 10.1198/jbes.2010.07136), but not less than either variance alone
    (MacKinnon, Nielsen & Webb 2024, arXiv:2406.08880). Satterthwaite's degrees of freedom are at least those of the
    fewer clusters. `variances` and `counts`: of rows, columns and cells.
    """
    freedom = counts - 1.0
    rows, columns, cells = variances
    variance = float(max(rows + columns - cells, rows, columns))
    uncertain = float((variances**2 / freedom).sum())
    least = float(freedom.min())
    return Spread(variance**0.5, max(variance**2 / uncertain, least) if uncertain > 0 else least)


@dataclass(frozen=True)
class ResampledTwoWay(Inference):
    """A statistic with the replicates of three draws: of rows alone, of columns alone, and of the cells in which they
    meet."""

    estimate: float
    replicates: tuple[Array, Array, Array]  # the defined ones
    counts: tuple[int, int, int]  # of rows, columns and cells
    undefined: int

    def clusters(self) -> tuple[int, ...]:
        return self.counts[:2]

    def n_replicates(self) -> int:
        return sum(map(len, self.replicates))

    def interval(self) -> Interval:
        half = self.spread().half()
        return Interval(self.estimate - half, self.estimate + half, Note("student_t"))

    def spread(self) -> Spread:
        return spread_two_way(self._variances(), np.array(self.counts))

    def _variances(self) -> Array:
        """Return the variances of the replicates, corrected: a draw of n clusters varies by (n - 1) / n too little."""
        counts = np.array(self.counts)
        return np.asarray(np.array([values.var() for values in self.replicates]) * counts / (counts - 1))


@dataclass(frozen=True)
class Bootstrap:
    """The number of draws, and their seed.

    `draws_r`: intervals of correlations and their differences come from draws too, instead of the jackknife.
    """

    replicates: int
    seed: int
    draws_r: bool = False

    def resample(self, statistic: Statistic, sums: Array) -> Resampled:
        """Resample a statistic of `sums`, one row per cluster.

        Raises `Undefined` with fewer than two clusters or no usable replicate.
        """
        if len(sums) < 2:
            raise Undefined("under_two_clusters")
        total = sums.sum(axis=0)
        values = statistic(self._draw(sums, self.seed))
        defined = _keep_finite(values)
        return Resampled(
            float(statistic(total)), defined, statistic(total - sums), undefined=len(values) - len(defined)
        )

    def resample_two_way(self, statistic: Statistic, cells: Array) -> ResampledTwoWay:
        """Resample two crossed kinds of clusters.

        `cells`: rows × columns × sums, all 0 where the two did not meet. Raises `Undefined` as `resample`.
        """
        rows, columns, sums = cells.shape
        if min(rows, columns) < 2:
            raise Undefined("under_two_clusters_of_a_kind")
        flat = cells.reshape(-1, sums)
        of_each = cells.sum(axis=1), cells.sum(axis=0), flat[flat.any(axis=1)]
        values = [statistic(self._draw(part, (self.seed, place))) for place, part in enumerate(of_each)]
        of_rows, of_columns, of_cells = (_keep_finite(draws) for draws in values)
        return ResampledTwoWay(
            float(statistic(flat.sum(axis=0))),
            (of_rows, of_columns, of_cells),
            (rows, columns, len(of_each[2])),
            undefined=int(sum((~np.isfinite(draws)).sum() for draws in values)),
        )

    def _draw(self, sums: Array, seed: int | tuple[int, ...]) -> Array:
        """Return the sums of each replicate: replicates × sums."""
        # A few columns times a large matrix: this way round BLAS takes three fifths of the time.
        sums_drawn: Array = (sums.T @ weights(len(sums), self.replicates, seed).T).T
        return sums_drawn


def _keep_finite(values: Array) -> Array:
    defined = values[np.isfinite(values)]
    if not defined.size:
        raise Undefined("no_resample_varies")
    return defined


# A run asks again and again for the few cluster counts that it has.
@lru_cache(maxsize=4)
def weights(clusters: int, replicates: int, seed: int | tuple[int, ...]) -> Array:
    """Return how often each cluster is drawn: replicates × clusters."""
    random = np.random.default_rng(seed)
    counts = np.empty((replicates, clusters))
    step = max(1, _IN_CACHE // clusters)
    for first in range(0, replicates, step):
        rows = counts[first : first + step]
        cells = random.integers(clusters, size=rows.shape) + clusters * np.arange(len(rows))[:, np.newaxis]
        rows[:] = np.bincount(cells.ravel(), minlength=rows.size).reshape(rows.shape)
    return counts


def number_names(names: Any) -> NDArray[np.intp]:
    """Return a number for each name, from 0 in the order of the alphabet; equal names have equal numbers."""
    numbers: NDArray[np.intp] = np.unique(np.asarray(names, dtype=str), return_inverse=True)[1]
    return numbers


def sum_by_cluster(values: Array, clusters: NDArray[np.intp]) -> Array:
    """Return clusters × sums of `values`, which are rows × sums; `clusters` numbers the rows' from 0 without gaps."""
    return np.stack([np.bincount(clusters, weights=column) for column in values.T], axis=1)


def sum_by_cell(values: Array, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Array:
    """Return rows × columns × sums, as `sum_by_cluster` by two kinds of clusters; 0 where a cell is empty."""
    shape = int(rows.max()) + 1, int(columns.max()) + 1
    cells = rows * shape[1] + columns
    sums = [np.bincount(cells, weights=column, minlength=shape[0] * shape[1]) for column in values.T]
    return np.asarray(np.stack(sums, axis=1).reshape(*shape, -1), dtype=np.float64)


def mean(sums: Array) -> Array:
    """Return the mean, from (n, x)."""
    return np.asarray(sums[..., 1] / sums[..., 0])


def pair_moments(x: Array, y: Array) -> Array:
    """Return what `fisher_z` takes the sums of: rows × (1, x, y, xx, yy, xy), centred."""
    x, y = x - x.mean(), y - y.mean()
    return np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y])


def fisher_z(sums: Array) -> Array:
    """Return Fisher's z of Pearson's r, from (n, x, y, xx, yy, xy) of roughly centred values (`pair_moments`)."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance_x, variance_y = xx - x * x / n, yy - y * y / n
        r = (xy - x * y / n) / np.sqrt(variance_x * variance_y)
    # What rounding leaves of a constant column is no variance.
    varies = (variance_x > 1e-12 * xx) & (variance_y > 1e-12 * yy)
    z: Array = np.arctanh(np.clip(np.where(varies, r, np.nan), -1 + 1e-12, 1 - 1e-12))
    return z
