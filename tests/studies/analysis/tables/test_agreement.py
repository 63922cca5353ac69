from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats  # noqa: TID253
from statsmodels.stats.multitest import multipletests  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.measures.variance import two_way
from studies.analysis.tables.agreement import TABLE, agreement
from studies.analysis.tables.agreement_intervals import Sampling, inference_of_kendall
from studies.analysis.tables.reliability import reliability
from tests.studies.analysis.builders import experts, frame_of

ExportOf = Callable[[Any], Path]
JUDGE = {"rater": "J", "rater_kind": "judge", "strategy": "standard"}
JACKKNIFE = "jackknife of clusters, Student's t"
OF_PEOPLE = f"{JACKKNIFE}, on Fisher's z; {{}}bias: BCa"
BOUNDED = ("within_r", "system_r", "bias", "ccc")


def table_of(folder: Path, replicates: int = 50) -> pd.DataFrame:
    rows = [row for _, found in agreement(load(folder), Bootstrap(replicates, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


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


def people_and_arms(seed: int, *, people: int = 30, shift: float = 0.5) -> list[dict[str, Any]]:
    """Each of these people meets five arms; the judge is off by `shift`, and by noise of standard deviation 1."""
    random, rows = np.random.default_rng(seed), []
    levels, merits = random.normal(size=people), random.normal(size=5)
    for person, arm in np.ndindex(people, 5):
        felt = 3 + levels[person] + merits[arm] + random.normal()
        about = {"conversation": f"C{person}-{arm}", "participant": f"P{person}", "arm": f"arm{arm}"}
        rows.append(about | {"rater": f"P{person}", "score": felt})
        rows.append(about | JUDGE | {"score": felt + shift + random.normal()})
    return rows


def test_agreement_has_an_interval_of_every_estimate(export_of: ExportOf) -> None:
    row = table_of(export_of(people_and_arms(3)), replicates=400).iloc[0]
    for name in BOUNDED:
        assert row[f"{name}_low"] < row[name] < row[f"{name}_high"], name
    assert row["method"] == OF_PEOPLE.format("")
    assert row["lower_limit"] < row["bias"] < row["upper_limit"]


def test_agreement_has_intervals_of_r_that_no_seed_changes(export_of: ExportOf) -> None:
    folder = export_of(people_and_arms(3))
    columns = ["pearson_low", "pearson_high", "p", "spearman_low", "within_r_low", "system_r_low", "ccc_low"]
    rows = [
        frame_of([row for _, found in agreement(load(folder), Bootstrap(20, seed)) for row in found]).loc[0, columns]
        for seed in (1, 2)
    ]
    assert rows[0].tolist() == rows[1].tolist()


def test_agreement_has_the_intervals_of_resamples_where_they_are_asked_for(export_of: ExportOf) -> None:
    folder = export_of(people_and_arms(3))
    found = next(row for _, rows in agreement(load(folder), Bootstrap(400, 1, draws_r=True)) for row in rows)
    row = table_of(folder, replicates=400).iloc[0]
    assert str(found["method"]).startswith("BCa cluster bootstrap on Fisher's z")
    assert found["pearson_low"] != pytest.approx(row["pearson_low"], abs=1e-6)
    assert found["pearson_low"] == pytest.approx(row["pearson_low"], abs=0.05)


def test_agreement_draws_the_same_again(export_of: ExportOf, small_study: list[dict[str, Any]]) -> None:
    first, second = (table_of(export_of(small_study)) for _run in range(2))
    assert first.to_csv() == second.to_csv()


def test_agreement_of_a_judge_who_says_the_same_has_neither_p_nor_interval(export_of: ExportOf) -> None:
    scores = [(float(score), float(score)) for score in (1, 2, 4, 5, 3, 2, 5, 1)]
    for rows in (pairs(*scores), pairs(*((human, 6 - judge) for human, judge in scores))):
        row = table_of(export_of(rows)).iloc[0]
        assert abs(row["pearson"]) == pytest.approx(1)
        assert row[["p", "p_holm", "pearson_low", "pearson_high"]].isna().all()
        assert "pearson_low, pearson_high, p" in row["note"]
        assert "a correlation is 1 or -1" in row["note"]


def test_agreement_has_a_p_of_kendalls_tau_of_people_and_of_counsellors(export_of: ExportOf) -> None:
    random = np.random.default_rng(5)
    human = random.normal(size=60)
    judge = human + 4 * random.normal(size=60)
    folder = export_of(pairs(*zip(human.tolist(), judge.tolist(), strict=True)))
    found = inference_of_kendall(human, judge, Sampling(np.arange(60), None, Bootstrap(1, 1)))
    assert table_of(folder).iloc[0]["kendall_p"] == pytest.approx(found.p_value(), rel=1e-6)
    ratings, _truth, _bias = experts(counsellors=6, arms=5, each=4, seed=2)
    own = ratings + [row | JUDGE | {"score": number**2 % 5} for number, row in enumerate(ratings)]
    row = table_of(export_of(own)).set_index("human").loc["expert"]
    assert 0 < row["kendall_p"] < 1


def test_the_jackknife_holds_a_planted_tau_of_people_with_several_conversations() -> None:
    """Of normal scores that correlate r it is 2 / pi × arcsin r (Kendall 1949, doi 10.1093/biomet/36.1-2.177)."""
    planted, held = 2 / np.pi * np.arcsin(0.6), 0
    people = np.repeat(np.arange(25), 3)
    for seed in range(40):
        random = np.random.default_rng(seed)
        levels, rest = (random.normal(size=(n, 2)) @ np.linalg.cholesky([[1, 0.6], [0.6, 1]]).T for n in (25, 75))
        human, judge = (levels[people] + rest).T
        found = inference_of_kendall(human, judge, Sampling(people, None, Bootstrap(1, 1))).interval_of_r()
        held += found.low <= planted <= found.high
    assert held >= 35


def test_agreement_has_ccc_as_the_quadratic_kappa_of_whole_scores_alone(export_of: ExportOf) -> None:
    row = table_of(export_of(pairs((1, 2), (2, 1), (3, 4), (5, 5), (2, 4)))).iloc[0]
    assert row["kappa_quadratic"] == pytest.approx(row["ccc"])
    row = table_of(export_of(pairs((1.5, 2), (2, 1), (3, 4), (5, 5), (2, 4)))).iloc[0]
    assert np.isnan(row["kappa_quadratic"])


def test_agreement_has_lins_interval_of_ccc_of_independent_pairs(export_of: ExportOf) -> None:
    """Of normal pairs near that of the variance of Fisher's z in Lin (1989, doi 10.2307/2532051)."""
    random = np.random.default_rng(8)
    human = random.normal(size=400)
    judge = 0.2 + 0.7 * human + np.sqrt(0.51) * random.normal(size=400)
    row = table_of(export_of(pairs(*zip(human.tolist(), judge.tolist(), strict=True)))).iloc[0]
    r, c = row["pearson"], row["ccc"]
    u = (human.mean() - judge.mean()) / np.sqrt(human.std() * judge.std())
    variance = (1 - r**2) * c**2 / ((1 - c**2) * r**2)
    variance += 2 * c**3 * (1 - c) * u**2 / (r * (1 - c**2) ** 2) - c**4 * u**4 / (2 * r**2 * (1 - c**2) ** 2)
    half = 1.96 * np.sqrt(variance / 398)
    found = np.arctanh(row[["ccc_low", "ccc_high"]].to_numpy(float))
    assert found.mean() == pytest.approx(np.arctanh(c))
    assert found[1] - found[0] == pytest.approx(2 * half, rel=0.1)


def test_agreement_holds_a_planted_bias_with_limits_around_it(export_of: ExportOf) -> None:
    rows = [table_of(export_of(people_and_arms(seed)), replicates=400).iloc[0] for seed in range(20)]
    assert sum(row["bias_low"] <= 0.5 <= row["bias_high"] for row in rows) >= 16
    for limit, planted in (("lower_limit", 0.5 - 1.96), ("upper_limit", 0.5 + 1.96)):
        assert np.mean([row[limit] for row in rows]) == pytest.approx(planted, abs=0.1)


def test_agreement_says_that_the_interval_of_system_r_is_too_narrow_near_1(export_of: ExportOf) -> None:
    for second, near in ((3, True), (1, False)):
        rows = pairs((1, 2), (2, second), (3, 4), (5, 5))
        for number, row in enumerate(rows):
            row["arm"] = "abc"[min(number // 2, 2)]
        row = table_of(export_of(rows)).iloc[0]
        assert bool(row["system_r"] >= 0.9) is near
        assert ("system_r: near 1 its interval is too narrow" in row["note"]) is near


def test_agreement_has_no_interval_where_all_differences_are_alike(export_of: ExportOf) -> None:
    row = table_of(export_of(pairs((1, 2), (2, 3), (3, 4), (4, 5)))).iloc[0]
    assert (row["bias"], row["mae"], row["lower_limit"], row["upper_limit"]) == (1, 1, 1, 1)
    assert row[["bias_low", "bias_high"]].isna().all()
    assert "all resamples are alike" in row["note"]


def test_agreement_of_one_conversation_has_a_bias_and_no_limits(export_of: ExportOf) -> None:
    row = table_of(export_of(pairs((1, 3)))).iloc[0]
    assert (row["bias"], row["mae"]) == (2, 2)
    assert row[["lower_limit", "upper_limit", "bias_low"]].isna().all()
    assert "lower_limit, upper_limit: fewer than two conversations" in row["note"]
    assert "fewer than two clusters" in row["note"]


def test_agreement_says_where_an_arm_depends_on_one_person(export_of: ExportOf) -> None:
    rows = people_and_arms(1, people=12)
    for people in (("P0", "P1"), ("P0",)):
        rare = [row for row in rows if row["arm"] != "arm4" or row["participant"] in people]
        row = table_of(export_of(rare), replicates=400).iloc[0]
        lacking = "system_r_low, system_r_high: it is undefined if one of the clusters is left out"
        assert (lacking in row["note"]) == (len(people) == 1)
        assert np.isnan(row["system_r_low"]) == (len(people) == 1)


def test_agreement_corrects_r_for_what_the_ceiling_counts(
    export_of: ExportOf, small_study: list[dict[str, Any]]
) -> None:
    table = table_of(export_of(small_study), replicates=400)
    row = table.query("human == 'reviewer' and strategy == 'user_aware' and item == 'care'").iloc[0]
    assert row["disattenuated"] == pytest.approx(row["pearson"] / row["ceiling"])
    assert row["disattenuated_low"] < row["disattenuated"] < row["disattenuated_high"]
    assert 0 < row["ceiling"] <= 1
    seeker = table.query("human == 'seeker' and strategy == 'user_aware' and item == 'care'").iloc[0]
    assert np.isnan(seeker["disattenuated"])
    assert "disattenuated: no ceiling" in seeker["note"]


def test_agreement_corrects_r_for_people_alone_where_the_judge_scored_once(
    export_of: ExportOf, small_study: list[dict[str, Any]]
) -> None:
    once = [row for row in small_study if row.get("replicate") != 2]
    table = table_of(export_of(once), replicates=400)
    row = table.query("human == 'reviewer' and strategy == 'standard' and item == 'care'").iloc[0]
    assert row["disattenuated"] == pytest.approx(row["pearson"] / row["ceiling"])
    assert row["disattenuated_low"] < row["disattenuated"] < row["disattenuated_high"]


def test_agreement_says_where_average_and_worst_case_count_together(export_of: ExportOf) -> None:
    rows = pairs((1, 2), (2, 1), (3, 4), (5, 5))
    said = "average and worst-case seekers count together"
    assert said not in table_of(export_of(rows)).iloc[0]["note"]
    mixed = [row | {"condition": ("average", "worst_case")[place // 4]} for place, row in enumerate(rows)]
    assert said in table_of(export_of(mixed)).iloc[0]["note"]


def test_agreement_has_spearmans_interval_after_bonett_and_wright_where_rows_are_independent(
    export_of: ExportOf,
) -> None:
    # The example of ci.spear in D. G. Bonett's statpsych.
    y = (21, 4, 9, 12, 35, 18, 10, 22, 24, 1, 6, 8, 13, 16, 19)
    x = (67, 28, 30, 28, 52, 40, 25, 37, 44, 10, 14, 20, 28, 40, 51)
    row = table_of(export_of(pairs(*zip(y, x, strict=True)))).iloc[0]
    found = row[["spearman", "spearman_low", "spearman_high"]].astype(float).round(7).tolist()
    assert found == [0.8699639, 0.5840951, 0.9638297]
    assert row["method"] == OF_PEOPLE.format("Spearman: Bonett–Wright; ")


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
    assert five["method"] == OF_PEOPLE.format("")
    widths = [row["spearman_high"] - row["spearman_low"] for row in (one, five)]
    assert widths[1] == pytest.approx(widths[0], rel=0.25)


def test_agreement_has_no_interval_of_orders_that_are_the_same(export_of: ExportOf) -> None:
    apart = pairs((1, 1), (2, 4), (3, 5), (5, 9), (4, 7))
    copied = apart + [row | {"conversation": f"{row['conversation']} again"} for row in apart]
    for rows in (apart, copied):
        row = table_of(export_of(rows)).iloc[0]
        assert row["spearman"] == pytest.approx(1)
        assert row[["spearman_low", "spearman_high"]].isna().all()
        bounds = "spearman_low, spearman_high, spearman_p, kendall_p"
        assert f"{bounds}: the two orders are the same, or opposite" in row["note"]


def test_agreement_leaves_out_what_is_missing_on_either_side(export_of: ExportOf) -> None:
    with_gaps = table_of(export_of(pairs((1, 2), ("", 5), (2, 1), (5, ""), (3, 4), (5, 5)))).iloc[0]
    assert with_gaps["n"] == 4
    assert with_gaps["pearson"] == pytest.approx(np.corrcoef([1, 2, 3, 5], [2, 1, 4, 5])[0, 1], abs=1e-12)


def test_agreement_of_a_constant_judge_is_empty_with_the_reason(export_of: ExportOf) -> None:
    row = table_of(export_of(pairs((1, 4), (2, 4), (3, 4)))).iloc[0]
    undefined = ["pearson", "pearson_low", "pearson_high", "p", "p_holm", "spearman", "spearman_low", "kendall"]
    assert row[undefined].isna().all()
    without = "pearson, p, spearman, spearman_p, kendall"
    assert f"{without}: the judge scores do not vary" in row["note"]
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
    assert table.groupby("human").size().tolist() == [6, 6, 6, 6]


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
    table = table_of(export_of(small_study))
    for _, rows in table[table["item"] != "*"].groupby(["human", "strategy"]):
        ordered = rows.sort_values("p")
        small, large = ordered["p"].tolist()
        corrected = [small, np.nan] if np.isnan(large) else [min(1, 2 * small), min(1, max(2 * small, large))]
        assert ordered["p_holm"].tolist() == pytest.approx(corrected, nan_ok=True)


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
    rows = ratings + [row | JUDGE | {"score": number**2 % 5} for number, row in enumerate(ratings)]
    row = table_of(export_of(rows)).set_index("human").loc["expert"]
    assert (row["n"], row["clusters"]) == (20, 6)
    two_way = "two-way jackknife (counsellors × arms), Student's t, on Fisher's z"
    assert row["method"] == f"{two_way}; system_r: {JACKKNIFE}; bias: Student's t"
    for name in ("pearson", "spearman", *BOUNDED):
        assert row[f"{name}_low"] < row[name] < row[f"{name}_high"], name
    assert "interval: only 6 × 5 clusters, the interval may be too narrow" in row["note"]


def test_agreement_of_second_raters_of_counsellors_draws_counsellors_alone(export_of: ExportOf) -> None:
    ratings, _truth, _bias = experts(counsellors=6, arms=5, each=4, seed=2)
    rows = [row | {"rater": "R", "rater_kind": "reviewer"} for row in ratings]
    rows += ratings + [row | JUDGE | {"score": 3 + number % 3} for number, row in enumerate(ratings)]
    row = table_of(export_of(rows)).set_index("human").loc["reviewer"]
    assert row["method"] == OF_PEOPLE.format("")


def test_agreement_has_a_ceiling_only_where_both_sides_repeat(
    export_of: ExportOf, small_study: list[dict[str, Any]]
) -> None:
    table = table_of(export_of(small_study))
    row = table.query("human == 'reviewer' and strategy == 'user_aware' and item == 'care'").iloc[0]
    assert 0 < row["ceiling"] <= 1
    seeker = table.query("human == 'seeker' and strategy == 'user_aware' and item == 'care'").iloc[0]
    assert np.isnan(seeker["ceiling"])
    assert "ceiling: one rater per conversation, so no reliability" in seeker["note"]


def test_agreement_has_the_peoples_ceiling_alone_where_the_judge_scored_once(
    export_of: ExportOf, small_study: list[dict[str, Any]]
) -> None:
    once = [row for row in small_study if row.get("replicate", 1) == 1 and row["item"] == "care"]
    table = table_of(export_of(once)).query("strategy == 'user_aware'").set_index("human")
    scores = pd.DataFrame([row for row in once if row.get("rater_kind") == "reviewer"])
    reliability = two_way(scores.pivot(index="conversation", columns="rater", values="score").to_numpy(float))
    reliability = reliability["icc_c_k"].estimate
    assert table.at["reviewer", "ceiling"] == pytest.approx(np.sqrt(reliability))
    assert "ceiling: an upper bound, by the people's reliability alone" in table.at["reviewer", "note"]
    assert np.isnan(table.at["seeker", "ceiling"])
    assert "an upper bound" not in table.at["seeker", "note"]


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


def second_raters(raters: int) -> list[dict[str, Any]]:
    """Two of so many reviewers for each of four conversations of 15 people; all differ in how strict they are."""
    random, rows = np.random.default_rng(7), []
    strict = random.normal(size=raters)
    for person, chat in np.ndindex(15, 4):
        worth = 3 + random.normal()
        about = {"conversation": f"C{person}-{chat}", "participant": f"P{person}"}
        for reviewer in random.choice(raters, size=2, replace=False):
            score = worth + strict[reviewer] + random.normal()
            rows.append(about | {"rater": f"R{reviewer}", "rater_kind": "reviewer", "score": score})
        rows.append(about | JUDGE | {"score": worth + random.normal()})
    return rows


@pytest.mark.parametrize("raters", [7, 8])
def test_agreement_leaves_out_raters_who_differ_where_they_are_eight(export_of: ExportOf, raters: int) -> None:
    row = table_of(export_of(second_raters(raters))).set_index("human").loc["reviewer"]
    assert row["pearson_low"] < row["pearson"] < row["pearson_high"]
    two_way = row["method"].startswith("two-way jackknife (people × raters), Student's t, on Fisher's z")
    assert two_way == (raters == 8)
    assert ("interval: only 7 raters, who differ between conversations: too few" in row["note"]) == (raters == 7)
    assert "ceiling: people's reliability from variance components" in row["method"]


def test_agreement_has_the_mean_of_the_items_where_all_were_scored(export_of: ExportOf) -> None:
    random, rows = np.random.default_rng(4), []
    scores = random.normal(size=(12, 2, 2)) + random.normal(size=(12, 1, 1))
    for person, item, side in np.ndindex(12, 2, 2):
        about = {"conversation": f"C{person}", "participant": f"P{person}", "item": ("care", "safety")[item]}
        score = {"score": float(scores[person, item, side])}
        rows.append(about | score | ({"rater": f"P{person}"}, JUDGE)[side])
    rows = [row for row in rows if (row["conversation"], row["item"], row["rater"]) != ("C11", "care", "P11")]
    table = table_of(export_of(rows)).set_index("item")
    human, judge = scores[:11].mean(axis=1).T
    assert table.index.tolist() == ["*", "care", "safety"]
    assert table.loc["*", "n"] == 11
    assert table.loc["*", "pearson"] == pytest.approx(np.corrcoef(human, judge)[0, 1])
    assert table.loc["*", "p_holm"] == table.loc["*", "p"]
    single = table.loc[["care", "safety"]]
    assert single["p_holm"].tolist() == pytest.approx(multipletests(single["p"], method="holm")[1].tolist())


def test_agreement_has_no_mean_of_items_of_a_judge_who_scored_some(export_of: ExportOf) -> None:
    rows = [row | {"item": item} for row in pairs((1, 2), (2, 1), (3, 4), (5, 5)) for item in ("care", "safety")]
    some = [row for row in rows if row["rater"] != "J" or row["item"] == "care"]
    assert table_of(export_of(some))["item"].tolist() == ["care"]
    assert table_of(export_of(rows))["item"].tolist() == ["*", "care", "safety"]


def test_agreement_has_p_of_ranks_that_agree_with_their_intervals(export_of: ExportOf) -> None:
    """Of independent normal scores near scipy's, whose p is of the coefficient's own distribution."""
    random = np.random.default_rng(5)
    human = random.normal(size=120)
    judge = 0.2 * human + random.normal(size=120)
    row = table_of(export_of(pairs(*zip(human.tolist(), judge.tolist(), strict=True)))).iloc[0]
    assert row["spearman_p"] == pytest.approx(stats.spearmanr(human, judge).pvalue, abs=0.02)
    assert row["kendall_p"] == pytest.approx(stats.kendalltau(human, judge).pvalue, abs=0.03)
    assert (row["spearman_low"] <= 0 <= row["spearman_high"]) == (row["spearman_p"] >= 0.05)


def opposite_items() -> list[dict[str, Any]]:
    """Ten conversations with an item and its opposite, in points from 1 to 5; two reviewers agree with the judge."""
    random = np.random.default_rng(5)
    rows = []
    for number in range(10):
        good = 1 + number % 5
        for item, score in (("warm", good), ("cold", 6 - good)):
            of = {"conversation": f"C{number}", "participant": f"P{number}", "item": item}
            rows += [of | {"rater": rater, "rater_kind": "reviewer", "score": score} for rater in ("R1", "R2")]
            noisy = score + random.normal(0, 0.4)
            rows += [of | {"rater": "J", "rater_kind": "judge", "score": noisy}]
            rows += [of | {"rater": f"P{number}", "score": good + random.normal(0, 0.4)}]
    return rows


def test_the_mean_over_items_that_point_different_ways_has_a_note(export_of: ExportOf) -> None:
    """Of reviewers' ratings the two items add up to 6, save where one differs; people gave both the same way."""
    rows = opposite_items()
    rows[0] |= {"score": 2.0}
    export = export_of(rows)
    table = table_of(export).set_index(["human", "item"])
    noted = {key: "do not point the same way" in note for key, note in table["note"].items()}
    of_reviewers = {(human, "*") for human in ("reviewer", "reviewer:R1", "reviewer:R2")}
    assert {key for key, there in noted.items() if there} == of_reviewers
    alphas = frame_of(row for _name, rows in reliability(load(export), Bootstrap(50, 1)) for row in rows)
    alpha = alphas[(alphas["raters"] == "reviewer") & (alphas["item"] == "*")]["cronbach"].item()
    assert alpha < 0
    assert f"(people's Cronbach's alpha {alpha:.2f})" in table.loc[("reviewer", "*"), "note"]
