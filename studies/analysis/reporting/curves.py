"""Estimates along turns, or along a number of raters, with their intervals and the counts behind them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.reporting.drawing import LINE, MUTED, SIGNS, WIDTH, look, name_series, wrap_title

COLUMNS, HEIGHT = 3, 1.75  # panels beside each other; inches of each, without its counts
COUNT = 10  # points, for a line of counts
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
    columns = min(len(courses), COLUMNS)
    rows, lines = -(-len(courses) // columns), max(map(len, courses.values()))
    places = sorted({place for of_name in courses.values() for course in of_name for place in course.places})
    counted = places[:: -(-len(places) // MOST_COUNTS)]
    canvas = Canvas(figsize=(WIDTH, rows * (HEIGHT + COUNT / 72 * lines)), layout="constrained")
    grid = canvas.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes in grid[len(courses) :]:
        axes.set_visible(False)
    for axes, (name, of_name) in zip(grid, courses.items(), strict=False):
        _frame(axes, name, counted, along)
        for line, course in enumerate(of_name):
            _draw(axes, course, line, stepped, counted)
    canvas.supylabel(unit, fontsize=9, color=MUTED)
    if series:
        name_series(canvas, series)
    return canvas


def _frame(axes: Axes, name: str, counted: list[int], along: str) -> None:
    axes.set_title(wrap_title(name))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=LINE, linewidth=0.5)
    axes.tick_params(length=0, labelsize=7, labelbottom=True)
    axes.set_xticks(counted)
    _below(axes, along, 0)


def _draw(axes: Axes, course: Course, line: int, stepped: bool, counted: list[int]) -> None:
    """Draw one plot; `counted` are the places whose counts stand below."""
    of = look(course.series)
    how: Any = {"linewidth": 1.3, "markersize": 3} | ({"drawstyle": "steps-post"} if stepped else {})
    band: Any = {"step": "post"} if stepped else {}
    axes.fill_between(course.places, course.lows, course.highs, color=of["color"], alpha=0.18, linewidth=0, **band)
    axes.plot(course.places, course.estimates, **of, **how)
    _below(axes, SIGNS[course.series % len(SIGNS)], 1 + line)
    for place, count in zip(course.places, course.counts, strict=True):
        if place in counted:
            _below(axes, str(count), 1 + line, place)


def _below(axes: Axes, text: str, line: int, place: int | None = None) -> None:
    """Write a text under the axis: line 0 is that of its numbers; without a place, to their left."""
    where: Any = {"xy": (0, 0), "xycoords": "axes fraction", "ha": "right"}
    if place is not None:
        where = {"xy": (place, 0), "xycoords": axes.get_xaxis_transform(), "ha": "center"}
    offset = (-4 if place is None else 0, -4 - COUNT * line)
    axes.annotate(
        text,
        xytext=offset,
        textcoords="offset points",
        fontsize=6.5,
        color=MUTED,
        va="top",
        annotation_clip=False,
        **where,
    )
