"""The statistics that a table has no column for: in the files they are rows of single estimates.

Of a table that has single estimates itself they are rows there; of all others they are rows of sensitivity.csv, of the
whole data (`sample` `all`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.notes import Note, Notes
from studies.analysis.rows import Cells
from studies.analysis.tables.roles import fill_roles
from studies.analysis.tables.table import Table

COLLECTING = "sensitivity"
BOUNDS = ("", "_low", "_high")
# What sensitivity.csv calls the columns of the other tables.
NAMES = {
    "human": "raters",
    "arm": "arm_a",
    "contestant_a": "arm_a",
    "contestant_b": "arm_b",
    "question": "item",
    "users": "clusters",
    "pairs": "clusters",
}


def build_file_tables(
    tables: Mapping[str, pd.DataFrame], computed: Sequence[Table], roles: Mapping[str, str]
) -> dict[str, pd.DataFrame]:
    """Return the tables as their files have them: `further` columns are rows, each where a number is in it."""
    table_of = {table.name: table for table in computed}
    written = {name: tables[name][list(table_of[name].columns)] for name in tables}
    for name, table in table_of.items():
        place = name if "statistic" in table.columns else COLLECTING
        if name in tables and table.further and place in written:
            rows = list(_further_rows(table, tables[name], table_of[place].columns))
            written[place] = _append(written[place], fill_roles(table_of[place], rows, roles))
    return written


def _append(table: pd.DataFrame, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    if not rows:
        return table
    more = pd.DataFrame(rows, columns=table.columns)
    whole = {name: "Int64" for name in ("n", "clusters") if name in more and more[name].notna().any()}
    return more.astype(whole) if table.empty else pd.concat([table.astype(whole), more.astype(whole)])


def _further_rows(table: Table, rows: pd.DataFrame, columns: Sequence[str]) -> Iterator[Cells]:
    """Yield a row for each statistic of each of `rows`, with the keys among `columns`."""
    statistics = dict.fromkeys(re.sub("_(low|high)$", "", name) for name in table.further)
    for row in rows.to_dict("records"):
        about = {NAMES.get(name, name): value for name, value in row.items()} | {"sample": "all"}
        about = dict.fromkeys(columns, "") | {"n": pd.NA} | about | {"clusters": about["clusters"] or pd.NA}
        for statistic in statistics:
            names = [statistic + bound for bound in BOUNDS]
            if all(pd.isna(row[name]) for name in names if name in table.further):
                continue
            values = dict(zip(("estimate", "low", "high"), (row.get(name) for name in names), strict=True))
            if "statistic" in row:
                yield row | {"statistic": f"{row['statistic']}_{statistic}"} | values
            else:
                yield about | {"statistic": statistic} | values | _notes_on(statistic, row, pd.notna(values["low"]))


def _notes_on(statistic: str, row: Mapping[str, Any], interval: bool) -> dict[str, Notes]:
    """Return `method` and `note` of a row, as far as they are about the statistic.

    Where no method names it, its interval or p is by the row's only method.
    """
    named, others = _split(row.get("method"), statistic)
    by_row = others if len(others) == 1 and (interval or statistic.endswith("_p")) else []
    about, general = _split(row["note"], statistic)
    return {"method": Notes(*named or by_row), "note": Notes(*about, *general)}


def _split(notes: Any, statistic: str) -> tuple[list[Note], list[Note]]:
    """Return the notes that name the statistic or its family, or its bounds; and those on the whole row."""
    all_notes = list(notes) if isinstance(notes, Notes) else []
    named = [note.on() for note in all_notes if any(_names(column, statistic) for column in note.columns)]
    return named, [note for note in all_notes if not note.columns]


def _names(column: str | Note, statistic: str) -> bool:
    """Return whether a note about this column is about the statistic; those on intervals are about all."""
    return isinstance(column, Note) or re.sub("_(low|high)$", "", column.lower()) in statistic
