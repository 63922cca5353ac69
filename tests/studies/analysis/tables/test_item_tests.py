"""Two items of one judge: the same numbers as those of the scores themselves, drawn again by person."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
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
from studies.analysis.tables.item_tests import COLUMNS, METHODS, MOST_ITEMS, item_tests
from studies.analysis.tables.strategy_tests import strategy_tests
from tests.studies.analysis.builders import experts, frame_of

ExportOf = Callable[[Any], Path]
Sides = Sequence[Any]
CARE: Sides = ([1, 2, 3, 5, 4, 2], [1, 2, 4, 5, 4, 1])  # people, judge
WARMTH: Sides = ([2, 2, 4, 5, 3, 1], [3, 1, 4, 4, 5, 3])
BOTH = {"care": CARE, "warmth": WARMTH}
NUMBERS = ["n", "r_first", "r_second", "difference", "low", "high", "p", "p_holm", "p_bh", "steiger_z", "steiger_p"]


def table_of(folder: Path, replicates: int = 50) -> pd.DataFrame:
    rows = [row for _, found in item_tests(load(folder), Bootstrap(replicates, 1)) for row in found]
    return frame_of(rows, COLUMNS)


def judged(
    items: Mapping[str, Sides], *, of: dict[str, Any] | None = None, persons: Any = None
) -> list[dict[str, Any]]:
    """One conversation per score of an item: of a seeker, and of judge J. `persons`: whose it is."""
    rows: list[dict[str, Any]] = []
    for item, (human, judge) in items.items():
        for number, (felt, said) in enumerate(zip(human, judge, strict=True)):
            person = f"P{persons[number] if persons is not None else number}"
            about = {"conversation": f"C{number}", "participant": person, "item": item}
            by_judge = {"rater": "J", "rater_kind": "judge", "strategy": "plain"}
            rows += [about | {"rater": person, "score": felt} | (of or {})]
            rows += [about | by_judge | {"score": said} | (of or {})]
    return rows


def test_two_items_are_compared_on_the_conversations_that_have_all_four_scores(export_of: ExportOf) -> None:
    [row] = table_of(export_of(judged({"warmth": WARMTH, "care": CARE}))).to_dict("records")
    r = np.corrcoef([*WARMTH, *CARE])
    named = ["judge", "strategy", "human", "instrument", "moment", "item_first", "item_second", "n", "clusters"]
    assert [row[name] for name in named] == ["J", "plain", "seeker", "ten", "final", "care", "warmth", 6, 6]
    assert (row["r_first"], row["r_second"]) == pytest.approx((r[2, 3], r[0, 1]))
    assert row["difference"] == pytest.approx(r[0, 1] - r[2, 3])
    assert row["low"] < row["difference"] < row["high"]
    tested = dependent.steiger_apart(r, 6)
    assert (row["steiger_z"], row["steiger_p"]) == pytest.approx((tested.statistic, tested.p))
    assert row["method"] == "BCa paired cluster bootstrap"
    assert row["note"] == "interval: only 6 clusters, the interval may be too narrow"


def test_the_other_way_round_all_signs_turn(export_of: ExportOf) -> None:
    row = table_of(export_of(judged(BOTH)), 200).iloc[0]
    turned = table_of(export_of(judged({"care": WARMTH, "warmth": CARE})), 200).iloc[0]
    assert turned[["difference", "low", "high", "steiger_z"]].tolist() == pytest.approx(
        (-row[["difference", "high", "low", "steiger_z"]]).tolist()
    )
    assert turned[["r_first", "r_second", "p", "steiger_p"]].tolist() == pytest.approx(
        row[["r_second", "r_first", "p", "steiger_p"]].tolist()
    )


def test_where_people_say_the_same_of_both_items_it_is_the_test_of_two_strategies(export_of: ExportOf) -> None:
    """Then the two r have a variable in common, and the same draws of people tell the same."""
    human, (first, second) = CARE[0], (CARE[1], WARMTH[1])
    row = table_of(export_of(judged({"care": (human, first), "warmth": (human, second)})), 200).iloc[0]
    rows = judged({"care": (human, first)}) + judged({"care": (human, second)}, of={"strategy": "warm"})[1::2]
    [same] = [one for _, found in strategy_tests(load(export_of(rows)), Bootstrap(200, 1)) for one in found]
    found = row[["r_first", "r_second", "difference", "low", "high", "p"]].tolist()
    assert found == pytest.approx([same[name] for name in ("r_a", "r_b", "difference", "low", "high", "p")])


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.randoms(use_true_random=False), shift=st.integers(-3, 3), unit=st.sampled_from([0.5, 3]))
def test_order_origin_and_unit_change_nothing(export_of: ExportOf, order: Any, shift: int, unit: float) -> None:
    before = table_of(export_of(judged(BOTH)))
    rows = judged(BOTH | {"care": (CARE[0], [shift + unit * score for score in CARE[1]])})
    order.shuffle(rows)
    after = table_of(export_of(rows))
    pd.testing.assert_frame_equal(before[NUMBERS], after[NUMBERS], rtol=1e-9)


def test_items_that_say_the_same_do_not_differ(export_of: ExportOf) -> None:
    row = table_of(export_of(judged({"care": CARE, "warmth": CARE}))).iloc[0]
    assert row["difference"] == 0
    assert row[["low", "high", "p"]].isna().all()
    assert "low, high, p: all resamples are alike" in row["note"]
    assert np.isnan(row["steiger_z"])
    assert "steiger_z, steiger_p: the difference has no variance" in row["note"]


def test_conversations_that_are_copied_tell_steiger_more_and_the_bootstrap_nothing(export_of: ExportOf) -> None:
    once = table_of(export_of(judged(BOTH)), 200).iloc[0]
    copied = {item: (human * 5, judge * 5) for item, (human, judge) in BOTH.items()}
    five_times = table_of(export_of(judged(copied, persons=list(range(6)) * 5)), 200).iloc[0]
    assert (five_times["n"], five_times["clusters"]) == (30, 6)
    same = ["difference", "low", "high", "p"]
    assert five_times[same].tolist() == pytest.approx(once[same].tolist())
    assert abs(five_times["steiger_z"]) > 2 * abs(once["steiger_z"])


def test_what_lacks_a_score_is_left_out_of_its_pairs_alone(export_of: ExportOf) -> None:
    """A pair with a gap has draws of its own, as if its conversations were all there are."""
    random = np.random.default_rng(3)
    full = {item: random.normal(size=(2, 12)).round(6).tolist() for item in ("care", "ease", "warmth")}
    gap = full | {"warmth": ([*full["warmth"][0][:-2], "", ""], full["warmth"][1])}
    table = table_of(export_of(judged(gap)), 100)
    assert table[["item_first", "item_second"]].to_numpy().tolist() == [
        ["care", "ease"],
        ["care", "warmth"],
        ["ease", "warmth"],
    ]
    assert table["n"].tolist() == [12, 10, 10]
    assert "left out" not in table["note"][0]
    assert "2 with both scores of only one of the two items are left out" in table["note"][1]
    for place, pair in enumerate(combinations(full, 2)):
        alone = {item: [side[: table["n"][place]] for side in full[item]] for item in pair}
        expected = table_of(export_of(judged(alone)), 100).iloc[0]
        same = ["r_first", "r_second", "difference", "low", "high", "p", "steiger_z"]
        assert table.loc[place, same].tolist() == pytest.approx(expected[same].tolist())


def test_a_judge_that_says_always_the_same_of_an_item_has_no_difference(export_of: ExportOf) -> None:
    row = table_of(export_of(judged(BOTH | {"warmth": (WARMTH[0], [4] * 6)}))).iloc[0]
    assert row["r_first"] == pytest.approx(np.corrcoef(*CARE)[0, 1])
    assert row[["r_second", "difference", "low", "high", "p", "p_holm", "p_bh", "steiger_z"]].isna().all()
    assert row["note"] == (
        "r_second: the judge scores do not vary; difference: not both r exist; "
        "low, high, p, steiger_z, steiger_p: no difference"
    )


def test_three_conversations_have_a_difference_and_no_steiger(export_of: ExportOf) -> None:
    row = table_of(export_of(judged({"care": ([1, 2, 4], [1, 3, 4]), "warmth": ([3, 1, 2], [3, 2, 2.5])}))).iloc[0]
    assert np.isfinite(row[["difference", "low", "high", "p"]].astype(float)).all()
    assert "steiger_z, steiger_p: fewer than four rows" in row["note"]


def test_items_that_share_no_conversation_have_an_empty_row(export_of: ExportOf) -> None:
    blank = [""] * 3
    care, warmth = ([*CARE[0][:3], *blank], CARE[1]), ([*blank, *WARMTH[0][3:]], WARMTH[1])
    row = table_of(export_of(judged({"care": care, "warmth": warmth}))).iloc[0]
    assert (row["n"], row["clusters"]) == (0, 0)
    assert "r_first, r_second: fewer than three rows" in row["note"]
    assert "6 with both scores of only one of the two items are left out" in row["note"]


def test_conversations_of_one_person_have_no_interval(export_of: ExportOf) -> None:
    row = table_of(export_of(judged(BOTH, persons=[0] * 6))).iloc[0]
    assert np.isfinite(row["difference"])
    assert "low, high, p: fewer than two clusters" in row["note"]


def test_holm_is_over_the_pairs_of_a_judge_strategy_human_and_moment(export_of: ExportOf) -> None:
    random, rows = np.random.default_rng(4), []
    for moment, turn in (("checkpoint", 5), ("final", "")):
        for strategy in ("plain", "warm"):
            items = {}
            for item, noise in (("care", 0.4), ("ease", 0.8), ("warmth", 2.0)):
                human = random.normal(size=15)
                items[item] = human, human + random.normal(0, noise, 15)
            given = judged(items, of={"moment": moment, "turn": turn})
            people = [row for row in given if row.get("rater_kind") != "judge"] if strategy == "plain" else []
            rows += people + [row | {"strategy": strategy} for row in given if row.get("rater_kind") == "judge"]
    table = table_of(export_of(rows), 200)
    assert len(table) == 12
    for _key, family in table.groupby(["judge", "strategy", "human", "moment"]):
        assert len(family) == 3
        assert family["p_holm"].tolist() == pytest.approx(multipletests(family["p"], method="holm")[1].tolist())
    assert table["p_bh"].tolist() == pytest.approx(multipletests(table["p"], method="fdr_bh")[1].tolist())


def test_items_of_different_instruments_are_not_compared(export_of: ExportOf) -> None:
    rows = judged({"care": CARE}) + judged({"warmth": WARMTH}, of={"instrument": "other"})
    assert table_of(export_of(rows)).empty


def test_each_kind_of_people_and_each_reviewer_has_rows(export_of: ExportOf, small_study: list[dict[str, Any]]) -> None:
    table = table_of(export_of(small_study))
    assert sorted(table["human"]) == sorted(["reviewer", "reviewer:R1", "reviewer:R2", "seeker"] * 2)
    assert set(table["strategy"]) == {"standard", "user_aware"}


@pytest.mark.parametrize(("items", "rows"), [(MOST_ITEMS, MOST_ITEMS * (MOST_ITEMS - 1) // 2), (MOST_ITEMS + 1, 1)])
def test_an_instrument_with_too_many_items_has_one_row_that_says_so(export_of: ExportOf, items: int, rows: int) -> None:
    table = table_of(export_of(judged({f"item{number:02}": CARE for number in range(items)})), 5)
    assert len(table) == rows
    if rows == 1:
        assert table[["item_first", "item_second"]].to_numpy().tolist() == [["*", "*"]]
        assert table["note"][0].endswith("the pairs of 21 items are too many")
        assert table[NUMBERS].isna().all(axis=None)


def test_counsellors_own_conversations_draw_counsellors_and_arms(export_of: ExportOf) -> None:
    ratings, _truth, _bias = experts(counsellors=6, arms=5, each=4, seed=2)
    judge = {"rater": "J", "rater_kind": "judge", "strategy": "plain"}
    rows = [row | {"item": item} for item in ("care", "warmth") for row in ratings]
    rows += [
        row | judge | {"item": item, "score": row["score"] + number % period}
        for item, period in (("care", 2), ("warmth", 3))
        for number, row in enumerate(ratings)
    ]
    row = table_of(export_of(rows)).iloc[0]
    assert (row["human"], row["n"], row["clusters"]) == ("expert", 20, 6)
    assert row["method"] == "Student's t paired two-way cluster (counsellors × arms) bootstrap"
    assert row["low"] < row["difference"] < row["high"]
    both = [row | {"item": "care", "strategy": row["item"]} for row in rows if row["rater_kind"] == "judge"]
    beside = export_of([row for row in rows if row["rater_kind"] == "expert" and row["item"] == "care"] + both)
    [same] = [one for _, found in strategy_tests(load(beside), Bootstrap(50, 1)) for one in found]
    assert row[["low", "high", "p"]].tolist() == pytest.approx([same[name] for name in ("low", "high", "p")])


def test_a_planted_difference_is_covered(export_of: ExportOf) -> None:
    """Half of each variance is the person's. By their noise, r is 1/√(1 + 1.2²) and 1/√(1 + .6²)."""
    planted, covered, found = (1 + 0.6**2) ** -0.5 - (1 + 1.2**2) ** -0.5, 0, []
    persons = np.repeat(np.arange(50), 4)
    for seed in range(20):
        random = np.random.default_rng(seed)
        care, warmth, plain, aware = (random.normal(size=(4, 50))[:, persons] + random.normal(size=(4, 200))) / 2**0.5
        items = {"care": (care, care + 1.2 * plain), "warmth": (warmth, warmth + 0.6 * aware)}
        row = table_of(export_of(judged(items, persons=persons)), 400).iloc[0]
        covered += row["low"] <= planted <= row["high"]
        found.append(row["difference"])
    assert covered >= 17
    assert np.mean(found) == pytest.approx(planted, abs=0.03)


def test_every_method_is_of_a_column() -> None:
    assert {column for name in METHODS for column in name.split(", ")} <= set(COLUMNS)
