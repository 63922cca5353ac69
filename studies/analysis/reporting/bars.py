"""Shares that add up to a whole, as bars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253
from matplotlib.patches import Patch  # noqa: TID253

from studies.analysis.reporting.drawing import ACCENT, INK, LINE, TWO, WARM, clear_frame, wrap_title

ROW, HEAD = 0.42, 0.5  # inches: of a bar, and of what stands above the bars of a panel
NARROW = 0.05  # a share below this has no room for its number
FILLS = ((ACCENT, "white"), (LINE, INK), (WARM, "white"))  # of the parts, and the number on them


@dataclass(frozen=True)
class Bar:
    """A bar: what its two ends stand for, and its shares from left to right, which add up to 1."""

    left: str
    right: str
    shares: Sequence[float]


def share_bars(panels: Mapping[str, Sequence[Bar]], parts: Sequence[str]) -> Canvas:
    """Draw a panel of bars for each name, one below the other; `parts` names the shares, above them all."""
    heights = [HEAD + ROW * len(bars) for bars in panels.values()]
    canvas = Canvas(figsize=(TWO, sum(heights) + 0.4), layout="constrained")
    grid = canvas.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
    for axes, (name, bars) in zip(grid.ravel(), panels.items(), strict=True):
        _panel(axes, name, bars)
    handles = [Patch(facecolor=fill, label=part) for (fill, _ink), part in zip(FILLS, parts, strict=True)]
    canvas.legend(handles=handles, loc="outside upper left", ncols=len(parts), frameon=False)
    return canvas


def _panel(axes: Axes, name: str, bars: Sequence[Bar]) -> None:
    axes.set_title(name, fontweight="bold")
    clear_frame(axes)
    axes.spines["bottom"].set_visible(False)
    axes.set(xlim=(0, 1), ylim=(len(bars) - 0.5, -0.5), xticks=[])
    axes.set_yticks(range(len(bars)), [wrap_title(bar.left) for bar in bars])
    other = axes.secondary_yaxis("right")
    other.set_yticks(range(len(bars)), [wrap_title(bar.right) for bar in bars])
    other.tick_params(length=0, labelcolor=INK)
    other.spines["right"].set_visible(False)
    for place, bar in enumerate(bars):
        start = 0.0
        for share, (fill, ink) in zip(bar.shares, FILLS, strict=True):
            axes.barh(place, share, left=start, color=fill, height=0.62, edgecolor="white", linewidth=0.8)
            if share >= NARROW:
                axes.text(start + share / 2, place, f"{share:.0%}", ha="center", va="center", color=ink, fontsize=8)
            start += share
