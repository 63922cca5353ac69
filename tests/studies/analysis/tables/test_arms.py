from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.arms import COLUMNS, arm_means
from tests.studies.analysis.builders import frame_of


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in arm_means(load(folder), Bootstrap(200, 1)) for row in found]
    return frame_of(rows, COLUMNS)


@pytest.fixture
def two_arms(export_of: Callable[[Any], Path]) -> Path:
    ratings = [
        {
            "conversation": f"C{number}",
            "participant": f"P{number % 3}",
            "arm": "b" if number > 3 else "a",
            "score": score,
        }
        for number, score in enumerate([1, 2, 3, 5, 4, 2])
    ]
    ratings += [
        {"conversation": "C0", "rater": rater, "rater_kind": "reviewer", "score": score}
        for rater, score in (("R1", 2), ("R2", 5))
    ]
    return export_of([*ratings, {"conversation": "elsewhere", "score": 5}, {"conversation": "C1", "item": "gap"}])


def test_arm_means_are_over_conversations(two_arms: Path) -> None:
    table = table_of(two_arms).set_index(["arm", "raters"])
    assert table.index.tolist() == [("a", "reviewer"), ("a", "seeker"), ("b", "seeker")]
    seeker = table.loc[("a", "seeker")]
    assert seeker[["n", "mean", "clusters"]].tolist() == [4, 2.75, 3]
    assert seeker["sd"] == pytest.approx(np.std([1, 2, 3, 5], ddof=1))
    assert seeker["low"] <= 2.75 <= seeker["high"]
    assert (table["item"] == "care").all()


def test_arm_means_of_equal_scores_have_no_interval(export_of: Callable[[Any], Path]) -> None:
    rows = [{"conversation": f"C{n}", "participant": f"P{n}", "arm": "a", "score": 5} for n in range(4)]
    row = table_of(export_of(rows)).iloc[0]
    assert (row["mean"], row["sd"]) == (5.0, 0.0)
    assert row["note"] == "low, high: the scores do not vary"


def test_arm_means_of_one_conversation_have_no_interval(two_arms: Path) -> None:
    row = table_of(two_arms).query("raters == 'reviewer'").iloc[0]
    assert (row["n"], row["mean"]) == (1, 3.5)
    assert row[["low", "high", "sd"]].isna().all()
    assert row["note"] == "sd: one conversation; low, high: fewer than two clusters"
