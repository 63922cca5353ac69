"""The agreement of each judge and strategy with people: a forest plot of r over the items together, and r by item."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import ngettext
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.reporting.dots import NOTHING, Line, dot_panels
from studies.analysis.reporting.drawing import ONE, figure
from studies.analysis.reporting.estimates import estimate_of, records, say_method, sort_by_place
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
from studies.analysis.reporting.parts import Excerpt, Exhibit, join_sentences
from studies.analysis.reporting.polarity import (
    Item,
    ends_of_items,
    name_ends,
    opposed_alpha,
    say_opposed,
    without_opposed_means,
)
from studies.analysis.results import Results

MOST_COLUMNS = 4  # of r with their intervals, beside each other
SCALE_OF_R = (0.0, 1.0)  # whole, and further down where an interval goes there
TICKS_OF_R = (-1.0, -0.5, 0.0, 0.5, 1.0)
R = ("pearson", "pearson_low", "pearson_high")
READ: Mapping[str, Callable[[], str]] = {  # by EmoHarbor's strategies
    "standard": lambda: _("nothing more (standard)"),
    "user_aware": lambda: _("the seeker's profile (user-aware)"),
    "state_aware": lambda: _("the profile with the seeker's inner state after each turn (state-aware)"),
}


def agreement_forest(results: Results) -> Exhibit | None:
    rows = agreement_rows(results)
    with_r = rows[rows["pearson"].notna()] if len(rows) else rows
    whole = whole_rows(with_r) if len(with_r) else with_r
    alpha = opposed_alpha(results, rows, "human")
    if whole.empty and (alpha is None or with_r.empty):
        return None
    instrument = str(rows["instrument"].iloc[0])
    words = {"human": raters_name(rows["human"].iloc[0]), "level": LEVEL}
    words["scale"] = (
        measure_name(whole)
        if alpha is None
        else _("each item of {instrument}").format(instrument=instrument_name(instrument))
    )
    panels = {"": _lines(whole)} if alpha is None else _lines_by_item(with_r, instrument)
    names = [] if alpha is None else _series(with_r)
    chart = figure(
        "main-agreement",
        _("Agreement of judges with {human}").format(**words),
        join_sentences(
            [
                _("Pearson's r on {scale}, one score for each conversation, with {level} intervals.").format(**words),
                say_method(with_r),
            ]
        ),
        dot_panels(panels, _("Pearson's r"), series=names, at=0, width=ONE, whole=SCALE_OF_R, ticks=TICKS_OF_R),
    )
    sentences = _describe(whole) if alpha is None else _describe_items(with_r, alpha)
    return Exhibit(
        "agreement", _("Agreement of judges and people"), list(sentences), chart, rows, _by_item(rows, words)
    )


def agreement_rows(results: Results) -> pd.DataFrame:
    """Return the rows of agreement.csv that the main part shows, by judge and in the order of the strategies; without
    those of the mean over the items, where these do not point the same way."""
    table = results.table("agreement")
    rows = main_rows(table[~table["human"].str.contains(":", regex=False)], "human") if len(table) else table
    rows = without_opposed_means(results, rows, "human")
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


def _series(rows: pd.DataFrame) -> list[str]:
    """Return the names of the strategies, where there are several."""
    strategies = list(dict.fromkeys(rows["strategy"]))
    return [strategy_name(strategy) or _("no strategy") for strategy in strategies] if len(strategies) > 1 else []


def _lines_by_item(rows: pd.DataFrame, instrument: str) -> dict[str, list[Line]]:
    """Return a panel for each judge, with a line for each item and a mark for each strategy."""
    strategies, judges = (list(dict.fromkeys(rows[name])) for name in ("strategy", "judge"))
    estimates = {(row["judge"], row["item"], row["strategy"]): estimate_of(row, R) for row in records(rows)}
    return {
        judge if len(judges) > 1 else "": [
            Line(item_name(instrument, item), [estimates.get((judge, item, one), NOTHING) for one in strategies])
            for item in in_order(instrument, rows["item"])
        ]
        for judge in judges
    }


def range_of_r(low: Item, high: Item) -> str:
    return f"{decimal(low['pearson'])}–{decimal(high['pearson'])}"


def _describe_items(rows: pd.DataFrame, alpha: float) -> Iterator[str]:
    alone = rows["judge"].nunique() == 1
    for low, high in ends_of_items(rows, "pearson"):
        judge = judge_label(low["judge"], low["strategy"], alone=alone)
        values = range_of_r(low, high)
        yield _("{judge}: r = {values} ({items}).").format(judge=judge, values=values, items=name_ends(low, high))
    yield say_opposed(alpha)
    yield _describe_rows(rows)


def _describe(whole: pd.DataFrame) -> Iterator[str]:
    alone = whole["judge"].nunique() == 1
    values = [
        _("r = {r} ({judge})").format(
            judge=judge_label(row["judge"], row["strategy"], alone=alone),
            r=with_bounds(*(float(row[name]) for name in R)),
        )
        for row in records(whole)
    ]
    yield ngettext(
        "The judge agrees with {human} at {found}.", "Judges agree with {human} at {found}.", whole["judge"].nunique()
    ).format(human=raters_name(whole["human"].iloc[0]), found=join_names(values))
    yield _describe_rows(whole)
    read = [what() for strategy, what in READ.items() if strategy in set(whole["strategy"])]
    if len(read) > 1:
        yield _("Beside the conversation, a judge reads {read}.").format(read=join_names(read))


def _describe_rows(rows: pd.DataFrame) -> str:
    return _("Conversations: {n}; clusters (people or profiles, else conversations): {clusters}.").format(
        n=span(rows["n"]), clusters=span(rows["clusters"])
    )


def _by_item(rows: pd.DataFrame, names: dict[str, str]) -> list[Excerpt]:
    """Return the table of correlations; empty where there is one item."""
    instrument = str(rows["instrument"].iloc[0])
    if rows["item"].nunique() < 2:
        return []
    caption = _("Pearson's r of judges and {human} by item, with {level} intervals").format(**names)
    remark = ""
    if (rows["item"] == ALL_ITEMS).any():
        remark = _(
            "All items: r of the means over the items. Mean of the items' r: the mean of the r in the rows below it."
        )
    remarks = join_sentences([remark, say_method(rows)])
    return [Excerpt("main-agreement-by-item", caption, r_by_item(rows, instrument), remarks)]


def r_by_item(rows: pd.DataFrame, instrument: str) -> pd.DataFrame:
    """Return r with its interval, a row for each item and a column for each strategy (of several judges under one
    strategy, for each judge; of several under several, the rows of each judge by themselves).

    This is Table 1 of EmoHarbor (arXiv:2601.01530), turned, with intervals and without its stars: they test whether r
    is 0, which no one asks.
    """
    across, down = ("strategy", "judge") if rows["strategy"].nunique() > 1 else ("judge", "strategy")
    if rows[across].nunique() > MOST_COLUMNS:
        across, down = down, across
    blocks = []
    for key, group in rows.groupby(down, sort=False):
        texts = {
            _name_of(across, one): _r_of_items(part, instrument) for one, part in group.groupby(across, sort=False)
        }
        items = whole_first(in_order(instrument, group["item"]))
        titles = [title for item in items for title in _titles(instrument, item)]
        block = pd.DataFrame(texts).reindex([*titles, _("Conversations")]).rename_axis("item").reset_index()
        blocks.append(block.assign(**{down: _name_of(down, key)})[[down, *block.columns]])
    table = pd.concat(blocks, ignore_index=True).fillna("–")
    return table if rows[down].nunique() > 1 or table[down].iloc[0] else table.drop(columns=[down])


def _name_of(column: str, key: Any) -> str:
    return strategy_name(str(key)) if column == "strategy" else str(key)


def _titles(instrument: str, item: str) -> list[str]:
    return [item_name(instrument, item), *([_("Mean of the items' r")] if item == ALL_ITEMS else [])]


def _r_of_items(rows: pd.DataFrame, instrument: str) -> dict[str, str]:
    """Return the cells of one judge under one strategy by their titles; the number of conversations comes last."""
    items = rows[rows["item"] != ALL_ITEMS]["pearson"].astype(float)
    texts = {_("Mean of the items' r"): decimal(float(items.mean(skipna=False)))}
    texts |= {item_name(instrument, row["item"]): with_bounds(*estimate_of(row, R)) for row in records(rows)}
    return texts | {_("Conversations"): span(rows["n"])}


def correlations(rows: pd.DataFrame, instrument: str) -> pd.DataFrame:
    """Return judge × strategy × item, as Table 1 of EmoHarbor (arXiv:2601.01530) prints them, without its stars: they
    test whether r is 0, which no one asks."""
    keys = ["judge", "strategy"]
    texts = rows.assign(r=rows["pearson"].astype(float).map(decimal))
    wide = texts.pivot(index=keys, columns="item", values="r").fillna("–")
    wide = wide[whole_first(in_order(instrument, wide.columns))].rename(columns=partial(item_name, instrument))
    wide = wide.join(rows.groupby(keys)["n"].agg(span))
    return with_names(rows[keys].drop_duplicates().join(wide, on=keys))
