"""Estimates with their intervals as dots and lines, and numbers in a map."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from matplotlib import colormaps  # noqa: TID253
from matplotlib.axes import Axes  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253

from studies.analysis.reporting.drawing import INK, LINE, MUTED, WIDTH, clear_frame, look, name_series, wrap_title
from studies.analysis.reporting.numbers import decimal

ROW, HEAD = 0.21, 0.55  # inches: of a line, and of what stands above and below the lines of a panel
COLUMNS = 3  # panels beside each other
LONG = 34  # letters of a label that leave no room for three panels
FLAT, SHORT = 4, 6  # columns of a map, and letters, whose names stand beside each other
WIDEST = 40  # letters in a line of a label
TURNED = 18  # letters in a line of a name that does not
DARK = 0.18  # luminance below which white has the higher contrast

Estimate = tuple[float, float, float]  # with low and high
NOTHING: Estimate = (np.nan, np.nan, np.nan)


@dataclass(frozen=True)
class Line:
    """A line of a panel: an estimate for each series, and the text at its end."""

    label: str
    estimates: Sequence[Estimate]
    beside: str = ""


def dot_panels(
    panels: Mapping[str, Sequence[Line]], unit: str, *, series: Sequence[str] = (), at: float | None = None
) -> Canvas:
    """Draw a panel for each name, all on one scale.

    `series` are named above, `at` is where a line stands for nothing.
    """
    columns = _columns(panels)
    rows = -(-len(panels) // columns)
    height = rows * (HEAD + ROW * max(map(_lines, panels.values()))) + (0.5 if series else 0.25)
    canvas = Canvas(figsize=(WIDTH, max(1.4, height)), layout="constrained")
    grid = canvas.subplots(rows, columns, sharex=True, squeeze=False)
    for place, axes in enumerate(grid.ravel()):
        axes.set_visible(place < len(panels))
    for place, (axes, (name, lines)) in enumerate(zip(grid.ravel(), panels.items(), strict=False)):
        _panel(axes, name, lines, at, labelled=place % columns == 0)
    canvas.supxlabel(unit, fontsize=9, color=MUTED)
    if series:
        name_series(canvas, series)
    return canvas


def _break_label(label: str) -> str:
    return "\n".join(wrap(label, WIDEST))


def _lines(panel: Sequence[Line]) -> int:
    """Return the number of lines of text that the panel needs, as many for each label as for the longest."""
    return len(panel) * max((_break_label(line.label).count("\n") + 1 for line in panel), default=1)


def _columns(panels: Mapping[str, Sequence[Line]]) -> int:
    """Return the number of columns of panels: fewer where labels are long, one where the panels' labels differ."""
    labels = [[line.label for line in lines] for lines in panels.values()]
    if any(of_panel != labels[0] for of_panel in labels):
        return 1
    longest = max((len(label) for label in labels[0]), default=0)
    return min(len(panels), COLUMNS if longest < LONG else 2)


def _panel(axes: Axes, name: str, lines: Sequence[Line], at: float | None, *, labelled: bool) -> None:
    clear_frame(axes)
    axes.set_title(wrap_title(name))
    if at is not None:
        axes.axvline(at, color=MUTED, linewidth=0.8)
    several = max((len(line.estimates) for line in lines), default=1)
    for number in range(several):
        _series(axes, [line.estimates[number] for line in lines], number, several)
    for place, line in enumerate(lines):
        axes.text(1.02, place, line.beside, transform=axes.get_yaxis_transform(), va="center", color=MUTED, fontsize=7)
    axes.set_yticks(range(len(lines)), [_break_label(line.label) if labelled else "" for line in lines])
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.grid(axis="x", color=LINE, linewidth=0.5)
    axes.tick_params(axis="x", labelbottom=True, labelsize=8)


def _series(axes: Axes, estimates: Sequence[Estimate], number: int, several: int) -> None:
    """Draw the series of a line, each a little below the one before."""
    shift = 0.0 if several < 2 else 0.5 * (number / (several - 1) - 0.5)
    places = np.arange(len(estimates)) + shift
    values, lows, highs = np.array(estimates).T
    of = look(number)
    axes.hlines(places, lows, highs, color=of["color"], linewidth=1.4, linestyle=of["linestyle"] if number else "-")
    axes.plot(values, places, markersize=4, **(of | {"linestyle": "none"}))


def heat_map(values: pd.DataFrame, *, low: float = -1, high: float = 1) -> Canvas:
    """Draw rows × columns of numbers, each written in its cell."""
    columns = values.shape[1]
    canvas = Canvas(figsize=(WIDTH, 1.1 + 0.32 * len(values)), layout="constrained")
    axes = canvas.add_subplot()
    clear_frame(axes)
    axes.spines["bottom"].set_visible(False)
    numbers = values.to_numpy(float)
    axes.imshow(numbers, cmap="cividis_r", vmin=low, vmax=high, aspect="auto")
    axes.set_yticks(range(len(values)), values.index)
    names = ["\n".join(wrap(str(name), TURNED)) for name in values.columns]
    turned: Any = {"rotation": 30, "ha": "right"} if columns > FLAT and max(map(len, names)) > SHORT else {}
    axes.set_xticks(range(columns), names, **turned)
    for (row, column), number in np.ndenumerate(numbers):
        colour = INK if np.isnan(number) else _readable((number - low) / (high - low))
        axes.text(column, row, decimal(number), ha="center", va="center", color=colour)
    return canvas


def _readable(place: float) -> Any:
    """Return ink or white, which of them stands out from the map's colour there (relative luminance, WCAG 2.2)."""
    parts = np.array(colormaps["cividis_r"](place)[:3])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return "white" if float(linear @ [0.2126, 0.7152, 0.0722]) < DARK else INK
