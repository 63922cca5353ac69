"""Figures of a group: the count of each value as bars, and means with their standard deviations."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from matplotlib.axes import Axes  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253

from studies.analysis.reporting.drawing import ACCENT, LINE, MUTED, TWO, break_lines, clear_frame

COLUMNS = 2  # panels beside each other
ROW, HEAD = 0.16, 0.45  # inches: of a line of text, and of what stands above and below the bars of a panel
GAP = 0.4  # lines of text between bars
LABEL = 24  # letters in a line of a label; three Chinese signs are as wide as five letters
ROOM = 1.45  # of the longest bar, for the numbers beside it


@dataclass(frozen=True)
class Bar:
    """A value with its size and the text beside it; `spread` is the standard deviation of a mean."""

    label: str
    size: float
    beside: str
    spread: float = 0
    is_rest: bool = False  # several values together

    def depth(self) -> float:
        """Return the room that the bar needs, in lines of text."""
        return _break_label(self.label).count("\n") + 1 + GAP


@dataclass(frozen=True)
class Panel:
    """A characteristic. With `scale` its lines are means on that scale, else bars from 0."""

    title: str
    bars: Sequence[Bar]
    scale: tuple[float, float] | None = None

    def depth(self) -> float:
        """Return the room that the bars need, in lines of text."""
        return sum(bar.depth() for bar in self.bars)


def distributions(panels: Sequence[Panel]) -> Canvas:
    """Draw the panels, two beside each other, as high as the longer of the two."""
    rows = [panels[start : start + COLUMNS] for start in range(0, len(panels), COLUMNS)]
    heights = [HEAD + ROW * max(panel.depth() for panel in row) for row in rows]
    canvas = Canvas(figsize=(TWO, sum(heights)), layout="constrained")
    grid = canvas.subplots(len(rows), COLUMNS, squeeze=False, gridspec_kw={"height_ratios": heights})
    for axes in grid.ravel()[len(panels) :]:
        axes.set_visible(False)
    for row, of_row in zip(rows, grid, strict=True):
        most = max(panel.depth() for panel in row)
        for panel, axes in zip(row, of_row, strict=False):
            _draw(axes, panel, most)
    return canvas


def _draw(axes: Axes, panel: Panel, most: float) -> None:
    """Draw a panel with room for `most` lines, so that bars are as thick as those beside it."""
    axes.set_title(panel.title)
    clear_frame(axes)
    places = _places(panel.bars)
    axes.set_yticks(places, [_break_label(bar.label) for bar in panel.bars], fontsize=8)
    axes.set_ylim(most, 0)
    if panel.scale:
        _draw_means(axes, panel.bars, places, panel.scale)
    else:
        _draw_bars(axes, panel.bars, places)


def _places(bars: Sequence[Bar]) -> list[float]:
    """Return the middle of each bar, in lines of text."""
    ends = accumulate(bar.depth() for bar in bars)
    return [end - bar.depth() / 2 for end, bar in zip(ends, bars, strict=True)]


def _draw_bars(axes: Axes, bars: Sequence[Bar], places: Sequence[float]) -> None:
    axes.spines["bottom"].set_visible(False)
    longest = max(bar.size for bar in bars)
    colours = [LINE if bar.is_rest else ACCENT for bar in bars]
    axes.barh(places, [bar.size for bar in bars], height=1, color=colours)
    axes.set(xlim=(0, longest * ROOM), xticks=[])
    for place, bar in zip(places, bars, strict=True):
        axes.text(bar.size + longest * 0.03, place, bar.beside, va="center", color=MUTED, fontsize=7)


def _draw_means(axes: Axes, bars: Sequence[Bar], places: Sequence[float], scale: tuple[float, float]) -> None:
    lowest, highest = scale
    sizes, spreads = [bar.size for bar in bars], [bar.spread for bar in bars]
    axes.errorbar(sizes, places, xerr=spreads, fmt="o", markersize=4, color=ACCENT, elinewidth=1.4)
    axes.set_xlim(lowest, highest)
    axes.grid(axis="x", color=LINE, linewidth=0.5)
    axes.tick_params(axis="x", labelsize=8)
    for place, bar in zip(places, bars, strict=True):
        axes.text(1.02, place, bar.beside, transform=axes.get_yaxis_transform(), va="center", color=MUTED, fontsize=7)


def _break_label(label: str) -> str:
    return "\n".join(break_lines(label, LABEL if label.isascii() else LABEL * 3 // 5))
