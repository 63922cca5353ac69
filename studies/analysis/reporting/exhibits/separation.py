"""The power of ratings to tell the arms apart; where seekers were also hard to help, what that changes."""

import math
from collections.abc import Iterator

import pandas as pd  # noqa: TID253

from studies.analysis.frames import FINAL
from studies.analysis.language import gettext as _
from studies.analysis.language import join_clauses
from studies.analysis.reporting.dots import Line, dot_panels
from studies.analysis.reporting.drawing import ONE, figure
from studies.analysis.reporting.estimates import estimate_of, first_humans, records
from studies.analysis.reporting.excerpts import remark_on_gaps
from studies.analysis.reporting.main_rows import by_strategy, longest, main_rows, whole_rows
from studies.analysis.reporting.naming import condition_name, instrument_name, raters_name
from studies.analysis.reporting.numbers import LEVEL, decimal, p_value, with_bounds_signed, with_sign
from studies.analysis.reporting.parts import Excerpt, Exhibit, join_sentences
from studies.analysis.reporting.polarity import without_opposed_means
from studies.analysis.results import Results
from studies.analysis.tables.conditions import CONDITIONS

SHOWN = (
    *("users", "models", "msr", "msr_corrected", "mac", "f_oneway", "f_repeated", "p_repeated"),
    *("kendall_w", "pairwise_share"),
)


def separation(results: Results) -> Exhibit | None:
    return _worst_case(results) or _discriminability(results)


def _worst_case(results: Results) -> Exhibit | None:
    table = results.table("conditions")
    rows = main_rows(table, "raters") if len(table) else table
    rows = whole_rows(without_opposed_means(results, rows, "raters")) if len(rows) else rows
    rows = rows[rows["difference"].notna() & (rows["arm"] != "*")] if len(rows) else rows
    if rows.empty:
        return None
    first = rows.iloc[0]
    rows = rows[(rows["raters"] == first["raters"]) & (rows["seekers"] == first["seekers"])]
    rows = rows.sort_values("average", ascending=False, kind="stable")
    words = {"raters": raters_name(first["raters"]), "scale": instrument_name(first["instrument"]), "level": LEVEL}
    names = [(condition, f"{condition}_low", f"{condition}_high") for condition in CONDITIONS]
    lines = [
        Line(
            row["arm"],
            [estimate_of(row, three) for three in names],
            with_sign(row["difference"]),
        )
        for row in records(rows)
    ]
    chart = figure(
        "main-conditions",
        _("Average and worst case as rated by {raters}").format(**words),
        _(
            "Means over the items of {scale}, with {level} intervals (BCa, cluster bootstrap). Next to each line: "
            "worst case minus average; its interval in the text is Student's t."
        ).format(**words),
        dot_panels(
            {"": lines}, _("mean score"), series=[condition_name(condition) for condition in CONDITIONS], width=ONE
        ),
    )
    return Exhibit("conditions", _("Average against worst case"), list(_changes(rows)), chart, rows)


def _changes(rows: pd.DataFrame) -> Iterator[str]:
    for row in records(rows):
        texts = [with_bounds_signed(row["difference"], row["low"], row["high"])]
        texts += [p_value(row["p_holm"])] if pd.notna(row["p_holm"]) else []
        yield _("{arm}, worst case minus average: {change} ({pairs} pairs).").format(
            arm=row["arm"], change=join_clauses(texts), pairs=row["pairs"]
        )


def _discriminability(results: Results) -> Exhibit | None:
    rows = _of_each_group(results.table("discrimination"))
    rows = without_opposed_means(results, rows, "raters")
    columns = [name for name in SHOWN if name in rows and rows[name].notna().any()]
    if rows.empty or not set(columns) - {"users", "models"}:
        return None
    frame = rows[["raters", *columns]].assign(raters=[raters_name(raters) for raters in rows["raters"]])
    table = Excerpt(
        "main-discriminability",
        _("How well ratings on {scale} tell the arms apart").format(scale=instrument_name(rows["instrument"].iloc[0])),
        frame,
        join_sentences([_explain_columns(), _explain_pairs(rows)]),
    )
    return Exhibit("discriminability", _("Discriminability"), list(_describe_pairs(rows)), table, rows)


def _explain_columns() -> str:
    return _(
        "MSR: variance between the arms over the variance within them, also without the part that noise adds; "
        "MAC = MSR / (1 + MSR); one-way F takes ratings as independent, with models − 1 and models × (users − 1) "
        "degrees of freedom; repeated F compares each person with themselves, with models − 1 and "
        "(models − 1) × (users − 1), which Greenhouse and Geisser's epsilon lowers for its p."
    )


def _explain_pairs(rows: pd.DataFrame) -> str:
    """Say what the share of pairs is, or why no row has it."""
    if rows["pairwise_share"].notna().any():
        return _("Pairs told apart: share of pairs of arms that differ by Wilcoxon's test after Holm's correction.")
    return remark_on_gaps(rows, ["pairwise_share"])


def _of_each_group(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row of each group of raters over all items of one questionnaire, all judges and conditions together;
    people come first, and judges in the order of their strategies."""
    if table.empty:
        return table
    pooled = table[table[["judge", "condition"]].isin(["*", ""]).all(axis=1)]
    final = pooled[pooled["moment"] == FINAL]
    rows = whole_rows(final[final["instrument"] == longest(final)]) if len(final) else final
    human = first_humans(rows["raters"]) if len(rows) else ""
    rows = rows[rows["raters"].str.startswith("judge") | (rows["raters"] == human)].drop_duplicates("raters")
    places = {strategy: place for place, strategy in enumerate(by_strategy(rows["strategy"]))}
    order = rows.assign(judged=rows["raters"].str.startswith("judge"), place=rows["strategy"].map(places))
    return rows.loc[order.sort_values(["judged", "place", "raters"], kind="stable").index]


def _describe_pairs(rows: pd.DataFrame) -> Iterator[str]:
    for row in records(rows[rows["pairwise_share"].notna()]):
        pairs = math.comb(int(row["models"]), 2)
        yield _("Ratings by {raters} tell {told} of {pairs} pairs of arms apart (MSR {msr}).").format(
            raters=raters_name(row["raters"]),
            told=round(row["pairwise_share"] * pairs),
            pairs=pairs,
            msr=decimal(row["msr"]),
        )
