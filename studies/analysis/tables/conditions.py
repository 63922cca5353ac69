"""conditions.csv: each item with average and with worst-case seekers, and what lies between."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Array, Bootstrap, mean
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import paired
from studies.analysis.notes import INTERVAL, Note, Notes
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.rows import Row, Undefined
from studies.analysis.tables import effects
from studies.analysis.tables.arms import add_interval
from studies.analysis.tables.effects import (
    D_AV,
    D_Z,
    HODGES_LEHMANN,
    RANK_BISERIAL,
    add_effects,
    add_interval_of_difference,
    add_wilcoxon,
)
from studies.analysis.tables.families import adjust
from studies.analysis.tables.table import Table
from studies.analysis.tables.whom import GROUP, scores_by_cluster

CONDITIONS = AVERAGE, WORST_CASE = "average", "worst_case"
COLUMNS = [
    "arm",
    "item",
    *CONDITIONS,
    "difference",
    "low",
    "high",
    "wilcoxon_p",
    "p_holm",
    "rank_biserial",
    "d_z",
    "d_z_low",
    "d_z_high",
    *(f"{condition}{bound}" for condition in CONDITIONS for bound in ("_low", "_high")),
    "n",
    "pairs",
    "clusters",
    "instrument",
    "moment",
    "seekers",
    "method",
    "note",
    "raters",
    "p_holm_arms",
    *RANK_BISERIAL[1:],
    *D_AV,
    *HODGES_LEHMANN,
]
METHODS = {
    "difference": _(
        "worst case minus average, of final scores; first the mean over the conversations of each profile (or "
        "person), then over those that were met in both conditions (paired; Wilcoxon's signed-rank test with "
        "differences of 0 dropped); where nobody was, the two groups are drawn each by itself (not paired)"
    ),
    "p_holm": _(
        "of wilcoxon_p: Holm over the items of an arm; of item *, the mean over an instrument's items, over the arms. "
        "An item that nobody scored differently counts as p = 1"
    ),
    "p_holm_arms": _("of wilcoxon_p: Holm over the arms of an item, counted so too"),
} | effects.METHODS
OF_PAIRS = ("wilcoxon_p", *RANK_BISERIAL, *D_Z, *D_AV, *HODGES_LEHMANN)


def conditions(export: Export, bootstrap: Bootstrap) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield all rows at once; `difference` is worst case minus average."""
    scores = scores_by_cluster(export, export.ratings)
    scores = scores[scores["condition"].isin(CONDITIONS)]
    rows = [
        _row(dict(zip([*GROUP, "item"], map(str, key), strict=True)), group, bootstrap)
        for key, group in scores.groupby([*GROUP, "item"])
        if group["condition"].nunique() == len(CONDITIONS)
    ]
    adjust(rows, _family, p="wilcoxon_p", undecided=lambda row: row["pairs"])
    adjust(rows, _of_item, p="wilcoxon_p", into="p_holm_arms", undecided=lambda row: row["pairs"])
    yield "average against worst case", rows


def _row(of: dict[str, str], scores: pd.DataFrame, bootstrap: Bootstrap) -> dict[str, Any]:
    wide = scores.pivot(index="cluster", columns="condition", values="score")[[*CONDITIONS]]
    both = wide.dropna()
    counted = scores[scores["cluster"].isin(both.index)] if len(both) else scores
    row = Row(**of, n=int(counted["conversations"].sum()), pairs=len(both), p_holm=np.nan, p_holm_arms=np.nan)
    if len(both):
        _compare_paired(row, both.to_numpy(float), bootstrap)
        if len(both) < len(wide):
            row.add_notes(Note("in_one_condition", count=len(wide) - len(both)))
    else:
        _compare_apart(row, [wide[condition].dropna().to_numpy(float) for condition in CONDITIONS], bootstrap)
    return row.cells()


def _compare_paired(row: Row, pairs: Array, bootstrap: Bootstrap) -> None:
    differences = pairs[:, 1] - pairs[:, 0]
    row.values |= {"clusters": len(pairs), "difference": float(differences.mean())}
    for condition, values in zip(CONDITIONS, pairs.T, strict=True):
        _add_mean(row, condition, values, bootstrap)
    row.add_methods(Note("paired"))
    add_interval_of_difference(row, differences, bootstrap)
    add_wilcoxon(row, differences)
    add_effects(row, pairs[:, 1], pairs[:, 0], bootstrap)


def _add_mean(row: Row, condition: str, values: Array, bootstrap: Bootstrap) -> None:
    """Add the mean of a condition; the cautions about its interval are those about the difference."""
    own = Row()
    add_interval(own, values, np.arange(len(values)), bootstrap, alike="means_alike")
    bounds = {f"{condition}_{bound}": own.values[bound] for bound in ("low", "high")}
    row.values |= {condition: float(values.mean()), **bounds}
    if np.isnan(own.values["low"]):
        [reason] = own.cells()["note"]
        row.leave_out(*bounds, because=reason.on())


def _compare_apart(row: Row, groups: list[Array], bootstrap: Bootstrap) -> None:
    """Compare groups of which nobody was met in both conditions: what differs may be the seekers."""
    row.values |= {"clusters": sum(map(len, groups)), "method": Notes(Note("not_paired"))}
    row.values["difference"] = float(np.round(groups[1].mean() - groups[0].mean(), paired.ROUNDED))
    for condition, values in zip(CONDITIONS, groups, strict=True):
        _add_mean(row, condition, values, bootstrap)
    row.leave_out(*OF_PAIRS, because=Note("nobody_in_both_conditions"))
    first, second = (np.column_stack([np.ones_like(values), values]) for values in groups)
    nothing = np.zeros_like
    try:
        if all(np.ptp(values) == 0 for values in groups):
            raise Undefined("scores_alike")
        resampled = bootstrap.resample_apart(
            _between, np.hstack([first, nothing(first)]), np.hstack([nothing(second), second])
        )
    except Undefined as reason:
        row.leave_out("low", "high", because=reason.note)
        return
    interval = resampled.interval()
    row.values |= {"low": interval.low, "high": interval.high}
    row.add_methods(Note("cluster_bootstrap", interval=interval.method))
    row.add_notes(*resampled.notes(INTERVAL))


def _between(sums: Array) -> Array:
    """Return the difference, from (n, x) of the average and (n, x) of the worst case."""
    return mean(sums[..., 2:]) - mean(sums[..., :2])


def _family(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the family of a row's test: the items of an arm; the means over all items are tested over the arms."""
    of = tuple(row[name] for name in GROUP if name != "arm")
    return ("", *of) if row["item"] == ALL_ITEMS else (row["arm"], *of)


def _of_item(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the family of an item over the arms."""
    return tuple(row[name] for name in (*GROUP, "item") if name != "arm")


TABLES = (
    Table(
        "conditions",
        conditions,
        COLUMNS,
        METHODS,
        heading=_("Average against worst case"),
        section="conditions",
        empty=_("No arm met both average and worst-case seekers."),
    ),
)
