"""Drawings: what is in them, and that their bytes are always the same."""

import re
from collections.abc import Callable
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: TID253
from matplotlib.figure import Figure as Canvas  # noqa: TID253

from studies.analysis.reporting.curves import Course, curves
from studies.analysis.reporting.dots import NOTHING, Line, dot_panels
from studies.analysis.reporting.drawing import ONE, TWO, Figure, _number_ids, break_lines, figure, style
from studies.analysis.reporting.flowchart import Box, flow_chart
from studies.analysis.reporting.scatter import MOST, bland_altman, scatter

pytestmark = pytest.mark.with_figures


def drawn(make: Callable[[], Canvas], name: str = "a figure") -> Figure:
    with style():
        return figure(name, "A title", "A caption.", make())


def texts(drawing: Figure) -> list[str]:
    root = ElementTree.fromstring(drawing.svg)
    return ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("demonstrating_understanding", ["demonstrating_", "understanding"]),
        ("a_b c_d", ["a_b c_d"]),
        ("x" * 30, ["x" * 25, "x" * 5]),
        ("How warm is the reply of the model?", ["How warm is the reply of", "the model?"]),
    ],
)
def test_an_item_breaks_at_its_underscores_and_within_a_word_only_where_it_must(text: str, lines: list[str]) -> None:
    assert break_lines(text, 25) == lines


def dots() -> Canvas:
    lines = [Line("amber", [(3.0, 2.5, 3.5)], "3.00 (12)"), Line("$x_1 安全", [NOTHING], "not computed")]
    return dot_panels({"care": lines, "safety": lines}, "mean score", at=0)


def two_series() -> Canvas:
    lines = [Line("amber", [(3.0, 2.5, 3.5), (2.0, 1.5, 2.5)])]
    return dot_panels({"care": lines}, "r", series=["standard", "user-aware"])


def course() -> Canvas:
    values = np.array([1.0, 0.8, 0.5])
    first, second = Course([1, 2, 3], values, values - 0.1, values + 0.1, [9, 8, 7]), values[:2]
    return curves({"amber": [first, Course([1, 2], second, second, second, [4, 3], 1)]}, "share", "turn", stepped=True)


def scattered() -> Canvas:
    x, y = np.array([1.0, 2, 2, 5]), np.array([2.0, 2, 3, 4])
    return scatter({"care": (x, y)}, "people", "judge", {"care": "n 4"})


def differences() -> Canvas:
    return bland_altman({"care": (np.array([1.0, 2, 5]), np.array([2.0, 2, 4]))}, "mean", "difference")


def flow() -> Canvas:
    return flow_chart([Box(["began: 9"], ["withdrew: 2"]), Box(["finished: 7"])])


KINDS = (dots, two_series, course, scattered, differences, flow)


@pytest.mark.parametrize("make", KINDS)
def test_a_figure_has_the_same_bytes_again_and_no_date(make: Callable[[], Canvas]) -> None:
    once, again = drawn(make), drawn(make)
    assert (once.svg, once.pdf()) == (again.svg, again.pdf())
    assert b"CreationDate" not in once.pdf()
    assert once.pdf().startswith(b"%PDF")
    assert "dc:date" not in once.svg


@pytest.mark.parametrize("make", KINDS)
def test_a_figure_has_its_fonts_as_true_type(make: Callable[[], Canvas]) -> None:
    pdf = drawn(make).pdf()
    assert b"/Type3" not in pdf
    assert b"/CIDFontType2" in pdf


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (dots, {"care", "safety", "amber", "$x_1 安全", "3.00 (12)", "not computed", "mean score"}),
        (two_series, {"standard", "user-aware", "amber"}),
        (course, {"turn", "●", "□", "9", "3", "amber", "share"}),
        (scattered, {"care  n 4", "people", "judge"}),
        (differences, {"care", "0.00 (−1.96 … 1.96)", "mean", "difference"}),
        (flow, {"began: 9", "withdrew: 2", "finished: 7"}),
    ],
)
def test_a_figure_says_what_it_shows(make: Callable[[], Canvas], said: set[str]) -> None:
    assert said - set(texts(drawn(make))) == set()


def test_ids_of_two_figures_of_a_page_differ() -> None:
    ids = [set(re.findall(r' id="([^"]*)"', drawn(course, name).svg)) for name in ("one", "other")]
    assert ids[0]
    assert not ids[0] & ids[1]


def places_of(canvas: Canvas, name: str) -> list[tuple[float, float]]:
    """Return where this text stands, in inches."""
    return [text.get_position() for text in canvas.axes[0].texts if text.get_text() == name]


def test_panels_with_other_labels_stand_below_each_other() -> None:
    alike = dot_panels({name: [Line("a", [NOTHING])] for name in "xyz"}, "r")
    unlike = dot_panels({name: [Line(f"label {name}", [NOTHING])] for name in "xyz"}, "r")
    rows = [len({down for name in "xyz" for _across, down in places_of(canvas, name)}) for canvas in (alike, unlike)]
    assert rows == [1, 3]


def test_a_label_too_long_for_a_line_is_broken_and_leaves_room() -> None:
    long = ", ".join(f"without behaviour number {number}" for number in range(5))
    labels, heights = [], []
    for label in ("short", long):
        canvas = dot_panels({name: [Line(label, [(0.1, 0.0, 0.2)])] * 3 for name in ("care", "safety")}, "points")
        labels.append(next(text.get_text() for text in canvas.axes[0].texts if text.get_text().startswith(label[:5])))
        heights.append(canvas.get_figheight())
    assert labels[0] == "short"
    assert labels[1].replace("\n", " ") == long
    assert "\n" in labels[1]
    assert heights[1] > 1.5 * heights[0]


@pytest.mark.parametrize("name", ["ember", "mmmm", "GPT-4O", "安全 WWW"])
def test_a_short_name_of_broad_letters_is_not_cut(name: str) -> None:
    with style():
        canvas = dot_panels({"": [Line(name, [(3.0, 2.5, 3.5)])]}, "mean score", width=ONE)
        FigureCanvasAgg(canvas).draw()
        (label,) = (text for text in canvas.axes[0].texts if text.get_text() == name)
        assert label.get_window_extent().x0 >= 0


def test_a_name_of_several_lines_above_a_curve_is_not_cut() -> None:
    values = np.array([1.0, 0.8])
    name = "Response appropriateness (personalization) and Freedom from repetition (Redundancy)"
    with style():
        canvas = curves({name: [Course([1, 2], values, values, values, [9, 8])]}, "share", "turn")
        FigureCanvasAgg(canvas).draw()
        (title,) = (text for text in canvas.axes[0].texts if text.get_text().startswith("Response"))
        assert title.get_window_extent().y1 <= canvas.get_figheight() * canvas.dpi


@pytest.mark.parametrize(("width", "columns"), [(ONE, 1), (TWO, 2)])
def test_figures_are_one_or_two_columns_of_a_journal_wide(width: float, columns: int) -> None:
    canvas = dot_panels({"care": [Line("amber", [(3.0, 2.5, 3.5)])]}, "mean", width=width)
    drawing = drawn(lambda: canvas)
    assert (canvas.get_figwidth(), drawing.columns()) == (width, columns)


def test_a_dot_stands_where_its_estimate_is_on_the_scale() -> None:
    canvas = dot_panels({"": [Line("amber", [(2.0, 1.0, 3.0)]), Line("birch", [(3.0, 2.0, 4.0)])]}, "mean")
    [axes] = canvas.axes
    [marks] = axes.lines
    ticks = {float(text.get_text()): text.get_position()[0] for text in axes.texts if text.get_text()[:1].isdigit()}
    assert marks.get_xdata() == pytest.approx([ticks[2], ticks[3]])


@pytest.mark.parametrize(("highest", "ticks"), [(4.7, {"2", "3", "4"}), (5.0, {"2", "3", "4", "5"})])
def test_ticks_of_a_scatter_stay_within_the_scores(highest: float, ticks: set[str]) -> None:
    scores = np.array([1.5, 3.2, highest])
    [axes] = scatter({"care": (scores, scores)}, "", "", {"care": ""}).axes
    said = {text.get_text() for text in axes.texts}
    assert ticks <= said
    assert not {"6", "7"} & said


def test_a_scatter_of_many_draws_some_and_counts_all() -> None:
    scores = np.tile([1.0, 5.0], 3 * MOST)
    drawing = drawn(lambda: scatter({"care": (scores, scores)}, "people", "judge", {"care": ""}))
    assert texts(drawing).count(str(3 * MOST)) == 4
    longest = max(re.findall(r' d="([^"]*)"', drawing.svg), key=len)
    assert longest.count("M") == MOST


CLIPPED = (
    '<svg><clipPath id="{clip}"/><path id="{mark}" clip-path="url(#{clip})"/>'
    '<use xlink:href="#{mark}" style="fill: #1f6f6b"/>{more}</svg>'
)


def test_ids_depend_on_what_is_drawn_alone_and_lead_where_they_led() -> None:
    first, again, other = (
        _number_ids("dots", CLIPPED.format(clip=clip, mark=mark, more=more))
        for clip, mark, more in (("p0a", "m1b", ""), ("p9f", "m7c", ""), ("p0a", "m1b", "<g/>"))
    )
    assert first == again
    [clip, mark] = re.findall(r' id="([^"]*)"', first)
    assert first == CLIPPED.format(clip=clip, mark=mark, more="")
    assert not {clip, mark} & set(re.findall(r' id="([^"]*)"', other))
