"""docs/columns.md: every column of every exported file, from the same definitions as the files themselves."""

from collections.abc import Iterator

from studies.data.exports.codebook import COLUMNS, FILE
from studies.data.exports.columns import Column
from studies.data.exports.tables import TABLES

HEAD = """\
# The columns of the exported files

`make docs` writes this page from the definitions in `studies/data/exports`. [The exported files](codebook.md) explains
how the files fit together. Every export contains the same text in its own `codebook.csv`, with the items of its
instruments.
"""


def build_columns_page() -> str:
    """Return the page as Markdown."""
    parts = [HEAD]
    for table in TABLES:
        parts.append("\n".join(section(table.file, f"One row is {table.a_row_is}.", table.columns)))
    parts.append("\n".join(section(FILE, "One row is a column, an item or a scale.", COLUMNS)))
    return "\n".join(parts)


def section(file: str, about: str, columns: tuple[Column, ...]) -> Iterator[str]:
    yield from (f"## {file}", about, "", "| column | type | unit or values | meaning |", "| --- | --- | --- | --- |")
    for column in columns:
        yield f"| `{column.name}` | {column.type} | {describe_values(column)} | {column.meaning} |"
    yield ""


def describe_values(column: Column) -> str:
    """Return the unit, the range and the values, as far as the column has them."""
    return " ".join(filter(None, [describe_limits(column), column.unit, column.values]))


def describe_limits(column: Column) -> str:
    if column.minimum is None:
        return ""
    return f"{column.minimum} to {column.maximum}" if column.maximum is not None else f"{column.minimum} or more"
