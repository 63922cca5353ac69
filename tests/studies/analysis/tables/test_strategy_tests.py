from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.measures import dependent
from studies.analysis.tables.strategy_tests import COLUMNS, METHODS, TABLE, strategy_tests
from tests.studies.analysis.builders import experts, frame_of

ExportOf = Callable[[Any], Path]
HUMAN, PLAIN, AWARE = [1, 2, 3, 5, 4, 2], [2, 1, 4, 5, 3, 3], [1, 2, 4, 5, 4, 1]
NUMBERS = ["n", "r_a", "r_b", "difference", "low", "high", "p", "p_holm", "williams_t"]


def table_of(folder: Path, replicates: int = 50) -> pd.DataFrame:
    rows = [row for _, found in strategy_tests(load(folder), Bootstrap(replicates, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


def judged(
    human: Any, *, of: dict[str, Any] | None = None, persons: Any = None, **strategies: Any
) -> list[dict[str, Any]]:
    """One conversation per score of a seeker, and those of judge J under each strategy. `persons`: whose it is."""
    rows: list[dict[str, Any]] = []
    for number, score in enumerate(human):
        about = {"conversation": f"C{number}", "participant": f"P{persons[number] if persons is not None else number}"}
        about |= of or {}
        rows.append(about | {"rater": about["participant"], "score": score})
        for strategy, scores in strategies.items():
            given = {"rater": "J", "rater_kind": "judge", "strategy": strategy, "score": scores[number]}
            rows.append(about | given)
    return rows


def test_two_strategies_of_one_judge_are_compared_on_the_same_conversations(export_of: ExportOf) -> None:
    table = table_of(export_of(judged(HUMAN, aware=AWARE, plain=PLAIN)))
    row = table.iloc[0]
    r = np.corrcoef([HUMAN, AWARE, PLAIN])
    assert len(table) == 1
    assert row[["judge", "human", "strategy_a", "strategy_b"]].tolist() == ["J", "seeker", "aware", "plain"]
    assert (row["n"], row["clusters"]) == (6, 6)
    assert row[["r_a", "r_b"]].tolist() == pytest.approx([r[0, 1], r[0, 2]])
    assert row["difference"] == pytest.approx(r[0, 2] - r[0, 1])
    assert row["low"] < row["difference"] < row["high"]
    tested = dependent.williams(r[0, 2], r[0, 1], r[1, 2], 6)
    assert (row["williams_t"], row["williams_p"]) == pytest.approx((tested.statistic, tested.p))
    assert row["method"] == "jackknife of clusters, Student's t"


def test_the_other_way_round_all_signs_turn(export_of: ExportOf) -> None:
    row = table_of(export_of(judged(HUMAN, aware=AWARE, plain=PLAIN)), 200).iloc[0]
    turned = table_of(export_of(judged(HUMAN, aware=PLAIN, plain=AWARE)), 200).iloc[0]
    signed, other = ["difference", "low", "high", "williams_t"], ["difference", "high", "low", "williams_t"]
    assert turned[signed].tolist() == pytest.approx((-row[other]).tolist())
    assert turned[["p", "williams_p"]].tolist() == pytest.approx(row[["p", "williams_p"]].tolist())


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.randoms(use_true_random=False), shift=st.integers(-3, 3), unit=st.sampled_from([0.5, 3]))
def test_order_origin_and_unit_change_nothing(export_of: ExportOf, order: Any, shift: int, unit: float) -> None:
    before = table_of(export_of(judged(HUMAN, aware=AWARE, plain=PLAIN)))
    rows = judged(HUMAN, aware=[shift + unit * score for score in AWARE], plain=PLAIN)
    order.shuffle(rows)
    after = table_of(export_of(rows))
    pd.testing.assert_frame_equal(before[NUMBERS], after[NUMBERS], rtol=1e-9)


def test_strategies_that_say_the_same_in_another_unit_do_not_differ(export_of: ExportOf) -> None:
    row = table_of(export_of(judged(HUMAN, aware=AWARE, plain=[1 + 2 * score for score in AWARE]))).iloc[0]
    assert row[["low", "high", "p"]].isna().all()
    assert "low, high, p: leaving out any one cluster changes nothing" in row["note"]
    assert row["difference"] == pytest.approx(0, abs=1e-12)
    assert np.isnan(row["williams_t"])
    assert "williams_t, williams_p: a correlation is 1 or -1" in row["note"]


def test_conversations_that_are_copied_tell_nothing_more_and_have_no_williams(export_of: ExportOf) -> None:
    once = table_of(export_of(judged(HUMAN, aware=AWARE, plain=PLAIN)), 200).iloc[0]
    copied = judged(HUMAN * 5, persons=list(range(6)) * 5, aware=AWARE * 5, plain=PLAIN * 5)
    five_times = table_of(export_of(copied), 200).iloc[0]
    assert (five_times["n"], five_times["clusters"]) == (30, 6)
    assert five_times[["difference", "low", "high", "p"]].tolist() == pytest.approx(
        once[["difference", "low", "high", "p"]].tolist()
    )
    assert np.isfinite(once["williams_t"])
    assert five_times[["williams_t", "williams_p"]].isna().all()
    assert (
        "williams_t, williams_p: only valid for independent rows, but 30 conversations come from 6"
        in five_times["note"]
    )
    assert "interval: only 6 clusters, the interval may be too narrow" in five_times["note"]


def test_what_one_strategy_alone_scored_is_left_out_and_counted(export_of: ExportOf) -> None:
    rows = judged(HUMAN, aware=AWARE, plain=[*PLAIN[:-1], ""])
    rows += judged([3, 4], aware=[1, 5], of={"item": "safety"}) + judged([3, 4], plain=[1, 5], of={"item": "safety"})
    table = table_of(export_of(rows)).set_index("item")
    row = table.loc["care"]
    assert row["n"] == 5
    assert row["r_a"] == pytest.approx(np.corrcoef(HUMAN[:-1], AWARE[:-1])[0, 1])
    assert "1 that only one of the two strategies scored are left out" in row["note"]


def test_a_strategy_that_says_always_the_same_has_no_difference(export_of: ExportOf) -> None:
    row = table_of(export_of(judged(HUMAN, aware=AWARE, plain=[4] * 6))).iloc[0]
    assert row["r_a"] == pytest.approx(np.corrcoef(HUMAN, AWARE)[0, 1])
    assert row[["r_b", "difference", "low", "high", "p", "p_holm", "williams_t"]].isna().all()
    assert row["note"].startswith(
        "r_b: the judge scores do not vary; difference: at least one of the two r does not exist; "
    )


def test_strategies_that_share_no_conversation_have_an_empty_row(export_of: ExportOf) -> None:
    rows = judged(HUMAN[:3], aware=AWARE[:3]) + [
        row | {"conversation": f"D{place}"} for place, row in enumerate(judged(HUMAN[:3], plain=PLAIN[:3]))
    ]
    assert table_of(export_of(rows)).empty  # no seeker scored what the judge did under `plain`
    rows = judged(HUMAN, aware=[*AWARE[:3], "", "", ""], plain=["", "", "", *PLAIN[3:]])
    row = table_of(export_of(rows)).iloc[0]
    assert (row["n"], row["clusters"]) == (0, 0)
    assert "r_a, r_b: fewer than three rows" in row["note"]


def test_three_rows_have_a_difference_and_no_williams(export_of: ExportOf) -> None:
    row = table_of(export_of(judged([1, 2, 4], aware=[1, 3, 4], plain=[2, 1, 4]))).iloc[0]
    assert np.isfinite(row[["difference", "low", "high", "p"]].astype(float)).all()
    assert "fewer than four rows" in row["note"]


def test_three_strategies_make_three_pairs_each_with_its_own_holm(export_of: ExportOf) -> None:
    random, rows = np.random.default_rng(4), []
    for item in ("care", "safety", "warmth"):
        human = random.normal(size=15)
        noisy = {name: human + random.normal(0, noise, 15) for name, noise in (("a", 0.4), ("b", 0.8), ("c", 2.0))}
        rows += judged(human, of={"item": item}, **noisy)
    table = table_of(export_of(rows), 200)
    means, table = table[table["item"] == "*"], table[table["item"] != "*"]
    assert (len(means), len(table)) == (3, 9)
    assert means["p_holm"].tolist() == means["p"].tolist()
    for pair, family in table.groupby(["strategy_a", "strategy_b"]):
        assert pair in [("a", "b"), ("a", "c"), ("b", "c")]
        assert family["p_holm"].tolist() == pytest.approx(multipletests(family["p"], method="holm")[1].tolist())


def test_moments_and_judges_are_not_compared_with_each_other(export_of: ExportOf) -> None:
    rows = judged(HUMAN, aware=AWARE, plain=PLAIN)
    rows += [row | {"moment": "checkpoint", "turn": 5} for row in rows]
    rows += [row | {"rater": "K"} for row in rows if row["rater"] == "J" and row["strategy"] == "aware"]
    table = table_of(export_of(rows))
    assert table[["judge", "moment"]].to_numpy().tolist() == [["J", "checkpoint"], ["J", "final"]]
    assert table["p_holm"].tolist() == table["p"].tolist()


def test_each_kind_of_people_and_each_reviewer_has_rows(export_of: ExportOf, small_study: list[dict[str, Any]]) -> None:
    table = table_of(export_of(small_study))
    humans = ["reviewer", "reviewer:R1", "reviewer:R2", "seeker"]
    assert sorted(table["human"]) == sorted(humans * 3)
    assert set(table["strategy_b"]) == {"user_aware"}


def test_counsellors_own_conversations_draw_counsellors_and_arms(export_of: ExportOf) -> None:
    ratings, _truth, _bias = experts(counsellors=6, arms=5, each=4, seed=2)
    judge = {"rater": "J", "rater_kind": "judge"}
    rows = ratings + [
        row | judge | {"strategy": strategy, "score": row["score"] + number % period}
        for strategy, period in (("aware", 2), ("plain", 3))
        for number, row in enumerate(ratings)
    ]
    row = table_of(export_of(rows)).iloc[0]
    assert (row["human"], row["n"], row["clusters"]) == ("expert", 20, 6)
    assert row["method"] == "two-way jackknife (counsellors × arms), Student's t"
    assert row["low"] < row["difference"] < row["high"]


def test_no_bound_of_a_difference_is_farther_than_two_correlations_can_be_apart(export_of: ExportOf) -> None:
    """Two arms leave Student's t one degree of freedom."""
    ratings, _truth, _bias = experts(counsellors=6, arms=2, each=2, seed=2)
    strategies = {"aware": [1, 2, 5, 4], "plain": [5, 1, 2]}
    rows = ratings + [
        row | {"rater": "J", "rater_kind": "judge", "strategy": strategy, "score": scores[number % len(scores)]}
        for strategy, scores in strategies.items()
        for number, row in enumerate(ratings)
    ]
    row = table_of(export_of(rows)).iloc[0]
    assert (row["low"], row["high"]) == (-2, 2)
    assert 0 < row["p"] <= 1


def test_a_planted_difference_is_covered(export_of: ExportOf) -> None:
    """Half of each variance is the person's. By their noise, r is 1/√(1 + 1.2²) and 1/√(1 + .6²)."""
    planted, covered = (1 + 0.6**2) ** -0.5 - (1 + 1.2**2) ** -0.5, 0
    persons = np.repeat(np.arange(50), 4)
    for seed in range(20):
        random = np.random.default_rng(seed)
        human, plain, aware = (random.normal(size=(3, 50))[:, persons] + random.normal(size=(3, 200))) / 2**0.5
        rows = judged(human, persons=persons, a_plain=human + 1.2 * plain, b_aware=human + 0.6 * aware)
        row = table_of(export_of(rows), 400).iloc[0]
        covered += row["low"] <= planted <= row["high"]
    assert covered >= 17


def test_every_method_is_of_a_column() -> None:
    assert {column for name in METHODS for column in name.split(", ")} <= set(COLUMNS)


def test_strategies_that_never_differ_still_count_among_the_tests(export_of: ExportOf) -> None:
    items = [
        [row | {"item": item} for row in judged(HUMAN, aware=AWARE, plain=plain)]
        for item, plain in (("care", PLAIN), ("safety", AWARE))
    ]
    table = table_of(export_of([*items[0], *items[1]])).set_index("item")
    assert np.isnan(table.loc["safety", "p"])
    assert np.isnan(table.loc["safety", "p_holm"])
    assert table.loc["care", "p_holm"] == pytest.approx(min(1, 2 * table.loc["care", "p"]))
