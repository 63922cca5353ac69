"""Estimates along turns, or along a number of raters, with their intervals and the counts behind them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.reporting.drawing import MUTED, SIGNS, TWO, look
from studies.analysis.reporting.sheets import (
    SMALL,
    Ruler,
    draw_band,
    draw_course,
    draw_marks,
    draw_upright_scale,
    height_of_names,
    in_lines,
    name_series,
    range_of,
    sheet,
    write,
)

COLUMNS, HEIGHT = 3, 1.2  # panels beside each other; inches of each, without what stands above and below
HEAD, TEXT = 0.17, 0.13  # inches: above a panel, besides its name; and of a line of that
FOOT, COUNT = 0.14, 0.12  # inches: below a panel, and of a line of counts
LEFT, GAP = 0.62, 0.3  # inches: for the numbers of the scale, and between panels
TINY = 6.0  # points
MOST_COUNTS = 8  # beside each other


@dataclass(frozen=True)
class Course:
    """Estimates at `places` with their intervals and the counts behind them; drawn in the look of its series."""

    places: list[int]
    estimates: Array
    lows: Array
    highs: Array
    counts: list[int]
    series: int = 0


def curves(
    courses: Mapping[str, Sequence[Course]],
    unit: str,
    along: str,
    *,
    series: Sequence[str] = (),
    stepped: bool = False,
) -> Canvas:
    """Draw one small plot for each name, all on the same scale.

    `along`: what the horizontal axis counts; `series` are named above; `stepped`: an estimate holds until the next
    place.
    """
    every = [course for of_name in courses.values() for course in of_name]
    columns = min(max(len(courses), 2), COLUMNS)
    lines = max(map(len, courses.values()))
    plot = (TWO - LEFT - columns * GAP) / columns
    titles = {name: in_lines(name, plot) for name in courses}
    head = HEAD + TEXT * max(title.count("\n") + 1 for title in titles.values())
    height = head + HEIGHT + FOOT + COUNT * (lines + 1)
    top = height_of_names(series, 0.06, TWO)
    canvas, axes = sheet(TWO, top + height * -(-len(courses) // columns))
    name_series(axes, series, 0.06, TWO)
    low, high = range_of(*(values for course in every for values in (course.estimates, course.lows, course.highs)))
    places = sorted({place for course in every for place in course.places})
    counted = places[:: -(-len(places) // MOST_COUNTS)]
    for number, (name, of_name) in enumerate(courses.items()):
        row, column = divmod(number, columns)
        left = LEFT + column * (plot + GAP)
        upper = top + row * height + head
        across = Ruler(places[0] - 0.5, places[-1] + 0.5, left, left + plot)
        up = Ruler(low, high, upper + HEIGHT, upper)
        write(axes, left, upper - 0.06, titles[name], va="bottom")
        draw_upright_scale(axes, up, left, left + plot, labelled=not column)
        _write_counts(axes, across, counted, [str(place) for place in counted], upper + HEIGHT + 0.1, along, SMALL)
        for line, course in enumerate(of_name):
            _draw(axes, course, across, up, stepped=stepped)
            counts = dict(zip(course.places, course.counts, strict=True))
            sign = SIGNS[course.series % len(SIGNS)] if lines > 1 else ""
            texts = [str(counts.get(place, "")) for place in counted]
            _write_counts(axes, across, counted, texts, upper + HEIGHT + 0.1 + COUNT * (line + 1), sign, TINY)
    write(axes, 0.08, top + head + HEIGHT / 2, unit, ha="center", rotation=90, color=MUTED)
    return canvas


def _write_counts(
    axes: Axes, across: Ruler, places: Sequence[int], texts: Sequence[str], down: float, before: str, size: float
) -> None:
    """Write a line of numbers below a plot, and what they are of in front of them."""
    write(axes, across.start - 0.02, down, before, ha="right", fontsize=size, color=MUTED)
    for place, text in zip(across.places(places), texts, strict=True):
        write(axes, float(place), down, text, ha="center", fontsize=size, color=MUTED)


def _draw(axes: Axes, course: Course, across: Ruler, up: Ruler, *, stepped: bool) -> None:
    style = look(course.series)
    x = across.places(course.places)
    means, lows, highs = (up.places(column) for column in (course.estimates, course.lows, course.highs))
    bounded = np.isfinite(lows) & np.isfinite(highs)
    line, band = [x, means], [x[bounded], lows[bounded], highs[bounded]]
    if stepped:
        line, band = _steps(*line), _steps(*band)
    draw_band(axes, band[0], band[1], band[2], style["color"])
    draw_course(axes, line[0], line[1], course.series)
    draw_marks(axes, x, means, course.series, size=3)


def _steps(x: Array, *values: Array) -> list[Array]:
    """Return the corners of steps: a value holds until the next place."""
    return [np.repeat(x, 2)[1:], *(np.repeat(column, 2)[:-1] for column in values)]
