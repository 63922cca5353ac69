"""The columns that several tables share about the difference between two paired columns of scores."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from studies.analysis.bootstrap import FEW_CLUSTERS, Array, Bootstrap
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import paired
from studies.analysis.measures.ranks import hodges_lehmann, pseudomedian
from studies.analysis.notes import INTERVAL, Note
from studies.analysis.rows import Row, Undefined
from studies.analysis.tables.arms import add_interval

PRINTED = 0.001  # a smallest p above this is told


def with_bounds(name: str) -> tuple[str, str, str]:
    return name, f"{name}_low", f"{name}_high"


RANK_BISERIAL, D_Z, D_AV, HODGES_LEHMANN = map(with_bounds, ("rank_biserial", "d_z", "d_av", "hodges_lehmann"))
METHODS = {
    "rank_biserial": _(
        "of matched pairs, differences of 0 dropped; BCa interval (95 %), pairs resampled and ranked anew; none where "
        "all that differ go the same way"
    ),
    "d_z": _("mean over standard deviation of the differences; interval (95 %) from the noncentral t"),
    "d_av": _(
        "mean difference over the root of the mean of both variances; the interval of d_z on this scale (Algina and "
        "Keselman 2003)"
    ),
    "hodges_lehmann": _(
        "median of the means of any two differences; interval (95 % at least) that belongs to the signed-rank test, "
        "over 50 pairs by the normal approximation, none with fewer than six"
    ),
}


def add_interval_of_difference(row: Row, differences: Array, bootstrap: Bootstrap) -> None:
    """Add `low` and `high` of the mean: with few users Student's t, for there a BCa interval is too narrow
    (docs/developers/coverage.md)."""
    users, rounded = len(differences), np.round(differences, paired.ROUNDED)
    if users >= FEW_CLUSTERS:
        add_interval(row, rounded, np.arange(users), bootstrap, alike="differences_alike")
        return
    try:
        low, high = paired.t_interval(rounded)
    except Undefined as reason:
        row.leave_out("low", "high", because=reason.note)
        return
    row.values |= {"low": low, "high": high}
    row.add_methods(Note("t_interval"))
    row.add_notes(Note("few_clusters", count=users).on(INTERVAL))


def add_wilcoxon(row: Row, differences: Array) -> None:
    try:
        test = paired.wilcoxon(differences)
    except Undefined as reason:
        row.leave_out("wilcoxon_p", because=reason.note)
        return
    row.values["wilcoxon_p"] = test.p
    row.add_methods(test.method)
    if test.smallest > PRINTED:
        row.add_notes(Note("smallest_p", smallest=f"{test.smallest:.4g}").on("wilcoxon_p"))


def add_effects(row: Row, first: Array, second: Array, bootstrap: Bootstrap) -> None:
    """Add the effects of first minus second, which are scores of the same users."""
    differences = first - second
    _add_rank_biserial(row, differences, bootstrap)
    _add(row, D_Z, lambda: paired.d_z(differences))
    _add(row, D_AV, lambda: paired.d_av(first, second))
    if "d_av" in row.values and np.isfinite(row.values["d_av"]) and np.isnan(row.values["d_av_low"]):
        row.leave_out(*D_AV[1:], because=Note("differences_alike"))
    _add_shift(row, np.round(differences, paired.ROUNDED))


def _add_rank_biserial(row: Row, differences: Array, bootstrap: Bootstrap) -> None:
    row.compute("rank_biserial", lambda: paired.rank_biserial(differences))
    try:
        resampled = bootstrap.resample(paired.rank_biserial_of, paired.counts_by_sign(differences))
        if not np.ptp(resampled.replicates):
            raise Undefined("resamples_alike")
    except Undefined as reason:
        row.leave_out(*RANK_BISERIAL[1:], because=reason.note)
        return
    interval = resampled.interval()
    row.values |= dict(zip(RANK_BISERIAL[1:], (interval.low, interval.high), strict=True))
    row.add_notes(*resampled.notes_on_undefined("rank_biserial", "resamples_undefined"))


def _add_shift(row: Row, differences: Array) -> None:
    row.values["hodges_lehmann"] = pseudomedian(differences)
    _add(row, HODGES_LEHMANN[1:], lambda: hodges_lehmann(differences)[1:])


def _add(row: Row, names: Sequence[str], statistic: Callable[[], Iterable[float]]) -> None:
    try:
        row.values |= dict(zip(names, statistic(), strict=True))
    except Undefined as reason:
        row.leave_out(*names, because=reason.note)
