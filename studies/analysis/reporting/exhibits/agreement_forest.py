"""The agreement of each judge and strategy with people: a forest plot of r over the items together, and r by item."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import ngettext
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.reporting.dots import Line, dot_panels
from studies.analysis.reporting.drawing import ONE, figure
from studies.analysis.reporting.estimates import estimate_of, records, sort_by_place
from studies.analysis.reporting.excerpts import with_names
from studies.analysis.reporting.main_rows import by_strategy, main_rows, whole_first, whole_rows
from studies.analysis.reporting.naming import (
    in_order,
    instrument_name,
    item_name,
    join_names,
    judge_name,
    raters_name,
    strategy_name,
)
from studies.analysis.reporting.numbers import LEVEL, bounds, decimal, span, with_bounds
from studies.analysis.reporting.parts import Excerpt, Exhibit
from studies.analysis.results import Results

R = ("pearson", "pearson_low", "pearson_high")
READ: Mapping[str, Callable[[], str]] = {  # by EmoHarbor's strategies
    "standard": lambda: _("nothing more (standard)"),
    "user_aware": lambda: _("the seeker's profile (user-aware)"),
    "state_aware": lambda: _("the profile with the seeker's inner state after each turn (state-aware)"),
}


def agreement_forest(results: Results) -> Exhibit | None:
    rows = agreement_rows(results)
    whole = whole_rows(rows)
    whole = whole[whole["pearson"].notna()] if len(whole) else whole
    if whole.empty:
        return None
    of = {"human": raters_name(whole["human"].iloc[0]), "level": LEVEL, "scale": measure_name(whole)}
    drawn = figure(
        "main-agreement",
        _("Agreement of judges with {human}").format(**of),
        _("Pearson's r on {scale}, one score for each conversation, with {level} intervals ({method}).").format(
            method=_("cluster bootstrap") if results.bootstrap.draws_r else _("jackknife of clusters"), **of
        ),
        dot_panels({"": _lines(whole)}, _("Pearson's r"), at=0, width=ONE),
    )
    return Exhibit(
        "agreement", _("Agreement of judges and people"), list(_describe(whole)), drawn, rows, _by_item(rows, of)
    )


def agreement_rows(results: Results) -> pd.DataFrame:
    """Return the rows of agreement.csv that the main part shows, by judge and in the order of the strategies."""
    table = results.table("agreement")
    rows = main_rows(table[~table["human"].str.contains(":", regex=False)], "human") if len(table) else table
    return sort_by_place(rows, "strategy", by_strategy(rows["strategy"]), within=["judge"]) if len(rows) else rows


def measure_name(whole: pd.DataFrame) -> str:
    """Return what is scored: the mean over a questionnaire's items, or its only item."""
    instrument, item = whole["instrument"].iloc[0], whole["item"].iloc[0]
    name = instrument_name(instrument)
    if item != ALL_ITEMS:
        return f"{item_name(instrument, item)} ({name})"
    return _("the mean over the items of {instrument}").format(instrument=name)


def judge_label(judge: str, strategy: str, *, alone: bool = False) -> str:
    """Return the name of a judge with its strategy; of the only judge, the strategy alone."""
    return strategy_name(strategy) if alone and strategy else judge_name(judge, strategy)


def _lines(whole: pd.DataFrame) -> list[Line]:
    alone = whole["judge"].nunique() == 1
    return [
        Line(
            judge_label(row["judge"], row["strategy"], alone=alone),
            [estimate_of(row, R)],
            f"{decimal(row['pearson'])} {bounds(*(row[name] for name in R[1:]))} ({row['n']})",
        )
        for row in records(whole)
    ]


def _describe(whole: pd.DataFrame) -> Iterator[str]:
    alone = whole["judge"].nunique() == 1
    found = [
        _("r = {r} ({judge})").format(
            judge=judge_label(row["judge"], row["strategy"], alone=alone),
            r=with_bounds(*(float(row[name]) for name in R)),
        )
        for row in records(whole)
    ]
    yield ngettext(
        "The judge agrees with {human} at {found}.", "Judges agree with {human} at {found}.", whole["judge"].nunique()
    ).format(human=raters_name(whole["human"].iloc[0]), found=join_names(found))
    yield _("Conversations: {n}; clusters (people or profiles): {clusters}.").format(
        n=span(whole["n"]), clusters=span(whole["clusters"])
    )
    read = [what() for strategy, what in READ.items() if strategy in set(whole["strategy"])]
    if len(read) > 1:
        yield _("Beside the conversation, a judge reads {read}.").format(read=join_names(read))


def _by_item(rows: pd.DataFrame, of: dict[str, str]) -> list[Excerpt]:
    """Return the table of correlations; empty where there is one item."""
    instrument = str(rows["instrument"].iloc[0])
    if rows["item"].nunique() < 2:
        return []
    caption = _("Pearson's r of judges and {human} by item, as in EmoHarbor's Table 1").format(**of)
    return [Excerpt("main-agreement-by-item", caption, correlations(rows, instrument))]


def correlations(rows: pd.DataFrame, instrument: str) -> pd.DataFrame:
    """Return judge × strategy × item, as Table 1 of EmoHarbor (arXiv:2601.01530) prints them, without its stars: they
    test whether r is 0, which no one asks."""
    keys = ["judge", "strategy"]
    texts = rows.assign(r=rows["pearson"].astype(float).map(decimal))
    wide = texts.pivot(index=keys, columns="item", values="r").fillna("–")
    wide = wide[whole_first(in_order(instrument, wide.columns))].rename(columns=partial(item_name, instrument))
    wide = wide.join(rows.groupby(keys)["n"].agg(span))
    return with_names(rows[keys].drop_duplicates().join(wide, on=keys))
