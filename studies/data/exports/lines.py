"""A file of JSON, a row a line: put in place of an earlier export of the same study at once, or not at all."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

from studies.data.exports.destinations import ExportRefused, refuse_other_study, refuse_unusable_file
from studies.data.exports.files import snapshot

Row = Mapping[str, Any]

# A reader that splits a file's lines as Python's str.splitlines does would also split them here.
LINE_ENDS = {"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def write_lines(out: Path, rows: Iterable[Row]) -> int:
    """Write the rows and return how many. A file without rows is not written, because no one could tell whose it is."""
    part, number = out.with_name(f".{out.name}.part"), 0
    try:
        part.unlink(missing_ok=True)
        with open_private(part) as file, snapshot():
            for number, row in enumerate(rows, 1):  # noqa: B007 - the last number is told
                file.write(format_line(row))
        if number:
            part.replace(out)
        else:
            out.unlink(missing_ok=True)
    finally:
        part.unlink(missing_ok=True)
    return number


def refuse_foreign(out: Path, study: str, *, what: str, study_of: Callable[[Row], str | None]) -> None:
    """Raise ExportRefused unless only an earlier export of the same study is written over.

    `study_of` tells whose a row is, None where it is no row of such an export.
    """
    refuse_unusable_file(out)
    if not out.exists():
        return
    first = first_row(out)
    whose = study_of(first) if first is not None else None
    if whose is None:
        raise ExportRefused(f"{out}: is there already, and no earlier export of {what}. Name another file.")
    refuse_other_study(out, whose, study, kind="file")


def first_row(path: Path) -> Row | None:
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline()
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def format_line(row: Row) -> str:
    text = json.dumps(row, ensure_ascii=False)
    for sign, escaped in LINE_ENDS.items():
        text = text.replace(sign, escaped)
    return f"{text}\n"


def open_private(path: Path) -> TextIO:
    """Open a new file for writing that no one else on this machine can read: it holds people's words."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8", newline="\n")
