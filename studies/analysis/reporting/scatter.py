"""Two scores of the same things: one against the other, and their difference against their mean."""

from collections.abc import Callable, Mapping

import numpy as np
from matplotlib.axes import Axes  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253
from matplotlib.patches import PathPatch, Rectangle  # noqa: TID253
from matplotlib.path import Path  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.measures import judge_gap
from studies.analysis.reporting.drawing import ACCENT, INK, LINE, MUTED, TWO
from studies.analysis.reporting.numbers import decimal, with_sign
from studies.analysis.reporting.sheets import (
    SMALL,
    Ruler,
    draw_lines,
    draw_scale,
    draw_upright_scale,
    in_lines,
    range_of,
    sheet,
    write,
)

COLUMNS = 4  # panels beside each other
LARGEST = 2.0  # inches of a panel
LEFT, GAP, TEXT = 0.55, 0.15, 0.11  # inches: for the upright scale, between panels, and of a line of text
RULES = (  # of 0, of the bias and of both limits
    {"colors": LINE, "linewidths": 0.8},
    {"colors": INK, "linewidths": 1.1},
    *({"colors": INK, "linewidths": 0.9, "linestyles": "--"},) * 2,
)
MOST = 400  # points of a panel
JITTER = 0.16  # of the smallest step between two scores, to either side
BARS = 8  # of scores that are no whole numbers


def scatter(panels: Mapping[str, tuple[Array, Array]], human: str, judge: str, beside: Mapping[str, str]) -> Canvas:
    """Draw a panel for each name: human scores across, judge's up, the counts of each score along the edges."""
    every = np.concatenate([scores for both in panels.values() for scores in both])
    low, high, step = float(every.min()), float(every.max()), _step(every)
    reach = (high - low or 1.0) * 0.3
    edge = high + step * 0.6
    titles = {name: f"{name}  {beside[name]}" for name in panels}

    def draw(axes: Axes, name: str, across: Ruler, up: Ruler) -> None:
        x, y = panels[name]
        ends = [low, high]
        draw_lines(axes, [list(zip(across.places(ends), up.places(ends), strict=True))], colors=MUTED, linestyles="--")
        _points(axes, across.places(_jitter(x, step, 1)), up.places(_jitter(y, step, 2)))
        _bars(axes, x, (across, up), edge, reach, low, high)
        _bars(axes, y, (across, up), edge, reach, low, high, upright=False)

    span = (low - step * 0.6, edge + reach)
    return _grid(titles, span, span, human, judge, draw, most=high)


def bland_altman(panels: Mapping[str, tuple[Array, Array]], mean: str, difference: str) -> Canvas:
    """Draw a panel for each name: mean of both across, judge minus human up, with bias (line) and limits (dashes)."""
    limits = {name: judge_gap.bias_and_limits(x, y) for name, (x, y) in panels.items()}
    titles = {
        name: f"{name}\n{with_sign(bias)} ({decimal(low)} … {decimal(high)})"
        for name, (bias, low, high) in limits.items()
    }
    step = _step(np.concatenate([scores for both in panels.values() for scores in both]))

    def draw(axes: Axes, name: str, across: Ruler, up: Ruler) -> None:
        x, y = panels[name]
        for value, how in zip((0, *limits[name]), RULES, strict=True):
            if np.isfinite(value):
                place = float(up.places(value))
                draw_lines(axes, [[(across.start, place), (across.end, place)]], **how)
        _points(axes, across.places(_jitter((x + y) / 2, step, 1)), up.places(_jitter(y - x, step, 2)))

    means = range_of(*((x + y) / 2 for x, y in panels.values()))
    gaps = range_of(*(y - x for x, y in panels.values()), *limits.values())
    return _grid(titles, means, gaps, mean, difference, draw)


def _grid(
    titles: Mapping[str, str],
    across: tuple[float, float],
    up: tuple[float, float],
    name_across: str,
    name_up: str,
    draw: Callable[[Axes, str, Ruler, Ruler], None],
    *,
    most: float = np.inf,
) -> Canvas:
    """Draw a panel for each title; the scales are written up to `most`."""
    columns = min(COLUMNS, max(2, len(titles)))
    plot = (TWO - LEFT - columns * GAP) / columns
    size = min(plot, LARGEST)
    head = 0.1 + TEXT * max(in_lines(title, size, SMALL).count("\n") + 1 for title in titles.values())
    height = head + size + 0.25
    canvas, axes = sheet(TWO, height * -(-len(titles) // columns) + 0.15)
    for number, (name, title) in enumerate(titles.items()):
        row, column = divmod(number, columns)
        left, top = LEFT + column * (plot + GAP), row * height + head
        rulers = Ruler(*across, left, left + size), Ruler(*up, top + size, top)
        write(axes, left, top - 0.05, in_lines(title, size, SMALL), va="bottom", fontsize=SMALL)
        draw_scale(axes, rulers[0], top, top + size, most=most)
        draw_upright_scale(axes, rulers[1], left, left + size, labelled=not column, most=most)
        draw(axes, name, *rulers)
    write(axes, LEFT, canvas.get_figheight() - 0.09, name_across, color=MUTED)
    write(axes, 0.08, head + size / 2, name_up, ha="center", rotation=90, color=MUTED)
    return canvas


def _step(scores: Array) -> float:
    """Return the smallest distance between two different scores; at most 1, as of a rating scale."""
    distances = np.diff(np.unique(scores))
    return float(min(1.0, distances.min())) if distances.size else 1.0


def _jitter(scores: Array, step: float, seed: int) -> Array:
    """Return the scores, spread so that equal points can be seen, always alike.

    Where there are too many, an even selection is returned.
    """
    sample = scores[np.linspace(0, len(scores) - 1, min(len(scores), MOST)).astype(int)]
    jittered: Array = sample + np.random.default_rng(seed).uniform(-JITTER, JITTER, len(sample)) * step
    return jittered


def _points(axes: Axes, x: Array, y: Array) -> None:
    """Draw points as one path of lines without length and with round ends: shapes would be ten times as long."""
    vertices = np.repeat(np.column_stack([x, y]), 2, axis=0)
    path = Path(vertices, np.tile([Path.MOVETO, Path.LINETO], len(x)))
    path.should_simplify = False
    axes.add_artist(PathPatch(path, edgecolor=ACCENT, facecolor="none", linewidth=2.6, alpha=0.55, capstyle="round"))


def _bars(
    axes: Axes,
    scores: Array,
    rulers: tuple[Ruler, Ruler],
    edge: float,
    reach: float,
    low: float,
    high: float,
    *,
    upright: bool = True,
) -> None:
    """Draw how often each score was given: above the points, or at their right where the bars are not upright."""
    along, away = rulers if upright else rulers[::-1]
    values, counts, width = _histogram(scores, low, high)
    sides = np.array([along.places(values - width / 2), along.places(values + width / 2)])
    start, ends = float(away.places(edge)), away.places(edge + reach * 0.62 * counts / counts.max())
    for first, last, middle, end, count in zip(*sides, sides.mean(axis=0), ends, counts.astype(int), strict=True):
        corner, size = ((first, start), (last - first, end - start))
        box = Rectangle(corner, *size) if upright else Rectangle(corner[::-1], *size[::-1])
        box.set(color=LINE, linewidth=0)
        axes.add_artist(box)
        if upright:
            write(axes, middle, end - 0.02, str(count), fontsize=5, color=MUTED, ha="center", va="bottom")
        else:
            write(axes, end + 0.02, middle, str(count), fontsize=5, color=MUTED)


def _histogram(scores: Array, low: float, high: float) -> tuple[Array, Array, float]:
    """Return places, counts and width of bars: one for each whole score, else BARS of the same width."""
    if (scores % 1 == 0).all() and high - low < 2 * BARS:
        places, counts = np.unique(scores, return_counts=True)
        return places, counts.astype(float), 0.7
    counts, edges = np.histogram(scores, BARS, (low, high))
    return np.asarray((edges[:-1] + edges[1:]) / 2), counts.astype(float), 0.8 * float(edges[1] - edges[0])
