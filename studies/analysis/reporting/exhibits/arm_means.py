"""The means of the arms, all items together first; arms stand in the order of that mean."""

from collections.abc import Iterator

import pandas as pd  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253

from studies.analysis.bootstrap import FEW_CLUSTERS
from studies.analysis.language import gettext as _
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.reporting.board import NOT_DESCRIBED, board_of
from studies.analysis.reporting.dots import NOTHING, Line, dot_panels
from studies.analysis.reporting.drawing import ONE, TOGETHER, figure
from studies.analysis.reporting.estimates import estimate_of, records, sort_by_place
from studies.analysis.reporting.main_rows import main_rows, whole_first, whole_rows
from studies.analysis.reporting.naming import (
    in_order,
    instrument_name,
    item_name,
    join_names,
    kind_of_seekers,
    raters_name,
)
from studies.analysis.reporting.numbers import LEVEL, decimal, p_value, percent, span, with_bounds
from studies.analysis.reporting.parts import Exhibit
from studies.analysis.results import Results
from studies.analysis.tables import survival
from studies.analysis.tables.arms import pooled_rows
from studies.analysis.tables.log_ranks import LOG_RANK, STRATIFIED

MEAN = ("mean", "low", "high")
LEFT_EARLY = ("walked_out", "early")


def arm_means(results: Results) -> Exhibit | None:
    rows = arm_rows(results)
    if not _arms(rows) > 1:
        return None
    of = {"raters": raters_name(rows["raters"].iloc[0]), "level": LEVEL}
    of["scale"] = instrument_name(str(rows["instrument"].iloc[0]))
    arms = list(dict.fromkeys(rows["arm"]))
    first = rows.iloc[0]
    name = f"arms-{first['raters']}-{first['instrument']}-{first['moment']}" if shows_items(rows) else "main-arms"
    drawn = figure(
        name,
        _("Means of the arms as rated by {raters}").format(**of),
        _("Means over the conversations of an arm on {scale}, with {level} intervals (cluster bootstrap).").format(
            **of
        ),
        _by_item(rows, arms) if shows_items(rows) else _by_arm(whole_rows(rows)),
    )
    said = [*_describe(rows), *_describe_leaving(results.table("survival"))]
    board = board_of(str(first["raters"]), rows, results, NOT_DESCRIBED)
    return Exhibit("arms", _("The arms"), said, drawn, rows, [board])


def _arms(rows: pd.DataFrame) -> int:
    return rows["arm"].nunique() if len(rows) else 0


def shows_items(rows: pd.DataFrame) -> bool:
    """Return whether these means are drawn by item: of more arms, only those over all items."""
    return 1 < _arms(rows) <= TOGETHER


def arm_rows(results: Results) -> pd.DataFrame:
    """Return the rows of arms.csv that the main part shows; the arm with the highest mean comes first."""
    table = results.table("arms")
    rows = main_rows(pooled_rows(table), "raters") if len(table) else table
    if rows.empty:
        return rows
    rows = rows[rows["raters"] == rows["raters"].iloc[0]]  # judges alone: those of one strategy
    whole = whole_rows(rows)
    means = (rows if whole.empty else whole).groupby("arm")["mean"].mean()
    rows = rows.sort_values("item", key=lambda items: items != ALL_ITEMS, kind="stable")
    return sort_by_place(rows, "arm", means.sort_values(ascending=False, kind="stable").index)


def _by_item(rows: pd.DataFrame, arms: list[str]) -> Canvas:
    """Draw a line for each item and a mark for each arm."""
    instrument = str(rows["instrument"].iloc[0])
    found = {(row["item"], row["arm"]): estimate_of(row, MEAN) for row in records(rows)}
    lines = [
        Line(
            item_name(instrument, item),
            [found.get((item, arm), NOTHING) for arm in arms],
            is_whole=item == ALL_ITEMS,
        )
        for item in whole_first(in_order(instrument, rows["item"]))
    ]
    return dot_panels({"": lines}, _("mean score"), series=arms, width=ONE)


def _by_arm(whole: pd.DataFrame) -> Canvas:
    lines = [
        Line(row["arm"], [estimate_of(row, MEAN)], f"{decimal(row['mean'])} ({row['n']})") for row in records(whole)
    ]
    return dot_panels({"": lines}, _("mean score"), width=ONE)


def _describe(rows: pd.DataFrame) -> Iterator[str]:
    whole = whole_rows(rows)
    if len(whole):
        yield _("Means over all items: {means}.").format(
            means=join_names([f"{row['arm']} {with_bounds(*(row[name] for name in MEAN))}" for row in records(whole)])
        )
    few = rows.loc[rows["clusters"] < FEW_CLUSTERS, "clusters"]
    if len(few):
        yield _("Each mean rests on {clusters} clusters, so the intervals may be too narrow.").format(
            clusters=span(few)
        )


def _describe_leaving(table: pd.DataFrame) -> Iterator[str]:
    """Say what share of conversations with each kind of seekers was left early, by arm; nothing where none was."""
    for (seekers, condition), rows in table.groupby(["seekers", "condition"]) if len(table) else ():
        ends = rows[(rows["statistic"] == survival.INCIDENCE) & rows["end"].isin(LEFT_EARLY)]
        last = ends[ends["turn"] == ends.groupby("arm")["turn"].transform("max")]
        shares = last.groupby("arm")["estimate"].sum().sort_values(ascending=False, kind="stable")
        left = shares[shares > 0]
        if left.empty:
            continue
        said = [f"{arm} {percent(share)}" for arm, share in left.items()]
        said += [_("no other arm")] if len(left) < len(shares) else []
        yield _("Left early by {seekers}: {arms}.").format(
            seekers=kind_of_seekers(str(seekers), str(condition)), arms=join_names(said)
        )
        yield from _describe_log_rank(rows)


def _describe_log_rank(rows: pd.DataFrame) -> Iterator[str]:
    """Give the p of the test that detects most; nothing where none could be done."""
    for statistic in (STRATIFIED, LOG_RANK):
        tested = rows[(rows["statistic"] == statistic) & rows["p"].notna()]
        if len(tested):
            p = p_value(tested["p"].iloc[0])
            yield _("Log-rank test of how long these conversations stay open: {p}.").format(p=p)
            return
