"""Heat maps of judges' agreement with people, from the results of an analysis: judge × strategy down, items across."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dialogue.templatetags.languages import comma
from studies.workbench import labels
from studies.workbench.rating_tables import item_name
from studies.workbench.result_notes import explain

SHOWN = ("pearson", "pearson_low", "pearson_high")
BANDS = (0.2, 0.4, 0.6, 0.8)  # of r; where one shade ends and the next begins


@dataclass(frozen=True)
class Cell:
    """A cell of a heat map. `r` is None if it could not be computed, and `note` then says why."""

    r: float | None
    low: float | None
    high: float | None
    n: int | None
    note: str

    def shade(self) -> str:
        """Return the CSS class: `none`, `below` for a negative r, else 0 to 4 by BANDS."""
        if self.r is None:
            return "heat--none"
        rounded = round(self.r, 2)
        return "heat--below" if rounded < 0 else f"heat--{sum(rounded >= band for band in BANDS)}"


@dataclass(frozen=True)
class HeatMap:
    """Agreement with one kind of people at one moment.

    `items` are (key, name), `rows` (judge, strategy, a cell for each of them).
    """

    human: str
    moment: str
    items: Sequence[tuple[str, str]]
    rows: Sequence[tuple[str, str, Sequence[Cell | None]]]

    def title(self) -> str:
        return comma().join((labels.raters_name(self.human), labels.word(labels.MOMENTS, self.moment)))


def heat_maps(agreement: Iterable[Mapping[str, Any]]) -> list[HeatMap]:
    by_place: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in agreement:
        if ":" not in row["human"]:  # single raters are in the report
            by_place.setdefault((row["human"], row["moment"]), []).append(row)
    return [HeatMap(human, moment, *grid(rows)) for (human, moment), rows in by_place.items()]


def grid(
    rows: Sequence[Mapping[str, Any]],
) -> tuple[list[tuple[str, str]], list[tuple[str, str, list[Cell | None]]]]:
    cells = {(row["judge"], row["strategy"], row["instrument"], row["item"]): cell_of(row) for row in rows}
    items = list(dict.fromkeys((row["instrument"], row["item"]) for row in rows))
    lines = dict.fromkeys((row["judge"], row["strategy"]) for row in rows)
    named = [(item, item_name(instrument, item)) for instrument, item in items]
    return named, [
        (judge, labels.strategy_name(strategy), [cells.get((judge, strategy, *item)) for item in items])
        for judge, strategy in lines
    ]


def cell_of(row: Mapping[str, Any]) -> Cell:
    return Cell(row["pearson"], row["pearson_low"], row["pearson_high"], row["n"], explain(row, SHOWN))
