"""Judges as a panel, worked by hand: the rows of sensitivity.csv."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.panels import panels
from tests.studies.analysis.builders import in_files

ExportOf = Callable[[Any], Path]
PEOPLE = (1, 2, 3, 4, 5, 3)
A, B, C = (1, 2, 3, 4, 5, 3), (1, 2, 3, 5, 5, 2), (2, 1, 3, 4, None, None)


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
    return in_files(list(panels(load(folder), Bootstrap(50, 1))))


def test_panel_is_the_mean_of_those_who_gave_a_score(export_of: ExportOf) -> None:
    [row] = rows_of(export_of([*felt(PEOPLE), *judged("a", A), *judged("b", B), *judged("c", C)]))
    means = [4 / 3, 5 / 3, 3, 13 / 3, 5, 2.5]
    assert row["estimate"] == pytest.approx(np.corrcoef(PEOPLE, means)[0, 1])
    assert row["low"] < row["estimate"] < row["high"]
    assert [row[name] for name in ("judge", "human", "variant", "statistic", "n", "clusters")] == [
        *("*", "seeker", "panel", "pearson"),
        6,
        6,
    ]
    assert "the mean over 3 judges" in row["note"]


def test_panel_without_people_has_no_row(export_of: ExportOf) -> None:
    assert rows_of(export_of([*judged("a", A), *judged("b", B)])) == []


def test_one_judge_is_no_panel_and_strategies_are_not_mixed(export_of: ExportOf) -> None:
    assert rows_of(export_of([*felt((1, 2)), *judged("a", (1, 2)), *judged("b", (1, 2), "user_aware")])) == []


def test_judge_asked_in_another_way_is_no_member(export_of: ExportOf) -> None:
    assert rows_of(export_of([*felt((1, 2)), *judged("a", (1, 2)), *judged("a~padding", (1, 2))])) == []
