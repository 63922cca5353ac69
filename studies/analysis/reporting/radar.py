"""Means as polygons around a centre, where someone asks for them. They fit a phone; other figures scroll there.

Places are in inches and lines are broken by counting letters, so that no label is cut where other fonts are at work.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from matplotlib.axes import Axes  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.reporting.drawing import LINE, LOOKS, MUTED, TOGETHER, break_lines
from studies.analysis.scales import Scale

WIDTH = 4.4  # inches
RADIUS, SMALL = 1.05, 0.5  # inches: of the one drawing, and of each where every arm has its own
NUMBERS = 0.17  # inches: around a small drawing
TEXT, GAP = 0.135, 0.12  # inches: of a line of text, and between what stands below each other
COLUMNS = 3  # of small drawings
BESIDE, KEYED, ABOVE, WHOLE = 17, 26, 20, 60  # letters in a line: at an axis, in the key, above a drawing, below all
RINGS = 8  # at most


def corners(means: Array, scale: Scale) -> Array:
    """Return the corners as rows of x and y, 0 the centre and 1 the rim.

    The first is upright, the others follow clockwise, at last the first again.
    """
    points = _axes_of(len(means)) * _heights(means, scale)[:, None]
    return np.vstack([points, points[:1]])


def _axes_of(count: int) -> Array:
    """Return where each axis meets the rim."""
    angles = 2 * np.pi * np.arange(count) / count
    return np.column_stack([np.sin(angles), np.cos(angles)])


def _heights(scores: Array, scale: Scale) -> Array:
    """Return scores as heights: 0 at the lowest score of the scale, 1 at the highest."""
    return np.asarray((scores - scale.lowest) / (scale.highest - scale.lowest))


def rings(scale: Scale) -> Array:
    """Return the scores at which a ring is drawn, both ends among them: whole ones where the scale can be cut so."""
    span = scale.highest - scale.lowest
    parts = next((count for count in range(RINGS, 1, -1) if span % count == 0), 4)
    return np.linspace(scale.lowest, scale.highest, parts + 1)


def radar(means: pd.DataFrame, scale: Scale, foot: str) -> Canvas:
    """Draw `means`, arms × items; nan breaks the line.

    Up to TOGETHER arms are in one drawing; of more each has its own, and behind it the mean over the arms. `foot` is
    written below.
    """
    return _together(means, scale, foot) if len(means) <= TOGETHER else _apart(means, scale, foot)


def _together(means: pd.DataFrame, scale: Scale, foot: str) -> Canvas:
    key, items = Key(_break_label(means.index, KEYED)), _break_label(means.columns, BESIDE)
    middle = key.height() + TEXT * _deepest(items) + GAP + RADIUS
    canvas, sheet = _sheet(2 * middle - key.height(), foot)
    key.write(sheet, indent=0.45)
    for (across, down), look in zip(key.places(), LOOKS, strict=False):
        sheet.plot(across + np.array([0, 0.18, 0.36]), [down] * 3, markersize=5, markevery=[1], **look)
    axes = _round(canvas, WIDTH / 2, middle, RADIUS)
    _net(axes, len(items), scale)
    _scores(axes, scale)
    _names(axes, items)
    for values, look in zip(means.to_numpy(float), LOOKS, strict=False):
        axes.plot(*corners(values, scale).T, linewidth=1.3, markersize=4, clip_on=False, **look)
    return canvas


def _apart(means: pd.DataFrame, scale: Scale, foot: str) -> Canvas:
    arms = _break_label(means.index, ABOVE)
    key = Key(_break_label(means.columns, KEYED))
    head = TEXT * _deepest(arms) + GAP
    height = head + 2 * (NUMBERS + SMALL)
    canvas, sheet = _sheet(key.height() + height * -(-len(arms) // COLUMNS), foot)
    key.write(sheet, indent=0.2)
    for number, (across, down) in enumerate(key.places(), 1):
        sheet.text(across, down, str(number), va="center", fontsize=7.5, color=MUTED)
    everything = corners(means.mean().to_numpy(float), scale)
    for place, (arm, values) in enumerate(zip(arms, means.to_numpy(float), strict=True)):
        row, column = divmod(place, COLUMNS)
        across, down = WIDTH * (column + 0.5) / COLUMNS, key.height() + row * height + head
        sheet.text(across, down, arm, ha="center", va="bottom", fontsize=8)
        axes = _round(canvas, across, down + NUMBERS + SMALL, SMALL)
        _net(axes, means.shape[1], scale)
        _numbers(axes, means.shape[1])
        axes.fill(*everything.T, facecolor=LINE, edgecolor=MUTED, linewidth=0.8)
        axes.plot(*corners(values, scale).T, linewidth=1.2, markersize=2.5, clip_on=False, **LOOKS[0])
    return canvas


@dataclass(frozen=True)
class Key:
    """Names above the drawing, two beside each other."""

    names: Sequence[str]

    def height(self) -> float:
        return -(-len(self.names) // 2) * self._step() + GAP

    def places(self) -> Iterator[tuple[float, float]]:
        """Yield the place where each name begins, and its middle."""
        for number in range(len(self.names)):
            row, column = divmod(number, 2)
            yield GAP + column * WIDTH / 2, (row + 0.5) * self._step()

    def write(self, sheet: Axes, indent: float) -> None:
        """Write the texts; `indent` is in inches, for the sign before each."""
        for name, (across, down) in zip(self.names, self.places(), strict=True):
            sheet.text(across + indent, down, name, va="center", fontsize=7.5, linespacing=1.15)

    def _step(self) -> float:
        return TEXT * _deepest(self.names) + 0.05


def _sheet(height: float, foot: str) -> tuple[Canvas, Axes]:
    """Return the whole figure, in inches from its upper left corner, with `foot` below this height."""
    lines = _break_label([foot], WHOLE)
    whole = height + TEXT * _deepest(lines) + GAP
    canvas = Canvas(figsize=(WIDTH, whole))
    sheet = canvas.add_axes((0, 0, 1, 1))
    sheet.set_axis_off()
    sheet.set(xlim=(0, WIDTH), ylim=(whole, 0))
    sheet.text(WIDTH / 2, whole - GAP / 2, lines[0], ha="center", va="bottom", fontsize=7.5, color=MUTED)
    return canvas, sheet


def _round(canvas: Canvas, across: float, down: float, radius: float) -> Axes:
    """Add a square around this place of the sheet, in which the centre is 0 and the rim 1."""
    width, height = canvas.get_size_inches()
    corner = (across - radius) / width, 1 - (down + radius) / height
    axes = canvas.add_axes((*corner, 2 * radius / width, 2 * radius / height))
    axes.set_axis_off()
    axes.set(xlim=(-1, 1), ylim=(-1, 1))
    return axes


def _net(axes: Axes, count: int, scale: Scale) -> None:
    how: Any = {"color": LINE, "linewidth": 0.6, "clip_on": False, "zorder": 0}
    for score in rings(scale)[1:]:
        axes.plot(*corners(np.full(count, score), scale).T, **how)
    for x, y in _axes_of(count):
        axes.plot([0, x], [0, y], **how)


def _scores(axes: Axes, scale: Scale) -> None:
    """Write the scores beside the upright axis."""
    for score, height in zip(rings(scale), _heights(rings(scale), scale), strict=True):
        axes.text(-0.03, height, f"{score:g}", ha="right", va="center", fontsize=6.5, color=MUTED, zorder=1)


def _names(axes: Axes, items: Sequence[str]) -> None:
    for item, (x, y) in zip(items, 1.08 * _axes_of(len(items)), strict=True):
        across = "center" if abs(x) < 0.1 else "left" if x > 0 else "right"
        up = "center" if abs(y) < 0.5 else "bottom" if y > 0 else "top"
        how: Any = {"ha": across, "va": up, "multialignment": across}
        axes.text(x, y, item, fontsize=7.5, linespacing=1.15, **how)


def _numbers(axes: Axes, count: int) -> None:
    for number, (x, y) in enumerate(1.2 * _axes_of(count), 1):
        axes.text(x, y, str(number), ha="center", va="center", fontsize=6.5, color=MUTED)


def _break_label(texts: Iterable[str], letters: int) -> list[str]:
    """Return a label in lines. The key of an item breaks behind its underscores; three Chinese signs are as wide as
    five letters."""
    return ["\n".join(break_lines(text, letters if text.isascii() else letters * 3 // 5)) for text in map(str, texts)]


def _deepest(texts: Sequence[str]) -> int:
    """Return the number of lines of the longest text."""
    return max(text.count("\n") + 1 for text in texts)
