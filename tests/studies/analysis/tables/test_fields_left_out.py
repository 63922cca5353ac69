"""A judge without one field beside the same judge with all: the same numbers as those of two strategies."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.probes import probes
from studies.analysis.tables.strategy_tests import TABLE, is_of_field, strategy_tests
from tests.studies.analysis.builders import frame_of

ExportOf = Callable[[Any], Path]
HUMAN, WHOLE, WITHOUT = [1, 2, 3, 5, 4, 2], [1, 2, 4, 5, 4, 1], [2, 1, 4, 5, 3, 3]
NUMBERS = ["n", "clusters", "r_a", "r_b", "difference", "low", "high", "p", "p_holm", "williams_t"]


def people() -> list[dict[str, Any]]:
    return [of(number) | {"rater": f"P{number}", "score": score} for number, score in enumerate(HUMAN)]


def of(number: int) -> dict[str, Any]:
    return {"conversation": f"C{number}", "participant": f"P{number}"}


def judged(scores: list[Any], *, judge: str = "J", strategy: str = "state_aware") -> list[dict[str, Any]]:
    given = {"rater": judge, "rater_kind": "judge", "strategy": strategy}
    return [of(number) | given | {"score": score} for number, score in enumerate(scores)]


def table_of(folder: Path) -> pd.DataFrame:
    """Return the rows of judges with and without a field."""
    rows = [row for _, found in strategy_tests(load(folder), Bootstrap(100, 1)) for row in found]
    table = frame_of(rows, TABLE.all_columns())
    return table[is_of_field(table)] if len(table) else table


def test_field_is_tested_as_two_strategies_are(export_of: ExportOf) -> None:
    table = table_of(export_of([*people(), *judged(WHOLE), *judged(WITHOUT, judge="J~without_emotion")]))
    [row] = table.to_dict("records")
    assert [row[name] for name in ("judge", "human", "strategy_a", "strategy_b")] == [
        "J",
        "seeker",
        "state_aware",
        "state_aware~without_emotion",
    ]
    assert row["r_a"] == pytest.approx(np.corrcoef(HUMAN, WHOLE)[0, 1])
    assert row["r_b"] == pytest.approx(np.corrcoef(HUMAN, WITHOUT)[0, 1])
    assert row["difference"] == pytest.approx(row["r_b"] - row["r_a"])
    beside = export_of([*people(), *judged(WHOLE, strategy="a"), *judged(WITHOUT, strategy="b")])
    [same] = [one for _, found in strategy_tests(load(beside), Bootstrap(100, 1)) for one in found]
    assert [row[name] for name in NUMBERS] == pytest.approx([same[name] for name in NUMBERS])


def test_means_with_and_without_the_field_are_among_the_probes(export_of: ExportOf) -> None:
    folder = export_of([*people(), *judged(WHOLE), *judged(WITHOUT, judge="J~without_emotion")])
    [row] = [
        one for _, rows in probes(load(folder), Bootstrap(100, 1)) for one in rows if one["statistic"] == "difference"
    ]
    assert (row["variant"], row["n"]) == ("without_emotion", 6)
    assert row["estimate"] == pytest.approx(np.mean(WITHOUT) - np.mean(WHOLE))


def test_only_a_judge_that_was_asked_both_ways_has_a_row(export_of: ExportOf) -> None:
    """Neither another strategy nor another judge stands in for the whole, and no other variant is a field."""
    ratings = [
        *people(),
        *judged(WHOLE),
        *judged(WITHOUT, strategy="user_aware"),
        *judged(WITHOUT, judge="J~padding"),
        *judged(WITHOUT, judge="J~without_script", strategy="standard"),
        *judged(WITHOUT, judge="K~without_emotion"),
    ]
    assert table_of(export_of(ratings)).empty


def test_judges_that_were_asked_as_they_are_alone_have_no_row(export_of: ExportOf) -> None:
    assert table_of(export_of([*people(), *judged(WHOLE), *judged(WITHOUT, strategy="user_aware")])).empty
    assert table_of(export_of(people())).empty


def test_fields_are_families_of_their_own_and_leave_strategies_alone(export_of: ExportOf) -> None:
    plain = [*people(), *judged(WHOLE), *judged(WITHOUT, strategy="user_aware")]
    fields = [
        *judged(WITHOUT, judge="J~without_emotion"),
        *judged([3, 1, 4, 4, 3, 3], judge="J~without_goal"),
        *judged([2, 2, 4, 5, 3, ""], judge="J~without_script", strategy="user_aware"),
    ]
    before, after = (
        [one for _, found in strategy_tests(load(export_of(rows)), Bootstrap(100, 1)) for one in found]
        for rows in (plain, [*plain, *fields])
    )
    assert before == after[: len(before)]
    table = table_of(export_of([*plain, *fields]))
    assert list(zip(table["strategy_a"], table["strategy_b"], table["n"], strict=True)) == [
        ("state_aware", "state_aware~without_emotion", 6),
        ("state_aware", "state_aware~without_goal", 6),
        ("user_aware", "user_aware~without_script", 5),
    ]
    assert table["p_holm"].tolist() == pytest.approx(table["p"].tolist())
    assert "1 that only one of the two strategies scored are left out" in table["note"].iloc[2]
