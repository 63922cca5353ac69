"""The tables as their files have them: what is known by one number stands there once.

The `further` statistics of a table are rows of single estimates: of a table that has single estimates itself, rows
there; of all others, rows of sensitivity.csv, of the whole data (`variant` `all`). Tables with the keys of another
stand in its file.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.notes import NOTE, Note, Notes
from studies.analysis.rows import Cells
from studies.analysis.tables.roles import fill_roles
from studies.analysis.tables.table import METHOD, Table

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
    "a": "arm_a",
    "b": "arm_b",
}


def build_file_tables(
    tables: Mapping[str, pd.DataFrame], computed: Sequence[Table], roles: Mapping[str, str]
) -> dict[str, pd.DataFrame]:
    """Return the tables by file: first the rows of its own, then those of the tables that stand there too, then the
    `further` statistics, each where a number is in it."""
    table_of = {table.name: table for table in computed if table.name in tables}
    written: dict[str, pd.DataFrame] = {}
    for name, table in table_of.items():
        if table.file not in table_of:
            written[name] = _rows_of_file(table, tables[name])[list(table.columns)]
    for name, table in table_of.items():
        if table.file in table_of:
            rows = _rows_of_file(table, tables[name]).to_dict("records")
            written[table.file] = _append(written[table.file], [_filled(table_of[table.file], row) for row in rows])
    for name, table in table_of.items():
        place = table.file or name if "statistic" in table.columns else COLLECTING
        if table.further and place in table_of:
            more = list(_further_rows(table, table.rearrange(tables[name]), table_of[place].columns))
            written[place] = _append(written[place], fill_roles(table_of[place], more, roles))
    return written


def _rows_of_file(table: Table, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows rearranged; their notes do not name a column that the file does not have at all."""
    rows = table.rearrange(rows)
    aside = set(table.aside) - {METHOD}
    return rows.assign(**{NOTE: [_without_columns(notes, aside) for notes in rows[NOTE]]}) if aside else rows


def _without_columns(notes: Any, names: Collection[str]) -> Any:
    """Return the notes without these columns, and without a note on them alone."""
    if not isinstance(notes, Notes):
        return notes
    kept = [(note, [column for column in note.columns if column not in names]) for note in notes]
    return Notes(*(note.on(*columns) for note, columns in kept if columns or not note.columns))


def _listed(notes: Any) -> list[Note]:
    return list(notes) if isinstance(notes, Notes) else []


def _statistics(table: Table) -> list[str]:
    """Return the statistics that are rows: `further` without bounds."""
    return list(dict.fromkeys(re.sub("_(low|high)$", "", name) for name in table.further))


def _filled(table: Table, row: Cells) -> Cells:
    """Return a row with all columns of the table; a text that says what it is of is empty where it has none."""
    return {name: row.get(name, pd.NA if name == "k_raters" else "") for name in table.columns}


def _append(table: pd.DataFrame, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    if not rows:
        return table
    more = pd.DataFrame(rows, columns=table.columns)
    whole = {name: "Int64" for name in ("n", "clusters") if name in more and more[name].notna().any()}
    return more.astype(whole) if table.empty else pd.concat([table.astype(whole), more.astype(whole)])


def _further_rows(table: Table, rows: pd.DataFrame, columns: Sequence[str]) -> Iterator[Cells]:
    """Yield a row for each statistic of each of `rows`, with the keys among `columns`."""
    key = "term" if "term" in columns else "statistic"
    is_of_statistics = "statistic" in table.columns
    for row in rows.to_dict("records"):
        own = {name if name in columns else NAMES.get(name, name): value for name, value in row.items()}
        about = {"variant": "all"} | own
        about = dict.fromkeys(columns, "") | {"n": pd.NA} | about | {"clusters": about["clusters"] or pd.NA}
        for statistic in _statistics(table):
            names = [statistic + bound for bound in BOUNDS]
            if all(pd.isna(row[name]) for name in names if name in table.further):
                continue
            values = dict(zip(("estimate", "low", "high"), (row.get(name) for name in names), strict=True))
            if is_of_statistics:
                yield about | {key: f"{row[key]}_{statistic}"} | values
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
    named = [note.on() for note in _listed(notes) if any(_names(column, statistic) for column in note.columns)]
    return named, [note for note in _listed(notes) if not note.columns]


def _names(column: str | Note, statistic: str) -> bool:
    """Return whether a note about this column is about the statistic; those on intervals are about all."""
    return isinstance(column, Note) or re.sub("_(low|high)$", "", column.lower()) in statistic
