"""The reading that imports of tables share: a CSV file row by row, each with the line on which it begins."""

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from studies.data.imports.faults import Faults, text_fault
from studies.models import Participation, Rater, Study
from studies.workbench.csv_cells import remove_guard

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
LARGEST = 2**31 - 1  # of the database's whole numbers
SEPARATORS = {";": "semicolons, as Excel saves it in some countries", "\t": "tabs"}


@dataclass(frozen=True)
class Header:
    """The expected header of a table. `ignored` are columns of our own exports that an import has no use for."""

    needed: Sequence[str]
    optional: Sequence[str]
    ignored: Sequence[str]

    def is_right(self, header: Sequence[str], faults: Faults) -> bool:
        for separator, name in SEPARATORS.items():
            if len(header) == 1 and separator in header[0]:
                faults.add(1, f"is separated by {name}; it must be by commas")
                return False
        columns = (*self.needed, *self.optional, *self.ignored)
        wrong = [f"{name}: the column is missing" for name in self.needed if name not in header]
        wrong += [f"{name}: unknown column; known are {', '.join(columns)}" for name in header if name not in columns]
        wrong += [f"{name}: the column is there twice" for name in sorted(set(header)) if header.count(name) > 1]
        for what in wrong:
            faults.add(1, what)
        return not wrong


class Row:
    """A reader of one row; whatever is wrong with it becomes a fault, and reading goes on."""

    def __init__(
        self, fields: Sequence[str], header: Sequence[str], line: int, faults: Faults, limits: Mapping[str, int | None]
    ) -> None:
        self.texts = {name: remove_guard(text) for name, text in zip(header, fields, strict=False)}
        self.line, self.faults, self.limits = line, faults, limits
        self.sound = True
        if len(fields) != len(header):
            self.fault("", f"has {len(fields)} fields, but the header has {len(header)}")

    def fault(self, column: str, what: str) -> None:
        self.sound = False
        self.faults.add(self.line, f"{column}: {what}" if column else what)

    def text(self, column: str) -> str:
        text = self.texts.get(column, "")
        if wrong := text_fault(text, self.limits.get(column)):
            self.fault(column, wrong)
        return text

    def require(self, column: str) -> str:
        text = self.text(column)
        if not text:
            self.fault(column, "is empty")
        return text

    def choice(self, column: str, choices: Sequence[str], default: str = "") -> str:
        text = self.text(column) or default
        if text not in choices:
            self.fault(column, f"{text!r} is not one of {', '.join(filter(None, choices))}")
        return text

    def run(self, column: str, runs: Mapping[str, int]) -> int:
        conversation = self.require(column)
        if conversation and conversation not in runs:
            self.fault(column, f"there is no {conversation!r} in this study")
        return runs.get(conversation, 0)

    def whole(self, column: str, *, least: int) -> int | None:
        """Return the whole number in a column, from `least` on; None where it is empty or, with a fault, anything else.

        A table that had gaps in this column was often saved with 5.0 for 5.
        """
        text = self.text(column).strip()
        if not text:
            return None
        value = finite(text)
        if value is None or not value.is_integer() or not least <= value <= LARGEST:
            self.fault(column, f"{text!r} is not a whole number from {least} on")
            return None
        return int(value)


def read_rows(path: Path, expected: Header, limits: Mapping[str, int | None], faults: Faults) -> Iterator[Row]:
    """Yield every row that has as many fields as the header; add faults of the file itself to `faults`."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            if not expected.is_right(header, faults):
                return
            begins = reader.line_num + 1
            for fields in reader:
                if fields and (row := Row(fields, header, begins, faults, limits)).sound:
                    yield row
                begins = reader.line_num + 1
    except UnicodeDecodeError:
        add_fault_of_encoding(path, faults)
    except csv.Error as error:
        faults.add(reader.line_num, f"is not CSV: {error}")


def add_fault_of_encoding(path: Path, faults: Faults) -> None:
    """Add where a file is not UTF-8; it is read as a whole, so that the byte is counted from its beginning."""
    try:
        path.read_bytes().decode()
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        faults.add(line, f"is not UTF-8 ({error.reason} at byte {error.start}); save it as CSV UTF-8")


def finite(text: str) -> float | None:
    if not NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def raters_for(study: Study, keys: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str, str], int]:
    """Return raters by kind, code and strategy; create those that there are not yet.

    A rater whose code is that of one of the study's people is that person, so that an erasure finds them.
    """
    existing = {tuple(key): pk for *key, pk in study.raters.values_list("kind", "code", "strategy", "pk")}
    missing = sorted(set(keys) - existing.keys())
    people = dict(Participation.objects.filter(study=study).values_list("code", "pk"))
    new = Rater.objects.bulk_create(
        Rater(study=study, kind=kind, code=code, strategy=strategy, participation_id=people.get(code))
        for kind, code, strategy in missing
    )
    return existing | {key: rater.pk for key, rater in zip(missing, new, strict=True)}
