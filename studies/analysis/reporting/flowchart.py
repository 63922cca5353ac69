"""Boxes under each other: how many went on, and beside them how many did not and why."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.axes import Axes  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253

from studies.analysis.reporting.drawing import INK, LINE, MUTED, ONE
from studies.analysis.reporting.sheets import SMALL, in_lines, sheet

TEXT, GAP = 0.14, 0.24  # inches: of a line of text, and between boxes
MAIN, SIDE = 0.85, 1.9  # inches: where the boxes have their middle, and where those beside them begin
ROOM, ROOM_BESIDE = 1.5, 1.35  # inches for a line of text in them


@dataclass(frozen=True)
class Box:
    """Lines of text, and those of the box beside it, empty where no one was lost."""

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
    boxes = [replace(box, lines=_in_lines(box.lines, ROOM), beside=_in_lines(box.beside, ROOM_BESIDE)) for box in boxes]
    canvas, axes = sheet(ONE, sum(box.height() + GAP for box in boxes))
    top = GAP / 2
    for number, box in enumerate(boxes):
        middle = top + box.height() / 2
        _write(axes, MAIN, middle, box.lines)
        if box.beside:
            _arrow(axes, (MAIN, middle), (SIDE - 0.07, middle))
            _write(axes, SIDE, middle, box.beside, "left")
        top += box.height() + GAP
        if number < len(boxes) - 1 and not boxes[number + 1].begins:
            _arrow(axes, (MAIN, middle), (MAIN, top + boxes[number + 1].edge()))
    return canvas


def _in_lines(lines: Sequence[str], room: float) -> list[str]:
    return [part for line in lines for part in in_lines(line, room, SMALL).split("\n")]


def _write(axes: Axes, across: float, middle: float, lines: Sequence[str], align: str = "center") -> None:
    frame = {"boxstyle": "round,pad=0.5,rounding_size=0.4", "facecolor": "white", "edgecolor": LINE}
    how: Any = {"ha": align, "va": "center", "multialignment": align, "linespacing": 1.35, "bbox": frame}
    axes.text(across, middle, "\n".join(lines), color=INK, fontsize=SMALL, zorder=2, **how)


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    how = {"arrowstyle": "-|>", "color": MUTED, "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=end, xytext=start, arrowprops=how, zorder=1)
