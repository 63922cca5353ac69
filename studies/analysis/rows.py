"""Result rows in which what cannot be computed is empty, with its reason."""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from studies.analysis.notes import Note, Notes

ESTIMATE = ["estimate", "low", "high", "n", "clusters", "method", "note"]  # columns of a table of single estimates
Cells = dict[str, Any]  # a result row by column
Labels = dict[str, str]  # the columns that say what a row is of


class Undefined(Exception):
    """A statistic does not exist for these data; `note` says why."""

    def __init__(self, code: str | Note, **values: str | int | Note) -> None:
        self.note = code if isinstance(code, Note) else Note(code, **values)
        super().__init__(str(self.note))


class Row:
    """A collector of the values of one result row and the reasons for its gaps."""

    def __init__(self, **values: Any) -> None:
        self.values = values
        self._gaps: dict[Note, list[str]] = {}
        self._notes: list[Note] = []

    @contextmanager
    def leave_out_if_undefined(self, *names: str) -> Iterator[None]:
        """Leave these values out, with the reason, where the block raises `Undefined`."""
        try:
            yield
        except Undefined as reason:
            self.leave_out(*names, because=reason.note)

    def compute(self, name: str, statistic: Callable[[], float]) -> None:
        with self.leave_out_if_undefined(name):
            self.values[name] = statistic()

    def compute_all(self, names: Iterable[str], statistics: Callable[[], Iterable[float]]) -> None:
        """Add several values that exist together or not at all."""
        with self.leave_out_if_undefined(*names):
            self.values |= dict(zip(names, statistics(), strict=True))

    def leave_out(self, *names: str, because: Note) -> None:
        self.values.update(dict.fromkeys(names, math.nan))
        self._gaps.setdefault(because, []).extend(names)

    def add_notes(self, *notes: Note) -> None:
        self._notes.extend(notes)

    def add_methods(self, *methods: Note) -> None:
        """Append to the column `method` those that it does not have."""
        earlier = tuple(self.values.get("method", ()))
        self.values["method"] = Notes(*earlier, *(method for method in methods if method not in earlier))

    def cells(self) -> Cells:
        gaps = [reason.on(*_without_bounds(names)) for reason, names in self._gaps.items()]
        return self.values | {"note": Notes(*gaps, *self._notes)}


def _without_bounds(names: list[str]) -> list[str]:
    return [name for name in names if re.sub("_(low|high)$", "", name) not in set(names) - {name}]
