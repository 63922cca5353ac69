"""Two scores of the same things: one against the other, and their difference against their mean."""

from collections.abc import Callable, Mapping

import numpy as np
from matplotlib.axes import Axes  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253
from matplotlib.patches import PathPatch, Rectangle  # noqa: TID253
from matplotlib.path import Path  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.measures import judge_gap
from studies.analysis.reporting.drawing import ACCENT, INK, LINE, MUTED, WIDTH, wrap_title
from studies.analysis.reporting.numbers import decimal, with_sign

COLUMNS, HEIGHT = 4, 1.95  # panels beside each other; inches of each
MOST = 400  # points of a panel
JITTER = 0.16  # of the smallest step between two scores, to either side
BARS = 8  # of scores that are no whole numbers


def scatter(panels: Mapping[str, tuple[Array, Array]], human: str, judge: str, beside: Mapping[str, str]) -> Canvas:
    """Draw a panel for each name: human scores across, judge's up, the counts of each score along the edges."""

    every = np.concatenate([scores for both in panels.values() for scores in both])
    low, high, step = float(every.min()), float(every.max()), _step(every)
    edge, reach = high + step * 0.6, (high - low or 1.0) * 0.3

    def draw(axes: Axes, name: str, x: Array, y: Array) -> None:
        axes.plot([low, high], [low, high], color=MUTED, linewidth=0.8, linestyle="--")
        _points(axes, _jitter(x, step, 1), _jitter(y, step, 2))
        _bars(axes, x, edge, reach, low, high)
        _bars(axes, y, edge, reach, low, high, across=True)
        axes.set_title(f"{wrap_title(name)}  {beside[name]}", fontsize=8)
        axes.set(xlim=(low - step * 0.6, edge + reach), ylim=(low - step * 0.6, edge + reach))
        if high - low <= BARS:
            whole = np.arange(np.ceil(low), np.floor(high) + 1)
            axes.set(xticks=whole, yticks=whole)

    return _grid(panels, human, judge, draw)


def bland_altman(panels: Mapping[str, tuple[Array, Array]], mean: str, difference: str) -> Canvas:
    """Draw a panel for each name: mean of both across, judge minus human up, with bias (line) and limits (dashes)."""

    def draw(axes: Axes, name: str, x: Array, y: Array) -> None:
        sums = judge_gap.deviations(x, y).sum(axis=0)
        bias, low, high = (float(of(sums)) for of in (judge_gap.bias, judge_gap.lower_limit, judge_gap.upper_limit))
        step = _step(np.concatenate([x, y]))
        axes.axhline(0, color=LINE, linewidth=0.8)
        axes.axhline(bias, color=INK, linewidth=1.1)
        for bound in (low, high):
            if np.isfinite(bound):
                axes.axhline(bound, color=INK, linewidth=0.9, linestyle="--")
        _points(axes, _jitter((x + y) / 2, step, 1), _jitter(y - x, step, 2))
        axes.set_title(f"{wrap_title(name)}\n{with_sign(bias)} ({decimal(low)} … {decimal(high)})", fontsize=8)

    return _grid(panels, mean, difference, draw)


def _grid(
    panels: Mapping[str, tuple[Array, Array]], across: str, up: str, draw: Callable[[Axes, str, Array, Array], None]
) -> Canvas:
    columns = min(COLUMNS, max(2, len(panels)))
    rows = -(-len(panels) // columns)
    canvas = Canvas(figsize=(WIDTH, rows * HEIGHT * COLUMNS / max(columns, 3) + 0.3), layout="constrained")
    grid = canvas.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    for axes, (name, (x, y)) in zip(grid, panels.items(), strict=False):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(length=0, labelsize=7, labelbottom=True)
        draw(axes, name, x, y)
    canvas.supxlabel(across, fontsize=9, color=MUTED)
    canvas.supylabel(up, fontsize=9, color=MUTED)
    return canvas


def _step(scores: Array) -> float:
    """Return the smallest distance between two different scores; at most 1, as of a rating scale."""
    distances = np.diff(np.unique(scores))
    return float(min(1.0, distances.min())) if distances.size else 1.0


def _jitter(scores: Array, step: float, seed: int) -> Array:
    """Return the scores, spread so that equal points can be seen, always alike.

    They are evenly chosen where there are too many.
    """
    chosen = scores[np.linspace(0, len(scores) - 1, min(len(scores), MOST)).astype(int)]
    jittered: Array = chosen + np.random.default_rng(seed).uniform(-JITTER, JITTER, len(chosen)) * step
    return jittered


def _points(axes: Axes, x: Array, y: Array) -> None:
    """Draw points as one path of lines without length and with round ends: shapes would be ten times as long."""
    vertices = np.repeat(np.column_stack([x, y]), 2, axis=0)
    path = Path(vertices, np.tile([Path.MOVETO, Path.LINETO], len(x)))
    path.should_simplify = False
    axes.add_patch(PathPatch(path, edgecolor=ACCENT, facecolor="none", linewidth=2.6, alpha=0.55, capstyle="round"))
    axes.update_datalim(vertices)
    axes.autoscale_view()


def _bars(
    axes: Axes, scores: Array, edge: float, reach: float, low: float, high: float, *, across: bool = False
) -> None:
    places, counts, width = _histogram(scores, low, high)
    heights = reach * 0.62 * counts / counts.max()
    for place, height, count in zip(places, heights, counts.astype(int), strict=True):
        corner = (edge, place - width / 2) if across else (place - width / 2, edge)
        axes.add_patch(Rectangle(corner, *((height, width) if across else (width, height)), color=LINE, linewidth=0))
        if across:
            axes.text(edge + height, place, f" {count}", fontsize=5, color=MUTED, va="center")
        else:
            axes.text(place, edge + height, str(count), fontsize=5, color=MUTED, ha="center", va="bottom")


def _histogram(scores: Array, low: float, high: float) -> tuple[Array, Array, float]:
    """Return places, counts and width of bars: one for each whole score, else BARS of the same width."""
    if (scores % 1 == 0).all() and high - low < 2 * BARS:
        places, counts = np.unique(scores, return_counts=True)
        return places, counts.astype(float), 0.7
    counts, edges = np.histogram(scores, BARS, (low, high))
    return np.asarray((edges[:-1] + edges[1:]) / 2), counts.astype(float), 0.8 * float(edges[1] - edges[0])
