"""Which rows of a table are tested together."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from studies.analysis.measures.multiple import holm

TableRow = dict[str, Any]
Correction = Callable[[Sequence[float]], list[float]]


def adjust(
    rows: list[TableRow],
    family: Callable[[TableRow], Any],
    *,
    p: str = "p",
    into: str = "p_holm",
    correct: Correction = holm,
) -> list[TableRow]:
    """The same rows, each that has a `p` with the adjusted one as `into`. Rows of which `family` says the same are one
    family of tests."""
    tested = sorted((row for row in rows if np.isfinite(row.get(p, np.nan))), key=family)
    for _key, members in groupby(tested, key=family):
        together = list(members)
        for row, adjusted in zip(together, correct([row[p] for row in together]), strict=True):
            row[into] = adjusted
    return rows
