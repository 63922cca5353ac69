"""Result rows in which what cannot be computed is empty, with its reason."""

import math
import re
from collections.abc import Callable
from typing import Any

ESTIMATE = ["estimate", "low", "high", "n", "clusters", "method", "note"]  # columns of a table of single estimates


class Undefined(Exception):
    """A statistic does not exist for these data; the message is the reason that `note` will give."""


class Row:
    """Collects the values of one result row and the reasons for its gaps."""

    def __init__(self, **values: Any) -> None:
        self.values = values
        self._gaps: dict[str, list[str]] = {}
        self._notes: list[str] = []

    def compute(self, name: str, statistic: Callable[[], float]) -> None:
        try:
            value = statistic()
        except Undefined as reason:
            self.leave_out(name, because=str(reason))
        else:
            self.values[name] = value

    def leave_out(self, *names: str, because: str) -> None:
        self.values.update(dict.fromkeys(names, math.nan))
        self._gaps.setdefault(because, []).extend(names)

    def add_notes(self, *notes: str) -> None:
        self._notes.extend(notes)

    def finished(self) -> dict[str, Any]:
        gaps = [f"{', '.join(_without_bounds(names))}: {reason}" for reason, names in self._gaps.items()]
        return self.values | {"note": "; ".join(gaps + self._notes)}


def _without_bounds(names: list[str]) -> list[str]:
    return [name for name in names if re.sub("_(low|high)$", "", name) not in set(names) - {name}]
