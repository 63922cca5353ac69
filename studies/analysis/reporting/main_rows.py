"""The rows of the tables that the main part rests on, and their order."""

from collections.abc import Iterable

import pandas as pd  # noqa: TID253

from dialogue.judges.strategies import get_strategies
from studies.analysis.frames import FINAL
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.reporting.estimates import first_humans


def main_rows(table: pd.DataFrame, raters: str) -> pd.DataFrame:
    """Return the rows of the people whose word counts first (column `raters`), on the longest of their questionnaires
    at the end; of all raters where there are judges alone."""
    if table.empty:
        return table
    is_final = table["moment"] == FINAL
    rows = table[is_final] if is_final.any() else table
    first = first_humans(rows[raters])
    rows = rows[rows[raters] == first] if first else rows
    return rows[rows["instrument"] == longest(rows)]


def longest(rows: pd.DataFrame) -> str:
    """Return the questionnaire with most items; of several, the first by name."""
    return str(rows.groupby("instrument", observed=True)["item"].nunique().idxmax())


def whole_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the mean over the items, or of the only item."""
    whole = rows[rows["item"] == ALL_ITEMS]
    return rows if whole.empty and rows["item"].nunique() == 1 else whole


def by_strategy(strategies: Iterable[str]) -> list[str]:
    """Return strategies in the order of forms: standard, user-aware, state-aware; others follow by name."""
    forms = get_strategies()
    return sorted(set(strategies), key=lambda name: (forms[name].order if name in forms else len(forms) * 1000, name))


def whole_first(items: Iterable[str]) -> list[str]:
    """Return items with the mean over them in front."""
    listed = list(items)
    return sorted(listed, key=lambda item: item != ALL_ITEMS)
