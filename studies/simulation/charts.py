"""Coordinates of the dots and lines in a benchmark's figures. Pure: numbers in, coordinates out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor

from studies.instruments.loading import InstrumentError, load
from studies.simulation.outcomes import Course, Figure, Leaderboard, Standing

# The dot plot: across in percent, so that its words keep their size on a phone; down in pixels.
PLOT_LEFT, PLOT_RIGHT = 2.0, 84.0
ROW, FIRST_ROW, AXIS = 58, 14, 26
NAME = 34.0  # percent of a phone's width that a value takes with the name of its condition

# Small charts, in their own units.
WIDTH, HEIGHT = 260, 196
LEFT, RIGHT, TOP, BOTTOM = 40, 66, 10, 64
TICKS = 5
APART = 13  # between two words one below the other


@dataclass(frozen=True)
class Dot:
    """One mean with its interval, in percent of the width; `value` is written after `end`. Where the name of its
    condition stands beside it, both may be written before `start` instead."""

    y: int
    x: float
    low: float | None
    high: float | None
    value: float
    start: float
    end: float

    def has_name_before(self) -> bool:
        """Return whether the name would be cut on a phone behind the interval, and has more room before it."""
        room = 100 - self.end
        return room < NAME < self.start or room < self.start < NAME


@dataclass(frozen=True)
class DotRow:
    arm: str
    y: int
    average: Dot | None
    worst_case: Dot | None


@dataclass(frozen=True)
class DotPlot:
    """A plot of means as dots, a row for each. `ticks` are (percent, value)."""

    rows: Sequence[DotRow]
    ticks: Sequence[tuple[float, int]]
    height: int
    axis: int


def dot_plot(board: Leaderboard) -> DotPlot:
    low, high = scale_of(board)

    def across(value: float) -> float:
        return round(PLOT_LEFT + (PLOT_RIGHT - PLOT_LEFT) * (value - low) / (high - low), 2)

    axis = FIRST_ROW + ROW * len(board.standings)
    return DotPlot(
        [dot_row(standing, place, across) for place, standing in enumerate(board.standings)],
        [(across(value), value) for value in ticks(low, high)],
        axis + AXIS,
        axis,
    )


def scale_of(board: Leaderboard) -> tuple[int, int]:
    """Return the lowest and the highest answer; of an instrument that is not ours, bounds of what there is."""
    try:
        items = load(board.instrument).rated_items()
        return min(item.minimum or 0 for item in items), max(item.maximum or 0 for item in items)
    except InstrumentError:
        values = [value for standing in board.standings for value in bounds(standing)]
        return floor(min(values)), max(ceil(max(values)), floor(min(values)) + 1)


def bounds(standing: Standing) -> list[float]:
    figures = (standing.average, standing.worst_case)
    return [value for figure in figures for value in (figure.value, figure.low, figure.high) if value is not None]


def ticks(low: int, high: int) -> range:
    return range(low, high + 1, max(1, ceil((high - low) / 10)))


def dot_row(standing: Standing, place: int, across: Callable[[float], float]) -> DotRow:
    y = FIRST_ROW + ROW * place
    return DotRow(
        standing.arm,
        y,
        dot(standing.average, y + 17, across),
        dot(standing.worst_case, y + 35, across),
    )


def dot(figure: Figure, y: int, across: Callable[[float], float]) -> Dot | None:
    if figure.value is None:
        return None
    low = None if figure.low is None else across(figure.low)
    high = None if figure.high is None else across(figure.high)
    x = across(figure.value)
    return Dot(y, x, low, high, figure.value, x if low is None else low, x if high is None else high)


@dataclass(frozen=True)
class Curve:
    """One condition in a small chart. `band`: its interval. `counts`: (x, conversations behind the turn)."""

    condition: str
    line: str
    band: str
    marks: Sequence[tuple[float, float]]
    word_y: float
    counts: Sequence[tuple[float, int]]
    counts_y: int


@dataclass(frozen=True)
class SmallChart:
    arm: str
    curves: Sequence[Curve]
    levels: Sequence[tuple[float, str]]
    ticks: Sequence[tuple[float, int]]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    axis_y: int = HEIGHT - BOTTOM + 14


def small_charts(courses: Mapping[str, Sequence[Course]], *, highest: float, unit: str) -> list[SmallChart]:
    """Return a chart for each arm, all on the same axes: from 0 to `highest`, and as many turns as the longest has."""
    last = max((point.turn for each in courses.values() for course in each for point in course.points), default=1)
    return [small_chart(arm, each, last, highest, unit) for arm, each in courses.items()]


def small_chart(arm: str, courses: Sequence[Course], last: int, highest: float, unit: str) -> SmallChart:
    at = turn_ticks(last)
    words = apart([down(last_value(course), highest) for course in courses])
    curves = [curve(course, place, words[place], last, highest, at) for place, course in enumerate(courses)]
    levels = [(down(highest * share, highest), f"{100 * share:g}{unit}") for share in (0, 0.5, 1)]
    return SmallChart(arm, curves, levels, [(across_turns(turn, last), turn) for turn in at])


def turn_ticks(last: int) -> list[int]:
    step = max(1, ceil(last / TICKS))
    return sorted({1, *range(step, last + 1, step)} - ({step} if 1 < step < 3 else set()))


def last_value(course: Course) -> float:
    return next((point.figure.value for point in reversed(course.points) if point.figure.value is not None), 0.0)


def apart(heights: Sequence[float]) -> list[float]:
    """Return these heights moved so that words at them do not overlap one another or the axis, and none is cut."""
    if len(heights) < 2 or abs(heights[0] - heights[1]) >= APART:
        return list(heights)
    upper = max(TOP, min(sum(heights) / 2 - APART / 2, HEIGHT - BOTTOM - APART))
    return [upper, upper + APART] if heights[0] <= heights[1] else [upper + APART, upper]


def curve(course: Course, place: int, word_y: float, last: int, highest: float, at: Sequence[int]) -> Curve:
    points = [point for point in course.points if point.figure.value is not None]
    marks = [(across_turns(one.turn, last), down(one.figure.value or 0, highest)) for one in points]
    counts = {point.turn: point.figure.n for point in course.points}
    return Curve(
        course.condition,
        " ".join(f"{x},{y}" for x, y in marks),
        band(course, last, highest),
        marks,
        round(word_y, 1),
        [(across_turns(turn, last), counts.get(turn, 0)) for turn in at],
        HEIGHT - BOTTOM + 36 + 16 * place,
    )


def band(course: Course, last: int, highest: float) -> str:
    """Return the outline of a course's interval: forth along the upper bounds and back along the lower ones."""
    bounded = [
        (across_turns(point.turn, last), point.figure.low, point.figure.high)
        for point in course.points
        if point.figure.low is not None and point.figure.high is not None
    ]
    forth = [f"{x},{down(high, highest)}" for x, _, high in bounded]
    back = [f"{x},{down(low, highest)}" for x, low, _ in reversed(bounded)]
    return " ".join(forth + back)


def across_turns(turn: int, last: int) -> float:
    room = WIDTH - LEFT - RIGHT
    return round(LEFT + room * (turn - 1) / max(last - 1, 1), 1)


def down(value: float, highest: float) -> float:
    return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / highest), 1)
