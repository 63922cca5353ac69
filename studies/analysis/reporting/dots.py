"""Estimates with their intervals as dots and lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253

from studies.analysis.reporting.drawing import MUTED, TWO, look
from studies.analysis.reporting.sheets import (
    SMALL,
    Ruler,
    draw_lines,
    draw_marks,
    draw_scale,
    height_of_names,
    in_lines,
    name_series,
    range_of,
    sheet,
    width_of,
    write,
)

ROW, SERIES, TEXT = 0.19, 0.085, 0.125  # inches: of a line, of each more series in it, and of a line of text
FOOT = 0.24  # inches: below a panel, for the numbers of its scale
GAP = 0.12  # inches: between what stands beside each other
COLUMNS = 3  # panels beside each other
LEAST = 1.0  # inches of a panel's scale
WIDEST = 0.42  # of the width, for labels

Estimate = tuple[float, float, float]  # with low and high
NOTHING: Estimate = (np.nan, np.nan, np.nan)


@dataclass(frozen=True)
class Line:
    """A line of a panel: an estimate for each series, and the text at its end."""

    label: str
    estimates: Sequence[Estimate]
    beside: str = ""
    is_whole: bool = False  # of all items together: set in bold


@dataclass(frozen=True)
class _Room:
    """The widths of things, in inches, and the number of panels beside each other."""

    label: float
    plot: float
    beside: float
    columns: int

    def left_edge(self, column: int) -> float:
        """Return where the scale of a panel begins."""
        return self.label + GAP + column * (self.plot + self.beside + GAP)


def dot_panels(
    panels: Mapping[str, Sequence[Line]],
    unit: str,
    *,
    series: Sequence[str] = (),
    at: float | None = None,
    width: float = TWO,
    whole: Sequence[float] = (),
    ticks: Sequence[float] = (),
) -> Canvas:
    """Draw a panel for each name, all on one scale.

    `series` are named above, `at` is where a line stands for nothing, `width` is in inches, `whole` are values that the
    scale reaches at least, and `ticks` where its numbers stand, as far as it goes.
    """
    room = _room(panels, width)
    names = [in_lines(name, room.plot + room.beside) for name in panels]
    lines = list(panels.values())
    rows = [range(start, min(start + room.columns, len(lines))) for start in range(0, len(lines), room.columns)]
    tops, down = [], height_of_names(series, GAP / 2, width) + 0.02
    for row in rows:
        heads = max(names[number].count("\n") + 1 if names[number] else 0 for number in row)
        tops.append(down + TEXT * heads + (0.06 if heads else 0.02))
        down = tops[-1] + max(_depth(lines[number], room) for number in row) + FOOT
    canvas, axes = sheet(width, down + 0.16)
    name_series(axes, series, GAP / 2, width)
    low, high = _range(lines, at, whole)
    for top, row in zip(tops, rows, strict=True):
        for number in row:
            left = room.left_edge(number - row.start)
            ruler = Ruler(low, high, left, left + room.plot, ticks)
            write(axes, left, top - 0.05, names[number], va="bottom")
            _panel(axes, lines[number], ruler, top, room, at, labelled=number == row.start)
    write(axes, room.left_edge(0), down + 0.05, unit, color=MUTED)
    return canvas


def _range(panels: Sequence[Sequence[Line]], at: float | None, whole: Sequence[float]) -> tuple[float, float]:
    every = [estimate for lines in panels for line in lines for estimate in line.estimates]
    if not whole:
        return range_of(*every, [] if at is None else [at])
    finite = [value for estimate in every for value in estimate if np.isfinite(value)]
    return min(*whole, *finite), max(*whole, *finite)


def _room(panels: Mapping[str, Sequence[Line]], width: float) -> _Room:
    """Return the room of labels, scales and what stands beside them: one column where the panels' labels differ."""
    every = [line for lines in panels.values() for line in lines]
    label = min(WIDEST * width, max((width_of(line.label) for line in every), default=0)) + 0.02
    beside = max((width_of(line.beside, SMALL) for line in every), default=0) + 0.08
    first, *others = ([line.label for line in lines] for lines in panels.values())
    most = COLUMNS if all(labels == first for labels in others) else 1

    def plot(columns: int) -> float:
        return (width - label - GAP - columns * (beside + GAP)) / columns

    columns = next((n for n in range(min(most, len(panels)), 0, -1) if plot(n) >= LEAST), 1)
    return _Room(label, max(plot(columns), LEAST / 2), beside, columns)


def _depth(lines: Sequence[Line], room: _Room) -> float:
    return sum(_height(line, room) for line in lines)


def _height(line: Line, room: _Room) -> float:
    return max(
        ROW + SERIES * (len(line.estimates) - 1), 0.07 + TEXT * (in_lines(line.label, room.label).count("\n") + 1)
    )


def _panel(
    axes: Axes, lines: Sequence[Line], ruler: Ruler, top: float, room: _Room, at: float | None, *, labelled: bool
) -> None:
    bottom = top + _depth(lines, room)
    draw_scale(axes, ruler, top, bottom)
    if at is not None:
        place = float(ruler.places(at))
        draw_lines(axes, [[(place, top), (place, bottom)]], colors=MUTED, linewidths=0.9, zorder=1)
    down, middles = top, []
    for line in lines:
        height = _height(line, room)
        middles.append(down + height / 2)
        weight = "bold" if line.is_whole else "normal"
        if labelled:
            text = in_lines(line.label, room.label)
            write(axes, room.label, middles[-1], text, ha="right", multialignment="right", fontweight=weight)
        write(axes, ruler.end + 0.06, middles[-1], line.beside, fontsize=SMALL, color=MUTED)
        down += height
    several = max((len(line.estimates) for line in lines), default=1)
    for number in range(several):
        _series(axes, [line.estimates[number] for line in lines], middles, number, several, ruler)


def _series(
    axes: Axes, estimates: Sequence[Estimate], middles: Sequence[float], number: int, several: int, ruler: Ruler
) -> None:
    """Draw the series of a line, each a little below the one before."""
    places = np.asarray(middles) + SERIES * (number - (several - 1) / 2)
    values, lows, highs = (ruler.places(column) for column in np.array(estimates).T)
    bounded = np.isfinite(lows) & np.isfinite(highs)
    segments = [
        [(low, place), (high, place)]
        for low, high, place in zip(lows[bounded], highs[bounded], places[bounded], strict=True)
    ]
    draw_lines(axes, segments, colors=look(number)["color"], linewidths=1.3, zorder=2)
    finite = np.isfinite(values)
    draw_marks(axes, values[finite], places[finite], number)
