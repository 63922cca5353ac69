from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.pooling import is_pooled
from studies.analysis.tables.arms import TABLE, arm_means, pooled_rows
from tests.studies.analysis.benchmark import write_table
from tests.studies.analysis.builders import frame_of, write_export


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in arm_means(load(folder), Bootstrap(200, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


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
    assert (table[["judge", "strategy"]] == "").all(axis=None)
    assert (table[["seekers", "condition", "language"]] == "*").all(axis=None)


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


def test_single_judges_conditions_and_languages_have_rows_where_there_are_several(tmp_path: Path) -> None:
    about = {"A1": ("average", "en"), "A2": ("worst_case", "en"), "A3": ("worst_case", "zh")}
    scores = {"J1": (1, 2, 3), "J2": (3, 4, 5)}
    rows = [
        {
            "conversation": name,
            "arm": "a",
            "rater": judge,
            "rater_kind": "judge",
            "strategy": "standard",
            "condition": condition,
            "score": given,
        }
        for judge, of_judge in scores.items()
        for (name, (condition, _language)), given in zip(about.items(), of_judge, strict=True)
    ]
    folder = write_export(tmp_path / "export", rows)
    told = [
        {"conversation": name, "arm": "a", "seeker_kind": "simulated", "condition": condition, "language": language}
        for name, (condition, language) in about.items()
    ]
    write_table(folder, "conversations", told)
    table = table_of(folder)
    assert table["strategy"].unique().tolist() == ["standard"]
    of = ["judge", "seekers", "condition", "language"]
    means = table.set_index(of)["mean"].to_dict()
    assert means["*", "*", "*", "*"] == 3
    assert means["J1", "*", "*", "*"] == 2
    assert means["*", "simulated", "worst_case", "*"] == 3.5
    assert means["J2", "simulated", "worst_case", "zh"] == 5
    assert ("*", "simulated", "average", "zh") not in means  # no one was met so
    assert len(means) == len(table) == 3 * (2 + 1 + 3 + 2)
    assert pooled_rows(table)["mean"].tolist() == [3]


def test_mean_over_items_is_of_conversations_with_all_of_them(export_of: Callable[[Any], Path]) -> None:
    rows = [
        {"conversation": f"C{number}", "participant": f"P{number}", "arm": "a", "item": item, "score": score}
        for number, given in enumerate([(1, 3), (2, 5), (4, None)])
        for item, score in zip(("care", "clear"), given, strict=True)
        if score is not None
    ]
    table = table_of(export_of(rows)).set_index("item")
    assert table["mean"].to_dict() == {"care": pytest.approx(7 / 3), "clear": 4, "*": 2.75}
    assert table["n"].to_dict() == {"care": 3, "clear": 2, "*": 2}
    assert not is_pooled(table.reset_index().query("item == '*'").iloc[0].to_dict())
