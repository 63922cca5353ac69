"""CSV files → columns of categories. Every fault is an `AnalysisError` that begins `FILE:LINE:COLUMN:`.

A column of an export says few things many times over: each text is looked at once, however many rows have it.
"""

import csv
import math
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis import AnalysisError

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COUNT = re.compile(r"\d+(\.0*)?")  # a table that had gaps in this column was often saved with 5.0 for 5
_GUARDED = re.compile(r"^'(?='*[=+\-@\t\r])")
_ONE_MORE = "row"
EMPTY = "is empty"  # what is wrong with a cell that must have a text
_LARGEST = 1e12  # beyond any scale or amount; its eighth power is still a number
_MOST_TURNS = 100_000  # some tables have a row for each
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
_SEPARATORS = {";": "semicolons, as Excel saves it in some countries", "\t": "tabs"}
# What says true or false, in whichever file it stands. A spreadsheet saves TRUE for true, others 1.
TRUTHS = (
    "excluded",
    "is_test",
    "masked",
    "names_itself",
    "pasted",
    "publish_quotes",
    "redacted",
    "seen",
    "share_deidentified",
    "valid",
)
_WORDS = {"true": "true", "1": "true", "false": "false", "0": "false", "": ""}
_OF_WORDS = {"true": 1.0, "false": 0.0, "": math.nan}

csv.field_size_limit(2**31 - 1)  # a text may be longer than the 128 KiB that the module allows by itself


def read_table(path: Path, needed: Iterable[str], optional: Iterable[str] = ()) -> pd.DataFrame:
    """Return the named columns as categories of text, without a spreadsheet guard.

    An absent optional column is empty. TRUTHS are `true`, `false` or empty, however the file writes them.
    """
    header = _header(path)
    _refuse_absent(path, [name for name in needed if name not in header], header)
    columns = [*needed, *optional]
    # A file none of whose columns is wanted still says how many rows it has.
    table = _texts(path, header, [name for name in header if name in columns] or header[:1])
    read = {name: _strip_guard(table[name]) if name in table else _empty(table.index) for name in columns}
    return pd.DataFrame({name: _read_truth(path, text) if name in TRUTHS else text for name, text in read.items()})


def _refuse_absent(path: Path, absent: list[str], header: list[str]) -> None:
    """Raise AnalysisError where columns are missing, with all their names."""
    if not absent:
        return
    otherwise = [name for name in absent if name in {written.strip().lower() for written in header}]
    small = f"; write the names in small letters: {', '.join(otherwise)}" if otherwise else ""
    missing = "the column is missing" if len(absent) == 1 else f"the columns {', '.join(absent)} are missing"
    raise AnalysisError(f"{path.name}:1:{absent[0]}: {missing}{small} (the header has {', '.join(header)})")


def columns_of(path: Path) -> list[str]:
    """Return the columns of a file that could be read."""
    return next(record for _line, record in _records(path))


def _texts(path: Path, header: list[str], names: list[str]) -> pd.DataFrame:
    # The header is read as a row among the others: where all texts of a column look like numbers, pandas would make
    # numbers of them, and 7 of 007.
    columns = [header.index(name) for name in names]
    try:
        table = pd.read_csv(path, header=None, usecols=columns, dtype="category", na_filter=False, encoding="utf-8-sig")
    except pd.errors.ParserError:
        _refuse_unclosed(path)
        raise
    rows = table.iloc[1:].reset_index(drop=True)
    return pd.DataFrame(
        {name: rows[column].cat.remove_unused_categories() for name, column in zip(names, columns, strict=True)}
    )


def _header(path: Path) -> list[str]:
    """Return the header, after a look at every row: pandas would fill a short one up with missing scores."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header = next(reader, [])
            widths = set(map(len, reader))
    except UnicodeDecodeError:
        _refuse_encoding(path)
        raise
    if not header and widths <= {0}:
        raise AnalysisError(f"{path.name}: is empty")
    if any("\n" in name for name in header):
        _refuse_unclosed(path)
    for separator, name in _SEPARATORS.items():
        if len(header) == 1 and separator in header[0]:
            raise AnalysisError(f"{path.name}:1: is separated by {name}; it must be by commas")
    if widths - {len(header), 0}:  # 0: a blank line is no row
        _refuse_unclosed(path)
        _refuse_uneven(path, len(header))
    repeated = [name for name in header if header.count(name) > 1]
    if repeated:
        raise AnalysisError(f"{path.name}:1:{repeated[0]}: the column is there twice")
    return header


def _refuse_encoding(path: Path) -> None:
    """Raise AnalysisError where a file is not UTF-8.

    The file is read as a whole, so that the byte is counted from its beginning.
    """
    try:
        path.read_bytes().decode()
    except UnicodeDecodeError as error:
        line = len((error.object[: error.start] + b"?").splitlines())
        raise AnalysisError(
            f"{path.name}:{line}: is not UTF-8 ({error.reason} at byte {error.start}); save it as CSV UTF-8"
        ) from error


def _refuse_unclosed(path: Path) -> None:
    """Raise AnalysisError where a quotation mark is not closed.

    One more row is read after the last, which an open quotation takes in.
    """
    line, last = deque(_records(path, _ONE_MORE), maxlen=1).pop()
    if last != [_ONE_MORE]:
        raise AnalysisError(f"{path.name}:{line}: a quotation mark is not closed")


def _refuse_uneven(path: Path, columns: int) -> None:
    for line, record in _records(path):
        if record and len(record) != columns:
            raise AnalysisError(f"{path.name}:{line}: {len(record)} fields under {columns} columns")


def _records(path: Path, *more: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records of the file, each with the line on which it begins: a quoted text may run over several."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader, line = csv.reader(chain(file, more)), 1
        for record in reader:
            yield line, record
            line = reader.line_num + 1


def _empty(index: pd.Index) -> pd.Series:
    return pd.Series(pd.Categorical.from_codes(np.zeros(len(index), dtype=np.int8), _index([""])), index=index)


def refuse(
    path: Path, column: pd.Series, wrong: Callable[[str], bool], what: str, hint: Callable[[str], str] = lambda _: ""
) -> None:
    """Raise AnalysisError for the first row whose text is wrong; `hint` says of it what to write instead."""
    faulty = np.array([wrong(text) for text in column.cat.categories], dtype=bool)
    if not faulty.any():
        return
    row = np.flatnonzero(faulty[column.cat.codes])[0]
    text, line = str(column.iloc[row]), f"{path.name}:{line_of(path, row)}"
    if text == column.name:
        raise AnalysisError(f"{line}: is the header again; remove this line")
    said = what if what == EMPTY else f"{text!r} {what}"
    raise AnalysisError(f"{line}:{column.name}: {said}{hint(text)}")


def refuse_others(path: Path, column: pd.Series, allowed: Collection[str]) -> None:
    """Raise AnalysisError for the first row whose text is not among these; the message leaves an empty one out."""
    refuse(path, column, lambda text: text not in allowed, "is not one of " + ", ".join(filter(None, allowed)))


def refuse_uncounted(path: Path, column: pd.Series) -> None:
    """Raise AnalysisError for the first row whose text is neither empty nor a number of turns, or of one turn."""
    what = f"is not a whole number from 0 to {_MOST_TURNS:,}"
    refuse(path, column, lambda text: bool(text.strip()) and not _is_count(text.strip()), what)


def _is_count(text: str) -> bool:
    return bool(_COUNT.fullmatch(text)) and number(text) <= _MOST_TURNS


def refuse_repeated(path: Path, column: pd.Series) -> None:
    """Raise AnalysisError for the first row whose text was there before."""
    again = np.flatnonzero(column.duplicated())
    if not len(again):
        return
    text = column.iloc[again[0]]
    line, before = (line_of(path, row) for row in (again[0], np.flatnonzero(column == text)[0]))
    raise AnalysisError(f"{path.name}:{line}:{column.name}: {str(text)!r} is in line {before} already")


def line_of(path: Path, row: int) -> int:
    """Return the line on which a data row begins; blank lines are no rows."""
    lines = (line for line, record in _records(path) if record)
    return next(islice(lines, row + 1, None))  # the header comes first


def numbers(path: Path, column: pd.Series) -> np.ndarray:
    """Return texts as floats, nan where they are empty."""
    refuse(path, column, lambda text: bool(text.strip()) and math.isnan(number(text)), "is not a number", _point_for)
    beyond = f"is beyond any scale or amount (at most {_LARGEST:,.0f})"
    refuse(path, column, lambda text: abs(number(text)) > _LARGEST, beyond)
    return _of_categories(column, number)


def _point_for(text: str) -> str:
    """Return the advice to write a point where a number has a decimal comma."""
    return f"; write {text.strip().replace(',', '.')}" if _DECIMAL_COMMA.fullmatch(text.strip()) else ""


def amounts(path: Path, column: pd.Series) -> np.ndarray:
    """Return texts as floats of at least 0, nan where they are empty."""
    refuse(path, column, lambda text: number(text) < 0, "is below 0")
    return numbers(path, column)


def counts(path: Path, column: pd.Series) -> np.ndarray:
    """Return numbers of turns as floats, nan where the text is empty."""
    refuse_uncounted(path, column)
    return numbers(path, column)


def truths(column: pd.Series) -> np.ndarray:
    """Return TRUTHS as 1 and 0, nan where the text is empty."""
    return _of_categories(column, lambda text: _OF_WORDS[text])


def number(text: str) -> float:
    """Return the finite number that a text is, else nan."""
    if not _NUMBER.fullmatch(text.strip()):
        return math.nan
    value = float(text)
    return value if math.isfinite(value) else math.nan


def rename_values(column: pd.Series, name: Callable[[str], str]) -> pd.Series:
    """Return each text replaced by its name; several texts may get the same one."""
    names = [name(text) for text in column.cat.categories]
    if names == list(column.cat.categories):
        return column
    categories = _index(sorted(set(names)))
    codes = categories.get_indexer(names)[column.cat.codes]
    return pd.Series(pd.Categorical.from_codes(codes, categories), index=column.index, name=column.name)


def _of_categories(column: pd.Series, value: Callable[[str], float]) -> np.ndarray:
    values: np.ndarray = np.array([value(text) for text in column.cat.categories], dtype=float)[column.cat.codes]
    return values


def _read_truth(path: Path, column: pd.Series) -> pd.Series:
    refuse(path, column, lambda text: text.strip().lower() not in _WORDS, "is neither true nor false")
    return rename_values(column, lambda text: _WORDS[text.strip().lower()])


def _strip_guard(column: pd.Series) -> pd.Series:
    return rename_values(column, lambda text: _GUARDED.sub("", text))


def _index(texts: list[str]) -> pd.Index:
    return pd.Index(texts, dtype=str)
