from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.agreement import COLUMNS, agreement
from tests.studies.analysis.builders import experts

ExportOf = Callable[[Any], Path]
JUDGE = {"rater": "J", "rater_kind": "judge", "strategy": "standard"}


def table_of(folder: Path, replicates: int = 50) -> pd.DataFrame:
    rows = [row for _, found in agreement(load(folder), Bootstrap(replicates, 1)) for row in found]
    return pd.DataFrame(rows, columns=COLUMNS)


def pairs(*scores: tuple[float | str, float | str]) -> list[dict[str, Any]]:
    """One conversation per pair of a seeker's and a judge's score."""
    rows: list[dict[str, Any]] = []
    for number, (human, judge) in enumerate(scores):
        about = {"conversation": f"C{number}", "participant": f"P{number}"}
        rows += [about | {"rater": f"P{number}", "score": human}, about | JUDGE | {"score": judge}]
    return rows


def test_agreement_of_one_judge_and_the_seekers(export_of: ExportOf) -> None:
    table = table_of(export_of(pairs((1, 2), (2, 1), (3, 4), (5, 5))))
    row = table.iloc[0]
    human, judge = np.array([1, 2, 3, 5]), np.array([2, 1, 4, 5])
    assert len(table) == 1
    assert row[["judge", "strategy", "human", "instrument", "item", "moment"]].tolist() == [
        "J",
        "standard",
        "seeker",
        "ten",
        "care",
        "final",
    ]
    assert (row["n"], row["clusters"]) == (4, 4)
    assert row["pearson"] == pytest.approx(np.corrcoef(human, judge)[0, 1], abs=1e-12)
    assert row["spearman"] == pytest.approx(0.8)
    assert row["kendall"] == pytest.approx(4 / 6)
    assert (row["bias"], row["mae"]) == (0.25, 0.75)
    assert row["p_holm"] == row["p"]


def test_agreement_has_spearmans_interval_after_bonett_and_wright_where_rows_are_independent(
    export_of: ExportOf,
) -> None:
    # The example of ci.spear in D. G. Bonett's statpsych.
    y = (21, 4, 9, 12, 35, 18, 10, 22, 24, 1, 6, 8, 13, 16, 19)
    x = (67, 28, 30, 28, 52, 40, 25, 37, 44, 10, 14, 20, 28, 40, 51)
    row = table_of(export_of(pairs(*zip(y, x, strict=True)))).iloc[0]
    found = row[["spearman", "spearman_low", "spearman_high"]].astype(float).round(7).tolist()
    assert found == [0.8699639, 0.5840951, 0.9638297]
    assert row["method"] == "BCa cluster bootstrap on Fisher's z; Spearman: Bonett–Wright"


def test_agreement_resamples_people_for_spearmans_interval_where_they_have_several_conversations(
    export_of: ExportOf,
) -> None:
    """Five copies of a person's conversation tell nothing more, so the interval must not shrink."""
    random = np.random.default_rng(5)
    human = random.integers(1, 6, 40)
    judge = np.clip(human + random.integers(-2, 3, 40), 1, 5)
    single = pairs(*zip(human.tolist(), judge.tolist(), strict=True))
    copied = [row | {"conversation": f"{row['conversation']}.{copy}"} for row in single for copy in range(5)]
    one, five = (table_of(export_of(rows), replicates=2000).iloc[0] for rows in (single, copied))
    assert (one["n"], five["n"], five["clusters"]) == (40, 200, 40)
    assert five["spearman"] == pytest.approx(one["spearman"])
    assert five["method"] == "BCa cluster bootstrap on Fisher's z"
    widths = [row["spearman_high"] - row["spearman_low"] for row in (one, five)]
    assert widths[1] == pytest.approx(widths[0], rel=0.25)


def test_agreement_has_no_interval_of_orders_that_are_the_same(export_of: ExportOf) -> None:
    apart = pairs((1, 1), (2, 4), (3, 5), (5, 9), (4, 7))
    copied = apart + [row | {"conversation": f"{row['conversation']} again"} for row in apart]
    for rows in (apart, copied):
        row = table_of(export_of(rows)).iloc[0]
        assert row["spearman"] == pytest.approx(1)
        assert row[["spearman_low", "spearman_high"]].isna().all()
        assert "spearman_low, spearman_high: the two orders are the same, or opposite" in row["note"]


def test_agreement_leaves_out_what_is_missing_on_either_side(export_of: ExportOf) -> None:
    with_gaps = table_of(export_of(pairs((1, 2), ("", 5), (2, 1), (5, ""), (3, 4), (5, 5)))).iloc[0]
    assert with_gaps["n"] == 4
    assert with_gaps["pearson"] == pytest.approx(np.corrcoef([1, 2, 3, 5], [2, 1, 4, 5])[0, 1], abs=1e-12)


def test_agreement_of_a_constant_judge_is_empty_with_the_reason(export_of: ExportOf) -> None:
    row = table_of(export_of(pairs((1, 4), (2, 4), (3, 4)))).iloc[0]
    undefined = ["pearson", "pearson_low", "pearson_high", "p", "p_holm", "spearman", "spearman_low", "kendall"]
    assert row[undefined].isna().all()
    assert "pearson, p, spearman, kendall: the judge scores do not vary" in row["note"]
    assert (row["bias"], row["ccc"]) == (2.0, 0.0)


def test_agreement_averages_raters_and_replicates(export_of: ExportOf, small_study: list[dict[str, Any]]) -> None:
    table = table_of(export_of(small_study))
    ratings = pd.DataFrame(small_study)
    chosen = ratings[ratings["item"] == "care"]
    human = chosen[chosen["rater_kind"] == "reviewer"].groupby("conversation")["score"].mean()
    judge = (
        chosen[(chosen["rater"] == "J") & (chosen["strategy"] == "standard")].groupby("conversation")["score"].mean()
    )
    row = table.query("human == 'reviewer' and strategy == 'standard' and item == 'care'").iloc[0]
    assert row["pearson"] == pytest.approx(human.corr(judge), abs=1e-12)
    assert row["bias"] == pytest.approx((judge - human).mean())
    assert (row["n"], row["clusters"]) == (12, 6)
    assert np.isfinite(row["within_r"])


def test_agreement_has_a_row_per_human_judge_strategy_and_item(
    export_of: ExportOf, small_study: list[dict[str, Any]]
) -> None:
    table = table_of(export_of(small_study))
    humans = ["reviewer", "reviewer:R1", "reviewer:R2", "seeker"]
    assert sorted(table["human"].unique()) == humans
    assert table.groupby("human").size().tolist() == [4, 4, 4, 4]


def test_agreement_of_single_raters_needs_ten_conversations(export_of: ExportOf) -> None:
    rows = pairs(*((number % 5 + 1, number % 4 + 1) for number in range(12)))
    for number in range(12):
        rows.append({"conversation": f"C{number}", "rater": "X", "rater_kind": "expert", "score": number % 3 + 1})
    for number in range(9):
        rows.append({"conversation": f"C{number}", "rater": "Y", "rater_kind": "expert", "score": number % 2 + 1})
    assert sorted(table_of(export_of(rows))["human"]) == ["expert", "expert:X", "seeker"]


def test_agreement_keeps_moments_and_turns_apart(export_of: ExportOf) -> None:
    rows = [row | {"moment": "checkpoint", "turn": 5} for row in pairs((1, 1), (2, 3), (4, 4))]
    rows += [row | {"moment": "checkpoint", "turn": 10} for row in pairs((5, 2), (2, 3), (3, 1))]
    rows += pairs((1, 2), (2, 1), (5, 5), (4, 4))
    table = table_of(export_of(rows)).set_index("moment")
    assert table["n"].to_dict() == {"checkpoint": 6, "final": 4}
    assert table.at["checkpoint", "clusters"] == 3
    assert table.at["checkpoint", "pearson"] == pytest.approx(
        np.corrcoef([1, 2, 4, 5, 2, 3], [1, 3, 4, 2, 3, 1])[0, 1], abs=1e-12
    )
    # One item in each moment: nothing to correct for.
    assert table["p_holm"].tolist() == table["p"].tolist()


def test_agreement_corrects_p_over_the_items_of_a_judge_and_human(
    export_of: ExportOf, small_study: list[dict[str, Any]]
) -> None:
    for _, rows in table_of(export_of(small_study)).groupby(["human", "strategy"]):
        ordered = rows.sort_values("p")
        small, large = ordered["p"].tolist()
        assert ordered["p_holm"].tolist() == pytest.approx([min(1, 2 * small), min(1, max(2 * small, large))])


def test_agreement_clusters_conversations_without_participant_by_themselves(export_of: ExportOf) -> None:
    rows = [row | {"participant": ""} for row in pairs((1, 2), (2, 1), (3, 4), (5, 5))]
    row = table_of(export_of(rows)).iloc[0]
    assert row["clusters"] == 4
    assert "within_r: no participant has two conversations" in row["note"]


def test_agreement_says_that_few_arms_tell_little(export_of: ExportOf) -> None:
    rows = pairs((1, 2), (2, 1), (3, 4), (5, 5))
    for number, row in enumerate(rows):
        row["arm"] = "abc"[min(number // 2, 2)]
    row = table_of(export_of(rows)).iloc[0]
    assert row["system_r"] == pytest.approx(np.corrcoef([1, 2, 4], [2, 1, 4.5])[0, 1])
    assert "system_r: few arms (3), next to no information" in row["note"]


def test_agreement_of_counsellors_own_conversations_draws_counsellors_and_arms(export_of: ExportOf) -> None:
    ratings, _truth, _bias = experts(counsellors=6, arms=5, each=4, seed=2)
    rows = ratings + [row | JUDGE | {"score": 3 + number % 3} for number, row in enumerate(ratings)]
    row = table_of(export_of(rows)).set_index("human").loc["expert"]
    assert (row["n"], row["clusters"]) == (20, 6)
    assert row["method"] == "Student's t two-way cluster (counsellors × arms) bootstrap on Fisher's z"
    assert row["pearson_low"] < row["pearson"] < row["pearson_high"]
    assert row["spearman_low"] < row["spearman"] < row["spearman_high"]
    assert "interval: only 6 × 5 clusters, the interval may be too narrow" in row["note"]


def test_agreement_of_second_raters_of_counsellors_draws_counsellors_alone(export_of: ExportOf) -> None:
    ratings, _truth, _bias = experts(counsellors=6, arms=5, each=4, seed=2)
    rows = [row | {"rater": "R", "rater_kind": "reviewer"} for row in ratings]
    rows += ratings + [row | JUDGE | {"score": 3 + number % 3} for number, row in enumerate(ratings)]
    row = table_of(export_of(rows)).set_index("human").loc["reviewer"]
    assert row["method"] == "BCa cluster bootstrap on Fisher's z"


def test_agreement_has_a_ceiling_only_where_both_sides_repeat(
    export_of: ExportOf, small_study: list[dict[str, Any]]
) -> None:
    table = table_of(export_of(small_study))
    row = table.query("human == 'reviewer' and strategy == 'user_aware' and item == 'care'").iloc[0]
    assert 0 < row["ceiling"] <= 1
    seeker = table.query("human == 'seeker' and strategy == 'user_aware' and item == 'care'").iloc[0]
    assert np.isnan(seeker["ceiling"])
    assert "ceiling: one rater per conversation, so no reliability" in seeker["note"]


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.randoms(use_true_random=False), shift=st.integers(-3, 3))
def test_agreement_ignores_row_order_names_and_a_lenient_judge(
    export_of: ExportOf, small_study: list[dict[str, Any]], order: Any, shift: int
) -> None:
    study = [row for row in small_study if row["item"] == "care" and row.get("strategy") != "user_aware"]
    before = table_of(export_of(study), replicates=20)
    renamed = {"R1": "Z1", "R2": "A2"}
    rows = [row | {"rater": renamed.get(row["rater"], row["rater"])} for row in study]
    rows = [row | {"score": row["score"] + shift} if row["rater"] == "J" else row for row in rows]
    order.shuffle(rows)
    after = table_of(export_of(rows), replicates=20)
    columns = ["pearson", "pearson_low", "pearson_high", "p_holm", "spearman", "spearman_low", "spearman_high"]
    columns += ["kendall", "within_r", "ceiling"]
    before, after = (table.set_index("human").loc[["reviewer", "seeker"]] for table in (before, after))
    pd.testing.assert_frame_equal(before[columns], after[columns], rtol=1e-9)
    assert (after["bias"] - before["bias"]).to_numpy() == pytest.approx(shift)
