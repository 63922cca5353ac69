"""A drawing in inches from its upper left corner. Its scales and names are placed by counting letters.

So nothing is cut where other fonts are at work, and a figure takes a third of the time that matplotlib's own axes take.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes  # noqa: TID253
from matplotlib.collections import LineCollection  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253
from matplotlib.font_manager import findfont, get_font  # noqa: TID253
from matplotlib.lines import Line2D  # noqa: TID253
from matplotlib.patches import Polygon  # noqa: TID253
from matplotlib.path import Path  # noqa: TID253
from matplotlib.ticker import MaxNLocator  # noqa: TID253
from matplotlib.transforms import IdentityTransform, TransformedPath  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.reporting.drawing import INK, LINE, MUTED, break_lines, look

SMALL, USUAL = 7.0, 8.0  # points
EM, WIDE = 0.58, 1.0  # of a letter's size: the width of a Latin letter, and of a Chinese sign
STEPS = [1, 2, 2.5, 5, 10]
APART = 0.32  # inches: between two labels of a scale, at least
# Nothing cuts a text; but one that comes without a path would be given a new one, which takes a quarter of its time.
_WHOLE = TransformedPath(Path.unit_rectangle(), IdentityTransform())


@dataclass(frozen=True)
class Ruler:
    """A scale: `low` stands at `start` inches and `high` at `end`. `marks` are its numbers, else round values are."""

    low: float
    high: float
    start: float
    end: float
    marks: Sequence[float] = ()

    def places(self, values: Any) -> Array:
        """Return where values stand, in inches."""
        span = self.high - self.low or 1.0
        return np.asarray(self.start + (np.asarray(values, float) - self.low) / span * (self.end - self.start))

    def ticks(self) -> list[float]:
        """Return the values that are written at the scale."""
        most = max(2, int(abs(self.end - self.start) / APART))
        values = self.marks or MaxNLocator(most, steps=STEPS).tick_values(self.low, self.high)
        return [float(value) for value in values if self.low - 1e-9 <= value <= self.high + 1e-9]


def sheet(width: float, height: float) -> tuple[Canvas, Axes]:
    """Return a drawing of this size in inches, empty."""
    canvas = Canvas(figsize=(width, height))
    axes = canvas.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(0, width), ylim=(height, 0), autoscale_on=False)
    return canvas, axes


def range_of(*values: Any) -> tuple[float, float]:
    """Return the lowest and the highest of all numbers that are known, with a little room; 0 to 1 of none."""
    every = np.concatenate([np.ravel(np.asarray(numbers, float)) for numbers in values])
    every = every[np.isfinite(every)]
    if not every.size:
        return 0.0, 1.0
    low, high = float(every.min()), float(every.max())
    room = (high - low or 1.0) * 0.05
    return low - room, high + room


def width_of(text: str, size: float = USUAL) -> float:
    """Return about how many inches the longest line of a text takes, in other fonts too.

    A short name of broad letters (`ember`) is broader than a count of its letters says.
    """
    lines = text.split("\n")
    return max(max(sum(map(_usual_width, line)), sum(map(_own_width, line))) for line in lines) * size / 72


def _usual_width(sign: str) -> float:
    return WIDE if ord(sign) > 0x2E80 else EM


@cache
def _own_width(sign: str) -> float:
    """Return the width of a sign in the font of the figures, of its size; as usual where it is not in that font."""
    font = get_font(findfont("DejaVu Sans"))
    if not font.get_char_index(ord(sign)):
        return _usual_width(sign)
    font.set_size(USUAL, 72)
    return float(font.load_char(ord(sign)).linearHoriAdvance / 65536 / USUAL)


def in_lines(text: str, room: float, size: float = USUAL) -> str:
    """Return a text in lines that fit this room, in inches."""
    if width_of(text, size) <= room:
        return text
    sign = WIDE if any(ord(sign) > 0x2E80 for sign in text) else EM
    return "\n".join(break_lines(text, max(6, int(room / (sign * size / 72)))))


def write(axes: Axes, across: float, down: float, text: str, **how: Any) -> None:
    usual: dict[str, Any] = {"fontsize": USUAL, "va": "center", "color": INK, "linespacing": 1.1}
    if text:
        axes.text(across, down, text, clip_path=_WHOLE, **(usual | how))


def draw_lines(axes: Axes, segments: Any, **how: Any) -> None:
    """Draw lines from point to point, in inches."""
    usual: dict[str, Any] = {"linewidths": 0.5, "colors": LINE}
    axes.add_collection(LineCollection(segments, **(usual | how)), autolim=False)


def draw_scale(axes: Axes, ruler: Ruler, top: float, bottom: float, *, most: float = np.inf) -> None:
    """Draw the grid of a scale from left to right, and its numbers below; those up to `most`."""
    ticks = [tick for tick in ruler.ticks() if tick <= most]
    places = ruler.places(ticks)
    draw_lines(axes, [[(place, top), (place, bottom)] for place in places], zorder=0)
    digits = _digits(ticks)
    for tick, place in zip(ticks, places, strict=True):
        write(axes, place, bottom + 0.09, f"{tick:.{digits}f}", ha="center", fontsize=SMALL, color=MUTED)


def draw_upright_scale(
    axes: Axes, ruler: Ruler, left: float, right: float, *, labelled: bool = True, most: float = np.inf
) -> None:
    """Draw the grid of a scale from below upwards, and its numbers at the left; those up to `most`."""
    ticks = [tick for tick in ruler.ticks() if tick <= most]
    places = ruler.places(ticks)
    draw_lines(axes, [[(left, place), (right, place)] for place in places], zorder=0)
    digits = _digits(ticks)
    for tick, place in zip(ticks, places, strict=True) if labelled else ():
        write(axes, left - 0.05, place, f"{tick:.{digits}f}", ha="right", fontsize=SMALL, color=MUTED)


def _digits(ticks: Sequence[float]) -> int:
    return next((digits for digits in range(4) if all(abs(tick - round(tick, digits)) < 1e-9 for tick in ticks)), 4)


def draw_marks(axes: Axes, across: Any, down: Any, series: int, size: float = 4) -> None:
    line = look(series) | {"linestyle": "none"}
    axes.add_line(Line2D(np.asarray(across, float), np.asarray(down, float), markersize=size, **line))


def name_series(axes: Axes, series: Sequence[str], left: float, right: float) -> None:
    """Write the names of the series from the top, each with its look."""
    for number, (name, across, down) in enumerate(_places_of_names(series, left, right)):
        draw_lines(axes, [[(across, down), (across + 0.24, down)]], colors=look(number)["color"], linewidths=1.2)
        draw_marks(axes, [across + 0.12], [down], number)
        write(axes, across + 0.3, down, name)


def height_of_names(series: Sequence[str], left: float, right: float) -> float:
    """Return how high the names of the series stand, in inches; 0 without any."""
    return max((down + 0.12 for _name, _across, down in _places_of_names(series, left, right)), default=0.0)


def _places_of_names(series: Sequence[str], left: float, right: float) -> Iterator[tuple[str, float, float]]:
    """Yield each name with its place, in inches; a line that is full is followed by another."""
    across, down = left, 0.1
    for name in series:
        needed = 0.34 + width_of(name)
        if across > left and across + needed > right:
            across, down = left, down + 0.17
        yield name, across, down
        across += needed + 0.12


def draw_course(axes: Axes, across: Any, down: Any, series: int) -> None:
    """Draw the line of a series through these points."""
    line = look(series)
    points = np.asarray(across, float), np.asarray(down, float)
    axes.add_line(Line2D(*points, color=line["color"], linestyle=line["linestyle"], linewidth=1.3))


def draw_band(axes: Axes, across: Any, lower: Any, upper: Any, colour: str) -> None:
    """Fill what lies between two lines."""
    if len(across):
        around = np.concatenate([np.column_stack([across, lower]), np.column_stack([across, upper])[::-1]])
        axes.add_artist(Polygon(around, facecolor=colour, alpha=0.14, linewidth=0, zorder=0.5))
