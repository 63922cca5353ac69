"""The figures as SVG text: readable in grey, each row with its own label, n and interval."""

import io
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from matplotlib import rc_context  # noqa: TID253
from matplotlib.axes import Axes  # noqa: TID253
from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253

from studies.analysis.results import Results

INK, MUTED, LINE, ACCENT = "#22302F", "#5A6866", "#C9CFCD", "#1F6F6B"
ROW = 0.24  # inches
WIDTH = 7.4
OWN_TIME = "Times are the model's own, before a study evens them out on the page."
LENGTHS = {  # measure: title, unit and a remark
    "characters": ("Length of the replies", "characters", "Characters are Unicode code points of what was shown."),
    "first_token_seconds": ("Time until the model's first words", "seconds", OWN_TIME),
    "total_seconds": ("Time until the model's whole reply", "seconds", OWN_TIME),
}
# Names come from the data: a dollar sign in one is no formula.
_STYLE: Any = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": INK,
}


@dataclass(frozen=True)
class Figure:
    name: str  # of its file, without ".svg"
    title: str
    caption: str
    svg: str  # one <svg> element


@dataclass(frozen=True)
class Dot:
    """One line of a dot plot; without an estimate it is a heading."""

    label: str
    estimate: float = np.nan
    low: float = np.nan
    high: float = np.nan
    n: int = 0


def figures_of(results: Results) -> list[Figure]:
    with rc_context(_STYLE):
        figures = [
            *_of_agreement(results.tables["agreement"]),
            *_of_arms(results.tables["arms"]),
            *_of_lengths(results.tables["lengths"]),
            *_of_strengths(results.tables["bradley_terry"]),
        ]
    return _with_own_names(figures)


def _of_agreement(table: pd.DataFrame) -> Iterator[Figure]:
    kinds = table[~table["human"].str.contains(":", regex=False)]
    for (human, instrument, moment), rows in kinds.groupby(["human", "instrument", "moment"]):
        rows = rows.assign(judged_by=(rows["judge"] + " · " + rows["strategy"]).str.removesuffix(" · "))
        where = f"{human}, {_of(instrument, moment)}"
        yield _figure(
            f"agreement-map-{human}-{instrument}-{moment}",
            f"Judges against {where}: Pearson's r",
            "Darker is closer agreement; an empty cell could not be computed (the table says why).",
            _heat_map(rows.pivot(index="judged_by", columns="item", values="pearson")),
        )
        yield _figure(
            f"agreement-{human}-{instrument}-{moment}",
            f"Judges against {where}: Pearson's r with 95 % intervals",
            "Dots are r over conversations, lines the cluster bootstrap interval, n the number of conversations.",
            _dot_plot(list(_dots(rows, "judged_by", "pearson", "pearson_low", "pearson_high")), "Pearson's r"),
        )


def _of_arms(table: pd.DataFrame) -> Iterator[Figure]:
    for (raters, instrument, moment), rows in table.groupby(["raters", "instrument", "moment"]):
        yield _figure(
            f"arms-{raters}-{instrument}-{moment}",
            f"Arms as rated by {raters}, {_of(instrument, moment)}: means with 95 % intervals",
            "Dots are means over conversations, lines the cluster bootstrap interval, n the number of conversations.",
            _dot_plot(list(_dots(rows, "arm", "mean", "low", "high")), "mean score"),
        )


def _of_lengths(table: pd.DataFrame) -> Iterator[Figure]:
    for measure, (title, unit, remark) in LENGTHS.items():
        rows = table[(table["measure"] == measure) & table["estimate"].notna()]
        if not rows.empty:
            rows = rows.assign(item=rows["language"].replace("", "language not known"))
            yield _figure(
                f"lengths-{measure}",
                f"{title}: means with 95 % intervals",
                f"Dots are means over replies, lines the cluster bootstrap interval, n the number of replies. {remark}",
                _dot_plot(list(_dots(rows, "arm", "estimate", "low", "high")), unit),
            )


def _of_strengths(table: pd.DataFrame) -> Iterator[Figure]:
    for (raters, instrument), rows in table[table["strength"].notna()].groupby(["raters", "instrument"]):
        asked = f"{raters}, {instrument}" if instrument else str(raters)
        yield _figure(
            f"bradley-terry-{raters}-{instrument}",
            f"Side by side, as preferred by {asked}: strengths with 95 % intervals",
            "Dots are Bradley–Terry strengths on the log scale, 0 their mean: one more means that the odds of being "
            "preferred are 2.7 times as high. Lines are the bootstrap interval, n the number of verdicts.",
            _dot_plot(
                list(_dots(rows.assign(item=rows["question"]), "contestant", "strength", "low", "high")), "log strength"
            ),
        )


def _of(instrument: str, moment: str) -> str:
    return f"{instrument} ({moment})" if moment else instrument


def _dots(rows: pd.DataFrame, label: str, estimate: str, low: str, high: str) -> Iterator[Dot]:
    for item, of_item in rows.groupby("item"):
        yield Dot(str(item))
        for row in of_item.sort_values(label).to_dict("records"):
            yield Dot(row[label], row[estimate], row[low], row[high], row["n"])


def _heat_map(values: pd.DataFrame) -> Canvas:
    canvas, axes = _canvas(len(values) + 5)
    numbers = values.to_numpy(float)
    axes.imshow(numbers, cmap="cividis_r", vmin=-1, vmax=1, aspect="auto")
    axes.set_yticks(range(len(values)), values.index)
    axes.set_xticks(range(values.shape[1]), values.columns, rotation=30, ha="right")
    axes.tick_params(length=0)
    for (row, column), r in np.ndenumerate(numbers):
        text = "–" if np.isnan(r) else f"{r:.2f}"
        axes.text(column, row, text, ha="center", va="center", color="white" if r >= 0 else INK)
    return canvas


def _dot_plot(dots: list[Dot], unit: str) -> Canvas:
    canvas, axes = _canvas(len(dots) + 3)
    places = np.arange(len(dots))
    estimates, lows, highs = (np.array([getattr(dot, name) for dot in dots]) for name in ("estimate", "low", "high"))
    axes.hlines(places, lows, highs, color=ACCENT, linewidth=1.6)
    axes.plot(estimates, places, "o", color=ACCENT, markersize=4.5)
    axes.set_yticks(places, [dot.label for dot in dots])
    for tick, dot in zip(axes.get_yticklabels(), dots, strict=True):
        tick.set_fontweight("normal" if dot.n else "bold")
    for place, dot in enumerate(dots):
        if dot.n:
            _beside(axes, place, f"{dot.estimate:.2f}  n {dot.n}" if np.isfinite(dot.estimate) else "not computed")
    axes.set_ylim(len(dots) - 0.4, -0.6)
    axes.set_xlabel(unit)
    axes.grid(axis="x", color=LINE, linewidth=0.5)
    axes.tick_params(length=0, labeltop=True)
    return canvas


def _beside(axes: Axes, place: float, text: str) -> None:
    axes.text(1.01, place, text, transform=axes.get_yaxis_transform(), va="center", color=MUTED)


def _canvas(rows: int) -> tuple[Canvas, Axes]:
    canvas = Canvas(figsize=(WIDTH, max(1.6, ROW * rows)), layout="constrained")
    axes = canvas.add_subplot()
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_axisbelow(True)
    return canvas, axes


def _figure(name: str, title: str, caption: str, canvas: Canvas) -> Figure:
    name = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    buffer = io.StringIO()
    # The salt makes the ids the same in every run, and different from those of the report's other figures.
    with rc_context({"svg.hashsalt": name}), warnings.catch_warnings():
        # Text stays text: the reader's fonts draw what matplotlib's own font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        FigureCanvasSVG(canvas).print_svg(buffer, metadata={"Date": None, "Title": title})
    return Figure(name, title, caption, _bare(buffer.getvalue()))


def _bare(svg: str) -> str:
    """The <svg> element alone, without ids that nothing refers to: they would be there twice in a report."""
    svg = svg[svg.index("<svg") :]
    used = set(re.findall(r'#([\w.-]+)["\')]', svg))
    return re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", svg)


def _with_own_names(figures: Iterable[Figure]) -> list[Figure]:
    """Two titles may give the same file name; the second gets a number."""
    named: dict[str, Figure] = {}
    for figure in figures:
        name, number = figure.name, 2
        while name in named:
            name, number = f"{figure.name}-{number}", number + 1
        named[name] = Figure(name, figure.title, figure.caption, figure.svg)
    return list(named.values())
