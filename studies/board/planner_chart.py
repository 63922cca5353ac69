"""Coordinates of the lines of a precision chart: half widths down, more participants across. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Any

# In the chart's own units.
WIDTH, HEIGHT = 380, 220
LEFT, RIGHT, TOP, BOTTOM = 40, 90, 12, 46
APART = 13  # between two words one below the other
STEP = 0.05  # between two levels, or a multiple of it
LEVELS = 5  # at most


@dataclass(frozen=True)
class Line:
    """The line of one share of conversations with a second rating. `dash`: the number of its line pattern."""

    share: float
    dash: int
    points: str
    marks: Sequence[tuple[float, float]]
    word_y: float


@dataclass(frozen=True)
class Chart:
    lines: Sequence[Line]
    levels: Sequence[tuple[float, float]]  # (y, half width)
    ticks: Sequence[tuple[float, float]]  # (x, share of more participants)
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    axis_y: int = HEIGHT - BOTTOM + 16


def chart(cells: Sequence[Mapping[str, Any]], width: str = "corrected_half_width") -> Chart:
    """Return the chart. `cells`: with `more` and, for second ratings, `second`; `width` names the upward value."""
    levels = levels_to(max(cell[width] for cell in cells))
    most = max(cell["more"] for cell in cells)
    by_share: dict[float, list[tuple[float, float]]] = {}
    for cell in cells:
        place = across(cell["more"], most), down(cell[width], levels[-1])
        by_share.setdefault(cell.get("second", 0.0), []).append(place)
    words = separate_heights([marks[-1][1] for marks in by_share.values()])
    lines = [
        Line(share, number, " ".join(f"{x},{y}" for x, y in marks), marks, words[number])
        for number, (share, marks) in enumerate(by_share.items())
    ]
    ticks = dict.fromkeys(cell["more"] for cell in cells)
    return Chart(lines, [(down(level, levels[-1]), level) for level in levels], [(across(x, most), x) for x in ticks])


def levels_to(highest: float) -> list[float]:
    """Return levels from 0 to the first one that is not below `highest`."""
    step = STEP * max(1, ceil(highest / STEP / LEVELS))
    return [round(step * number, 4) for number in range(ceil(round(highest / step, 6)) + 1)]


def across(more: float, most: float) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * more / (most or 1), 1)


def down(width: float, highest: float) -> float:
    return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - width / highest), 1)


def separate_heights(heights: Sequence[float]) -> list[float]:
    """Return heights at which words do not overlap: moved downwards, and up again where the axis is in the way."""
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    moved = list(heights)
    for above, place in pairwise(order):
        moved[place] = max(moved[place], moved[above] + APART)
    lowest = HEIGHT - BOTTOM
    for place in reversed(order):
        moved[place] = min(moved[place], lowest)
        lowest = moved[place] - APART
    return [round(height, 1) for height in moved]
