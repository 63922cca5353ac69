"""Boxes under each other: how many went on, and beside them how many did not and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253

from studies.analysis.reporting.drawing import INK, LINE, MUTED, WIDTH

TEXT, GAP = 0.17, 0.32  # inches: of a line of text, and between boxes
MAIN, SIDE = 0.27, 0.58  # where the boxes have their middle, and where those beside them begin


@dataclass(frozen=True)
class Box:
    """Lines of text, and those of the box beside it, empty where nobody was lost."""

    lines: Sequence[str]
    beside: Sequence[str] = ()
    begins: bool = False  # nothing leads to it

    def height(self) -> float:
        """Return the height in inches."""
        return TEXT * max(len(self.lines), len(self.beside)) + 0.18

    def edge(self) -> float:
        """Return the inches from the top of this height to the upper edge of the box that is drawn."""
        return (self.height() - TEXT * len(self.lines)) / 2 - 0.07


def flow_chart(boxes: Sequence[Box]) -> Canvas:
    height = sum(box.height() + GAP for box in boxes)
    canvas = Canvas(figsize=(WIDTH, height))
    axes = canvas.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(height, 0)
    top = GAP / 2
    for number, box in enumerate(boxes):
        middle = top + box.height() / 2
        _write(axes, MAIN, middle, box.lines)
        if box.beside:
            _arrow(axes, (MAIN, middle), (SIDE - 0.01, middle))
            _write(axes, SIDE, middle, box.beside, "left")
        top += box.height() + GAP
        if number < len(boxes) - 1 and not boxes[number + 1].begins:
            _arrow(axes, (MAIN, middle), (MAIN, top + boxes[number + 1].edge()))
    return canvas


def _write(axes: Axes, across: float, middle: float, lines: Sequence[str], align: str = "center") -> None:
    frame = {"boxstyle": "round,pad=0.5,rounding_size=0.4", "facecolor": "white", "edgecolor": LINE}
    how: Any = {"ha": align, "va": "center", "multialignment": align, "linespacing": 1.35, "bbox": frame}
    axes.text(across, middle, "\n".join(lines), color=INK, fontsize=8, zorder=2, **how)


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    how = {"arrowstyle": "-|>", "color": MUTED, "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=end, xytext=start, arrowprops=how, zorder=1)
