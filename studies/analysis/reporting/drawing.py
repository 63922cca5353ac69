"""The parts that all figures share: their look, and how one becomes SVG and PDF with the same bytes in every run."""

import hashlib
import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from textwrap import wrap
from typing import Any

from matplotlib import rc_context  # noqa: TID253
from matplotlib.axes import Axes  # noqa: TID253
from matplotlib.backends.backend_pdf import FigureCanvasPdf  # noqa: TID253
from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253
from matplotlib.font_manager import get_font_names  # noqa: TID253
from matplotlib.lines import Line2D  # noqa: TID253

from studies.analysis.language import ENGLISH, current_language

INK, MUTED, LINE, ACCENT, WARM = "#22302F", "#5A6866", "#C9CFCD", "#1F6F6B", "#8A5300"
TITLE = 26  # letters in a line above a panel
WIDTH = 7.4  # inches, an A4 page without its margins
SAMPLE, LETTER = 0.6, 0.07  # inches: of the sample of a line beside its name, and of a letter of the name
# Told apart by shape, fill and dash beside the colour.
LOOKS: list[dict[str, Any]] = [
    {"marker": "o", "color": ACCENT, "markerfacecolor": ACCENT, "linestyle": "-"},
    {"marker": "s", "color": INK, "markerfacecolor": "white", "linestyle": "--"},
    {"marker": "^", "color": WARM, "markerfacecolor": WARM, "linestyle": "-."},
    {"marker": "D", "color": MUTED, "markerfacecolor": "white", "linestyle": ":"},
    {"marker": "v", "color": "#0B57D0", "markerfacecolor": "#0B57D0", "linestyle": (0, (6, 1.5))},
    {"marker": "X", "color": "#A33327", "markerfacecolor": "white", "linestyle": (0, (3, 1, 1, 1, 1, 1))},
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
    pdf: bytes  # empty where the figure is not in English: the files are


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


def name_series(canvas: Canvas, series: Sequence[str]) -> None:
    """Write the names of the series above the drawing, each with its look."""
    handles = [Line2D([], [], markersize=5, **look(number)) for number in range(len(series))]
    fitting = int(WIDTH / (SAMPLE + LETTER * max(map(len, series))))
    columns = max(1, min(len(series), 4, fitting))
    canvas.legend(handles, series, loc="outside upper left", ncols=columns, frameon=False, fontsize=8)


def wrap_title(title: str) -> str:
    """Return a title in lines that fit a panel."""
    return "\n".join(wrap(title, TITLE)) if len(title) > TITLE else title


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
        pdf = _pdf(title, canvas) if current_language() == ENGLISH else b""
    return Figure(name, title, caption, svg, pdf)


def _svg(name: str, title: str, canvas: Canvas) -> str:
    buffer = io.StringIO()
    with rc_context({"svg.hashsalt": name}):
        FigureCanvasSVG(canvas).print_svg(buffer, metadata={"Date": None, "Title": title})
    return _number_ids(name, _short(_without_unused_ids(buffer.getvalue())))


def _pdf(title: str, canvas: Canvas) -> bytes:
    buffer = io.BytesIO()
    canvas.set_layout_engine("none")  # everything has its place since the SVG was drawn
    FigureCanvasPdf(canvas).print_pdf(buffer, metadata={"CreationDate": None, "Title": title})
    return buffer.getvalue()


def _without_unused_ids(svg: str) -> str:
    """Return the <svg> element alone, without ids that nothing refers to: they would be there twice in a report."""
    svg = svg[svg.index("<svg") :]
    used = set(re.findall(r'#([\w.-]+)["\')]', svg))
    return re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", svg)


def _number_ids(name: str, svg: str) -> str:
    """Return an SVG with its ids numbered after a digest of its name and of what is drawn: the same in every run, and
    different from those of another figure.

    matplotlib's own ids hash places that differ between runs by less than is drawn.
    """
    ids = list(dict.fromkeys(re.findall(r' id="([^"]*)"', svg)))
    numbered = _rename_ids(svg, {found: f"f-{number}" for number, found in enumerate(ids)})
    digest = hashlib.sha256(f"{name}\n{numbered}".encode()).hexdigest()[:12]
    return _rename_ids(svg, {found: f"f{digest}-{number}" for number, found in enumerate(ids)})


def _rename_ids(svg: str, names: Mapping[str, str]) -> str:
    """Return an SVG with new ids, also where something refers to them."""
    svg = re.sub(r' id="([^"]*)"', lambda found: f' id="{names[found[1]]}"', svg)
    return re.sub(r'#([\w.-]+)(["\')])', lambda found: f"#{names.get(found[1], found[1])}{found[2]}", svg)


def _short(svg: str) -> str:
    """Return an SVG with its paths at a hundredth of a point."""
    return re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), svg)
