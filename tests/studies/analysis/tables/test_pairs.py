"""pairwise.csv from made-up verdicts, whose truth is known."""

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest
from scipy.stats import binomtest  # noqa: TID253

from studies.analysis import AnalysisError, analyse
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.language import speaking
from studies.analysis.reporting.naming import contestant_name, raters_name
from studies.analysis.tables.pairs import TABLE, pairwise
from studies.analysis.tables.verdicts import read_verdicts
from tests.studies.analysis.builders import frame_of
from tests.studies.analysis.test_run import Page

ExportOf = Callable[[Any], Path]
COLUMNS = (
    "pair,conversation_a,conversation_b,rater,rater_kind,question,shown_first,verdict,reason,instrument,plan,"
    "judged_at,turn_a,turn_b,arm_a,arm_b,role"
)
CONVERSATIONS = "conversation,participant,arm,condition,seeker_kind,profile,valid,setup"
PLANTED = {"amber": 1.0, "birch": 0.2, "cedar": -0.3, "delta": -0.9}
FLIPPED = {"a": "b", "b": "a", "tie": "tie", "": ""}

Rows = list[dict[str, str]]


def write(path: Path, header: str, rows: Iterable[Mapping[str, str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, header.split(","), restval="")
        writer.writeheader()
        writer.writerows(rows)


def verdict(pair: str, a: str, b: str, said: str, **fields: str) -> dict[str, str]:
    usual = {"rater": "R1", "rater_kind": "reviewer", "question": "better", "shown_first": "a", "instrument": "own"}
    return usual | {"pair": pair, "conversation_a": a, "conversation_b": b, "verdict": said} | fields


def simulated(people: int = 40, raters: int = 8, bias: float = 0.0, ties: float = 0.2, seed: int = 5) -> Rows:
    """Everyone talked once with every arm; each of a person's six pairs is judged by two raters."""
    draw = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        for a, b in combinations(PLANTED, 2):
            for rater in draw.choice(raters, 2, replace=False):
                first = "ab"[draw.integers(2)]
                lead = PLANTED[a] - PLANTED[b] + (bias if first == "a" else -bias)
                won = "a" if draw.random() < 1 / (1 + np.exp(-lead)) else "b"
                said = "tie" if draw.random() < ties else won
                pair = f"{person}{a}{b}"
                rows.append(verdict(pair, f"C{person}{a}", f"C{person}{b}", said, rater=f"R{rater}", shown_first=first))
    return rows


def chats_of(rows: Rows) -> Rows:
    """By their names: the person, and then the arm."""
    names = sorted({row[f"conversation_{side}"] for row in rows for side in "ab"})
    found = []
    for name in names:
        person = name.rstrip("abcdefghijklmnopqrstuvwxyz")
        found.append({"conversation": name, "participant": person, "arm": name[len(person) :], "seeker_kind": "person"})
    return found


def exported(export_of: ExportOf, rows: Rows, chats: Rows | None = None) -> Path:
    folder = export_of([{"conversation": "C0amber", "participant": "C0", "score": 3}])
    write(folder / "pairs.csv", COLUMNS, rows)
    write(folder / "conversations.csv", CONVERSATIONS, chats_of(rows) if chats is None else chats)
    return folder


def tables_of(folder: Path, replicates: int = 300) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the contests of two, and the contestants against all others."""
    rows = [row for _, found in pairwise(load(folder), Bootstrap(replicates, 1)) for row in found]
    table = frame_of(rows, TABLE.all_columns())
    against_all = table["contestant_b"] == "*"
    contests, scale = table[~against_all], table[against_all].rename(columns={"contestant_a": "contestant"})
    return contests.reset_index(drop=True), scale.reset_index(drop=True)


def test_planted_strengths_lie_in_their_intervals(export_of: ExportOf) -> None:
    _, scale = tables_of(exported(export_of, simulated(people=150, ties=0)), replicates=400)
    scale = scale.set_index("contestant")
    assert scale["strength"].to_dict() == pytest.approx(PLANTED, abs=0.25)
    for name, planted in PLANTED.items():
        assert scale.at[name, "strength_low"] < planted < scale.at[name, "strength_high"]
    assert scale["n"].to_dict() == dict.fromkeys(PLANTED, 150 * 3 * 2)
    assert set(scale["method"]) == {"percentile pigeonhole bootstrap (raters × participants)"}
    assert set(scale["clusters"]) == {150}


def test_shares_are_counted_and_the_sign_test_counts_each_participant_once(export_of: ExportOf) -> None:
    rows = simulated()
    table, _ = tables_of(exported(export_of, rows))
    assert table[["contestant_a", "contestant_b"]].to_numpy().tolist() == [
        list(two) for two in combinations(PLANTED, 2)
    ]
    for row in table.to_dict("records"):
        said = [
            one
            for one in rows
            if one["conversation_a"].endswith(row["contestant_a"])
            and one["conversation_b"].endswith(row["contestant_b"])
        ]
        shares = [sum(one["verdict"] == kind for one in said) / len(said) for kind in ("a", "tie", "b")]
        assert [row["win"], row["tie"], row["loss"]] == pytest.approx(shares)
        assert (row["n"], row["clusters"]) == (80, 40)
        assert row["win_low"] < row["win"] < row["win_high"]
        balance = pd.Series(
            [{"a": 1, "b": -1, "tie": 0}[one["verdict"]] for one in said], [one["pair"] for one in said]
        )
        by_person = balance.groupby(level=0).sum()
        wins, decided = int((by_person > 0).sum()), int((by_person != 0).sum())
        assert row["p"] == pytest.approx(binomtest(wins, decided).pvalue)
    assert (table["p_holm"] >= table["p"]).all()
    assert table["p_holm"].min() == pytest.approx(6 * table["p"].min())


def test_judges_of_two_roles_are_never_pooled(export_of: ExportOf) -> None:
    rows = [
        verdict(f"{n}{judge}", f"C{n}amber", f"C{n}birch", said, rater=judge, rater_kind="judge", role=role)
        for n in range(6)
        for judge, role, said in (("own", "seeker", "a"), ("old", "", "a"), ("outer", "third_person", "b"))
    ]
    table, scale = tables_of(exported(export_of, rows))
    found = table.set_index("raters")
    assert found["role"].to_dict() == {"judge": "seeker", "judge::third_person": "third_person"}
    assert found["win"].to_dict() == {"judge": 1.0, "judge::third_person": 0.0}
    assert found["n"].to_dict() == {"judge": 12, "judge::third_person": 6}
    assert set(scale["role"]) == {"seeker", "third_person"}
    assert raters_name("judge::third_person") == "judges (by the third-person rubric)"


def test_judge_with_two_roles_in_pairs_is_refused(export_of: ExportOf) -> None:
    rows = [
        verdict(f"{n}", f"C{n}amber", f"C{n}birch", "a", rater="gpt", rater_kind="judge", role=role)
        for n, role in enumerate(("seeker", "evaluator"))
    ]
    with pytest.raises(AnalysisError, match="role: the judge gpt has two roles, seeker and evaluator"):
        tables_of(exported(export_of, rows))


def test_interval_of_a_share_is_about_that_of_independent_verdicts_where_they_are(export_of: ExportOf) -> None:
    draw = np.random.default_rng(2)
    rows = [
        verdict(f"{n}", f"C{n}amber", f"C{n}birch", "ab"[int(draw.random() < 0.4)], rater=f"R{n}") for n in range(400)
    ]
    row = tables_of(exported(export_of, rows), replicates=2000)[0].iloc[0]
    assert row["method"] == "percentile cluster bootstrap (participants)"
    width = 2 * 1.96 * np.sqrt(row["win"] * (1 - row["win"]) / 400)
    assert row["win_high"] - row["win_low"] == pytest.approx(width, rel=0.1)


def test_interval_of_crossed_raters_and_participants_is_wider_and_at_most_by_the_root_of_three(
    export_of: ExportOf,
) -> None:
    """Owen (2007): what is mere noise counts three times in the variance of the pigeonhole bootstrap."""
    draw = np.random.default_rng(2)
    said = [
        [f"{n} {r}", f"C{n}amber", f"C{n}birch", "ab"[int(draw.random() < 0.4)], f"R{r}"]
        for n in range(40)
        for r in range(20)
    ]
    rows = [verdict(*of, rater=rater) for *of, rater in said]
    row = tables_of(exported(export_of, rows), replicates=2000)[0].iloc[0]
    width = 2 * 1.96 * np.sqrt(row["win"] * (1 - row["win"]) / 800)
    assert width < row["win_high"] - row["win_low"] < 1.9 * width


def test_one_rater_alone_is_not_drawn_again(export_of: ExportOf) -> None:
    rows = [row | {"rater": "R1"} for row in simulated(people=12)]
    table, scale = tables_of(exported(export_of, rows[::2]))
    assert set(table["method"]) == set(scale["method"]) == {"percentile cluster bootstrap (participants)"}
    assert table["note"].str.contains("only 1 raters × 12 clusters").all()


def test_bias_for_what_is_shown_first_is_seen(export_of: ExportOf) -> None:
    table, _ = tables_of(exported(export_of, simulated(bias=1.5)))
    assert table["first_share"].mean() == pytest.approx(0.75, abs=0.05)
    unbiased, _ = tables_of(exported(export_of, simulated()))
    assert unbiased["first_share"].mean() == pytest.approx(0.5, abs=0.05)


def test_where_nobody_says_what_was_first_its_share_is_empty(export_of: ExportOf) -> None:
    rows = [row | {"shown_first": ""} for row in simulated(people=3)]
    table, _ = tables_of(exported(export_of, rows))
    assert table["first_share"].isna().all()
    assert table["note"].str.startswith("first_share: no verdict prefers a side that is known").all()


def test_which_side_is_called_a_and_the_order_of_rows_are_of_no_account(export_of: ExportOf) -> None:
    rows = simulated(people=10)
    expected = tables_of(exported(export_of, rows))
    turned = [
        row
        | {"conversation_a": row["conversation_b"], "conversation_b": row["conversation_a"]}
        | {name: FLIPPED[row[name]] for name in ("verdict", "shown_first")}
        if number % 3
        else row
        for number, row in enumerate(rows)
    ]
    for one, other in zip(expected, tables_of(exported(export_of, turned[::-1])), strict=True):
        pd.testing.assert_frame_equal(one, other)


def test_relabelling_the_arms_relabels_the_results(export_of: ExportOf) -> None:
    names = {"amber": "zinc", "birch": "yew", "cedar": "xenon", "delta": "willow"}
    rows = simulated(people=10)
    _, before = tables_of(exported(export_of, rows))
    chats = [chat | {"arm": names[chat["arm"]]} for chat in chats_of(rows)]
    table, after = tables_of(exported(export_of, rows, chats))
    renamed = before.assign(contestant=before["contestant"].map(names)).sort_values("contestant", ignore_index=True)
    same = ["contestant", "n", "clusters"]
    assert after[same].to_dict() == renamed[same].to_dict()
    assert after["strength"].tolist() == pytest.approx(renamed["strength"].tolist())
    assert table.iloc[0][["contestant_a", "contestant_b"]].tolist() == ["willow", "xenon"]


def test_a_contestant_against_all_others_has_the_shares_of_its_verdicts(export_of: ExportOf) -> None:
    rows = simulated(people=10)
    _, scale = tables_of(exported(export_of, rows))
    for row in scale.to_dict("records"):
        name, won = row["contestant"], 0
        for one in rows:
            sides = {side: one[f"conversation_{side}"].lstrip("C0123456789") for side in "ab"}
            won += any(sides[side] == name and one["verdict"] == side for side in "ab")
        assert row["n"] == 10 * 3 * 2
        assert row["win"] == pytest.approx(won / row["n"])
        assert row["win"] + row["tie"] + row["loss"] == pytest.approx(1)


def test_ties_count_as_half_a_win_for_either(export_of: ExportOf) -> None:
    said = ["tie"] * 6 + ["a"] * 6
    rows = [verdict(f"{n}", f"C{n}amber", f"C{n}birch", one, rater=f"R{n % 4}") for n, one in enumerate(said)]
    _, scale = tables_of(exported(export_of, rows))
    assert scale["strength"].tolist() == pytest.approx([np.log(3) / 2, -np.log(3) / 2])


@pytest.mark.parametrize(
    ("met", "reason"),
    [
        ([("amber", "birch"), ("cedar", "delta")], "not all contestants met, not even through others"),
        (
            [("amber", "birch"), ("birch", "cedar")],
            "some contestants were preferred to the others without exception, so no finite strength fits",
        ),
    ],
)
def test_contestants_that_nothing_connects_have_no_strength_but_a_reason(
    export_of: ExportOf, met: list[tuple[str, str]], reason: str
) -> None:
    rows = [verdict(f"{n}{a}", f"C{n}{a}", f"C{n}{b}", "a") for a, b in met for n in range(4)]
    table, scale = tables_of(exported(export_of, rows))
    assert scale[["strength", "strength_low", "strength_high"]].isna().all(axis=None)
    assert scale["note"].str.contains(f"strength: {reason}", regex=False).all()
    assert set(table["win"]) == {1.0}
    interval = binomtest(4, 4).proportion_ci(method="wilson")
    assert table[["win_low", "win_high"]].iloc[0].tolist() == pytest.approx([interval.low, interval.high])
    assert "Wilson's interval with n = clusters" in table["note"].iloc[0]


def test_strength_that_few_resamples_have_gets_no_interval(export_of: ExportOf) -> None:
    said = ["a"] * 9 + ["b"]
    rows = [verdict(f"{n}", f"C{n}amber", f"C{n}birch", one) for n, one in enumerate(said)]
    _, scale = tables_of(exported(export_of, rows))
    assert scale["strength"].notna().all()
    assert scale["strength_low"].isna().all()
    assert scale["note"].str.contains("of 300 resamples have no finite strengths").all()


def test_one_verdict_alone_has_no_interval(export_of: ExportOf) -> None:
    table, _ = tables_of(exported(export_of, [verdict("1", "C1amber", "C1birch", "a")]))
    assert "win_low, win_high: one rater and one cluster" in table["note"].iloc[0]
    tied, _ = tables_of(exported(export_of, [verdict("1", "C1amber", "C1birch", "tie")]))
    assert "p: no cluster prefers either" in tied["note"].iloc[0]


def test_seekers_are_the_contestants_where_the_arm_is_the_same(export_of: ExportOf) -> None:
    rows = [
        verdict("1", "S1", "S2", "a"), verdict("2", "S2", "P1", "tie"), verdict("3", "P1", "S1", "a"),
        verdict("4", "S1", "S1again", "a"),
    ]  # fmt: skip
    kinds = {"S1": ("simulated", "average"), "S2": ("simulated", "worst_case"), "P1": ("person", "")}
    kinds["S1again"] = kinds["S1"]
    chats = [
        {"conversation": name, "arm": "amber", "seeker_kind": kind, "condition": condition, "profile": "p"}
        for name, (kind, condition) in kinds.items()
    ]
    table, scale = tables_of(exported(export_of, rows, chats))
    assert scale["contestant"].tolist() == ["person", "simulated average", "simulated worst_case"]
    assert table["n"].sum() == 3
    assert set(table["clusters"]) == {1}


def test_without_conversations_the_arms_are_those_of_the_pairs(export_of: ExportOf) -> None:
    rows = [
        row | {"arm_a": row["conversation_a"][2:], "arm_b": row["conversation_b"][2:]} for row in simulated(people=9)
    ]
    folder = exported(export_of, rows)
    (folder / "conversations.csv").unlink()
    table, scale = tables_of(folder)
    assert scale["contestant"].tolist() == list(PLANTED)
    assert table["clusters"].max() == 9


def test_verdicts_of_and_about_what_is_left_out_do_not_count(export_of: ExportOf) -> None:
    rows = simulated(people=6)
    chats = [chat | {"valid": str(chat["conversation"] != "C0amber").lower()} for chat in chats_of(rows)]
    folder = exported(export_of, rows, chats)
    write(folder / "participants.csv", "participant,excluded", [
        {"participant": "C1", "excluded": "true"}, {"participant": "R0", "excluded": "true"},
    ])  # fmt: skip
    write(folder / "ratings.csv", "conversation,rater,rater_kind,instrument,item,score", [
        {"conversation": "C2amber", "rater": "C2", "rater_kind": "seeker", "instrument": "i", "item": "i", "score": "3"}
    ])  # fmt: skip
    table, _ = tables_of(folder)
    counted = [
        row
        for row in rows
        if row["rater"] != "R0" and not row["pair"].startswith("1") and "C0amber" not in row.values()
    ]
    assert table["n"].sum() == len(counted) < len(rows)


def test_verdicts_on_two_arms_about_an_ablation_do_not_count_and_are_told(export_of: ExportOf) -> None:
    rows = simulated(people=6)
    changed = {"C2amber": "without resistance", "C1birch": "one_agent"}
    chats = [chat | {"setup": changed.get(chat["conversation"], "")} for chat in chats_of(rows)]
    folder = exported(export_of, rows, chats)
    table, _ = tables_of(folder)
    counted = [row for row in rows if not changed.keys() & row.values()]
    assert table["n"].sum() == len(counted) < len(rows)
    verdicts = read_verdicts(load(folder))
    assert (verdicts.left_out, verdicts.alike, verdicts.ablated) == (0, 0, len(rows) - len(counted))


def test_seekers_of_an_ablation_are_contestants_beside_the_whole_ones(export_of: ExportOf) -> None:
    """EmoHarbor's Figure 5."""
    rows = simulated(people=6)
    chats = [
        chat | {"arm": "amber", "seeker_kind": "simulated", "condition": "average", "setup": setup}
        for chat in chats_of(rows)
        for setup in ["one agent" if chat["conversation"].endswith("birch") else ""]
    ]
    folder = exported(export_of, rows, chats)
    table, _ = tables_of(folder)
    assert set(table["contestant_a"]) | set(table["contestant_b"]) == {
        "simulated average",
        "simulated average (one agent)",
    }
    assert read_verdicts(load(folder)).ablated == 0
    with speaking("en"):
        assert contestant_name("simulated average (one agent)") == "simulated seekers, average (one agent)"


def test_without_pairs_the_table_is_empty_and_the_report_says_so(export_of: ExportOf, tmp_path: Path) -> None:
    folder = export_of([{"conversation": "C", "arm": "a", "score": 3}])
    summary = analyse(folder, tmp_path / "out", bootstrap=20)
    assert summary.rows["pairwise"] == 0
    text = Page((tmp_path / "out" / "report.html").read_text(encoding="utf-8")).text
    assert text.count("No pair of different arms or seekers was compared.") == 1


def test_report_shows_the_strengths_and_who_won(export_of: ExportOf, tmp_path: Path) -> None:
    rows = simulated(people=10)
    rows += [row | {"question": "safer"} for row in rows]
    files = analyse(exported(export_of, rows), tmp_path / "out", bootstrap=50).files
    assert "figures/bradley-terry-reviewer-own.svg" in files
    page = Page((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert "Side-by-side preferences" in page.text
    assert "Side by side, as preferred by reviewers, own: strengths with 95\u00a0% intervals" in page.text
    results = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert len(results["tables"]["pairwise"]) == 12 + 8
    assert "pairs.csv" in results["files"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"verdict": "first"}, "pairs.csv:3:verdict: 'first' is not one of a, b, tie"),
        ({"shown_first": "left"}, "pairs.csv:3:shown_first: 'left' is neither a nor b"),
        (
            {"rater_kind": "human"},
            "pairs.csv:3:rater_kind: 'human' is not one of seeker, expert, reviewer, crowd, judge, simulated_seeker",
        ),
        ({"question": ""}, "pairs.csv:3:question: is empty"),
    ],
)  # fmt: skip
def test_fault_in_pairs_is_named_with_line_and_column(export_of: ExportOf, change: dict[str, str], fault: str) -> None:
    rows = [verdict("1", "C1amber", "C1birch", "a"), verdict("2", "C2amber", "C2birch", "a") | change]
    with pytest.raises(AnalysisError) as raised:
        tables_of(exported(export_of, rows))
    assert str(raised.value) == fault
