"""The gain in a judge's agreement with people by a strategy: each strategy minus the standard one."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import join_clauses
from studies.analysis.measures.multiple import holm
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.reporting.dots import NOTHING, Line, dot_panels
from studies.analysis.reporting.drawing import ONE, figure
from studies.analysis.reporting.estimates import estimate_of, records, say_method, sort_by_place
from studies.analysis.reporting.main_rows import by_strategy, main_rows, whole_first, whole_rows
from studies.analysis.reporting.naming import in_order, item_name, raters_name, strategy_name
from studies.analysis.reporting.numbers import LEVEL, p_value, with_bounds_signed, with_sign
from studies.analysis.reporting.parts import Exhibit, join_sentences
from studies.analysis.reporting.polarity import (
    Item,
    ends_of_items,
    name_ends,
    opposed_alpha,
    say_opposed,
    without_opposed_means,
)
from studies.analysis.results import Results
from studies.analysis.tables.strategy_tests import is_of_field

STANDARD = "standard"
GAIN = ("difference", "low", "high")
OTHER_P = ("p", "p_holm", "williams_p")  # than the p of the text; strategy_tests.csv has them
MOST_PANELS = 2  # of judges with all their items


def strategy_gain(results: Results) -> Exhibit | None:
    rows = gain_rows(results)
    if rows.empty or rows["difference"].isna().all():
        return None
    alpha = opposed_alpha(results, rows, "human")
    sentences = [*gains_in_words(rows)] if alpha is None else [*_gains_by_item(rows), say_opposed(alpha)]
    names = {"human": raters_name(rows["human"].iloc[0]), "level": LEVEL, "standard": strategy_name(STANDARD)}
    chart = figure(
        "main-strategies",
        _("What a strategy adds to the agreement with {human}").format(**names),
        join_sentences(
            [
                _(
                    "Pearson's r of each strategy minus r of {standard} on the same conversations, with {level} "
                    "intervals. To the right of the line, the strategy agrees better."
                ).format(**names),
                say_method(rows),
            ]
        ),
        _draw(rows),
    )
    return Exhibit(
        "strategies",
        _("Strategies compared"),
        [*sentences, _describe_correction(rows), describe_status(results)],
        chart,
        rows.drop(columns=[*OTHER_P]),
    )


def gain_rows(results: Results) -> pd.DataFrame:
    """Return the rows of strategy_tests.csv that compare with the standard strategy, each as `strategy` minus it; over
    all items together `p_family` is p after Holm's correction over judges and strategies. Without the mean over the
    items, where these do not point the same way."""
    table = results.table("strategy_tests")
    if table.empty:
        return table
    table = table[~table["human"].str.contains(":", regex=False) & ~is_of_field(table)]
    rows = main_rows(table[(table["strategy_a"] == STANDARD) != (table["strategy_b"] == STANDARD)], "human")
    rows = without_opposed_means(results, rows, "human")
    if rows.empty:
        return rows
    turned = rows["strategy_b"] == STANDARD
    rows = rows.assign(
        strategy=rows["strategy_a"].where(turned, rows["strategy_b"]),
        difference=rows["difference"].where(~turned, -rows["difference"]),
        low=rows["low"].where(~turned, -rows["high"]),
        high=rows["high"].where(~turned, -rows["low"]),
    )
    whole = whole_rows(rows)
    tested = whole[whole["p"].notna()]
    rows["p_family"] = pd.Series(holm(tested["p"].astype(float).tolist()) if len(tested) else [], tested.index, float)
    return sort_by_place(rows, "strategy", by_strategy(rows["strategy"]), within=["judge"])


def gains_in_words(rows: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence for each strategy of each judge, over all items together."""
    for row in records(whole_rows(rows)):
        if pd.notna(row["difference"]):
            texts = [with_bounds_signed(row["difference"], row["low"], row["high"])]
            texts += [p_value(row["p_family"])] if pd.notna(row["p_family"]) else []
            yield _("{what}: {values}.").format(what=gain_name(row, rows), values=join_clauses(texts))


def _gains_by_item(rows: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence for each strategy of each judge: the items with the smallest and the largest difference."""
    for low, high in ends_of_items(rows, "difference"):
        texts = {"what": gain_name(low, rows), "values": range_of_gains(low, high), "items": name_ends(low, high)}
        yield _("{what}: {values} ({items}).").format(**texts)


def range_of_gains(low: Item, high: Item) -> str:
    return _("{low} to {high}").format(low=with_sign(low["difference"]), high=with_sign(high["difference"]))


def gain_name(row: Mapping[str, Any], rows: pd.DataFrame) -> str:
    """Return the name of a comparison; the judge is named where there are several."""
    name = f"{strategy_name(row['strategy'])} − {strategy_name(STANDARD)}"
    return f"{name} ({row['judge']})" if rows["judge"].nunique() > 1 else name


def _describe_correction(rows: pd.DataFrame) -> str:
    several = int(rows["p_family"].notna().sum())
    return _("p is after Holm's correction over these {count}.").format(count=several) if several > 1 else ""


def describe_status(results: Results) -> str:
    """Say that nothing was declared, where no contrast was."""
    if len(results.table("primary")):
        return ""
    return _("These comparisons were not declared in advance, so they are exploratory.")


def _draw(rows: pd.DataFrame) -> Canvas:
    strategies = list(dict.fromkeys(rows["strategy"]))
    instrument = str(rows["instrument"].iloc[0])
    judges = list(dict.fromkeys(rows["judge"]))
    items = whole_first(in_order(instrument, rows["item"]))
    estimates = {(row["judge"], row["item"], row["strategy"]): estimate_of(row, GAIN) for row in records(rows)}

    def line(judge: str, item: str, label: str) -> Line:
        values = [estimates.get((judge, item, strategy), NOTHING) for strategy in strategies]
        return Line(label, values, is_whole=item == ALL_ITEMS and len(judges) <= MOST_PANELS)

    if len(judges) <= MOST_PANELS or items[0] != ALL_ITEMS:
        panels = {
            judge if len(judges) > 1 else "": [line(judge, item, item_name(instrument, item)) for item in items]
            for judge in judges
        }
    else:
        panels = {"": [line(judge, items[0], judge) for judge in judges]}
    names = [strategy_name(strategy) for strategy in strategies]
    return dot_panels(panels, _("difference in Pearson's r"), series=names, at=0, width=ONE)
