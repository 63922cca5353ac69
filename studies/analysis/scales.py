"""The range of each item's scale, as codebook.csv tells it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array
from studies.analysis.measures.coincidence import MOST_LEVELS
from studies.analysis.reading import read_table
from studies.analysis.rows import Undefined

CODEBOOK = "codebook.csv"
_RANGE = re.compile(r"(-?\d+) to (-?\d+)")

Items = Mapping[tuple[str, str], "Scale"]  # by instrument and item


@dataclass(frozen=True)
class Scale:
    """`note`: where the range comes from, if not from codebook.csv."""

    lowest: float
    highest: float
    note: str = ""

    def levels(self) -> Array:
        """The whole steps from the lowest on, those too that nobody gave; `Undefined` where they are too many."""
        if self.highest - self.lowest >= MOST_LEVELS:
            raise Undefined(f"the scale has more than {MOST_LEVELS} levels")
        return np.arange(self.lowest, self.highest + 1)


def scales_of(folder: Path, ratings: pd.DataFrame) -> Items:
    """Of every item that codebook.csv or a score tells of: the range of the scores where the codebook tells none that
    holds."""
    told = told_in(folder / CODEBOOK)
    scores = ratings.groupby(["instrument", "item"], observed=True)["score"].agg(["min", "max"])
    return told | {
        (str(instrument), str(item)): _scale(told.get((str(instrument), str(item))), lowest, highest)
        for (instrument, item), lowest, highest in scores.itertuples()
    }


def told_in(path: Path) -> dict[tuple[str, str], Scale]:
    """What the codebook says; nothing where there is none."""
    return dict(_told(path)) if path.is_file() else {}


def beyond(ratings: pd.DataFrame, scales: Items) -> NDArray[np.bool_]:
    """Which rows have a score that the scale of their item does not reach."""
    instruments, items = ratings["instrument"].cat, ratings["item"].cat
    lowest, highest = (np.full((len(instruments.categories), len(items.categories)), end) for end in (-np.inf, np.inf))
    for (instrument, item), scale in scales.items():
        if instrument in instruments.categories and item in items.categories:
            place = instruments.categories.get_loc(instrument), items.categories.get_loc(item)
            lowest[place], highest[place] = scale.lowest, scale.highest
    places, scores = (instruments.codes, items.codes), ratings["score"].to_numpy(float)
    found: NDArray[np.bool_] = (scores < lowest[places]) | (scores > highest[places])
    return found


def _scale(told: Scale | None, lowest: float, highest: float) -> Scale:
    if told and told.lowest <= lowest and highest <= told.highest:
        return told
    why = f"some scores are beyond that of {CODEBOOK}" if told else f"{CODEBOOK} tells none"
    return Scale(lowest, highest, f"scale taken from the scores, {lowest:g} to {highest:g}: {why}")


def _told(path: Path) -> Iterator[tuple[tuple[str, str], Scale]]:
    table = read_table(path, ("file", "column", "type", "values"))
    for row in table[table["type"] == "scale"].astype(str).to_dict("records"):
        if found := _RANGE.match(row["values"]):
            key = row["file"].removesuffix(".json"), row["column"]
            yield key, Scale(float(found[1]), float(found[2]))
