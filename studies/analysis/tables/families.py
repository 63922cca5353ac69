"""The families of rows of a table that are tested together."""

from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np

from studies.analysis.measures.multiple import holm
from studies.analysis.rows import Cells


def adjust(
    rows: list[Cells],
    family: Callable[[Cells], Any],
    *,
    undecided: Callable[[Cells], Any] = lambda row: False,
) -> list[Cells]:
    """Return the same rows; each that has a `p` has the adjusted one as `p_holm`.

    Rows with the same `family` are one family of tests. `undecided`: whether a row without p was tested, but
    nothing differed; this counts as p = 1 in its family: what a test finds must not decide whether it is one.
    """

    def get_p(row: Cells) -> float:
        p = float(row.get("p", np.nan))
        return 1.0 if np.isnan(p) and undecided(row) else p

    tested = sorted((row for row in rows if np.isfinite(get_p(row))), key=family)
    for _key, members in groupby(tested, key=family):
        together = list(members)
        for row, adjusted in zip(together, holm([get_p(row) for row in together]), strict=True):
            if np.isfinite(row.get("p", np.nan)):
                row["p_holm"] = adjusted
    return rows
