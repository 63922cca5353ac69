"""The parts that all figures share: their look, and how one becomes SVG and PDF with the same bytes in every run."""

import hashlib
import io
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from textwrap import wrap
from typing import Any

from matplotlib import rc_context  # noqa: TID253
from matplotlib.axes import Axes  # noqa: TID253
from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253
from matplotlib.font_manager import get_font_names  # noqa: TID253

INK, MUTED, LINE, ACCENT, WARM = "#22302F", "#5A6866", "#C9CFCD", "#1F6F6B", "#8A5300"
TITLE = 26  # letters in a line above a panel
ONE, TWO = 3.35, 6.85  # inches: one column of a journal's page, and both
# Colours of Wong 2011 (doi 10.1038/nmeth.1618), which colour-blind readers tell apart; and by shape, fill and dash.
LOOKS: list[dict[str, Any]] = [
    {"marker": "o", "color": "#0072B2", "markerfacecolor": "#0072B2", "linestyle": "-"},
    {"marker": "s", "color": INK, "markerfacecolor": "white", "linestyle": "--"},
    {"marker": "^", "color": "#D55E00", "markerfacecolor": "#D55E00", "linestyle": "-."},
    {"marker": "D", "color": "#007A5A", "markerfacecolor": "white", "linestyle": ":"},
    {"marker": "v", "color": "#AA4499", "markerfacecolor": "#AA4499", "linestyle": (0, (6, 1.5))},
    {"marker": "X", "color": MUTED, "markerfacecolor": "white", "linestyle": (0, (3, 1, 1, 1, 1, 1))},
]
SIGNS = ("●", "□", "▲", "◇", "▼", "✕")  # of LOOKS
TOGETHER = len(LOOKS)  # series that one drawing tells apart
CHINESE_FONTS = ("Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei")
# Names come from the data: a dollar sign in one is no formula.
STYLE: Any = {
    "svg.fonttype": "none",
    # TrueType: journals and submission systems refuse Type 3, and its text cannot be searched or edited.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "text.parse_math": False,
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "xtick.color": MUTED,
    "ytick.color": INK,
}


@dataclass(frozen=True)
class Figure:
    name: str  # of its files, without ending
    title: str
    caption: str
    svg: str  # one <svg> element
    canvas: Canvas = field(compare=False, repr=False)
    label: str = ""  # "Figure 1", where it is numbered

    def pdf(self) -> bytes:
        """Return the same drawing as PDF, which takes as long as the rest of it: so only where it is wanted."""
        with style():
            return _pdf(self.title, self.canvas)

    def columns(self) -> int:
        """Return how many columns of a journal's page the figure is wide."""
        return 1 if self.canvas.get_figwidth() <= ONE + 1e-9 else 2


@contextmanager
def style() -> Iterator[None]:
    """Set the style of figures, which are drawn within this block."""
    with rc_context(STYLE | {"font.family": ["DejaVu Sans", *_chinese_fonts()]}):
        yield


@cache
def _chinese_fonts() -> list[str]:
    """Return the Chinese fonts that are installed: a PDF can take the signs of a Chinese name from nowhere else."""
    return [name for name in CHINESE_FONTS if name in set(get_font_names())]


def look(series: int) -> dict[str, Any]:
    return LOOKS[series % len(LOOKS)]


def wrap_title(title: str) -> str:
    """Return a title in lines that fit a panel."""
    return "\n".join(break_lines(title, TITLE)) if len(title) > TITLE else title


def break_lines(text: str, letters: int) -> list[str]:
    """Return a text in lines of at most so many letters. The key of an item breaks behind its underscores; a word
    breaks only where it is longer than a line."""
    return [line.replace("_ ", "_") for line in wrap(text.replace("_", "_ "), letters)]


def clear_frame(axes: Axes) -> None:
    """Remove frame and ticks, and draw the grid behind everything else."""
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)


def figure(name: str, title: str, caption: str, canvas: Canvas) -> Figure:
    name = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    with warnings.catch_warnings():
        # Text of an SVG stays text: the reader's fonts draw what is lacking here.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        svg = _svg(name, title, canvas)
    return Figure(name, title, caption, svg, canvas)


def _svg(name: str, title: str, canvas: Canvas) -> str:
    buffer = io.StringIO()
    with rc_context({"svg.hashsalt": name}):
        FigureCanvasSVG(canvas).print_svg(buffer, metadata={"Date": None, "Title": title})
    return _number_ids(name, _short(_without_unused_ids(buffer.getvalue())))


def _pdf(title: str, canvas: Canvas) -> bytes:
    from matplotlib.backends.backend_pdf import FigureCanvasPdf  # brings the tools for fonts

    buffer = io.BytesIO()
    canvas.set_layout_engine("none")  # everything has its place since the SVG was drawn
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        FigureCanvasPdf(canvas).print_pdf(buffer, metadata={"CreationDate": None, "Title": title})
    return buffer.getvalue()


def _without_unused_ids(svg: str) -> str:
    """Return the <svg> element alone, without ids that nothing refers to: they would be there twice in a report."""
    svg = svg[svg.index("<svg") :]
    used = set(re.findall(r'#([\w.-]+)["\')]', svg))
    return re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", svg)


def _number_ids(name: str, svg: str) -> str:
    """Return an SVG with its ids numbered after a digest of its name and of what is drawn: the same in every run, and
    different from those of another figure.

    matplotlib's own ids hash places that differ between runs by less than is drawn.
    """
    ids = list(dict.fromkeys(re.findall(r' id="([^"]*)"', svg)))
    numbered = _rename_ids(svg, {old: f"f-{number}" for number, old in enumerate(ids)})
    digest = hashlib.sha256(f"{name}\n{numbered}".encode()).hexdigest()[:8]
    svg = re.sub(r'(?<= class=")c-|(?<=[>}]\.)c-', f"c{digest}-", svg)
    return _rename_ids(svg, {old: f"f{digest}-{number}" for number, old in enumerate(ids)})


def _rename_ids(svg: str, names: Mapping[str, str]) -> str:
    """Return an SVG with new ids, also where something refers to them."""
    svg = re.sub(r' id="([^"]*)"', lambda match: f' id="{names[match[1]]}"', svg)
    return re.sub(r'#([\w.-]+)(["\')])', lambda match: f"#{names.get(match[1], match[1])}{match[2]}", svg)


def _short(svg: str) -> str:
    """Return an SVG of half the length that draws the same: numbers to a hundredth of a point, fonts named once, no
    rotations by nothing, no metadata."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' transform="rotate\(-?0 [^"]*"', "", svg)
    svg = re.sub(r' (?:d|x|y)="[^"]*"', lambda numbers: re.sub(r"(\.\d\d)\d+", r"\1", numbers[0]), svg)
    svg = re.sub(r'(?<= d=")[^"]*', lambda path: re.sub(r"\s*([MLCQz])\s*", r"\1", path[0]), svg)
    svg = re.sub(r"M([^ ]+ [^ML]+)L\1(?=[M\"])", r"M\1h0", svg)  # a dot
    svg = _name_fonts_once(svg)
    svg = re.sub(r'(?<= style=")[^"]*', lambda style: re.sub(r"(?<=[:;]) ", "", style[0]), svg)
    return _name_styles_once(re.sub(r"\s*\n\s*", "\n", svg))


def _name_styles_once(svg: str) -> str:
    """Replace each style by a class of the drawing. `_number_ids` makes the names of the classes its own."""
    names: dict[str, str] = {}
    svg = re.sub(r' style="([^"]*)"', lambda style: f' class="{names.setdefault(style[1], f"c-{len(names)}")}"', svg)
    return svg.replace("</style>", "".join(f".{name}{{{style}}}" for style, name in names.items()) + "</style>", 1)


def _name_fonts_once(svg: str) -> str:
    """Move the font of all texts to the root, if it is one."""
    fonts = set(re.findall(r" font-family: ([^;\"]*)", svg))
    if len(fonts) != 1:
        return svg
    svg = re.sub(r" font-family: [^;\"]*;?", "", svg)
    return svg.replace("<svg ", f'<svg font-family="{fonts.pop()}" ', 1)
