"""Kinds of figures as SVG: readable in grey, each estimate with its own label, n and interval."""

import io
import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from matplotlib import rc_context  # noqa: TID253
from matplotlib.axes import Axes  # noqa: TID253
from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253

from studies.analysis.bootstrap import Array

INK, MUTED, LINE, ACCENT = "#22302F", "#5A6866", "#C9CFCD", "#1F6F6B"
ROW = 0.24  # inches
WIDTH = 7.4
COLUMNS, PANEL = 3, 1.75  # panels beside each other; inches of each, without its counts
COUNT = 10  # points, for a line of counts
MOST_COUNTS = 8  # beside each other
SECOND: Any = {"marker": "s", "markerfacecolor": "white", "color": INK}
FIRST: Any = {"marker": "o", "color": ACCENT}
# Names come from the data: a dollar sign in one is no formula.
STYLE: Any = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": INK,
}


@dataclass(frozen=True)
class Figure:
    name: str  # of its file, without ".svg"
    title: str
    caption: str
    svg: str  # one <svg> element


@dataclass(frozen=True)
class Dot:
    """One line of a dot plot; without an estimate it is a heading."""

    label: str
    estimate: float = np.nan
    low: float = np.nan
    high: float = np.nan
    n: int = 0


@dataclass(frozen=True)
class Pair:
    """One line of a pair plot; without estimates it is a heading. Of each of two: estimate, low, high."""

    label: str
    first: tuple[float, float, float] = (np.nan, np.nan, np.nan)
    second: tuple[float, float, float] = (np.nan, np.nan, np.nan)
    beside: str = ""


@dataclass(frozen=True)
class Course:
    """Estimates over turns with their intervals and the counts behind them; `second` is drawn dashed."""

    turns: list[int]
    estimates: Array
    lows: Array
    highs: Array
    counts: list[int]
    second: bool = False


def heat_map(values: pd.DataFrame) -> Canvas:
    canvas, axes = _canvas(len(values) + 5)
    numbers = values.to_numpy(float)
    axes.imshow(numbers, cmap="cividis_r", vmin=-1, vmax=1, aspect="auto")
    axes.set_yticks(range(len(values)), values.index)
    axes.set_xticks(range(values.shape[1]), values.columns, rotation=30, ha="right")
    axes.tick_params(length=0)
    for (row, column), r in np.ndenumerate(numbers):
        text = "–" if np.isnan(r) else f"{r:.2f}"
        axes.text(column, row, text, ha="center", va="center", color="white" if r >= 0 else INK)
    return canvas


def dot_plot(dots: list[Dot], unit: str, *, zero: bool = False) -> Canvas:
    """`zero`: with a line at 0, for differences."""
    canvas, axes = _canvas(len(dots) + 3)
    if zero:
        axes.axvline(0, color=MUTED, linewidth=0.8)
    places = np.arange(len(dots))
    estimates, lows, highs = (np.array([getattr(dot, name) for dot in dots]) for name in ("estimate", "low", "high"))
    axes.hlines(places, lows, highs, color=ACCENT, linewidth=1.6)
    axes.plot(estimates, places, "o", color=ACCENT, markersize=4.5)
    _label(axes, [(dot.label, not dot.n) for dot in dots])
    for place, dot in enumerate(dots):
        if dot.n:
            _beside(axes, place, f"{dot.estimate:.2f}  n {dot.n}" if np.isfinite(dot.estimate) else "not computed")
    axes.set_xlabel(unit)
    return canvas


def _label(axes: Axes, lines: list[tuple[str, bool]]) -> None:
    """Lines from top to bottom; a heading is bold."""
    axes.set_yticks(np.arange(len(lines)), [label for label, _ in lines])
    for tick, (_, heading) in zip(axes.get_yticklabels(), lines, strict=True):
        tick.set_fontweight("bold" if heading else "normal")
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.grid(axis="x", color=LINE, linewidth=0.5)
    axes.tick_params(length=0, labeltop=True)


def _beside(axes: Axes, place: float, text: str) -> None:
    axes.text(1.01, place, text, transform=axes.get_yaxis_transform(), va="center", color=MUTED)


def _canvas(rows: int) -> tuple[Canvas, Axes]:
    canvas = Canvas(figsize=(WIDTH, max(1.6, ROW * rows)), layout="constrained")
    axes = canvas.add_subplot()
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_axisbelow(True)
    return canvas, axes


def figure(name: str, title: str, caption: str, canvas: Canvas) -> Figure:
    name = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    buffer = io.StringIO()
    # The salt makes the ids the same in every run, and different from those of the report's other figures.
    with rc_context({"svg.hashsalt": name}), warnings.catch_warnings():
        # Text stays text: the reader's fonts draw what matplotlib's own font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        FigureCanvasSVG(canvas).print_svg(buffer, metadata={"Date": None, "Title": title})
    return Figure(name, title, caption, _bare(buffer.getvalue()))


def _bare(svg: str) -> str:
    """The <svg> element alone, without ids that nothing refers to: they would be there twice in a report."""
    svg = svg[svg.index("<svg") :]
    used = set(re.findall(r'#([\w.-]+)["\')]', svg))
    return re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", svg)


def pair_plot(pairs: list[Pair], unit: str) -> Canvas:
    canvas, axes = _canvas(len(pairs) + 3)
    places = np.arange(len(pairs))
    for side, shift, look in (("first", -0.16, FIRST), ("second", 0.16, SECOND)):
        estimates, lows, highs = np.array([getattr(pair, side) for pair in pairs]).T
        axes.hlines(places + shift, lows, highs, color=look["color"], linewidth=1.4)
        axes.plot(estimates, places + shift, linestyle="none", markersize=4.2, **look)
    _label(axes, [(pair.label, not pair.beside) for pair in pairs])
    for place, pair in enumerate(pairs):
        _beside(axes, place, pair.beside)
    axes.set_xlabel(unit)
    return canvas


def panels(courses: dict[str, list[Course]], unit: str, *, stepped: bool = False) -> Canvas:
    """One small plot for each name, all on the same scale. `stepped`: an estimate holds until the next turn."""
    rows, lines = -(-len(courses) // COLUMNS), max(map(len, courses.values()))
    turns = sorted({turn for of_name in courses.values() for course in of_name for turn in course.turns})
    counted = turns[:: -(-len(turns) // MOST_COUNTS)]
    canvas = Canvas(figsize=(WIDTH, rows * (PANEL + COUNT / 72 * lines)), layout="constrained")
    grid = canvas.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False).ravel()
    for axes in grid[len(courses) :]:
        axes.set_visible(False)
    for axes, (name, of_name) in zip(grid, courses.items(), strict=False):
        axes.set_title(name, fontsize=9, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color=LINE, linewidth=0.5)
        axes.tick_params(length=0, labelsize=7, labelbottom=True)
        axes.set_xticks(counted)
        _below(axes, "turn", 0)
        for line, course in enumerate(of_name):
            _draw(axes, course, line, stepped, counted)
    canvas.supylabel(unit, fontsize=9, color=MUTED)
    return canvas


def _draw(axes: Axes, course: Course, line: int, stepped: bool, counted: list[int]) -> None:
    """`counted`: the turns whose counts stand below."""
    look = SECOND if course.second else FIRST
    how: Any = {"linestyle": "--" if course.second else "-", "linewidth": 1.3, "markersize": 3}
    band: Any = {"step": "post"} if stepped else {}
    if stepped:
        how["drawstyle"] = "steps-post"
    axes.fill_between(course.turns, course.lows, course.highs, color=look["color"], alpha=0.18, linewidth=0, **band)
    axes.plot(course.turns, course.estimates, **look, **how)
    _below(axes, "□" if course.second else "●", 1 + line)
    for turn, count in zip(course.turns, course.counts, strict=True):
        if turn in counted:
            _below(axes, str(count), 1 + line, turn)


def _below(axes: Axes, text: str, line: int, turn: int | None = None) -> None:
    """Under the axis: line 0 is that of its numbers; without a turn, to their left."""
    place: Any = {"xy": (0, 0), "xycoords": "axes fraction", "ha": "right"}
    if turn is not None:
        place = {"xy": (turn, 0), "xycoords": axes.get_xaxis_transform(), "ha": "center"}
    offset = (-4 if turn is None else 0, -4 - COUNT * line)
    axes.annotate(
        text,
        xytext=offset,
        textcoords="offset points",
        fontsize=6.5,
        color=MUTED,
        va="top",
        annotation_clip=False,
        **place,
    )
