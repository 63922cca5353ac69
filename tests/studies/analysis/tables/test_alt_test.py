import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats  # noqa: TID253

from studies.analysis import AnalysisError
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.alt_test import COLUMNS, METHODS, TABLE, alt_test
from tests.studies.analysis.builders import frame_of

ExportOf = Callable[[Any], Path]
JUDGE = {"rater": "J", "rater_kind": "judge", "strategy": "standard"}
NUMBERS = ["estimate", "low", "high", "p", "p_adjusted", "n", "clusters"]


def table_of(folder: Path, replicates: int = 50) -> pd.DataFrame:
    rows = [row for _, found in alt_test(load(folder), Bootstrap(replicates, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


def rated(
    judge: Any, *, kind: str = "reviewer", of: dict[str, Any] | None = None, **raters: Any
) -> list[dict[str, Any]]:
    """One conversation per score of the judge; an empty score is none."""
    rows: list[dict[str, Any]] = []
    for number, score in enumerate(judge):
        about = {"conversation": f"C{number}", "participant": f"P{number}"} | (of or {})
        rows.append(about | JUDGE | {"score": score})
        for rater, scores in raters.items():
            rows.append(about | {"rater": rater, "rater_kind": kind, "score": scores[number]})
    return rows


def panel(seed: int, *, judge_noise: float, conversations: int = 60) -> list[dict[str, Any]]:
    """Three reviewers who see the truth with noise of 1, and a judge."""
    random = np.random.default_rng(seed)
    truth = random.normal(3, 1, conversations)
    raters = {name: truth + random.normal(0, 1, conversations) for name in ("R1", "R2", "R3")}
    return rated(truth + random.normal(0, judge_noise, conversations), **raters)


def test_epsilon_is_that_of_the_study_file(export_of: ExportOf) -> None:
    folder = export_of(panel(1, judge_noise=1))
    (usual,) = set(table_of(folder)["epsilon"])
    write_manifest(folder, {"alt_test_epsilon": {"reviewer": 0.05}})
    strict = table_of(folder)
    assert (usual, set(strict["epsilon"])) == (0.15, {0.05})
    one = strict[strict["statistic"] == "difference"].iloc[0]
    (folder / "manifest.json").unlink()
    lenient = table_of(folder)
    assert one["p"] > lenient[lenient["statistic"] == "difference"].iloc[0]["p"]


@pytest.mark.parametrize("said", [{"reviewer": 2}, {"people": 0.1}, {"crowd": "much"}])
def test_an_epsilon_that_is_no_number_is_refused(export_of: ExportOf, said: dict[str, Any]) -> None:
    folder = export_of(panel(1, judge_noise=1))
    write_manifest(folder, {"alt_test_epsilon": said})
    with pytest.raises(AnalysisError, match=r"^manifest\.json: alt_test_epsilon: "):
        load(folder)


def write_manifest(folder: Path, values: dict[str, Any]) -> None:
    (folder / "manifest.json").write_text(json.dumps(values), encoding="utf-8")


def test_two_reviewers_and_a_judge_by_hand(export_of: ExportOf) -> None:
    # R1 against the judge, by the distance from R2: nearer, farther, tie, farther; R2 by that from R1 likewise.
    rows = rated([1, 3, 4, 3], R1=[3, 1, 2, 5], R2=[3, 3, 3, 3])
    table = table_of(export_of(rows)).set_index(["statistic", "annotator"])
    assert table.index.tolist() == [("winning_rate", ""), ("advantage", ""), ("difference", "R1"), ("difference", "R2")]
    assert set(table["humans"]) == {"reviewer"}
    assert set(table["epsilon"]) == {0.15}
    one, two = table.loc[("difference", "R1")], table.loc[("difference", "R2")]
    assert (one["estimate"], two["estimate"]) == (-0.25, 0.5)
    assert one["p"] == pytest.approx(stats.ttest_1samp([1, -1, 0, -1], 0.15, alternative="less").pvalue)
    assert two["p"] == pytest.approx(stats.ttest_1samp([1, 0, 1, 0], 0.15, alternative="less").pvalue)
    # Two p: the smaller counts 2 × (1 + 1/2), the larger 1 × (1 + 1/2).
    assert (one["p_adjusted"], two["p_adjusted"]) == pytest.approx((min(1, 3 * one["p"]), min(1, 1.5 * two["p"])))
    assert table.loc[("winning_rate", ""), "estimate"] == 0
    assert table.loc[("advantage", ""), "estimate"] == pytest.approx((3 / 4 + 2 / 4) / 2)
    assert (one["n"], one["clusters"]) == (4, 4)


def test_the_note_warns_of_few_conversations_and_few_raters(export_of: ExportOf) -> None:
    rows = rated([1, 3, 4, 3, 2], R1=[3, 1, 2, 5, 2], R2=[3, 3, 3, 3, ""])
    rate = table_of(export_of([row | {"participant": "P1"} for row in rows])).iloc[0]
    assert (rate["n"], rate["clusters"]) == (4, 1)
    assert rate["method"] == "negative_rmse, one-sided t, Benjamini–Yekutieli"
    for caution in (
        "2 of 2 raters have fewer than 30 conversations, too few for the t-test",
        "2 raters, 3 or more are advised",
        "1 conversations with one of these raters are left out",
        "the t-test takes 4 conversations of 1 clusters as independent",
    ):
        assert caution in rate["note"]


@pytest.mark.parametrize("kind", ["expert", "reviewer", "crowd"])
def test_one_rater_for_each_conversation_gives_a_row_with_the_reason(export_of: ExportOf, kind: str) -> None:
    rows = rated([1, 2, 3], kind=kind, R1=[1, 2, ""], R2=["", "", 3])
    table = table_of(export_of(rows + [row | {"item": "safety"} for row in rows]))
    row = table.iloc[0]
    assert len(table) == 1
    usual = {"expert": 0.2, "reviewer": 0.15, "crowd": 0.1}[kind]
    assert (row["humans"], row["item"], row["epsilon"], row["n"]) == (kind, "", usual, 0)
    assert np.isnan(row["estimate"])
    assert row["note"] == "estimate: no conversation that the judge scored has two of these raters"


def test_an_item_without_two_raters_beside_one_with_them_tells_so(export_of: ExportOf) -> None:
    rows = rated([1, 2, 3], R1=[1, 2, 3], R2=[1, 2, 4]) + rated([1, 2, 3], of={"item": "safety"}, R1=[1, 2, 3])
    table = table_of(export_of(rows))
    assert table.groupby("item").size().to_dict() == {"care": 4, "safety": 1}


def test_seekers_are_no_annotators(export_of: ExportOf) -> None:
    assert table_of(export_of(rated([1, 2, 3], kind="seeker", R1=[1, 2, 3]))).empty


def test_comparisons_that_do_not_vary_are_decided_and_have_no_interval(export_of: ExportOf) -> None:
    # The judge says what the other says, always; no one can be nearer than R1 and R2 are to each other.
    table = table_of(export_of(rated([1, 2, 3, 4], R1=[1, 2, 3, 4], R2=[1, 2, 3, 4]))).set_index("statistic")
    assert table["estimate"].tolist() == [1, 1, 0, 0]
    assert table.loc["difference", ["p", "p_adjusted"]].isna().all(axis=None)
    assert table["low"].isna().all()
    for note in table.loc["difference", "note"]:
        assert note == (
            "low, high: the comparisons do not vary; p, p_adjusted: the comparisons do not vary, so their value decides"
        )
    assert table.loc["advantage", "note"] == "low, high: the comparisons do not vary"


def nominal(folder: Path, type: str) -> Path:
    (folder / "codebook.csv").write_text(f"file,column,type\nten.json,care,{type}\n")
    return folder


@pytest.mark.parametrize(
    ("type", "rate", "method"),
    [("nominal", 0, "accuracy"), ("single", 0, "accuracy"), ("scale", 1, "negative_rmse")],
)
def test_answers_that_have_no_order_are_the_same_or_not(
    export_of: ExportOf, type: str, rate: float, method: str
) -> None:
    """Three reviewers name category 1 or 3. The judge always names 2, which no one does, but whose number lies between
    theirs."""
    random = np.random.default_rng(4)
    raters = {f"R{place}": random.choice([1, 3], 60) for place in range(3)}
    row = table_of(nominal(export_of(rated(np.full(60, 2), **raters)), type)).iloc[0]
    assert (row["estimate"], row["method"].split(",")[0]) == (rate, method)


def test_replicates_of_nominal_answers_are_not_averaged(export_of: ExportOf) -> None:
    rows = rated([1, 2, 3, 1], R1=[1, 2, 3, 1], R2=[1, 2, 3, 2])
    judged = [row | {"replicate": number} for row in rows if row["rater"] == "J" for number in (1, 3)]
    judged += [row | {"replicate": 2, "score": 3} for row in judged[::2]]
    people = [row for row in rows if row["rater"] != "J"]
    table = table_of(nominal(export_of(people + judged), "nominal")).set_index("statistic")
    assert table.loc["advantage", "estimate"] == 1  # the judge said twice what R1 said


def test_the_note_tells_that_values_of_an_unknown_type_are_taken_in_order(export_of: ExportOf) -> None:
    folder, told = export_of(rated([1, 2, 3], R1=[1, 2, 3], R2=[1, 2, 2])), "gives no type for the item"
    assert told in table_of(folder).iloc[0]["note"]
    assert told not in table_of(nominal(folder, "scale")).iloc[0]["note"]


def test_raters_who_share_one_conversation_only_have_no_test(export_of: ExportOf) -> None:
    rows = rated([1, 2], R1=[1, ""], R2=[3, ""], R3=["", 2], R4=["", 4])
    table = table_of(export_of(rows)).set_index("statistic")
    assert np.isnan(table.loc["winning_rate", "estimate"])
    assert "estimate: no rater shares two conversations with others" in table.loc["winning_rate", "note"]
    assert table.loc["advantage", "estimate"] == 1.0
    assert table.loc["difference", "p"].isna().all()
    assert "p: fewer than two conversations shared with others" in table.loc["difference", "note"].iloc[0]


def test_an_item_with_two_values_is_judged_by_accuracy(export_of: ExportOf) -> None:
    rows = rated([0, 1, 1, 0], R1=[0, 1, 0, 0], R2=[0, 1, 1, 1])
    assert table_of(export_of(rows)).loc[0, "method"].startswith("accuracy, ")
    # Replicates that disagree make a value between, for which nearness still says something.
    rows += [row | {"replicate": 2, "score": 1} for row in rows if row["rater"] == "J"]
    assert table_of(export_of(rows)).loc[0, "method"].startswith("negative_rmse, ")


def test_replicates_of_a_judge_are_averaged_and_of_a_reviewer_the_first_counts(export_of: ExportOf) -> None:
    rows = rated([1, 3, 4, 3], R1=[3, 1, 2, 5], R2=[3, 3, 3, 3])
    repeated = [row | {"replicate": 2, "score": 5} for row in rows if row["rater"] == "R1"]
    twice = [row | {"replicate": 1, "score": row["score"] - 1} for row in rows if row["rater"] == "J"]
    twice += [row | {"replicate": 2, "score": row["score"] + 1} for row in rows if row["rater"] == "J"]
    people = [row | {"replicate": 1} for row in rows if row["rater"] != "J"]
    before, after = table_of(export_of(rows)), table_of(export_of(people + repeated + twice))
    pd.testing.assert_frame_equal(before[NUMBERS], after[NUMBERS])


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.randoms(use_true_random=False), shift=st.integers(-3, 3))
def test_row_order_names_and_the_origin_of_the_scale_change_nothing(
    export_of: ExportOf, order: Any, shift: int
) -> None:
    rows = [row | {"score": round(row["score"])} for row in panel(1, judge_noise=1, conversations=20)]
    before = table_of(export_of(rows))
    # The order of names stays: draws are by cluster, rows by rater.
    moved = [row | {"score": row["score"] + shift, "rater": f"X{row['rater']}"} for row in rows]
    order.shuffle(moved)
    after = table_of(export_of(moved))
    pd.testing.assert_frame_equal(before[NUMBERS], after[NUMBERS], rtol=1e-9)


def test_intervals_are_over_participants(export_of: ExportOf) -> None:
    """Who has each conversation five times knows no more: a person's conversations are drawn together."""
    once = panel(3, judge_noise=1, conversations=12)
    copied = [row | {"conversation": f"{row['conversation']}-{copy}"} for row in once for copy in range(5)]
    before, after = table_of(export_of(once), 200), table_of(export_of(copied), 200)
    assert after["n"].tolist() == (5 * before["n"]).tolist()
    columns = ["annotator", "estimate", "low", "high", "clusters"]
    pd.testing.assert_frame_equal(before[columns], after[columns], rtol=1e-9)


def test_a_judge_that_sees_the_truth_better_than_raters_passes(export_of: ExportOf) -> None:
    table = table_of(export_of(panel(1, judge_noise=0.1)))
    assert table.loc[table["statistic"] == "winning_rate", "estimate"].tolist() == [1]
    assert table.loc[table["statistic"] == "advantage", "estimate"].item() > 0.55


def test_a_judge_that_guesses_fails(export_of: ExportOf) -> None:
    table = table_of(export_of(panel(1, judge_noise=4)))
    assert table.loc[table["statistic"] == "winning_rate", "estimate"].tolist() == [0]
    assert table.loc[table["statistic"] == "advantage", "estimate"].item() < 0.4


def test_the_intervals_cover_what_a_judge_like_any_rater_must_have(export_of: ExportOf) -> None:
    """By symmetry no difference, and an advantage of one half."""
    covered = {"difference": 0, "advantage": 0}
    for seed in range(20):
        table = table_of(export_of(panel(seed, judge_noise=1)), 300).set_index("annotator")
        table.loc["", "annotator"] = ""
        one, both = table.loc["R1"], table[table["statistic"] == "advantage"].iloc[0]
        covered["difference"] += one["low"] <= 0 <= one["high"]
        covered["advantage"] += both["low"] <= 0.5 <= both["high"]
    assert min(covered.values()) >= 17


def test_every_method_is_of_a_statistic_or_a_column() -> None:
    assert set(METHODS) <= {"winning_rate", "advantage", "difference", *COLUMNS}
