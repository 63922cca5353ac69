from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.measures.variance import by_components
from studies.analysis.rows import Undefined
from studies.analysis.tables.reliability import COLUMNS, cronbach_alpha, reliability
from tests.studies.analysis.published import SHROUT_FLEISS

ExportOf = Callable[[Any], Path]


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in reliability(load(folder), Bootstrap(50, 1)) for row in found]
    return pd.DataFrame(rows, columns=COLUMNS)


def judged_by(kind: str, matrix: np.ndarray, **also: Any) -> list[dict[str, Any]]:
    """One rating per conversation (row) and rater (column); nan is not rated."""
    return [
        {"conversation": f"C{target}", "rater": f"R{rater}", "rater_kind": kind, "score": score} | also
        for (target, rater), score in np.ndenumerate(matrix)
        if not np.isnan(score)
    ]


def test_reliability_of_experts_on_the_same_conversations(export_of: ExportOf) -> None:
    table = table_of(export_of(judged_by("expert", SHROUT_FLEISS)))
    row = table.iloc[0]
    assert row[["raters", "unit", "item", "n", "k", "clusters"]].tolist() == ["expert", "conversation", "care", 6, 4, 6]
    forms = ["icc_1_1", "icc_a_1", "icc_c_1", "icc_1_k", "icc_a_k", "icc_c_k"]
    assert [round(row[form], 2) for form in forms] == [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    for name in ("alpha_ordinal", "alpha_interval"):
        assert row[f"{name}_low"] < row[name] < row[f"{name}_high"]
    assert len(table) == 1


def test_reliability_of_judges_averages_their_replicates(export_of: ExportOf) -> None:
    ratings = judged_by("judge", SHROUT_FLEISS - 1, strategy="standard", replicate=1)
    ratings += judged_by("judge", SHROUT_FLEISS + 1, strategy="standard", replicate=2)
    row = table_of(export_of(ratings)).iloc[0]
    assert row["raters"] == "judge:standard"
    assert round(row["icc_a_k"], 2) == 0.62


def test_reliability_of_a_gap_is_by_variance_components_and_alpha_of_all(export_of: ExportOf) -> None:
    with_gap = np.vstack([SHROUT_FLEISS, [9, 9, np.nan, 9], [1, np.nan, np.nan, np.nan]])
    row = table_of(export_of(judged_by("reviewer", with_gap))).iloc[0]
    assert row["n"] == 7  # the conversation with one rating tells nothing
    rated = with_gap[:7]
    targets, raters = np.nonzero(~np.isnan(rated))
    found = by_components(rated[targets, raters], targets, raters, (27 - (6 * 16 + 9) / 27) / 6)
    for form in ("icc_a_1", "icc_c_1", "icc_a_k", "icc_c_k"):
        assert row[f"{form}_low"] < row[form] < row[f"{form}_high"]
        assert row[form] == pytest.approx(found[form].estimate)
    assert "6 of 7 conversations rated by all 4 raters" in row["note"]
    assert "by REML variance components over all ratings, delta-method intervals" in row["note"]
    assert "kappa_fleiss: the number of ratings differs between conversations" in row["note"]


def test_reliability_of_a_changing_crowd_is_one_way(export_of: ExportOf) -> None:
    crowd = np.full((4, 8), np.nan)
    for target, scores in enumerate([(1, 2), (4, 5), (2, 2), (5, 3)]):
        crowd[target, 2 * target : 2 * target + 2] = scores
    row = table_of(export_of(judged_by("crowd", crowd))).iloc[0]
    # By hand: the means 1.5, 4.5, 2, 4 about 3 give a sum of squares of 13; within it is .5 + .5 + 0 + 2.
    between, within = 13 / 3, 3 / 4
    assert row["icc_1_1"] == pytest.approx((between - within) / (between + within))
    assert row["icc_1_k"] == pytest.approx(1 - within / between)
    assert row[["icc_a_1", "icc_c_1", "icc_a_k", "icc_c_k"]].isna().all()
    assert "icc_a_1, icc_c_1, icc_a_k, icc_c_k: every rating has its own rater" in row["note"]
    assert "one-way over all ratings, k = 2 ratings on average" in row["note"]


def test_reliability_of_an_overlap_of_pairs_loses_no_conversation(export_of: ExportOf) -> None:
    """Ten reviewers, each conversation rated by two of them: listwise there would be nothing."""
    random = np.random.default_rng(11)
    scores = np.full((60, 10), np.nan)
    for target, own in enumerate(random.normal(3, 0.8, 60)):
        pair = random.choice(10, 2, replace=False)
        scores[target, pair] = own + 0.1 * pair + random.normal(0, 0.5, 2)
    row = table_of(export_of(judged_by("reviewer", scores))).iloc[0]
    assert "0 of 60 conversations rated by all 10 raters" in row["note"]
    # Planted: variances .64 of conversations, .09 of raters, .25 of error.
    assert row["icc_a_1_low"] < 0.64 / 0.98 < row["icc_a_1_high"]
    assert row["icc_c_1_low"] < 0.64 / 0.89 < row["icc_c_1_high"]
    assert row["icc_a_1"] < row["icc_c_1"] < row["icc_c_k"]


def test_reliability_takes_the_first_of_what_a_reviewer_rated_twice(export_of: ExportOf) -> None:
    once = judged_by("reviewer", SHROUT_FLEISS, replicate=1)
    again = [row | {"replicate": 2, "score": 1} for row in once[:10]]
    tables = [table_of(export_of(ratings)) for ratings in (once, once + again)]
    pd.testing.assert_frame_equal(*tables)
    assert tables[1].at[0, "k"] == 4


def test_reliability_of_experts_own_conversations_is_by_arm_and_one_way(export_of: ExportOf) -> None:
    ratings = [
        {"conversation": f"C{arm}{expert}", "participant": f"X{expert}", "arm": f"arm{arm}", "rater": f"X{expert}"}
        | {"rater_kind": "expert", "score": score}
        for (arm, expert), score in np.ndenumerate(SHROUT_FLEISS)
    ]
    row = table_of(export_of(ratings)).iloc[0]
    assert row[["unit", "n", "k"]].tolist() == ["arm", 6, 4]
    assert (round(row["icc_1_1"], 2), round(row["icc_1_k"], 2)) == (0.17, 0.44)
    assert row[["icc_a_1", "icc_c_1", "icc_a_k", "icc_c_k", "alpha_ordinal", "alpha_interval"]].isna().all()
    assert row["note"].endswith("rater, card and conversation are confounded")


def test_reliability_says_where_raters_agree_perfectly(export_of: ExportOf) -> None:
    row = table_of(export_of(judged_by("expert", np.array([[1.0, 1.0], [3.0, 3.0], [5.0, 5.0]])))).iloc[0]
    assert (row["icc_a_1"], row["alpha_interval"], row["percent_agreement"]) == (1.0, 1.0, 1.0)
    assert np.isnan(row["icc_a_1_low"])
    assert "perfect agreement has no interval" in row["note"]


def test_reliability_of_constant_ratings_is_empty_but_for_percent_agreement(export_of: ExportOf) -> None:
    row = table_of(export_of(judged_by("expert", np.full((4, 3), 5.0)))).iloc[0]
    assert row[["icc_1_1", "icc_a_k", "alpha_ordinal", "alpha_interval", "kappa_fleiss"]].isna().all()
    assert row["percent_agreement"] == 1
    assert "alpha_ordinal, alpha_interval, kappa_fleiss: the scores do not vary" in row["note"]


def test_reliability_of_an_instruments_items_is_on_the_row_of_all_items(export_of: ExportOf) -> None:
    items = [
        {"conversation": f"C{target}", "rater": f"P{target}", "item": f"item{item}", "score": score}
        for (target, item), score in np.ndenumerate(SHROUT_FLEISS)
    ]
    items.append({"conversation": "C9", "rater": "P9", "item": "item0", "score": 1})
    table = table_of(export_of(items))
    assert table[["raters", "item", "n", "k"]].to_numpy().tolist() == [["seeker", "*", 6, 4]]
    assert round(table.at[0, "cronbach"], 3) == 0.909
    assert "6 of 7 ratings answered all items" in table.at[0, "note"]
    assert "omega: no factor model is fitted" in table.at[0, "note"]


def test_cronbach_alpha_needs_totals_that_vary() -> None:
    with pytest.raises(Undefined, match="the totals do not vary"):
        cronbach_alpha(np.array([[1.0, 2.0], [2.0, 1.0]]))
