"""The intervals of agreement.csv beside those of r: all statistics of a row from the same draws."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from studies.analysis.bootstrap import (
    Array,
    Bootstrap,
    Inference,
    Interval,
    Resampled,
    Statistic,
    fisher_z,
    pair_moments,
    refuse_alike,
    sum_by_cell,
    sum_by_cluster,
)
from studies.analysis.measures import correlation, judge_gap
from studies.analysis.measures.clustered import jackknife_interval
from studies.analysis.measures.correlation import WithinPersons
from studies.analysis.notes import Note
from studies.analysis.rows import Row, Undefined

TAILS = (1 - 0.95) / 2, (1 + 0.95) / 2  # to the last digit those of `Resampled.interval`

Resample = Callable[[], Inference]


@dataclass(frozen=True)
class Drawn:
    """The units that are drawn again.

    `clusters` is the cluster of each row, numbered from 0 without gaps; `crossed_with` is its arm, where counsellors
    and arms are both drawn.
    """

    clusters: NDArray[np.intp]
    crossed_with: NDArray[np.intp] | None
    bootstrap: Bootstrap

    def resample(self, statistic: Statistic, values: Array) -> Inference:
        """Resample the statistic; `values` are rows × what it takes the sums of."""
        if self.crossed_with is None:
            return self.bootstrap.resample(statistic, sum_by_cluster(values, self.clusters))
        cells = sum_by_cell(values, self.clusters, self.crossed_with)
        return self.bootstrap.resample_two_way(statistic, cells)

    def jackknife(self, statistic: Statistic, values: Array) -> Interval:
        """Return a jackknife interval, as a draw takes long with many sums; two kinds of clusters are resampled."""
        if self.crossed_with is None:
            return jackknife_interval(statistic, sum_by_cluster(values, self.clusters))
        return self.resample(statistic, values).interval()


@dataclass(frozen=True)
class Measured:
    """A column that has an interval. `values`: rows × what `statistic` takes the sums of; `to_scale` brings what it
    gives to the scale of the column. `symmetric`: its interval is around the estimate."""

    name: str
    statistic: Statistic
    values: Array
    to_scale: Callable[[float], float] = float
    symmetric: bool = False

    def estimate(self) -> float:
        return float(self.to_scale(float(self.statistic(self.values.sum(axis=0)))))

    def interval(self, resampled: Inference) -> Interval:
        return resampled.symmetric() if self.symmetric else resampled.interval()


def percentile(resampled: Inference) -> tuple[float, float]:
    """Return the bounds from the same draws without a correction.

    Raises `Undefined` where a variance was made of several kinds of draws.
    """
    if not isinstance(resampled, Resampled):
        raise Undefined("two_way_has_no_percentile")
    low, high = np.quantile(resampled.replicates, TAILS)
    return float(low), float(high)


def bounds_of_kendall(human: Array, judge: Array, drawn: Drawn) -> tuple[float, float]:
    """Return the bounds of Kendall's tau-b."""
    pairs = correlation.score_pairs(human, judge)
    found = drawn.jackknife(pairs.kendall_z(), pairs.indicators())
    return float(np.tanh(found.low)), float(np.tanh(found.high))


def of_distance(human: Array, judge: Array) -> list[Measured]:
    """Return the measures of distance between human and judge, the limits with intervals by Student's t.

    BCa's intervals of the limits held what was planted in 90 % of simulated studies of 20 people and in 93 % of 50,
    those by Student's t, which Bland and Altman use too, in 93 and 94 %.
    """
    deviations = judge_gap.deviations(human, judge)
    statistics = {
        "bias": judge_gap.bias,
        "mae": judge_gap.mean_absolute_error,
        "rmse": judge_gap.root_mean_square_error,
    }
    limits = {"lower_limit": judge_gap.lower_limit, "upper_limit": judge_gap.upper_limit}
    return [
        *(Measured(name, statistic, deviations) for name, statistic in statistics.items()),
        *(Measured(name, limit, deviations, symmetric=True) for name, limit in limits.items()),
    ]


def concordance(human: Array, judge: Array) -> list[Measured]:
    """Return Lin's concordance, which for whole scores is the quadratic kappa too.

    BCa's interval held the planted value less often, most so where scores crowd at an end of the scale
    (docs/developers/coverage.md).
    """
    values = judge_gap.common_moments(human, judge)
    names = ("ccc", "kappa_quadratic")
    return [Measured(name, judge_gap.concordance_z, values, np.tanh, symmetric=True) for name in names]


def within_persons(within: WithinPersons) -> Measured:
    return Measured("within_r", fisher_z, pair_moments(within.human, within.judge), np.tanh)


def between_arms(human: Array, judge: Array, arms: NDArray[np.str_]) -> Measured:
    """Return the correlation of the arms' means, with a symmetric interval.

    Near 1 BCa's interval held what was planted less often (docs/developers/coverage.md).
    """
    values = judge_gap.arm_sums(human, judge, arms)
    return Measured("system_r", judge_gap.arm_means_z, values, np.tanh, symmetric=True)


def disattenuate(human: Array, judge: Array, spreads: Sequence[Array]) -> list[Measured]:
    """Return the disattenuated r and the ceiling.

    `spreads`: rows × `judge_gap.unit_sums` of each side whose reliability is known.
    """
    values, sides = np.hstack([pair_moments(human, judge), *spreads]), len(spreads)
    return [
        Measured("disattenuated", judge_gap.correlation_over_ceiling(sides), values),
        Measured("ceiling", judge_gap.ceiling(sides), values),
    ]


def add_intervals(row: Row, measured: Sequence[Measured], drawn: Drawn) -> None:
    """Add the intervals of the columns that have a value; the reason of a missing value holds for its interval too."""
    for one in measured:
        row.values |= dict.fromkeys(_bounds(one), np.nan)
    known = [one for one in measured if np.isfinite(row.values[one.name])]
    try:
        resamples = list(_resamples(known, drawn))
    except Undefined as reason:
        row.leave_out(*(bound for one in known for bound in _bounds(one)), because=reason.note)
        return
    methods = [_add(row, one, resample) for one, resample in zip(known, resamples, strict=True)]
    _add_methods(row, dict(zip((one.name for one in known), methods, strict=True)))


def _bounds(one: Measured) -> tuple[str, str]:
    return f"{one.name}_low", f"{one.name}_high"


def _resamples(measured: Sequence[Measured], drawn: Drawn) -> Iterator[Resample]:
    """Yield a function for each column that resamples it; one kind of clusters is drawn once for all columns."""
    if drawn.crossed_with is not None:
        yield from (partial(drawn.resample, one.statistic, one.values) for one in measured)
    elif measured:
        shared = {id(one.values): one.values for one in measured}
        sums = sum_by_cluster(np.hstack([*shared.values()]), drawn.clusters)
        together = drawn.bootstrap.resample_together(partial(_all, measured, shared), sums)
        yield from (partial(together.one, place) for place in range(len(measured)))


def _all(measured: Sequence[Measured], shared: Mapping[int, Array], sums: Array) -> Array:
    """Return all measured statistics of the same sums.

    `shared`: the values behind `sums`, each once, even if several statistics use them.
    """
    ends = np.cumsum([values.shape[1] for values in shared.values()])
    parts = dict(zip(shared, np.split(sums, ends[:-1], axis=-1), strict=True))
    return np.stack([one.statistic(parts[id(one.values)]) for one in measured], axis=-1)


def _add(row: Row, one: Measured, resample: Resample) -> Note | None:
    """Add the interval and return its method; None where there is none."""
    try:
        resampled = resample()
        interval = one.interval(resampled)
        low, high = (float(one.to_scale(bound)) for bound in (interval.low, interval.high))
        refuse_alike(low, high)
    except Undefined as reason:
        row.leave_out(*_bounds(one), because=reason.note)
        return None
    row.values |= dict(zip(_bounds(one), (low, high), strict=True))
    row.add_notes(*resampled.notes_on_undefined(one.name, "resamples_undefined"))
    return interval.method


def _add_methods(row: Row, methods: Mapping[str, Note | None]) -> None:
    """Name the methods that are not that of r, each once with its columns."""
    others: dict[Note, list[str]] = {}
    for name, method in methods.items():
        if method and not is_said(row, method):
            others.setdefault(method, []).append(name)
    row.add_methods(*(method.on(*names) for method, names in others.items()))


def method_of_r(resampled: Inference, interval: Interval) -> Note:
    """Return the method of an interval that was computed on Fisher's z."""
    several = len(resampled.clusters()) > 1
    return Note("two_way_bootstrap_on_z" if several else "cluster_bootstrap_on_z", interval=interval.method)


def is_said(row: Row, interval: Note) -> bool:
    """Return whether the method of r, which is the row's first, has this kind of interval."""
    first: Note | None = next(iter(row.values.get("method", ())), None)
    return first is not None and not first.columns and first.values.get("interval") == interval
