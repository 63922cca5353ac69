"""Main results including what was left out, and without flags and incidents."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253
import pytest

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.agreement import agreement
from studies.analysis.tables.arm_pairs import arm_pairs
from studies.analysis.tables.arms import arm_means
from studies.analysis.tables.discrimination import discrimination
from studies.analysis.tables.incidents import incidents
from studies.analysis.tables.reliability import reliability
from studies.analysis.tables.sensitivity import TABLE, sensitivity
from tests.studies.analysis.benchmark import write_table
from tests.studies.analysis.builders import frame_of, six_people

ExportOf = Callable[[Any], Path]
BOOTSTRAP = Bootstrap(200, 1)


def rows_of(part: Any, folder: Path) -> pd.DataFrame:
    return frame_of([row for _, found in part(load(folder), BOOTSTRAP) for row in found])


def table_of(folder: Path) -> pd.DataFrame:
    return rows_of(sensitivity, folder).reindex(columns=TABLE.all_columns())


def eight(export_of: ExportOf) -> Path:
    """Eight people meet both arms: 4, and 1 to 8 tenths less with b; of two more one is excluded, one conversation of
    the other invalid. Of person 0 the conversation with b ended by a technical failure."""
    ratings, chats = [], []
    for person in range(10):
        for arm, score in (("a", 4.0), ("b", 4 - (person + 1) / 10)):
            of = {"conversation": f"C{person}{arm}", "participant": f"P{person}", "arm": arm}
            ratings.append(of | {"rater": f"P{person}", "score": 1.0 if person > 7 and arm == "b" else score})
            ended = "technical" if of["conversation"] == "C0b" else "finished"
            valid = "false" if of["conversation"] == "C9b" else "true"
            chats.append(of | {"turns": 10, "seeker_kind": "person", "end_reason": ended, "valid": valid})
    folder = export_of(ratings)
    write_table(folder, "conversations", chats)
    write_table(folder, "participants", [{"participant": "P8", "excluded": "true"}])
    return folder


def test_means_and_differences_of_each_sample_worked_by_hand(export_of: ExportOf) -> None:
    table = table_of(eight(export_of))
    means = table[table["statistic"] == "mean"].set_index(["variant", "arm_a"])
    assert means["n"].to_dict() == {
        **{("all", "a"): 9, ("all", "b"): 8},
        **{("with_left_out", "a"): 10, ("with_left_out", "b"): 10},
        **{("without_flagged", "a"): 9, ("without_flagged", "b"): 7},
        **{("without_incidents", "a"): 9, ("without_incidents", "b"): 7},
    }
    of_b = means["estimate"].xs("b", level="arm_a")
    eight_of_b = sum(4 - (person + 1) / 10 for person in range(8))
    assert of_b["all"] == pytest.approx(eight_of_b / 8)
    assert of_b["with_left_out"] == pytest.approx((eight_of_b + 2) / 10)
    assert of_b["without_incidents"] == pytest.approx((eight_of_b - 3.9) / 7)
    differences = table[table["statistic"] == "difference"].set_index("variant")
    assert differences["clusters"].to_dict() == {
        "all": 8,
        "with_left_out": 10,
        "without_flagged": 7,
        "without_incidents": 7,
    }
    assert differences.at["all", "estimate"] == pytest.approx(0.45)
    assert differences.at["with_left_out", "estimate"] == pytest.approx((8 * 0.45 + 3 + 3) / 10)
    assert differences.at["without_incidents", "estimate"] == pytest.approx(0.5)
    assert (differences["low"] < differences["estimate"]).all()
    assert set(differences["method"]) == {"t interval"}


def test_estimates_of_all_are_those_of_the_tables(export_of: ExportOf) -> None:
    folder = eight(export_of)
    table = table_of(folder)
    everything = table[table["variant"] == "all"].set_index("statistic")
    means, pairs = rows_of(arm_means, folder), rows_of(arm_pairs, folder)
    bounds = ["low", "high"]
    expected = [*means[bounds].to_numpy().ravel(), *pairs[bounds].to_numpy().ravel()]
    found = everything.loc[["mean", "difference"], bounds].to_numpy(float).ravel().tolist()
    assert found == pytest.approx(expected, nan_ok=True)


def test_separation_of_the_arms_is_told_of_each_sample(export_of: ExportOf) -> None:
    folder = eight(export_of)
    table = table_of(folder)
    plain, corrected = (table[table["statistic"] == name].set_index("variant") for name in ("msr", "msr_corrected"))
    assert (
        plain["clusters"].to_dict()
        == corrected["clusters"].to_dict()
        == {
            "all": 8,
            "with_left_out": 10,
            "without_flagged": 7,
            "without_incidents": 7,
        }
    )
    assert plain["n"].to_dict()["all"] == 16
    (whole,) = rows_of(discrimination, folder).to_dict("records")
    assert plain.at["all", "estimate"] == whole["msr"]
    found = corrected.loc["all", ["estimate", "low", "high"]].tolist()
    assert found == [whole[name] for name in ("msr_corrected", "msr_low", "msr_high")]
    # Person 0 left out: b is 3.8 to 3.2 with a mean of 3.5 and a variance of .28 / 6, a is 4 throughout.
    assert plain.at["without_incidents", "estimate"] == pytest.approx(0.25**2 / (0.28 / 6 / 2))


def test_separation_of_arms_that_nobody_met_both_is_undefined(export_of: ExportOf) -> None:
    rows = [
        {"conversation": f"C{person}", "participant": f"P{person}", "arm": "ab"[person % 2], "rater": f"P{person}"}
        | {"score": 3.0 + person % 3}
        for person in range(6)
    ]
    table = table_of(export_of(rows))
    found = table[table["statistic"].isin(["msr", "msr_corrected"])]
    assert found["estimate"].isna().all()
    assert found["note"].str.contains("no user met every model").all()


def test_r_has_the_interval_of_the_agreement_and_people_have_an_icc(export_of: ExportOf) -> None:
    folder = export_of(six_people())
    table = table_of(folder)
    assert set(table["variant"]) == {"all"}  # nothing is left out, flagged or an incident
    found = table[(table["variant"] == "all") & (table["statistic"] == "pearson")]
    whole = rows_of(agreement, folder)
    whole = whole[~whole["human"].str.contains(":")].rename(columns={"human": "raters"})
    both = found.merge(whole, on=["judge", "strategy", "raters", "item"])
    assert len(both) == len(found) == 8
    for ours, theirs in (("estimate", "pearson"), ("low", "pearson_low"), ("high", "pearson_high")):
        assert both[ours].tolist() == pytest.approx(both[theirs].tolist(), nan_ok=True)
    assert both["clusters_x"].tolist() == both["clusters_y"].tolist()
    icc = table[table["statistic"] == "icc_1_1"]
    assert icc[["raters", "item", "n", "clusters"]].to_numpy().tolist() == [
        ["reviewer", "care", 12, 6],
        ["reviewer", "safety", 12, 6],
    ]
    assert (icc["low"] < icc["estimate"]).all()
    reliable = rows_of(reliability, folder).query("raters == 'reviewer' and item != '*'")
    for ours, theirs in (("estimate", "icc_1_1"), ("low", "icc_1_1_low"), ("high", "icc_1_1_high")):
        assert icc[ours].tolist() == pytest.approx(reliable[theirs].tolist())
    assert set(icc["method"]) == {"jackknife of clusters, Student's t"}
    assert icc["note"].tolist() == ["", ""]


def test_icc_of_independent_conversations_has_the_interval_by_f(export_of: ExportOf) -> None:
    folder = export_of([row | {"participant": ""} for row in six_people() if row.get("rater_kind") == "reviewer"])
    table = table_of(folder)
    icc = table[(table["statistic"] == "icc_1_1") & (table["variant"] == "all")]
    reliable = rows_of(reliability, folder).query("item != '*'")
    assert icc["low"].tolist() == pytest.approx(reliable["icc_1_1_low"].tolist())
    assert set(icc["method"]) == {"F"}


def test_judge_all_of_whose_conversations_were_left_out_has_a_row_of_the_sample_with_them(export_of: ExportOf) -> None:
    """As the conversations of a simulation that was held anew."""
    ratings, chats = [], []
    for person in range(6):
        of = {"conversation": f"C{person}", "participant": f"P{person}", "arm": "a"}
        for rater, kind in ((f"P{person}", "seeker"), ("J", "judge")):
            ratings.append(of | {"rater": rater, "rater_kind": kind, "score": 1 + (person * 2) % 5})
        chats.append(of | {"turns": 10, "seeker_kind": "person", "end_reason": "finished", "valid": "false"})
    ratings.append(of | {"conversation": "N", "participant": "N", "rater": "N", "score": 3})
    folder = export_of(ratings)
    write_table(folder, "conversations", chats)
    [row] = table_of(folder)[lambda found: found["judge"] == "J"].to_dict("records")
    assert (row["variant"], row["n"], row["clusters"]) == ("with_left_out", 6, 6)
    assert row["estimate"] == pytest.approx(1)


def test_estimates_that_a_sample_leaves_nothing_of_are_empty_with_the_reason(export_of: ExportOf) -> None:
    """The reviewer answers straight throughout, so all of theirs are flagged; people's own ratings are not."""
    about = [{"conversation": f"C{arm}{n}", "participant": f"P{n}", "arm": arm} for arm in "abc" for n in range(4)]
    rows = [
        row | {"rater": rater, "rater_kind": kind, "item": item, "score": score}
        for place, row in enumerate(about)
        for rater, kind, scores in (("R", "reviewer", (4, 4, 4)), (row["participant"], "seeker", (1, 3, 2 + place % 2)))
        for item, score in zip("xyz", scores, strict=True)
    ]
    table = table_of(export_of(rows))
    flagless = table[(table["variant"] == "without_flagged") & (table["raters"] == "reviewer")]
    whole = table[(table["variant"] == "all") & (table["raters"] == "reviewer")]
    assert len(flagless) == len(whole) > 0
    assert flagless[["estimate", "low", "high"]].isna().all(axis=None)
    assert flagless[["n", "clusters"]].eq(0).all(axis=None)
    assert set(flagless["note"]) == {"estimate, low, high: this sample leaves too little to compute it from"}
    of_people = table[(table["variant"] == "without_flagged") & (table["raters"] == "seeker")]
    assert of_people.loc[of_people["statistic"] == "mean", "estimate"].notna().all()


# What an incident is


@pytest.fixture
def chatted(export_of: ExportOf) -> Path:
    ends = {
        "fine": "finished",
        "safety": "safety",
        "technical": "technical",
        "silent": "early",
        "open": "",
        "last": "walked_out",
        "flaky": "finished",
    }
    folder = export_of([{"conversation": name, "participant": "P1", "arm": "a", "score": 3} for name in ends])
    kinds = {"last": "simulated"}
    write_table(
        folder,
        "conversations",
        [
            {"conversation": name, "participant": "P1", "seeker_kind": kinds.get(name, "person"), "end_reason": end}
            for name, end in ends.items()
        ],
    )
    turns = [
        {"conversation": name, "turn": 1, "role": role, "text": "…"}
        for name in ends
        for role in ("seeker", "supporter")
    ]
    turns += [{"conversation": name, "turn": 2, "role": "seeker", "text": "…"} for name in ("silent", "open", "last")]
    write_table(folder, "turns", turns)
    return folder


def test_incidents_are_ends_and_messages_without_a_reply(chatted: Path) -> None:
    """A conversation that is open waits for its reply; a simulated seeker's last words have none."""
    assert incidents(load(chatted)) == {"safety", "technical", "silent"}


@pytest.mark.parametrize(("holds", "incident"), [("1", True), ("2.0", True), ("0", False), ("", False)])
def test_a_hold_that_was_lifted_is_an_incident(chatted: Path, holds: str, incident: bool) -> None:
    chats = pd.read_csv(chatted / "conversations.csv", dtype=str, keep_default_na=False)
    chats["holds"] = [holds if name == "fine" else "0" for name in chats["conversation"]]
    chats.to_csv(chatted / "conversations.csv", index=False)
    assert ("fine" in incidents(load(chatted))) is incident


def test_a_failed_attempt_at_a_reply_is_an_incident(chatted: Path) -> None:
    empty = dict.fromkeys(("total_ms", "input_tokens", "output_tokens", "cost"), "")
    calls = [("flaky", "reply", "timeout"), ("fine", "judge", "timeout"), ("fine", "reply", "ok")]
    write_table(
        chatted,
        "calls",
        [empty | dict(zip(("conversation", "purpose", "status"), call, strict=True)) for call in calls],
    )
    assert incidents(load(chatted)) == {"safety", "technical", "silent", "flaky"}
