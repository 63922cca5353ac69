"""The radar of the arms: where its points are, when there is one, and what it says."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd  # noqa: TID253
import pytest

from studies.analysis import analyse, load
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.language import speaking
from studies.analysis.reporting.drawing import LOOKS, TOGETHER, Figure, figure, style
from studies.analysis.reporting.parts import Folded, Part, Section
from studies.analysis.reporting.radar import WIDTH, corners, radar, rings
from studies.analysis.reporting.sections.arms import arms
from studies.analysis.results import Results
from studies.analysis.run import compute
from studies.analysis.scales import Scale
from studies.analysis.tables.registry import TABLES
from tests.languages import CHINESE
from tests.studies.analysis.benchmark import write_table
from tests.studies.analysis.builders import write_export

pytestmark = pytest.mark.with_figures

TEN = ("problem_resolution", "mood_improvement", "response_appropriateness")  # of emoharbor_10
FIVE = Scale(1, 5)
HALF = sqrt(3) / 2  # the sine of 60 degrees


def answers(scores: dict[str, Sequence[float]], items: Sequence[str] = TEN) -> list[dict[str, Any]]:
    """One conversation of each arm, with its score of each item; nan is none."""
    return [
        {"conversation": f"C{arm}", "participant": f"P{arm}", "arm": arm, "item": item, "score": score}
        | {"instrument": "emoharbor_10"}
        for arm, of_arm in scores.items()
        for item, score in zip(items, of_arm, strict=True)
        if score == score
    ]


Told = dict[str, tuple[int, int]]


def results_of(folder: Path, ratings: list[dict[str, Any]], told: Told, *, wanted: bool = True) -> Results:
    """`told`: the range that codebook.csv has of an item."""
    write_export(folder, ratings)
    if told:
        about = {"file": "emoharbor_10.json", "type": "scale"}
        rows = [{"column": item, "minimum": low, "maximum": high} for item, (low, high) in told.items()]
        write_table(folder, "codebook", [about | row for row in rows])
    found = compute(load(folder), Bootstrap(5, 1), lambda *_: None, ["arms"]).tables
    empty = {table.name: pd.DataFrame([], columns=table.all_columns()) for table in TABLES}
    return replace(Results(load(folder), Bootstrap(5, 1), empty | found, TABLES), radar=wanted)


def parts_of(section: Section | None) -> Iterator[Part]:
    for part in section.parts if section else []:
        yield from part.parts if isinstance(part, Folded) else [part]


def drawn(results: Results) -> list[Figure]:
    with style():
        found = list(parts_of(arms(results)))
    return [part for part in found if isinstance(part, Figure) and part.name.startswith("radar")]


def texts(drawing: Figure) -> list[str]:
    root = ElementTree.fromstring(drawing.svg)
    return ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]


def table(scores: dict[str, Sequence[float]], items: Sequence[str] = ("a", "b", "c")) -> pd.DataFrame:
    return pd.DataFrame(scores.values(), index=list(scores), columns=list(items))


# Points


def test_corners_are_on_their_axes_from_the_lowest_score_to_the_highest() -> None:
    # The second axis points 30 degrees down to the right; 3 is half way from 1 to 5, and 1 is the centre.
    expected = [[0, 1], [0.5 * HALF, -0.5 * 0.5], [0, 0], [0, 1]]
    assert corners(np.array([5.0, 3.0, 1.0]), FIVE) == pytest.approx(np.array(expected))
    # With four items right, down and left; 0 of a scale from -2 to 2 is half way.
    square = [[0, 0.5], [1, 0], [0, -0.75], [-0.25, 0], [0, 0.5]]
    assert corners(np.array([0.0, 2.0, 1.0, -1.0]), Scale(-2, 2)) == pytest.approx(np.array(square))


def test_each_arm_is_a_polygon_with_a_look_of_its_own() -> None:
    with style():
        canvas = radar(table({"amber": [5, 3, 1], "birch": [2, 2, 5]}), FIVE, "")
    of_arms = [line for line in canvas.axes[1].lines if line.get_marker() not in ("", "None")]
    expected = {
        "amber": [[0, 1], [0.5 * HALF, -0.25], [0, 0], [0, 1]],
        "birch": [[0, 0.25], [0.25 * HALF, -0.125], [-HALF, -0.5], [0, 0.25]],
    }
    for line, points, look in zip(of_arms, expected.values(), LOOKS, strict=False):
        assert line.get_xydata() == pytest.approx(np.array(points))
        assert (line.get_marker(), line.get_color()) == (look["marker"], look["color"])
    assert len(of_arms) == 2


def test_looks_differ_without_their_colours() -> None:
    assert len({(look["marker"], str(look["linestyle"])) for look in LOOKS}) == TOGETHER == 6


def test_more_arms_than_looks_have_a_drawing_each_before_the_mean_over_the_arms() -> None:
    scores = {f"arm {number}": [1, 3, 5 if number else 1.5] for number in range(7)}  # means 1, 3 and 4.5
    with style():
        canvas = radar(table(scores), FIVE, "")
    sheet, *panels = canvas.axes
    assert len(panels) == 7
    for axes in panels:
        [grey] = axes.patches
        expected = [[0, 0], [0.5 * HALF, -0.25], [-0.875 * HALF, -0.875 * 0.5], [0, 0]]
        assert grey.get_xy() == pytest.approx(np.array(expected))
    of_arm = panels[0].lines[-1].get_xydata()
    assert of_arm == pytest.approx(np.array([[0, 0], [0.5 * HALF, -0.25], [-0.125 * HALF, -0.125 * 0.5], [0, 0]]))
    assert {text.get_text() for text in sheet.texts} >= {*scores, "a", "b", "c", "1", "2", "3"}
    assert len({axes.get_position().x0 for axes in panels}) == 3


@pytest.mark.parametrize(
    ("scale", "scores"),
    [
        (FIVE, [1, 2, 3, 4, 5]),
        (Scale(0, 100), [0, 20, 40, 60, 80, 100]),
        (Scale(1, 10), [1, 4, 7, 10]),
        (Scale(0, 2.5), [0, 0.625, 1.25, 1.875, 2.5]),
        (Scale(0, 11), [0, 2.75, 5.5, 8.25, 11]),
    ],
)
def test_rings_begin_and_end_with_the_scale(scale: Scale, scores: list[float]) -> None:
    assert rings(scale) == pytest.approx(np.array(scores))


# Labels


@pytest.mark.parametrize("arms_there", [4, 9])
@pytest.mark.parametrize("label", ["understanding_of_their_own_situation", "x" * 40, "a name of many short words " * 3])
def test_long_labels_stay_whole_within_the_figure(arms_there: int, label: str) -> None:
    items = [label, *(f"{label} {number}" for number in range(9))]
    with style():
        canvas = radar(table({f"arm {number}": [3] * 10 for number in range(arms_there)}, items), FIVE, "centre")
        svg = figure("radar", "A title", "A caption.", canvas).svg
        boxes = [text.get_window_extent() for axes in canvas.axes for text in axes.texts]
    written = re.sub(r"\s", "", "".join("".join(text.itertext()) for text in ElementTree.fromstring(svg).iter()))
    assert written.count(re.sub(r"\s", "", label)) >= 10
    assert min(box.x0 for box in boxes) > 0
    assert max(box.x1 for box in boxes) < WIDTH * canvas.dpi
    assert min(box.y0 for box in boxes) > 0
    assert max(box.y1 for box in boxes) < canvas.bbox.height


def test_labels_are_those_of_the_language_that_is_spoken(tmp_path: Path) -> None:
    results = results_of(tmp_path, answers({"amber": [5, 3, 1], "birch": [2, 2, 4]}), dict.fromkeys(TEN, (1, 5)))
    [english] = drawn(results)
    assert {"Problem", "resolution"} <= set(" ".join(texts(english)).split())
    with speaking(CHINESE):
        [chinese] = drawn(results)
    assert {"问题解决", "情绪改善", "回应贴合度（个性化）"} <= set(texts(chinese))
    assert english.pdf()[:4] == chinese.pdf()[:4] == b"%PDF"


# The report


def test_axes_are_those_of_the_codebook_and_the_caption_says_where_they_begin(tmp_path: Path) -> None:
    results = results_of(tmp_path, answers({"amber": [4, 3, 2], "birch": [2, 2, 4]}), dict.fromkeys(TEN, (1, 5)))
    [drawing] = drawn(results)
    assert drawing.name == "radar-seeker-emoharbor-10-final"
    assert [said for said in texts(drawing) if said.isdigit()] == ["1", "2", "3", "4", "5"]
    assert "centre 1, rim 5" in texts(drawing)
    assert "The axes start at 1 in the centre, the lowest score that the scale allows, and end at 5" in drawing.caption
    assert "Its areas grow with the square of the means and change with the order of the axes" in drawing.caption
    assert "it has no intervals. To compare arms, read the dot plots." in drawing.caption
    assert "Grey" not in drawing.caption
    assert "its line has a gap" not in drawing.caption


def test_without_a_codebook_the_axes_are_those_of_the_scores_and_the_caption_says_so(tmp_path: Path) -> None:
    [drawing] = drawn(results_of(tmp_path, answers({"amber": [4, 3, 2], "birch": [2, 2, 6]}), {}))
    assert "centre 2, rim 6" in texts(drawing)
    assert (
        "the lowest and the highest score, because codebook.csv has no scale that holds for every item."
        in drawing.caption
    )


def test_seven_arms_are_told_what_is_grey(tmp_path: Path) -> None:
    scores = {f"arm {number}": [3, 4, 1 + number % 5] for number in range(7)}
    [drawing] = drawn(results_of(tmp_path, answers(scores), dict.fromkeys(TEN, (1, 5))))
    assert "Grey is the mean over the arms, and each arm counts once." in drawing.caption
    assert "centre 1, rim 5; grey: mean over the arms" in texts(drawing)


def test_an_arm_without_a_mean_has_a_broken_line(tmp_path: Path) -> None:
    scores = {"amber": [4, 3, 2], "birch": [2, float("nan"), 4]}
    [drawing] = drawn(results_of(tmp_path, answers(scores), dict.fromkeys(TEN, (1, 5))))
    assert "If an arm has no mean for an item, its line has a gap." in drawing.caption


@pytest.mark.parametrize(
    ("told", "scores"),
    [
        (dict(zip(TEN, ((1, 5), (1, 5), (1, 9)), strict=True)), [4, 3, 2]),
        ({}, [3, 3, 3]),
    ],
)
def test_items_without_a_scale_in_common_have_no_radar_and_the_report_says_so(
    tmp_path: Path, told: Told, scores: list[float]
) -> None:
    results = results_of(tmp_path, answers({"amber": scores}), told)
    assert drawn(results) == []
    with style():
        said = "".join(part for part in parts_of(arms(results)) if isinstance(part, str))
    why = "at the end, because its items do not share one scale."
    assert f"There is no radar chart of Ten dimensions of personalised emotional support, {why}" in said


def test_two_items_have_no_radar(tmp_path: Path) -> None:
    assert drawn(results_of(tmp_path, answers({"amber": [4, 3]}, TEN[:2]), dict.fromkeys(TEN, (1, 5)))) == []


def test_who_does_not_ask_gets_none_and_who_asks_the_same_tables(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    scores = {"amber": [4, 3, 2], "birch": [2, 2, 4]}
    assert drawn(results_of(folder, answers(scores), dict.fromkeys(TEN, (1, 5)), wanted=False)) == []
    plain, asked = (
        analyse(folder, tmp_path / name, bootstrap=5, radar=radar).files
        for name, radar in (("plain", False), ("asked", True))
    )
    assert set(asked) - set(plain) == {"figures/radar-seeker-emoharbor-10-final.svg"}
    written = [{name: (tmp_path / run / name).read_bytes() for name in plain} for run in ("plain", "asked")]
    changed = {name for name in plain if written[0][name] != written[1][name]}
    assert changed == {"files.txt", "report.html", "report.zh.html"}
    reports = [(tmp_path / name / "report.zh.html").read_text(encoding="utf-8") for name in ("plain", "asked")]
    assert ["max-width: 34rem" in report for report in reports] == [False, True]
