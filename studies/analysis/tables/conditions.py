"""conditions.csv: each item with average and with worst-case seekers, and what lies between."""

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import FEW_CLUSTERS, Array, Bootstrap
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import paired
from studies.analysis.notes import INTERVAL, Note
from studies.analysis.pooling import ALL_ITEMS, POOLED
from studies.analysis.rows import Cells, Labels, Row
from studies.analysis.tables import effects
from studies.analysis.tables.arms import add_interval
from studies.analysis.tables.effects import D_Z, add_d_z, add_t_test, add_wilcoxon
from studies.analysis.tables.families import adjust
from studies.analysis.tables.table import Parts, Table
from studies.analysis.tables.whom import GROUP, scores_by_cluster

CONDITIONS = AVERAGE, WORST_CASE = "average", "worst_case"
COLUMNS = [
    "arm",
    "item",
    *CONDITIONS,
    "difference",
    "low",
    "high",
    "p",
    "p_holm",
    "wilcoxon_p",
    "rank_biserial",
    "d_z",
    "n",
    "pairs",
    "instrument",
    "seekers",
    "note",
    "raters",
]
FURTHER = [*D_Z[1:], *(f"{condition}{bound}" for condition in CONDITIONS for bound in ("_low", "_high"))]
METHODS = {
    "difference": _(
        "worst case minus average, of final scores; first the mean over the conversations of each profile (or "
        "person), then over those that were met in both conditions (paired); where no one was, of two groups (not "
        "paired); interval (95 %) by Student's t of the differences, of two groups by Welch's"
    ),
    "p": _("two-sided t test, paired or Welch's, from the same error as the interval, so that both agree"),
    "p_holm": _(
        "of p: Holm over the items of an arm; of item *, the mean over an instrument's items, over the arms. "
        "An item that no one scored differently counts as p = 1"
    ),
    "arm": _(
        "* is the mean over the arms, each counting alike, for the profiles (or people) that met every arm in both "
        "conditions"
    ),
    "rank_biserial": _("of matched pairs, differences of 0 dropped"),
} | effects.METHODS
OF_PAIRS = ("wilcoxon_p", "rank_biserial", *D_Z)


def conditions(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield all rows at once; `difference` is worst case minus average."""
    scores = scores_by_cluster(export, export.ratings)
    scores = scores[scores["condition"].isin(CONDITIONS)]
    scores = scores[scores.groupby([*GROUP, "item"])["condition"].transform("nunique") == len(CONDITIONS)]
    scores = pd.concat([scores, _over_arms(scores)])
    rows = [
        _row(dict(zip([*GROUP, "item"], map(str, key), strict=True)), group, bootstrap)
        for key, group in scores.groupby([*GROUP, "item"])
    ]
    yield "average against worst case", adjust(rows, _family, undecided=lambda row: row["pairs"])


def _over_arms(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over the arms of the profiles that met all of several in both conditions, as arm `*`."""
    keys = [name for name in GROUP if name != "arm"] + ["item"]
    arms = scores.groupby(keys)["arm"].transform("nunique")
    met = scores.groupby([*keys, "cluster"])["score"].transform("size")  # one row for each arm and condition
    complete = scores[(arms > 1) & (met == arms * len(CONDITIONS))]
    means = complete.groupby([*keys, "condition", "setup", "cluster"])
    return means.agg(score=("score", "mean"), conversations=("conversations", "sum")).reset_index().assign(arm=POOLED)


def _row(labels: Labels, scores: pd.DataFrame, bootstrap: Bootstrap) -> Cells:
    wide = scores.pivot(index="cluster", columns="condition", values="score")[[*CONDITIONS]]
    both = wide.dropna()
    counted = scores[scores["cluster"].isin(both.index)] if len(both) else scores
    row = Row(**labels, n=int(counted["conversations"].sum()), pairs=len(both), p_holm=np.nan)
    if len(both):
        _compare_paired(row, both.to_numpy(float), bootstrap)
        if len(both) < len(wide):
            row.add_notes(Note("in_one_condition", count=len(wide) - len(both)))
    else:
        _compare_apart(row, [wide[condition].dropna().to_numpy(float) for condition in CONDITIONS], bootstrap)
    return row.cells()


def _compare_paired(row: Row, pairs: Array, bootstrap: Bootstrap) -> None:
    differences = pairs[:, 1] - pairs[:, 0]
    row.values["difference"] = float(differences.mean())
    for condition, values in zip(CONDITIONS, pairs.T, strict=True):
        _add_mean(row, condition, values, bootstrap)
    row.add_methods(Note("paired"))
    add_t_test(row, differences)
    add_wilcoxon(row, differences)
    row.compute("rank_biserial", lambda: paired.rank_biserial(differences))
    add_d_z(row, differences)


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
    """Compare groups of which no one was met in both conditions: what differs may be the seekers."""
    row.add_methods(Note("not_paired"))
    row.add_notes(Note("sizes_of_groups", average=len(groups[0]), worst_case=len(groups[1])))
    row.values["difference"] = float(np.round(groups[1].mean() - groups[0].mean(), paired.ROUNDED))
    for condition, values in zip(CONDITIONS, groups, strict=True):
        _add_mean(row, condition, values, bootstrap)
    row.leave_out(*OF_PAIRS, because=Note("nobody_in_both_conditions"))
    with row.leave_out_if_undefined("low", "high", "p"):
        test = paired.welch(*(np.round(values, paired.ROUNDED) for values in groups))
        row.values |= {"low": test.low, "high": test.high, "p": test.p}
        row.add_methods(Note("t_welch"))
        if (fewest := min(map(len, groups))) < FEW_CLUSTERS:
            row.add_notes(Note("few_clusters", count=fewest).on(INTERVAL))


def _family(row: Cells) -> tuple[bool | str, ...]:
    """Return the family of a row's test.

    It is the items of an arm; the means over all items are tested over the arms, and what is over the arms by itself.
    """
    labels = tuple(row[name] for name in GROUP if name != "arm")
    of_arms = row["item"] == ALL_ITEMS and row["arm"] != POOLED
    return (of_arms, row["item"] == ALL_ITEMS, "" if of_arms else row["arm"], *labels)


TABLE = Table(
    "conditions",
    conditions,
    COLUMNS,
    METHODS,
    heading=_("Average against worst case"),
    empty=_("No arm met both average and worst-case seekers."),
    further=FURTHER,
    aside=("moment", "method"),
)
