"""Items that do not point the same way: a mean over them means nothing, so the main part shows none."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.raters import JUDGE
from studies.analysis.reporting.estimates import records
from studies.analysis.reporting.naming import item_name
from studies.analysis.reporting.numbers import decimal
from studies.analysis.results import Results


def opposed_alpha(results: Results, rows: pd.DataFrame, raters: str) -> float | None:
    """Return Cronbach's alpha of the ratings behind these rows of one questionnaire, if it is 0 or below; else None.

    `raters` is the column that names who rated. Where people rated, their alpha counts, as reliability.csv has it.
    """
    table = results.table("reliability")
    if rows.empty or table.empty:
        return None
    first = rows.iloc[0]
    group = str(first[raters])
    group = group if group.startswith(JUDGE) else group.partition(":")[0]
    is_same = (table["raters"] == group) & (table["instrument"] == first["instrument"])
    alphas = table[is_same & (table["moment"] == first["moment"]) & (table["item"] == ALL_ITEMS)]["cronbach"].dropna()
    alpha = float(alphas.iloc[0]) if len(alphas) else 1.0
    return alpha if alpha <= 0 else None


def without_opposed_means(results: Results, rows: pd.DataFrame, raters: str) -> pd.DataFrame:
    """Return the rows without those of the mean over the items, where these do not point the same way."""
    return rows if opposed_alpha(results, rows, raters) is None else rows[rows["item"] != ALL_ITEMS]


def say_opposed(alpha: float | None) -> str:
    """Say why no mean over the items is shown; empty where one is."""
    if alpha is None:
        return ""
    return _(
        "The items do not point the same way (Cronbach's α = {alpha}), so no mean over the items is shown. Reverse "
        "the negative items before the analysis, or leave them out."
    ).format(alpha=decimal(alpha))


Item = Mapping[str, Any]  # a row of one item


def ends_of_items(rows: pd.DataFrame, value: str) -> Iterator[tuple[Item, Item]]:
    """Yield, for each judge and strategy, the rows of the items with the lowest and the highest value."""
    with_value = rows[rows[value].notna()] if len(rows) else rows
    for _key, of_judge in with_value.groupby(["judge", "strategy"], sort=False) if len(with_value) else ():
        ordered = records(of_judge.sort_values(value, kind="stable"))
        yield ordered[0], ordered[-1]


def name_ends(low: Item, high: Item) -> str:
    """Return which items the lowest and the highest value are of."""
    names = [item_name(row["instrument"], row["item"]) for row in (low, high)]
    return _("lowest: {low}; highest: {high}").format(low=names[0], high=names[1])
