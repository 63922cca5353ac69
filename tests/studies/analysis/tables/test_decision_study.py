from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.measures.generalizability import of_complete
from studies.analysis.measures.variance import two_way
from studies.analysis.tables.decision_study import COLUMNS, METHODS, NUMBERS, USERS, decision_study
from tests.studies.analysis.measures.test_generalizability import PERSONS_RATERS_TASKS
from tests.studies.analysis.published import SHROUT_FLEISS

ExportOf = Callable[[Any], Path]


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in decision_study(load(folder), Bootstrap(20, 1)) for row in found]
    return pd.DataFrame(rows, columns=COLUMNS)


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
        # Four judges, as they were: between three and five.
        assert curve[2] < icc[f"icc_{form}_k"].estimate < curve[3]
    assert one(table, "erho2", 1)["method"] == "ANOVA; F interval"
    assert one(table, "variance_residual")["estimate"] == pytest.approx(1.02, abs=0.005)
    assert table[["n", "clusters"]].drop_duplicates().to_numpy().tolist() == [[6, 6]]


def test_decision_study_of_all_items_counts_raters_and_items(export_of: ExportOf) -> None:
    table = table_of(export_of(rated(PERSONS_RATERS_TASKS)))
    found = of_complete(PERSONS_RATERS_TASKS)
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
    assert "low, high: Henderson's method 1 brings no interval" in row["note"]


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
    found = of_complete(SHROUT_FLEISS).variances
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


def test_methods_name_every_statistic(export_of: ExportOf) -> None:
    both = rated(PERSONS_RATERS_TASKS) + met(SHROUT_FLEISS)
    statistics = set(table_of(export_of(both))["statistic"])
    assert {statistic.partition("_conv")[0] for statistic in statistics if "variance" not in statistic} | {
        "variance"
    } == set(METHODS)
