"""Ratings that are read as they are and deserve a look: scores off their scale, repeats, unknown items and chats."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis.reading import line_of
from studies.analysis.scales import CODEBOOK, Place, Scale, beyond, scales_in, types_in
from studies.instruments.loading import instrument_ids
from studies.instruments.loading import load as load_instrument


@dataclass(frozen=True)
class OutsideScale:
    """Scores outside the scale of their item: how many, and the first with its line in ratings.csv."""

    count: int
    line: int
    instrument: str
    item: str
    score: float
    lowest: float
    highest: float


@dataclass(frozen=True)
class Repeats:
    """Ratings that repeat an earlier one: how many, and the line of the first in ratings.csv."""

    count: int
    line: int


@dataclass(frozen=True)
class UnknownItem:
    """An item that its instrument does not have: the first line that names it, and a known item with a similar name."""

    instrument: str
    item: str
    line: int
    similar: str  # empty where no name is similar


@dataclass(frozen=True)
class UnlistedConversations:
    """Rated conversations that conversations.csv lacks: how many, and the first with its line in ratings.csv."""

    count: int
    line: int
    conversation: str


@dataclass(frozen=True)
class OddRatings:
    """The ratings of ratings.csv that deserve a look."""

    outside: OutsideScale | None = None
    repeats: Repeats | None = None
    unknown: tuple[UnknownItem, ...] = ()
    unlisted: UnlistedConversations | None = None


def find_odd_ratings(path: Path, table: pd.DataFrame, repeated: NDArray[np.intp], listed: pd.Index) -> OddRatings:
    """Return the ratings that deserve a look.

    `repeated` are the rows of the file that repeat an earlier one, `listed` the conversations that are known.
    """
    return OddRatings(
        outside=_outside(path, table),
        repeats=Repeats(len(repeated), line_of(path, repeated[0])) if len(repeated) else None,
        unknown=tuple(_unknown(path, table)),
        unlisted=_unlisted(path, table["conversation"], listed),
    )


def _outside(path: Path, table: pd.DataFrame) -> OutsideScale | None:
    scales = _known_scales(path.parent / CODEBOOK, table)
    rows = np.flatnonzero(beyond(table, scales))
    if not len(rows):
        return None
    first = table.iloc[rows[0]]
    instrument, item = str(first["instrument"]), str(first["item"])
    scale = scales[instrument, item]
    where = len(rows), line_of(path, rows[0])
    return OutsideScale(*where, instrument, item, float(first["score"]), scale.lowest, scale.highest)


def _unlisted(path: Path, rated: pd.Series, listed: pd.Index) -> UnlistedConversations | None:
    rows = np.flatnonzero(~rated.isin(listed))
    if not len(rows):
        return None
    return UnlistedConversations(rated.iloc[rows].nunique(), line_of(path, rows[0]), str(rated.iloc[rows[0]]))


def _unknown(path: Path, table: pd.DataFrame) -> Iterator[UnknownItem]:
    """Yield the items that are lacking where others of their instrument are known, in the order of the file."""
    items_known = _known_items(path.parent / CODEBOOK, table)
    instruments = {instrument for instrument, _item in items_known}
    for row, instrument, item in table[["instrument", "item"]].astype(str).drop_duplicates().itertuples():
        if instrument in instruments and (instrument, item) not in items_known:
            items = sorted(other for instrument_of, other in items_known if instrument_of == instrument)
            similar = get_close_matches(item, items, n=1)
            yield UnknownItem(instrument, item, line_of(path, row), "".join(similar))


def _known_scales(codebook: Path, table: pd.DataFrame) -> dict[Place, Scale]:
    """Return the scales of the codebook, and of our questionnaires that it leaves out."""
    ours = {
        (name, item.key): Scale(item.minimum, item.maximum)
        for name in _ours(table)
        for item in load_instrument(name).items
        if item.minimum is not None and item.maximum is not None
    }
    return ours | scales_in(codebook)


def _ours(table: pd.DataFrame) -> set[str]:
    return set(table["instrument"].cat.categories) & set(instrument_ids())


def _known_items(codebook: Path, table: pd.DataFrame) -> set[Place]:
    """Return the items of the codebook, and of our questionnaires that it leaves out."""
    items: set[Place] = set(types_in(codebook))
    instruments = {instrument for instrument, _item in items}
    return items | {(name, item.key) for name in _ours(table) - instruments for item in load_instrument(name).items}
