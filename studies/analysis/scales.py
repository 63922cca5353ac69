"""Facts about items in codebook.csv: the range of each scale, items without a scale, and instructed answers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array
from studies.analysis.measures.coincidence import MOST_LEVELS
from studies.analysis.notes import Note
from studies.analysis.reading import columns_of, numbers, read_table
from studies.analysis.rows import Undefined

CODEBOOK = "codebook.csv"
SUFFIX = ".json"  # of an instrument's file
# Types of items whose values have no order: the difference between two of them means nothing.
NOMINAL = ("nominal", "single", "checkbox", "country")

Place = tuple[str, str]  # instrument and item
Items = Mapping[Place, "Scale"]


@dataclass(frozen=True)
class Scale:
    """The range of an item's scores; `note` says where it comes from, if not from codebook.csv."""

    lowest: float
    highest: float
    note: Note | None = None

    def levels(self) -> Array:
        """Return the whole steps from the lowest on, those too that no one gave.

        Raise `Undefined` where they are too many.
        """
        if self.highest - self.lowest >= MOST_LEVELS:
            raise Undefined("too_many_levels_of_scale", most=MOST_LEVELS)
        return np.arange(self.lowest, self.highest + 1)


def scales_of(folder: Path, ratings: pd.DataFrame) -> Items:
    """Return the scale of every item that codebook.csv or a score has.

    Where the codebook has none that holds, it is the range of the scores.
    """
    stated = scales_in(folder / CODEBOOK)
    scores = ratings.groupby(["instrument", "item"], observed=True)["score"].agg(["min", "max"])
    return stated | {
        (str(instrument), str(item)): _scale(stated.get((str(instrument), str(item))), lowest, highest)
        for (instrument, item), lowest, highest in scores.itertuples()
    }


def scales_in(path: Path) -> dict[Place, Scale]:
    """Return the ranges that the codebook says.

    There are none where there is no codebook, or one from before it had them as columns.
    """
    return dict(_scales(path)) if path.is_file() else {}


def types_in(path: Path) -> dict[Place, str]:
    """Return the type that the codebook gives each item."""
    return {place: row["type"] for place, row in _items(path)} if path.is_file() else {}


def instructions_in(path: Path) -> dict[Place, str] | None:
    """Return the value that each instructed item asks for; None where the codebook has no such column."""
    if not path.is_file() or "instructed" not in columns_of(path):
        return None
    return {place: row["instructed"] for place, row in _items(path) if row["instructed"]}


def beyond(ratings: pd.DataFrame, scales: Items) -> NDArray[np.bool_]:
    """Return which rows have a score that the scale of their item does not reach."""
    instruments, items = ratings["instrument"].cat, ratings["item"].cat
    lowest, highest = (np.full((len(instruments.categories), len(items.categories)), end) for end in (-np.inf, np.inf))
    for (instrument, item), scale in scales.items():
        if instrument in instruments.categories and item in items.categories:
            place = instruments.categories.get_loc(instrument), items.categories.get_loc(item)
            lowest[place], highest[place] = scale.lowest, scale.highest
    places, scores = (instruments.codes, items.codes), ratings["score"].to_numpy(float)
    is_beyond: NDArray[np.bool_] = (scores < lowest[places]) | (scores > highest[places])
    return is_beyond


def _scale(stated: Scale | None, lowest: float, highest: float) -> Scale:
    if stated and stated.lowest <= lowest and highest <= stated.highest:
        return stated
    code = "scale_too_small" if stated else "scale_from_scores"
    return Scale(lowest, highest, Note(code, lowest=f"{lowest:g}", highest=f"{highest:g}"))


def _scales(path: Path) -> Iterator[tuple[Place, Scale]]:
    for place, row in _items(path):
        if row["type"] not in NOMINAL and not np.isnan([row["minimum"], row["maximum"]]).any():
            yield place, Scale(row["minimum"], row["maximum"])


def _items(path: Path) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the rows about an instrument; `minimum` and `maximum` are floats, nan where they are empty."""
    table = read_table(path, ("file", "column"), ("type", "minimum", "maximum", "instructed"))
    rows = table.astype(str).assign(**{name: numbers(path, table[name]) for name in ("minimum", "maximum")})
    for row in rows.to_dict("records"):
        if row["file"].endswith(SUFFIX):
            yield (row["file"].removesuffix(SUFFIX), row["column"]), row
