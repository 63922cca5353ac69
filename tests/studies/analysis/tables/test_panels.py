"""Worked examples by hand: odd and even panels, failures in the denominator, a panel beside its members."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest
from numpy.testing import assert_allclose

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.notes import Note, Notes
from studies.analysis.reporting.excerpts import remark_on_empty_rows
from studies.analysis.tables.panels import COLUMNS, mean, median, panels, strict_majority
from tests.studies.analysis.builders import in_files

ExportOf = Callable[[Any], Path]
NOTHING = math.nan


@pytest.mark.parametrize(
    ("answers", "majority", "middle", "average"),
    [
        ([4, 4, 2], 4, 4, 10 / 3),
        ([4, 3, 2], NOTHING, 3, 3),
        ([4, 4, 2, 2], NOTHING, 3, 3),  # half is no majority
        ([4, 4, 4, 2], 4, 4, 3.5),
        ([4, 4, NOTHING], 4, 4, 4),
        ([4, 4, NOTHING, NOTHING], NOTHING, 4, 4),  # two of four members: the failures stay in the denominator
        ([4, NOTHING, NOTHING], NOTHING, 4, 4),
        ([2, 5, NOTHING], NOTHING, 3.5, 3.5),
        ([NOTHING, NOTHING, NOTHING], NOTHING, NOTHING, NOTHING),
    ],
)
def test_rules(answers: list[float], majority: float, middle: float, average: float) -> None:
    given = np.array(answers, float)
    assert_allclose([strict_majority(given), median(given), mean(given)], [majority, middle, average])


def judged(judge: str, scores: Iterable[float | None], strategy: str = "standard") -> list[dict[str, Any]]:
    """A score for each of the conversations C0, C1, …; None is an answer that could not be read."""
    said = {"rater": judge, "rater_kind": "judge", "strategy": strategy}
    return [
        {"conversation": f"C{n}", "participant": f"P{n}", **said}
        | ({"score": score} if score is not None else {"score": "", "missing_reason": "unparseable"})
        for n, score in enumerate(scores)
    ]


def felt(scores: Sequence[float]) -> list[dict[str, Any]]:
    return [
        {"conversation": f"C{n}", "participant": f"P{n}", "rater": f"P{n}", "score": score}
        for n, score in enumerate(scores)
    ]


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return in_files([row for _, rows in panels(load(folder), Bootstrap(50, 1)) for row in rows])


def row(rows: list[dict[str, Any]], rule: str, judge: str = "") -> dict[str, Any]:
    [found] = [one for one in rows if (one["rule"], one["judge"]) == (rule, judge)]
    return found


PEOPLE = (1, 2, 3, 4, 5, 3)
A, B, C = (1, 2, 3, 4, 5, 3), (1, 2, 3, 5, 5, 2), (2, 1, 3, 4, None, None)


@pytest.fixture
def three(export_of: ExportOf) -> list[dict[str, Any]]:
    return rows_of(export_of([*felt(PEOPLE), *judged("a", A), *judged("b", B), *judged("c", C)]))


def test_majority_counts_who_failed_and_what_has_none(three: list[dict[str, Any]]) -> None:
    found = row(three, "majority")
    assert (found["members"], found["units"], found["n"], found["failed"]) == (3, 6, 5, 2)
    assert "1 without a majority of all members" in found["note"]
    # 1, 2, 3, 4, 5 and none: a, b and what failed say 3, 2 and nothing of the last
    assert found["pearson"] == pytest.approx(1)
    assert found["n_human"] == 5


def test_median_and_mean_take_those_who_gave_a_score(three: list[dict[str, Any]]) -> None:
    assert row(three, "median")["n"] == row(three, "mean")["n"] == 6
    means = [4 / 3, 5 / 3, 3, 13 / 3, 5, 2.5]
    assert row(three, "mean")["pearson"] == pytest.approx(np.corrcoef(PEOPLE, means)[0, 1])


def test_panel_stands_beside_its_best_and_its_average_member(three: list[dict[str, Any]]) -> None:
    best = row(three, "best_member", "a")
    assert (best["pearson"], best["members"]) == (pytest.approx(1), 1)
    assert "chosen by these same data" in best["note"]
    each = [np.corrcoef(PEOPLE, A)[0, 1], np.corrcoef(PEOPLE, B)[0, 1], np.corrcoef(PEOPLE[:4], C[:4])[0, 1]]
    assert row(three, "mean_member")["pearson"] == pytest.approx(np.mean(each))


def test_each_judge_is_left_out_once(three: list[dict[str, Any]]) -> None:
    without = row(three, "mean", "c")
    assert (without["members"], without["failed"]) == (2, 0)
    assert without["pearson"] == pytest.approx(np.corrcoef(PEOPLE, np.mean([A, B], axis=0))[0, 1])
    assert without["percent_agreement"] == pytest.approx(4 / 6)
    assert {one["judge"] for one in three if one["rule"] == "mean"} == {"", "a", "b", "c"}


def test_alpha_of_two_members_is_the_published_formula(export_of: ExportOf) -> None:
    """Krippendorff, Content Analysis (4th ed. 2019), chapter 12: where each unit has two values, one minus the mean
    squared difference within units over that of all pairs of values."""
    rows = rows_of(export_of([*judged("a", A), *judged("b", B)]))
    values = np.array([*A, *B], float)
    observed = np.mean((np.array(A, float) - np.array(B, float)) ** 2)
    expected = sum((x - y) ** 2 for x in values for y in values) / (12 * 11)
    assert row(rows, "mean")["alpha_interval"] == pytest.approx(1 - observed / expected)
    assert row(rows, "mean")["note"].startswith("pearson, low, high: no people rated it")


def test_answers_that_nobody_could_read_are_units_too(export_of: ExportOf) -> None:
    rows = rows_of(export_of([*judged("a", (1, 2, None)), *judged("b", (1, 3, None))]))
    assert (row(rows, "mean")["units"], row(rows, "mean")["n"], row(rows, "mean")["failed"]) == (3, 2, 2)


def test_one_judge_is_no_panel(export_of: ExportOf) -> None:
    [only] = rows_of(export_of([*felt((1, 2)), *judged("a", (1, 2))]))
    assert (only["strategy"], only["members"]) == ("standard", 1)
    because = "one judge is no panel: two or more with the same strategy make one"
    assert only["note"] == f"alpha_ordinal, alpha_interval, percent_agreement, pearson, low, high: {because}"
    table = pd.DataFrame([only | {"note": Notes(Note("one_judge").on("pearson"))}], columns=COLUMNS)
    assert remark_on_empty_rows(table, ["pearson"]) == f"1 row has no value and is left out: {because} (1)."


def test_judges_of_different_strategies_are_no_panel(export_of: ExportOf) -> None:
    rows = rows_of(export_of([*judged("a", (1, 2)), *judged("a", (1, 2), "user_aware")]))
    assert [one["members"] for one in rows] == [1, 1]


def test_judge_asked_in_another_way_is_no_member(export_of: ExportOf) -> None:
    [only] = rows_of(export_of([*judged("a", (1, 2)), *judged("a~padding", (1, 2))]))
    assert only["members"] == 1
