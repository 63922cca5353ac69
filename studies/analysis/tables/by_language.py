"""Rows of data as a whole, and by language where there are several."""

from collections.abc import Iterator, Sequence

import pandas as pd  # noqa: TID253

from studies.analysis.pooling import POOLED


def find_languages(rows: pd.DataFrame) -> Sequence[str]:
    """Return the languages of the rows; none where there is one alone."""
    languages = sorted(set(rows["language"]) - {""})
    return languages if len(languages) > 1 else []


def split_by_language(rows: pd.DataFrame, languages: Sequence[str]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield (POOLED, all rows), then (language, its rows); a language without rows is left out."""
    yield POOLED, rows
    for language in languages:
        part = rows[rows["language"] == language]
        if len(part):
            yield language, part


def pooled_languages(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table of results that pool the languages."""
    return table[table["language"] == POOLED]


def single_languages(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of single languages where a table of results has such, else those that pool them."""
    single = table[table["language"] != POOLED]
    return table if single.empty else single
