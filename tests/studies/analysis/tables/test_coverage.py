from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.measures.proportions import wilson
from studies.analysis.tables.coverage import METHODS, TABLE, coverage
from tests.studies.analysis.benchmark import write_table
from tests.studies.analysis.builders import frame_of

ExportOf = Callable[[Any], Path]
CARE = {"file": "ten.json", "column": "care", "type": "scale", "minimum": 1, "maximum": 5}


def judged(scores: Sequence[float | str], judge: str = "J", **also: Any) -> list[dict[str, Any]]:
    """A score for each of the conversations C0, C1, … of alternating arms; a text is the reason why there is none."""
    rows = []
    for number, score in enumerate(scores):
        about = {"conversation": f"C{number}", "participant": f"P{number}", "arm": "ab"[number % 2], "rater": judge}
        given = {"missing_reason": score} if isinstance(score, str) else {"score": score}
        rows.append(about | {"rater_kind": "judge", "strategy": "standard"} | given | also)
    return rows


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in coverage(load(folder), Bootstrap(50, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


def one(table: pd.DataFrame, statistic: str, arm: str = "*", **of: str) -> dict[str, Any]:
    chosen = (table["statistic"] == statistic) & (table["arm"] == arm)
    for name, value in of.items():
        chosen &= table[name] == value
    [row] = table[chosen].to_dict("records")
    return row


@pytest.fixture
def folder(export_of: ExportOf) -> Path:
    folder = export_of(judged([3, 5, "unparseable", 4, "timeout", 2, 5, "timeout"]))
    write_table(folder, "codebook", [CARE])
    return folder


def test_coverage_counts_what_is_missing_by_reason_and_arm(folder: Path) -> None:
    table = table_of(folder)
    whole = one(table, "missing_share")
    assert (whole["estimate"], whole["n"], whole["clusters"]) == (3 / 8, 8, 8)
    assert (whole["low"], whole["high"]) == wilson(3 / 8, 8)
    assert one(table, "reason: timeout")["estimate"] == 2 / 8
    assert one(table, "reason: unparseable")["estimate"] == 1 / 8
    assert [one(table, "missing_share", arm)["estimate"] for arm in "ab"] == [2 / 4, 1 / 4]
    assert one(table, "missing_share", item="care")["judge"] == "J"


def test_judge_that_refused_everything_is_wholly_missing(export_of: ExportOf) -> None:
    folder = export_of([*judged([3, 5, 4, 2]), *judged(["refused"] * 4, judge="Silent")])
    write_table(folder, "codebook", [CARE])
    table = table_of(folder)
    assert one(table, "missing_share", judge="Silent", item="care")["estimate"] == 1.0
    assert one(table, "reason: refused", judge="Silent")["estimate"] == 1.0
    assert [one(table, name, judge="Silent")["estimate"] for name in ("mean_lowest", "mean_highest")] == [1.0, 5.0]
    assert one(table, "mean", judge="Silent")["n"] == 0


def test_coverage_bounds_the_mean_by_the_worst_case(folder: Path) -> None:
    table = table_of(folder)
    found = {name: one(table, name) for name in ("mean", "mean_lowest", "mean_highest")}
    assert found["mean"]["estimate"] == pytest.approx(19 / 5)
    assert found["mean_lowest"]["estimate"] == pytest.approx((19 + 3 * 1) / 8)
    assert found["mean_highest"]["estimate"] == pytest.approx((19 + 3 * 5) / 8)
    assert [row["n"] for row in found.values()] == [5, 8, 8]
    for row in found.values():
        assert row["low"] <= row["estimate"] <= row["high"]
        assert "scale" not in row["note"]


def test_coverage_without_a_codebook_bounds_by_the_scores_and_says_so(export_of: ExportOf) -> None:
    table = table_of(export_of(judged([3, 5, "timeout"])))
    assert one(table, "mean_lowest")["estimate"] == pytest.approx(11 / 3)
    assert "scale taken from the scores, 3 to 5: codebook.csv has none" in one(table, "mean_lowest")["note"]


def test_coverage_counts_each_replicate_and_averages_them_first(export_of: ExportOf) -> None:
    folder = export_of([*judged([2, 4], replicate=1), *judged(["timeout", 5], replicate=2)])
    write_table(folder, "codebook", [CARE])
    table = table_of(folder)
    assert (one(table, "missing_share")["estimate"], one(table, "missing_share")["n"]) == (1 / 4, 4)
    assert one(table, "mean")["estimate"] == pytest.approx((2 + 4.5) / 2)
    assert one(table, "mean_lowest")["estimate"] == pytest.approx(((2 + 1) / 2 + 4.5) / 2)


def test_coverage_without_gaps_is_one_row_of_all_arms(export_of: ExportOf) -> None:
    [row] = table_of(export_of(judged([2, 4, 5]))).to_dict("records")
    assert (row["statistic"], row["arm"], row["estimate"]) == ("missing_share", "*", 0)


def test_coverage_of_a_judge_that_never_answers_has_no_mean(export_of: ExportOf) -> None:
    table = table_of(export_of([*judged(["timeout", ""]), *judged([2, 3], judge="other", item="safety")]))
    assert one(table, "missing_share", judge="J")["estimate"] == 1
    assert one(table, "reason: no reason given", judge="J")["estimate"] == 1 / 2
    assert "every score is missing" in one(table, "mean", judge="J")["note"]
    assert "the item's scale is not known" in one(table, "mean_lowest", judge="J")["note"]


def test_coverage_of_a_judge_that_never_answers_is_bounded_by_the_codebook(export_of: ExportOf) -> None:
    folder = export_of([*judged(["timeout", ""]), *judged([2, 3], judge="other", item="safety")])
    write_table(folder, "codebook", [CARE])
    table = table_of(folder)
    assert [one(table, name, judge="J")["estimate"] for name in ("mean_lowest", "mean_highest")] == [1, 5]


def test_coverage_bounds_lie_around_the_mean_whatever_is_missing(export_of: ExportOf) -> None:
    random = np.random.default_rng(4)
    scores = [float(score) if random.random() > 0.3 else "timeout" for score in random.integers(1, 6, 40)]
    folder = export_of(judged(scores))
    write_table(folder, "codebook", [CARE])
    table = table_of(folder)
    for arm in ("*", "a", "b"):
        lowest, mean, highest = (one(table, name, arm)["estimate"] for name in ("mean_lowest", "mean", "mean_highest"))
        assert lowest < mean < highest


def call(number: int, conversation: str, status: str, **also: Any) -> dict[str, Any]:
    made = {"call": number, "purpose": "judge", "judge": "J", "conversation": conversation, "turn": "", "replicate": 1}
    return made | {"prompt_version": "judge.en/1", "status": status} | also


def test_coverage_tells_how_often_answers_had_to_be_repaired(export_of: ExportOf) -> None:
    folder = export_of(judged([3, 5, 4, 2]))
    write_table(
        folder,
        "calls",
        [
            call(1, "C0", "ok"),
            call(2, "C1", "unparseable"),
            call(3, "C1", "ok"),
            call(4, "C2", "timeout"),
            call(5, "C2", "ok"),
            call(6, "C3", "out_of_range"),
            call(7, "C3", "unparseable"),
            call(8, "C3", "unparseable"),
            call(9, "C0", "unparseable", prompt_version="judge.en/1~padding/1.1"),
            call(10, "C0", "unparseable", purpose="thinker"),
            call(11, "elsewhere", "unparseable"),
        ],
    )
    table = table_of(folder)
    repairs = one(table, "repair_share")
    assert (repairs["estimate"], repairs["n"]) == (2 / 4, 4)
    assert [one(table, "repair_share", arm)["estimate"] for arm in "ab"] == [0, 1]


def talked(**also: Any) -> dict[str, Any]:
    return {"seeker_kind": "person", "turns": 10, "end_reason": "finished", "setup": "", "valid": "true"} | also


def test_coverage_tells_whose_conversations_have_no_final_rating(export_of: ExportOf) -> None:
    about = [{"conversation": f"C{n}", "participant": f"P{n}", "arm": "ab"[n % 2]} for n in range(6)]
    ratings = [about[0] | {"rater": "P0", "score": 3}, about[1] | {"rater": "P1", "score": 3, "moment": "turn"}]
    ratings.append(about[2] | {"rater": "E1", "rater_kind": "reviewer", "score": 3})
    folder = export_of(ratings)
    conversations = [row | talked() for row in about]
    conversations[4] |= {"end_reason": ""}
    conversations[5] |= {"turns": 0}
    simulated = {"conversation": "S1", "participant": "", "arm": "a"} | talked(seeker_kind="simulated")
    write_table(folder, "conversations", [*conversations, simulated])
    table = table_of(folder)
    row = one(table, "no_final_rating")
    assert (row["estimate"], row["n"], row["judge"], row["moment"]) == (3 / 4, 4, "", "final")
    assert [one(table, "no_final_rating", arm)["estimate"] for arm in "ab"] == [1 / 2, 1]


def rated_by_people() -> list[dict[str, Any]]:
    """Six seekers and a reviewer; P0 and P2 of arm a left `safety` out, P1 of arm b said why not; P5 is left out."""
    rows: list[dict[str, Any]] = []
    for number in range(6):
        of = {"conversation": f"C{number}", "participant": f"P{number}", "arm": "ab"[number % 2], "rater": f"P{number}"}
        left = {0: "not_answered", 1: "prefer_not", 2: "not_answered", 5: "not_answered"}.get(number)
        rows += [of | {"score": 3}, of | {"item": "safety"} | ({"missing_reason": left} if left else {"score": 4})]
    reviewed = {"rater": "R1", "rater_kind": "reviewer", "item": "safety"}
    rows.append(rows[0] | reviewed | {"score": 2})
    rows.append(rows[2] | reviewed | {"score": "", "missing_reason": "not_answered"})
    return rows


def test_coverage_counts_what_each_kind_of_raters_left_out_of_an_item(export_of: ExportOf) -> None:
    folder = export_of(rated_by_people())
    write_table(folder, "participants", [{"participant": "P5", "excluded": "true"}])
    table = table_of(folder)
    whole = one(table, "skipped_share", item="safety", raters="seeker")
    assert (whole["estimate"], whole["n"], whole["clusters"], whole["note"]) == (3 / 5, 5, 5, "2 of 5 have a score")
    assert (whole["low"], whole["high"]) == wilson(3 / 5, 5)
    assert (whole["judge"], whole["instrument"], whole["moment"]) == ("", "ten", "final")
    reasons = {"skipped: not_answered": 2 / 5, "skipped: prefer_not": 1 / 5}
    assert {name: one(table, name, item="safety", raters="seeker")["estimate"] for name in reasons} == reasons
    of_arms = [one(table, "skipped_share", arm, item="safety", raters="seeker") for arm in "ab"]
    assert [(row["estimate"], row["n"]) for row in of_arms] == [(2 / 3, 3), (1 / 2, 2)]
    assert one(table, "skipped_share", item="care", raters="seeker")["estimate"] == 0
    reviewer = one(table, "skipped_share", item="safety", raters="reviewer")
    assert (reviewer["estimate"], reviewer["n"]) == (1 / 2, 2)


def test_coverage_leaves_out_what_raters_who_are_left_out_did_not_score(export_of: ExportOf) -> None:
    folder = export_of(rated_by_people())
    write_table(folder, "participants", [{"participant": "R1", "excluded": "true"}])
    table = table_of(folder)
    assert set(table["raters"]) == {"seeker"}
    assert one(table, "skipped_share", item="safety", raters="seeker")["n"] == 6


def test_coverage_of_people_who_skipped_nothing_says_so(export_of: ExportOf) -> None:
    [row] = table_of(export_of([{"conversation": "C1", "score": 3}])).to_dict("records")
    assert (row["statistic"], row["raters"], row["estimate"], row["n"]) == ("skipped_share", "seeker", 0, 1)


def test_coverage_of_judges_names_no_raters(folder: Path) -> None:
    assert set(table_of(folder)["raters"]) == {""}


def test_coverage_ignores_the_order_of_rows(export_of: ExportOf) -> None:
    rows = judged([3, 5, "unparseable", 4, "timeout"])
    pd.testing.assert_frame_equal(table_of(export_of(rows)), table_of(export_of(list(reversed(rows)))))


def test_methods_name_every_statistic(folder: Path) -> None:
    said = {name.partition(":")[0] for name in METHODS}
    assert {statistic.partition(":")[0] for statistic in table_of(folder)["statistic"]} <= said
