"""Coordinates of the lines that show the seeker's emotion over the turns. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

WIDTH, HEIGHT = 360, 160
LEFT, RIGHT, TOP, BOTTOM = 30, 12, 10, 26
MOST_TICKS = 10
MARKS = (  # circle, square, triangle, diamond: a line is known by its marks and dashes, not by its colour alone
    "M{x} {y}m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",
    "M{x} {y}m-3 -3h6v6h-6z",
    "M{x} {y}m0 -4l4 7h-8z",
    "M{x} {y}m0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
)


class Point(NamedTuple):
    turn: int
    score: float


@dataclass(frozen=True)
class Line:
    """One source's scores. `parts` are polylines, broken where a turn has no score; `style` is 1 to 4; `sample` is the
    mark of the legend, in the middle of 36 by 12."""

    source: str
    style: int
    parts: Sequence[str]
    marks: str
    sample: str
    first: Point
    last: Point


@dataclass(frozen=True)
class Chart:
    """The lines of a chart with its axes. `levels` and `ticks` are (coordinate, text)."""

    lines: Sequence[Line]
    levels: Sequence[tuple[float, float]]
    ticks: Sequence[tuple[float, int]]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT


class Scale(NamedTuple):
    low: float
    high: float

    def levels(self) -> list[float]:
        return sorted({self.low, (self.low + self.high) / 2, self.high})

    def height_of(self, score: float) -> float:
        """Return the y coordinate of a score, in the middle if the scale has one level only."""
        share = (score - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - share), 1)


OF_THINKERS = Scale(0, 100)


def chart(scores: Mapping[str, Mapping[int, float]], scale: Scale = OF_THINKERS) -> Chart:
    """Return the chart of at least one source with one score. `scores`: source → turn → within the scale."""
    turns = range(min(map(min, scores.values())), max(map(max, scores.values())) + 1)
    step = -(-len(turns) // MOST_TICKS)
    return Chart(
        [line(source, place, of_source, turns, scale) for place, (source, of_source) in enumerate(scores.items())],
        [(scale.height_of(level), level) for level in scale.levels()],
        [(across(turn, turns), turn) for turn in turns[::step]],
    )


def line(source: str, place: int, scores: Mapping[int, float], turns: range, scale: Scale) -> Line:
    pairs = sorted(scores.items())
    points = {turn: (across(turn, turns), scale.height_of(score)) for turn, score in pairs}
    mark = MARKS[place % len(MARKS)]
    return Line(
        source,
        place % len(MARKS) + 1,
        [" ".join(f"{x},{y}" for x, y in (points[turn] for turn in run)) for run in consecutive_runs(points)],
        "".join(mark.format(x=x, y=y) for x, y in points.values()),
        mark.format(x=18, y=6),
        Point(*pairs[0]),
        Point(*pairs[-1]),
    )


def consecutive_runs(turns: Iterable[int]) -> list[list[int]]:
    """Return runs of turns that follow one another."""
    runs = groupby(enumerate(sorted(turns)), key=lambda placed: placed[1] - placed[0])
    return [[turn for _place, turn in run] for _start, run in runs]


def across(turn: int, turns: range) -> float:
    room = WIDTH - LEFT - RIGHT
    return round(LEFT + room * (turn - turns[0] + 0.5) / len(turns), 1)
