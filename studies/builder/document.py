"""A study file that is edited place by place. What is not edited stays as it was written, comments too. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array, Comment, InlineTable, Table, Whitespace
from tomlkit.toml_document import TOMLDocument

from dialogue.documents import DocumentError, Fault, Place, parse_toml

NAME = "study.toml"  # what faults call a file that is edited on a page
SHORT = 60  # characters of a list that stays on one line


class StudyDocument:
    """The text of a study file, with its values by place."""

    def __init__(self, text: str) -> None:
        """Read the text. Raise DocumentError where it is no TOML."""
        parse_toml(text.encode(), NAME)
        try:
            self._toml: TOMLDocument = tomlkit.parse(text)
        except TOMLKitError as error:
            raise DocumentError(NAME, [Fault("", f"not valid TOML: {error}")]) from error

    @property
    def text(self) -> str:
        """Return the file."""
        return tomlkit.dumps(self._toml)

    def get(self, place: Place) -> Any:
        """Return the plain value at a place; None where there is none."""
        node: Any = self._toml
        for part in place:
            try:
                node = node[part]
            except (KeyError, IndexError, TypeError):
                return None
        return node.unwrap() if hasattr(node, "unwrap") else node

    def set(self, place: Place, value: Any) -> None:
        """Write a value; None removes the key. Sections on the way are made. A value that is there already keeps its
        form."""
        if self.get(place) == value and type(self.get(place)) is type(value):
            return
        *above, key = place
        if value is None:
            with suppress(KeyError):
                self._table(above).remove(key)
            return
        table = self._table(above)
        # A new key comes before the comments at the end of its table, which are about what follows.
        end = take_end(table) if isinstance(table, Table) and key not in table else ""
        table[key] = to_item(value)
        if end:
            table.value.body.append((None, Whitespace(end)))

    def count(self, section: Place) -> int:
        """Return the number of tables in a list of tables."""
        rows = self.get(section)
        return len(rows) if isinstance(rows, list) else 0

    def has_tables(self, section: Place) -> bool:
        """Return whether a list, if it is there, has tables alone."""
        rows = self.get(section)
        return rows is None or (isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows))

    def add_row(self, section: Place, values: Mapping[str, Any]) -> int:
        """Add a table at the end of a list of tables, and return its number from 0."""
        self._change_rows(section, lambda rows: rows.append(to_table(values)))
        return self.count(section) - 1

    def remove_row(self, section: Place, number: int) -> None:
        """Remove a table from a list of tables."""
        self._change_rows(section, lambda rows: rows.pop(number))

    def move_row(self, section: Place, number: int, by: int) -> None:
        """Move a table up (negative) or down in its list; it stays where it is if the list has no such place."""
        if 0 <= number + by < self.count(section):
            self._change_rows(section, lambda rows: rows.insert(number + by, rows.pop(number)))

    def _table(self, place: list[str | int]) -> Any:
        """Return the table at a place. It is made where it is missing, or where something else stands."""
        node: Any = self._toml
        for part in place:
            if isinstance(part, int):
                node = node[part]
                continue
            if not isinstance(node.get(part), Mapping | list):
                node[part] = tomlkit.inline_table() if isinstance(node, InlineTable) else tomlkit.table()
            node = node[part]
        return node

    def _change_rows(self, section: Place, change: Callable[[list[Table]], object]) -> None:
        *above, key = section
        table = self._table(above)
        rows = read_rows(table.get(key))
        give_comments_to_their_tables(rows)
        end = take_end(rows[-1]) if rows else ""
        change(rows)
        for place, row in enumerate(rows):
            row.trivia.indent = ("\n" if place else "") + row.trivia.indent.removeprefix("\n")
        if not rows:
            table.remove(key)
            self._toml.append(None, Whitespace(end))
            return
        rows[-1].value.body.append((None, Whitespace(end)))
        table[key] = AoT(rows, parsed=True)


def read_rows(node: Any) -> list[Table]:
    """Return the tables of a list, which may also stand on one line."""
    if isinstance(node, AoT):
        return list(node.body)
    return [to_table(row) for row in node.unwrap() if isinstance(row, Mapping)] if isinstance(node, Array) else []


def give_comments_to_their_tables(rows: Sequence[Table]) -> None:
    """Give each table the lines above its head. TOML's grammar counts comments there as the end of the table before,
    with which they would move."""
    for earlier, later in pairwise(rows):
        later.trivia.indent = take_end(earlier) + later.trivia.indent


def take_end(row: Table) -> str:
    """Remove the comments and blank lines at the end of a table, and return them."""
    body, lines = row.value.body, ""
    while body and isinstance(body[-1][1], Comment | Whitespace):
        lines = body.pop()[1].as_string() + lines
    return lines


def to_table(values: Mapping[str, Any]) -> Table:
    """Return a table of a list, with a blank line before it."""
    table = tomlkit.table()
    for key, value in values.items():
        table.append(key, to_item(value))
    table.trivia.indent = "\n"
    return table


def to_item(value: Any) -> Any:
    """Return a value as people write it: a table on its line, a long list with a line for each member."""
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for key, member in value.items():
            table.append(key, to_item(member))
        return table
    if isinstance(value, list | tuple):
        array = tomlkit.array()
        for member in value:
            array.append(to_item(member))
        return array.multiline(len(array.as_string()) > SHORT)
    if isinstance(value, str) and "\n" in value:
        return tomlkit.string(value, multiline=True)
    return tomlkit.item(value)


def walk_rows(document: StudyDocument, section: Place) -> Iterator[Mapping[str, Any]]:
    """Yield the tables of a list as plain values."""
    for number in range(document.count(section)):
        row = document.get((*section, number))
        yield row if isinstance(row, Mapping) else {}
