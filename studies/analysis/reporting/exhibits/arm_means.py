"""The means of the arms, all items together first; arms stand in the order of that mean."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253

from studies.analysis.bootstrap import FEW_CLUSTERS
from studies.analysis.language import gettext as _
from studies.analysis.language import join_clauses
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.reporting.board import NOT_DESCRIBED, board_of
from studies.analysis.reporting.dots import NOTHING, Line, dot_panels
from studies.analysis.reporting.drawing import ONE, TOGETHER, figure
from studies.analysis.reporting.estimates import by_item, estimate_of, records, sort_by_place
from studies.analysis.reporting.main_rows import main_rows, whole_first, whole_rows
from studies.analysis.reporting.naming import (
    in_order,
    instrument_name,
    item_name,
    join_names,
    kind_of_seekers,
    raters_name,
)
from studies.analysis.reporting.numbers import LEVEL, count, decimal, p_value, percent, span, with_bounds
from studies.analysis.reporting.parts import Exhibit, join_sentences
from studies.analysis.reporting.polarity import opposed_alpha, say_opposed, without_opposed_means
from studies.analysis.results import Results
from studies.analysis.scales import CODEBOOK, scales_in
from studies.analysis.tables import survival
from studies.analysis.tables.arms import pooled_rows
from studies.analysis.tables.log_ranks import LOG_RANK, STRATIFIED

SCALE = ["instrument", "moment", "item"]
MEAN = ("mean", "low", "high")
LEFT_EARLY = ("walked_out", "early")


def arm_means(results: Results) -> Exhibit | None:
    rows = arm_rows(results)
    if not _arms(rows) > 1:
        return None
    names = {"raters": raters_name(rows["raters"].iloc[0]), "level": LEVEL}
    names["scale"] = instrument_name(str(rows["instrument"].iloc[0]))
    arms = list(dict.fromkeys(rows["arm"]))
    first = rows.iloc[0]
    name = f"arms-{first['raters']}-{first['instrument']}-{first['moment']}" if shows_items(rows) else "main-arms"
    chart = figure(
        name,
        _("Means of the arms as rated by {raters}").format(**names),
        join_sentences([_describe_intervals(results, names), _describe_axis(results, rows)]),
        _draw(rows, arms),
    )
    sentences = [
        *_describe(rows),
        say_opposed(opposed_alpha(results, rows, "raters")),
        _describe_best(rows, results),
        *_describe_leaving(results.table("survival")),
    ]
    board = board_of(str(first["raters"]), rows, results, NOT_DESCRIBED)
    return Exhibit("arms", _("The arms"), list(filter(None, sentences)), chart, rows, [board])


def _describe_intervals(results: Results, names: Mapping[str, str]) -> str:
    return _(
        "Means over the conversations of an arm on {scale}, with {level} intervals (BCa, cluster bootstrap of {count} "
        "resamples). Intervals of differences between arms are Student's t."
    ).format(count=count(results.bootstrap.replicates), **names)


def _describe_axis(results: Results, rows: pd.DataFrame) -> str:
    """Say that the axis is a part of the scale, where the codebook has one scale for all items."""
    scales = scales_in(results.export.folder / CODEBOOK)
    instrument = str(rows["instrument"].iloc[0])
    scales_of_items = {scales.get((instrument, item)) for item in set(rows["item"]) - {ALL_ITEMS}}
    (scale,) = scales_of_items if len(scales_of_items) == 1 else (None,)
    if scale is None:
        return ""
    return _("The axis is a part of the scale from {lowest} to {highest}.").format(
        lowest=f"{scale.lowest:g}", highest=f"{scale.highest:g}"
    )


def _arms(rows: pd.DataFrame) -> int:
    return rows["arm"].nunique() if len(rows) else 0


def shows_items(rows: pd.DataFrame) -> bool:
    """Return whether these means are drawn by item: of more arms, only those over all items."""
    return 1 < _arms(rows) <= TOGETHER


def arm_rows(results: Results) -> pd.DataFrame:
    """Return the rows of arms.csv that the main part shows; the arm with the highest mean comes first. Without a mean
    over the items the arms keep their order."""
    table = results.table("arms")
    rows = main_rows(pooled_rows(table), "raters") if len(table) else table
    if rows.empty:
        return rows
    rows = rows[rows["raters"] == rows["raters"].iloc[0]]  # judges alone: those of one strategy
    rows = without_opposed_means(results, rows, "raters")
    whole = whole_rows(rows)
    if whole.empty:
        return rows
    means = whole.groupby("arm")["mean"].mean()
    rows = rows.sort_values("item", key=lambda items: items != ALL_ITEMS, kind="stable")
    return sort_by_place(rows, "arm", means.sort_values(ascending=False, kind="stable").index)


def _draw(rows: pd.DataFrame, arms: list[str]) -> Canvas:
    if shows_items(rows):
        return _by_item(rows, arms)
    whole = whole_rows(rows)
    if len(whole):
        return dot_panels({"": [_line(row) for row in records(whole)]}, _("mean score"), width=ONE)
    instrument = str(rows["instrument"].iloc[0])
    panels = {item: [_line(row) for row in records(of_item)] for item, of_item in by_item(rows, instrument).items()}
    return dot_panels(panels, _("mean score"))


def _by_item(rows: pd.DataFrame, arms: list[str]) -> Canvas:
    """Draw a line for each item and a mark for each arm."""
    instrument = str(rows["instrument"].iloc[0])
    estimates = {(row["item"], row["arm"]): estimate_of(row, MEAN) for row in records(rows)}
    lines = [
        Line(
            item_name(instrument, item),
            [estimates.get((item, arm), NOTHING) for arm in arms],
            is_whole=item == ALL_ITEMS,
        )
        for item in whole_first(in_order(instrument, rows["item"]))
    ]
    return dot_panels({"": lines}, _("mean score"), series=arms, width=ONE)


def _line(row: Mapping[str, Any]) -> Line:
    return Line(row["arm"], [estimate_of(row, MEAN)], f"{decimal(row['mean'])} ({row['n']})")


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


def _describe_best(rows: pd.DataFrame, results: Results) -> str:
    """Compare the two arms with the highest means over the items, where the same people or profiles met both."""
    pair = list(dict.fromkeys(whole_rows(rows)["arm"]))[:2]
    table = results.table("arm_pairs")
    if len(pair) < 2 or table.empty:
        return ""
    first = whole_rows(rows).iloc[0]
    same = (table[[*SCALE, "raters"]] == first[[*SCALE, "raters"]]).all(axis=1)
    of_pair = table[["arm_a", "arm_b"]].isin(pair).all(axis=1)
    differences = records(table[same & of_pair & table["difference"].notna()])
    if len(differences) != 1:  # several kinds of seekers or conditions, each with a difference of its own
        return ""
    (row,) = differences
    values = row["difference"], row["low"], row["high"]
    if row["arm_a"] != pair[0]:
        values = -row["difference"], -row["high"], -row["low"]
    texts = [with_bounds(*values), *([p_value(row["p_holm"])] if pd.notna(row["p_holm"]) else [])]
    return join_sentences(
        [
            _("The two arms with the highest means: {best} − {second} {values}.").format(
                best=pair[0], second=pair[1], values=join_clauses(texts)
            ),
            _("p is after Holm's correction over all pairs of arms."),
            ""
            if len(results.table("primary"))
            else _("This comparison was not declared in advance, so it is exploratory."),
        ]
    )


def _describe_leaving(table: pd.DataFrame) -> Iterator[str]:
    """Say what share of conversations with each kind of seekers they walked out of or ended early, by arm; nothing
    where none was."""
    for (seekers, condition), rows in table.groupby(["seekers", "condition"]) if len(table) else ():
        ends = rows[(rows["statistic"] == survival.INCIDENCE) & rows["end"].isin(LEFT_EARLY)]
        last = ends[ends["turn"] == ends.groupby("arm")["turn"].transform("max")]
        shares = last.groupby("arm")["estimate"].sum().sort_values(ascending=False, kind="stable")
        left = shares[shares > 0]
        if left.empty:
            continue
        texts = [f"{arm} {percent(share)}" for arm, share in left.items()]
        texts += [_("no other arm")] if len(left) < len(shares) else []
        early = (last[last["end"] == "early"]["estimate"] > 0).any()
        text = _("Walked out or ended early ({seekers}): {arms}.") if early else _("Walked out ({seekers}): {arms}.")
        yield text.format(seekers=kind_of_seekers(str(seekers), str(condition)), arms=join_names(texts))
        yield from _describe_log_rank(rows)


def _describe_log_rank(rows: pd.DataFrame) -> Iterator[str]:
    """Give the p of the test that detects most; nothing where none could be done."""
    for statistic in (STRATIFIED, LOG_RANK):
        tested = rows[(rows["statistic"] == statistic) & rows["p"].notna()]
        if len(tested):
            p = p_value(tested["p"].iloc[0])
            yield _(
                "Log-rank test of the turns until a walk-out, an early end, a satisfied goodbye or a stop for safety: "
                "{p}."
            ).format(p=p)
            return
