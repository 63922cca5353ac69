"""The intervals of agreement.csv: by the jackknife, or from draws."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from studies.analysis.bootstrap import (
    Array,
    Bootstrap,
    Inference,
    Statistic,
    fisher_z,
    mean,
    pair_moments,
    refuse_alike,
    sum_by_cell,
    sum_by_cluster,
)
from studies.analysis.jackknife import Jackknifed, infer_r, jackknife, jackknife_two_way, refuse_one
from studies.analysis.measures import correlation, judge_gap
from studies.analysis.measures.correlation import WithinPersons
from studies.analysis.measures.raters_left_out import ENOUGH_RATERS, Ratings, without_people_and_raters
from studies.analysis.notes import Note
from studies.analysis.rows import Row, Undefined


@dataclass(frozen=True)
class Sampling:
    """The units that are drawn again.

    `clusters` is the cluster of each row, numbered from 0 without gaps; `crossed_with` is its arm, where counsellors
    and arms are both drawn. `ratings` are people's, where raters differ between conversations.
    """

    clusters: NDArray[np.intp]
    crossed_with: NDArray[np.intp] | None
    bootstrap: Bootstrap
    ratings: Ratings | None = None

    def leaves_raters_out(self) -> bool:
        """Return whether r has people and raters left out, as there are enough raters."""
        enough = self.ratings is not None and self.ratings.count() >= ENOUGH_RATERS
        return enough and not self.bootstrap.draws_r

    def infer_pearson(self, human: Array, judge: Array) -> Inference:
        if self.ratings is not None and self.leaves_raters_out():
            return without_people_and_raters(self.ratings, judge, self.clusters)
        return self.infer_r(fisher_z, pair_moments(human, judge))

    def sums(self, values: Array) -> Array:
        """Return clusters × sums of rows × `values`; where two kinds are crossed rows × columns × sums."""
        if self.crossed_with is None:
            return sum_by_cluster(values, self.clusters)
        return sum_by_cell(values, self.clusters, self.crossed_with)

    def resample(self, statistic: Statistic, values: Array) -> Inference:
        """Resample the statistic; `values` are rows × what it takes the sums of."""
        if self.crossed_with is None:
            return self.bootstrap.resample(statistic, self.sums(values))
        return self.bootstrap.resample_two_way(statistic, self.sums(values))

    def jackknife(self, statistic: Statistic, values: Array) -> Jackknifed:
        if self.crossed_with is None:
            return jackknife(statistic, self.sums(values))
        return jackknife_two_way(statistic, self.sums(values))

    def infer_r(self, statistic: Statistic, values: Array) -> Inference:
        """Return the inference about a correlation; the statistic is its Fisher's z."""
        return infer_r(statistic, self.sums(values), self.bootstrap)


@dataclass(frozen=True)
class Measured:
    """A column that has an interval. `values`: rows × what `statistic` takes the sums of; `to_scale` brings what it
    gives to the scale of the column. `symmetric`: its interval is around the estimate, by the jackknife."""

    name: str
    statistic: Statistic
    values: Array
    to_scale: Callable[[float], float] = float
    symmetric: bool = False

    def estimate(self) -> float:
        return float(self.to_scale(float(self.statistic(self.values.sum(axis=0)))))

    def infer(self, sampling: Sampling) -> Inference:
        if not self.symmetric:
            return sampling.resample(self.statistic, self.values)
        inference = sampling.jackknife(self.statistic, self.values)
        if self.to_scale is np.tanh:
            refuse_one(inference)
        return inference


def inference_of_kendall(human: Array, judge: Array, sampling: Sampling) -> Inference:
    """Return the inference about Kendall's tau-b, on Fisher's z."""
    pairs = correlation.score_pairs(human, judge)
    inference = sampling.jackknife(pairs.kendall_z(), pairs.indicators())
    refuse_one(inference)
    return inference


def bias(human: Array, judge: Array) -> Measured:
    return Measured("bias", mean, np.column_stack([np.ones_like(human), judge - human]))


def concordance(human: Array, judge: Array) -> Measured:
    """Return Lin's concordance, which for whole scores is the quadratic kappa too.

    BCa's interval held the planted value less often, most so where scores crowd at an end of the scale
    (docs/developers/coverage.md).
    """
    values = judge_gap.common_moments(human, judge)
    return Measured("ccc", judge_gap.concordance_z, values, np.tanh, symmetric=True)


def within_persons(within: WithinPersons, sampling: Sampling) -> Measured:
    values = pair_moments(within.human, within.judge)
    return Measured("within_r", fisher_z, values, np.tanh, symmetric=not sampling.bootstrap.draws_r)


def between_arms(human: Array, judge: Array, arms: NDArray[np.str_]) -> Measured:
    """Return the correlation of the arms' means, with a symmetric interval.

    Near 1 BCa's interval held what was planted less often (docs/developers/coverage.md).
    """
    values = judge_gap.arm_sums(human, judge, arms)
    return Measured("system_r", judge_gap.arm_means_z, values, np.tanh, symmetric=True)


def add_intervals(row: Row, measured: Sequence[Measured], sampling: Sampling) -> None:
    """Add the intervals of the columns that have a value; the reason of a missing value holds for its interval too."""
    for one in measured:
        row.values |= dict.fromkeys(_bounds(one), np.nan)
    _add_methods(row, {one.name: _add(row, one, sampling) for one in measured if np.isfinite(row.values[one.name])})


def _bounds(one: Measured) -> tuple[str, str]:
    return f"{one.name}_low", f"{one.name}_high"


def _add(row: Row, one: Measured, sampling: Sampling) -> Note | None:
    """Add the interval and return its method; None where there is none."""
    try:
        inference = one.infer(sampling)
        interval = inference.interval()
        low, high = (float(one.to_scale(bound)) for bound in (interval.low, interval.high))
        refuse_alike(low, high)
    except Undefined as reason:
        row.leave_out(*_bounds(one), because=reason.note)
        return None
    row.values |= dict(zip(_bounds(one), (low, high), strict=True))
    row.add_notes(*inference.notes_on_undefined(one.name, "resamples_undefined"))
    return interval.method


def _add_methods(row: Row, methods: Mapping[str, Note | None]) -> None:
    """Name the methods that are not that of r, each once with its columns."""
    others: dict[Note, list[str]] = {}
    for name, method in methods.items():
        if method and not is_stated(row, method):
            others.setdefault(method, []).append(name)
    row.add_methods(*(method.on(*names) for method, names in others.items()))


def is_stated(row: Row, interval: Note) -> bool:
    """Return whether the method of r, which is the row's first, has this kind of interval."""
    first: Note | None = next(iter(row.values.get("method", ())), None)
    return first is not None and not first.columns and first.values.get("interval") == interval
