from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.measures.generalizability import OF_ARMS, components_by_totals, components_of_complete
from studies.analysis.measures.variance import two_way
from studies.analysis.tables.decision_study import METHODS, NUMBERS, USERS, decision_study
from studies.analysis.tables.rater_effects import TABLE
from tests.studies.analysis.builders import frame_of
from tests.studies.analysis.measures.test_generalizability import (
    PERSONS_OCCASIONS_ITEMS,
    PERSONS_RATERS_TASKS,
    drawn,
    planted_in,
)
from tests.studies.analysis.published import SHROUT_FLEISS

ExportOf = Callable[[Any], Path]


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in decision_study(load(folder), Bootstrap(20, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns()).rename(columns={"term": "statistic"})


def rated(table: np.ndarray, **also: Any) -> list[dict[str, Any]]:
    """One rating per conversation, rater and item; nan is not rated."""
    cells = table if table.ndim == 3 else table[:, :, np.newaxis]
    return [
        {"conversation": f"C{target}", "participant": f"P{target}", "rater": f"R{rater}", "item": f"item{item}"}
        | {"rater_kind": "reviewer", "score": score}
        | also
        for (target, rater, item), score in np.ndenumerate(cells)
        if not np.isnan(score)
    ]


def one(table: pd.DataFrame, statistic: str, k: int | None = None, item: str = "item0") -> pd.Series:
    rows = table[(table["statistic"] == statistic) & (table["item"] == item)]
    return rows[rows["k"].isna() if k is None else rows["k"] == k].iloc[0]


def test_decision_study_of_one_item_is_that_of_shrout_and_fleiss(export_of: ExportOf) -> None:
    table = table_of(export_of(rated(SHROUT_FLEISS)))
    assert [round(one(table, statistic, 1)["estimate"], 2) for statistic in ("erho2", "phi")] == [0.71, 0.29]
    icc = two_way(SHROUT_FLEISS)
    for statistic, form in (("erho2", "c"), ("phi", "a")):
        single, row = icc[f"icc_{form}_1"], one(table, statistic, 1)
        assert (row["estimate"], row["low"], row["high"]) == pytest.approx((single.estimate, single.low, single.high))
        curve = [one(table, statistic, k)["estimate"] for k in NUMBERS]
        assert curve == sorted(curve)
        assert curve[NUMBERS.index(4)] == pytest.approx(icc[f"icc_{form}_k"].estimate)  # four judges, as they were
    assert one(table, "erho2", 1)["method"] == "ANOVA; F interval"
    assert one(table, "variance_residual")["estimate"] == pytest.approx(1.02, abs=0.005)
    assert table[["n", "clusters"]].drop_duplicates().to_numpy().tolist() == [[6, 6]]


def test_decision_study_of_all_items_counts_raters_and_items(export_of: ExportOf) -> None:
    table = table_of(export_of(rated(PERSONS_RATERS_TASKS)))
    found = components_of_complete(PERSONS_RATERS_TASKS)
    for statistic, absolute in (("erho2", False), ("phi", True)):
        for k in NUMBERS:
            raters, items = one(table, statistic, k, "*"), one(table, f"{statistic}_items", k, "*")
            several = found.coefficient({"rater": k, "item": 3}, absolute=absolute)
            assert raters["estimate"] == pytest.approx(several.estimate)
            single = found.coefficient({"rater": 1, "item": k}, absolute=absolute)
            assert items["estimate"] == pytest.approx(single.estimate)
            assert (raters["note"], items["note"]) == ("mean over 3 items", "one rater")
            assert raters["low"] < raters["estimate"] < raters["high"]
    negative = one(table, "variance_conversation:rater", None, "*")
    assert negative["estimate"] == pytest.approx(-0.1889, abs=1e-4)
    assert np.isnan(negative["low"])
    assert "below 0: counts as 0 in erho2 and phi" in negative["note"]


def test_decision_study_of_gaps_is_by_likelihood(export_of: ExportOf) -> None:
    gaps = SHROUT_FLEISS.copy()
    gaps[0, 1] = np.nan
    row = one(table_of(export_of(rated(gaps))), "phi", 3)
    assert row["method"] == "REML; delta-method interval on the logit"
    assert 0 < row["low"] < row["estimate"] < row["high"] < 1


def test_decision_study_of_all_items_with_gaps_has_estimates_without_intervals(export_of: ExportOf) -> None:
    gaps = PERSONS_RATERS_TASKS.copy()
    gaps[0, 1, 2] = np.nan
    row = one(table_of(export_of(rated(gaps))), "phi", 3, "*")
    assert 0 < row["estimate"] < 1
    assert row["method"] == "Henderson's method 1"
    assert "low, high: Henderson's method 1, by which it was computed, gives no interval" in row["note"]


def test_decision_study_tells_why_it_is_empty(export_of: ExportOf) -> None:
    crowd = np.full((4, 8), np.nan)
    for target, scores in enumerate([(1, 2), (4, 5), (2, 2), (5, 3)]):
        crowd[target, 2 * target : 2 * target + 2] = scores
    [row] = table_of(export_of(rated(crowd))).to_dict("records")
    assert np.isnan(row["estimate"])
    assert row["note"] == "estimate, low, high: every rating has its own rater"


def test_decision_study_of_raters_who_all_agree_is_one(export_of: ExportOf) -> None:
    table = table_of(export_of(rated(np.array([[1.0, 1.0], [3.0, 3.0], [5.0, 5.0]]))))
    assert one(table, "phi", 1)["estimate"] == 1
    assert "perfect agreement has no interval" in one(table, "phi", 1)["note"]


def test_decision_study_says_where_conversations_are_of_the_same_people(export_of: ExportOf) -> None:
    ratings = [row | {"participant": f"P{int(row['conversation'][1:]) // 2}"} for row in rated(SHROUT_FLEISS)]
    row = one(table_of(export_of(ratings)), "phi", 3)
    assert (row["n"], row["clusters"]) == (6, 3)
    assert "6 conversations of 3 clusters count as independent" in row["note"]


def test_decision_study_leaves_out_what_one_rater_rated(export_of: ExportOf) -> None:
    alone = SHROUT_FLEISS.copy()
    alone[:, 1:] = np.nan
    assert table_of(export_of(rated(alone))).empty


def test_decision_study_ignores_names_and_order(export_of: ExportOf) -> None:
    ratings = rated(PERSONS_RATERS_TASKS)
    renamed = [row | {"rater": {"R0": "Z"}.get(row["rater"], row["rater"])} for row in reversed(ratings)]
    first, again = table_of(export_of(ratings)), table_of(export_of(renamed))
    pd.testing.assert_frame_equal(first, again, rtol=1e-9)


def met(table: np.ndarray) -> list[dict[str, Any]]:
    """Shrout and Fleiss's targets as arms, their judges as people who met them all."""
    return [
        {"conversation": f"C{arm}.{user}", "participant": f"P{user}", "rater": f"P{user}", "arm": f"arm{arm}"}
        | {"item": "item0", "rater_kind": "seeker", "score": score}
        for (arm, user), score in np.ndenumerate(table)
        if not np.isnan(score)
    ]


def test_decision_study_of_arms_counts_the_users_that_tell_them_apart(export_of: ExportOf) -> None:
    table = table_of(export_of(met(SHROUT_FLEISS)))
    assert set(table["unit"]) == {"arm"}
    icc = two_way(SHROUT_FLEISS)
    for statistic, form in (("erho2_users", "icc_c_1"), ("phi_users", "icc_a_1")):
        curve = table[table["statistic"] == statistic].set_index("k")["estimate"]
        single = icc[form].estimate
        assert curve.index.tolist() == list(USERS)
        assert curve[10] == pytest.approx(10 * single / (1 + 9 * single))
    found = components_of_complete(SHROUT_FLEISS).variances
    assert one(table, "variance_arm")["estimate"] == pytest.approx(found[("conversation",)])
    assert one(table, "variance_user")["estimate"] == pytest.approx(found[("rater",)])
    assert table[["n", "clusters"]].drop_duplicates().to_numpy().tolist() == [[6, 4]]


def test_decision_study_of_arms_takes_the_users_that_met_all(export_of: ExportOf) -> None:
    gaps = SHROUT_FLEISS.copy()
    gaps[0, 1] = np.nan
    row = one(table_of(export_of(met(gaps))), "erho2_users", 5)
    assert (row["n"], row["clusters"]) == (6, 3)
    gaps[1, 2:] = np.nan
    assert table_of(export_of(met(gaps))).empty


def test_decision_study_of_arms_that_users_order_otherwise_has_no_reliability(export_of: ExportOf) -> None:
    table = table_of(export_of(met(np.array([[1.0, 3.0], [3.0, 2.0], [2.0, 1.0]]))))
    assert (table.loc[table["statistic"].isin(["erho2_users", "phi_users"]), "estimate"] == 0).all()


def test_decision_study_of_arms_that_all_score_alike_says_so(export_of: ExportOf) -> None:
    [row] = table_of(export_of(met(np.full((3, 4), 2.0)))).to_dict("records")
    assert (row["statistic"], row["note"]) == ("variance_arm", "estimate, low, high: the scores do not vary")


def judged(table: np.ndarray, **also: Any) -> list[dict[str, Any]]:
    """Scores of arms × users × raters (× items); nan is not rated."""
    cells = table if table.ndim == 4 else table[..., np.newaxis]
    return [
        {"conversation": f"C{arm}.{user}", "participant": f"P{user}", "arm": f"arm{arm}", "rater": f"J{rater}"}
        | {"rater_kind": "judge", "strategy": "standard", "item": f"item{item}", "score": score}
        | also
        for (arm, user, rater, item), score in np.ndenumerate(cells)
        if not np.isnan(score)
    ]


def by_raters(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of arms that several raters scored."""
    return table[table["facets"].str.startswith("arm × user × rater")]


FOUR = drawn(np.random.default_rng(12), (4, 8, 3, 3), planted_in(4))  # arms differ; the users' variance is below 0


def test_decision_study_of_rated_arms_of_one_item_has_brennans_printed_components(export_of: ExportOf) -> None:
    """Persons as arms, occasions as users, items as raters."""
    table = by_raters(table_of(export_of(judged(PERSONS_OCCASIONS_ITEMS))))
    names = ("arm", "user", "rater", "arm:user", "arm:rater", "user:rater", "residual")
    found = [round(one(table, f"variance_{name}")["estimate"], 4) for name in names]
    assert found == [0.5528, 0.0074, 0.4417, 0.1009, 0.5750, 0.1565, 0.9352]
    assert set(table["facets"]) == {"arm × user × rater"}
    assert table[["raters", "unit", "n", "clusters"]].drop_duplicates().to_numpy().tolist() == [
        ["judge:standard", "arm", 10, 2]
    ]
    as_they_were = table[(table["k"] == 2) & (table["k_raters"] == 4)].set_index("statistic")["estimate"]
    assert as_they_were.round(2).to_dict() == {"erho2_users_raters": 0.64, "phi_users_raters": 0.55}


def test_decision_study_of_rated_arms_counts_users_and_raters_together(export_of: ExportOf) -> None:
    table = by_raters(table_of(export_of(judged(FOUR))))
    found = components_of_complete(FOUR, OF_ARMS)
    for statistic, absolute in (("erho2_users_raters", False), ("phi_users_raters", True)):
        rows = table[(table["statistic"] == statistic) & (table["item"] == "*")]
        assert sorted(set(rows["k"])) == sorted({*USERS, 8})
        assert sorted(set(rows["k_raters"])) == sorted({*NUMBERS, 3})
        assert len(rows) == (len(USERS) + 1) * len(NUMBERS)
        for row in rows.to_dict("records"):
            numbers = {"user": row["k"], "rater": row["k_raters"], "item": 3}
            expected = found.coefficient(numbers, absolute=absolute)
            assert (row["estimate"], row["low"], row["high"]) == pytest.approx(
                (expected.estimate, expected.low, expected.high)
            )
            assert (row["note"], row["facets"]) == ("mean over 3 items", "arm × user × rater × item")


def test_decision_study_of_rated_arms_tells_what_comes_out_below_0(export_of: ExportOf) -> None:
    row = one(by_raters(table_of(export_of(judged(FOUR)))), "variance_user", None, "*")
    assert row["estimate"] == pytest.approx(components_of_complete(FOUR, OF_ARMS).variances["user",])
    assert row["estimate"] < 0
    assert "below 0: counts as 0 in erho2 and phi" in row["note"]


def test_decision_study_of_rated_arms_leaves_out_users_with_gaps(export_of: ExportOf) -> None:
    gaps = FOUR.copy()
    gaps[1, 2, 0, 1] = np.nan
    row = one(by_raters(table_of(export_of(judged(gaps)))), "variance_arm:user", None, "*")
    kept = components_of_complete(np.delete(FOUR, 2, axis=1), OF_ARMS)
    assert row["estimate"] == pytest.approx(kept.variances["arm", "user"])
    assert (row["clusters"], row["method"][:5]) == (7, "ANOVA")
    assert "35 of 287 scores of users or raters with gaps are left out" in row["note"]


def test_decision_study_of_rated_arms_leaves_out_raters_with_gaps(export_of: ExportOf) -> None:
    gaps = FOUR.copy()
    gaps[0, :, 2] = np.nan
    row = one(by_raters(table_of(export_of(judged(gaps)))), "variance_arm:user", None, "*")
    assert row["estimate"] == pytest.approx(components_of_complete(FOUR[:, :, :2], OF_ARMS).variances["arm", "user"])
    assert row["clusters"] == 8


def test_decision_study_of_rated_arms_with_many_gaps_has_estimates_without_intervals(export_of: ExportOf) -> None:
    gaps = np.where(np.random.default_rng(2).random(FOUR.shape) < 0.3, np.nan, FOUR)
    table = by_raters(table_of(export_of(judged(gaps))))
    scored = ~np.isnan(gaps)
    found = components_by_totals(gaps[scored], dict(zip(OF_ARMS, np.nonzero(scored), strict=True)))
    for name, effect in (("arm", ("arm",)), ("user:rater", ("user", "rater")), ("residual", OF_ARMS)):
        row = one(table, f"variance_{name}", None, "*")
        assert row["estimate"] == pytest.approx(found.variances[effect])
        assert row["method"] == "Henderson's method 1"
    row = one(table, "erho2_users_raters", 10, "*")
    assert "low, high: Henderson's method 1, by which it was computed, gives no interval" in row["note"]
    assert "left out" not in row["note"]
    assert table["low"].isna().all()


def test_decision_study_of_rated_arms_takes_the_mean_of_a_users_conversations(export_of: ExportOf) -> None:
    again = [row | {"conversation": f"{row['conversation']}b", "score": row["score"] + 2} for row in judged(FOUR)]
    first, both = (by_raters(table_of(export_of(ratings))) for ratings in (judged(FOUR), judged(FOUR) + again))
    pd.testing.assert_frame_equal(first, both, rtol=1e-9)


def test_decision_study_of_rated_arms_keeps_conditions_and_strategies_apart(export_of: ExportOf) -> None:
    worse = [row | {"conversation": f"{row['conversation']}w", "condition": "worst_case"} for row in judged(FOUR - 1)]
    ratings = judged(FOUR, condition="average") + worse + judged(FOUR + 1, strategy="user_aware", condition="average")
    rows = by_raters(table_of(export_of(ratings)))
    arms = rows[(rows["statistic"] == "variance_arm") & (rows["item"] == "*")]
    told = arms[["raters", "condition"]].to_numpy().tolist()
    assert told == [["judge:standard", "average"], ["judge:standard", "worst_case"], ["judge:user_aware", "average"]]
    assert arms["estimate"].tolist() == pytest.approx([components_of_complete(FOUR, OF_ARMS).variances["arm",]] * 3)


def test_decision_study_of_rated_arms_ignores_names_and_order(export_of: ExportOf) -> None:
    gaps = np.where(np.random.default_rng(3).random(FOUR.shape) < 0.3, np.nan, FOUR)
    for scores in (FOUR, gaps):
        ratings = judged(scores)
        other = {"rater": {"J0": "Z"}, "participant": {"P3": "A"}, "arm": {"arm0": "x"}}
        renamed = [row | {key: names.get(row[key], row[key]) for key, names in other.items()} for row in ratings]
        first, again = (by_raters(table_of(export_of(rows))) for rows in (ratings, renamed[::-1]))
        pd.testing.assert_frame_equal(first, again, rtol=1e-7)


@pytest.mark.parametrize(
    "table",
    [
        FOUR[:, :, :1],  # one rater
        np.where(np.eye(8)[np.newaxis, :, :, np.newaxis] == 1, FOUR[:, :, :1], np.nan),  # a rater for each user
        np.where(np.eye(4, 8)[:, :, np.newaxis, np.newaxis] == 1, FOUR, np.nan),  # an arm for each user
        FOUR[:1],  # one arm
        FOUR[:, :1],  # one user
        np.where(np.arange(8)[:, np.newaxis, np.newaxis] < [[8], [2], [1]], FOUR, np.nan)[:, :, [0, 2]],
    ],
)
def test_decision_study_of_rated_arms_needs_two_raters_of_users_that_met_several_arms(
    table: np.ndarray, export_of: ExportOf
) -> None:
    assert by_raters(table_of(export_of(judged(table)))).empty


def test_decision_study_of_rated_arms_leaves_out_who_rated_too_little_to_tell(export_of: ExportOf) -> None:
    """The third rater saw one user only."""
    table = np.where(np.arange(8)[:, np.newaxis, np.newaxis] < [[8], [8], [1]], FOUR, np.nan)
    row = one(by_raters(table_of(export_of(judged(table)))), "variance_rater", None, "*")
    assert row["estimate"] == pytest.approx(components_of_complete(FOUR[:, :, :2], OF_ARMS).variances["rater",])
    assert "12 of 204 scores of users or raters with gaps are left out" in row["note"]


def test_decision_study_of_rated_arms_whose_raters_had_users_of_their_own_says_why_it_is_empty(
    export_of: ExportOf,
) -> None:
    own = np.repeat(np.eye(2), 4, axis=0)[np.newaxis, :, :, np.newaxis] == 1
    table = by_raters(table_of(export_of(judged(np.where(own, FOUR[:, :, :2], np.nan)))))
    assert table[["item", "statistic"]].to_numpy().tolist() == [["*", "variance_arm"]]
    assert set(table["note"]) == {"estimate, low, high: the facets cannot be told from each other"}


def test_decision_study_of_rated_arms_that_all_score_alike_says_so(export_of: ExportOf) -> None:
    [row] = by_raters(table_of(export_of(judged(np.full((3, 4, 2), 2.0))))).to_dict("records")
    assert (row["statistic"], row["note"]) == ("variance_arm", "estimate, low, high: the scores do not vary")


def test_decision_study_of_what_only_raters_differ_in_says_that_it_has_no_coefficient(export_of: ExportOf) -> None:
    """Strict raters, and conversations all alike."""
    table = table_of(export_of(rated(np.tile([1.0, 2.0, 4.0], (5, 1)))))
    assert one(table, "variance_rater")["estimate"] > 0
    assert one(table, "erho2", 3)["note"] == "estimate, low, high: no variance comes out above 0"
    assert one(table, "phi", 3)["estimate"] == 0
    alike = by_raters(table_of(export_of(judged(np.tile([1.0, 2.0, 4.0], (3, 4, 1))))))
    assert one(alike, "erho2_users_raters", 5)["note"] == "estimate, low, high: no variance comes out above 0"


def test_decision_study_names_the_facets_of_each_row(export_of: ExportOf) -> None:
    """Which tells apart the same statistic of two studies."""
    table = table_of(export_of(judged(FOUR)))
    assert list(dict.fromkeys(table["facets"])) == [
        "conversation × rater × item",
        "arm × user",
        "arm × user × rater × item",
    ]
    assert not table.duplicated(["facets", "instrument", "item", "statistic", "k", "k_raters"]).any()
    assert table["k_raters"].notna().equals(table["statistic"].str.endswith("_users_raters"))


def test_methods_name_every_statistic(export_of: ExportOf) -> None:
    both = rated(PERSONS_RATERS_TASKS) + met(SHROUT_FLEISS) + judged(FOUR)
    statistics = set(table_of(export_of(both))["statistic"])
    assert {statistic.partition("_conv")[0] for statistic in statistics if "variance" not in statistic} | {
        "variance"
    } == set(METHODS)
