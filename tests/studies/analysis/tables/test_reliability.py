from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.measures import clustered, gwet
from studies.analysis.measures.variance import FORMS, two_way, two_way_by_components
from studies.analysis.rows import Undefined
from studies.analysis.tables.reliability import (
    TABLE,
    cronbach_alpha,
    omega_polychoric,
    omega_total,
    reliability,
)
from tests.coverage.simulated import CHATS, people, ratings_of_people
from tests.studies.analysis.benchmark import write_table
from tests.studies.analysis.builders import frame_of
from tests.studies.analysis.measures.test_coincidence import FLEISS_DIAGNOSES, FOUR_OBSERVERS
from tests.studies.analysis.measures.test_coincidence import table as matrix_of
from tests.studies.analysis.measures.test_kappa import ANXIETY
from tests.studies.analysis.published import SHROUT_FLEISS

ExportOf = Callable[[Any], Path]
CARE = {"file": "ten.json", "column": "care", "type": "scale", "minimum": 1, "maximum": 5}


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in reliability(load(folder), Bootstrap(50, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


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
    for name in ("alpha_nominal", "alpha_ordinal", "alpha_interval", "alpha_ratio", "gwet_ac2"):
        assert row[f"{name}_low"] < row[name] < row[f"{name}_high"]
    assert len(table) == 1


@pytest.mark.parametrize(("targets", "raters", "said"), [(40, 2, True), (40, 4, True), (40, 5, False), (39, 2, False)])
def test_reliability_says_where_few_raters_of_many_make_satterthwaites_interval_too_narrow(
    export_of: ExportOf, targets: int, raters: int, said: bool
) -> None:
    random = np.random.default_rng(1)
    scores = random.normal(size=(targets, 1)) + random.normal(size=raters) + random.normal(size=(targets, raters))
    row = table_of(export_of(judged_by("expert", scores))).iloc[0]
    note = f"(A,·): only {raters} raters of {targets} conversations, the interval may be too narrow"
    assert (note in row["note"]) is said


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
    found = two_way_by_components(rated[targets, raters], targets, raters, (27 - (6 * 16 + 9) / 27) / 6)
    assert row["k"] == pytest.approx((27 - (6 * 16 + 9) / 27) / 6)  # what icc_a_k and its like are of
    for form in ("icc_a_1", "icc_c_1", "icc_a_k", "icc_c_k"):
        assert row[f"{form}_low"] < row[form] < row[f"{form}_high"]
        assert row[form] == pytest.approx(found[form].estimate)
    assert "6 of 7 conversations rated by all 4 raters" in row["note"]
    assert "by REML variance components over all ratings, delta-method intervals" in row["note"]
    assert "kappa_fleiss, kappa_fleiss_se: the number of ratings differs between conversations" in row["note"]


def test_reliability_of_a_changing_crowd_is_one_way(export_of: ExportOf) -> None:
    crowd = np.full((4, 8), np.nan)
    for target, scores in enumerate([(1, 2), (4, 5), (2, 2), (5, 3)]):
        crowd[target, 2 * target : 2 * target + 2] = scores
    row = table_of(export_of(judged_by("crowd", crowd))).iloc[0]
    assert row["k"] == 2  # of eight raters
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


def test_reliability_says_where_raters_are_too_far_apart_for_a_lower_bound(export_of: ExportOf) -> None:
    row = table_of(export_of(judged_by("expert", np.array([[1.0, 3.0], [3.0, 2.0], [2.0, 1.0]])))).iloc[0]
    assert row["icc_a_1"] == -1
    assert np.isnan(row["icc_a_k"])
    assert "icc_a_k: no lower bound, because the raters differ so much" in row["note"]


def test_reliability_of_constant_ratings_is_empty_but_for_percent_agreement(export_of: ExportOf) -> None:
    row = table_of(export_of(judged_by("expert", np.full((4, 3), 5.0)))).iloc[0]
    assert row[["icc_1_1", "icc_a_k", "alpha_ordinal", "alpha_interval", "kappa_fleiss"]].isna().all()
    assert row["percent_agreement"] == 1
    assert (
        "alpha_ordinal, alpha_interval, alpha_nominal, alpha_ratio, kappa_fleiss, kappa_fleiss_se: the scores do not "
        "vary" in row["note"]
    )
    assert "gwet_ac2: the scale has one level only" in row["note"]


def test_reliability_of_constant_ratings_on_a_known_scale_is_full_agreement_beyond_chance(export_of: ExportOf) -> None:
    folder = export_of(judged_by("expert", np.full((4, 3), 5.0)))
    write_table(folder, "codebook", [CARE])
    row = table_of(folder).iloc[0]
    assert row["gwet_ac2"] == 1
    assert "gwet_ac2_low, gwet_ac2_high: all resamples show the same agreement" in row["note"]


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
    assert table.at[0, "omega"] == pytest.approx(omega_total(SHROUT_FLEISS))


def test_reliability_takes_the_levels_of_the_codebook_else_those_between_the_scores(export_of: ExportOf) -> None:
    scores = np.array([[2.0, 2.0], [3.0, 2.0], [5.0, 5.0], [5.0, 4.0], [2.0, 3.0]])
    found = {}
    for name, codebook in (("told", [CARE]), ("scores", [])):
        folder = export_of(judged_by("reviewer", scores))
        if codebook:
            write_table(folder, "codebook", codebook)
        found[name] = table_of(folder).iloc[0]
        (folder / "codebook.csv").unlink(missing_ok=True)
    for name, levels in (("told", np.arange(1.0, 6.0)), ("scores", np.arange(2.0, 6.0))):
        counted = gwet.counts(scores.ravel(), np.repeat(np.arange(5), 2), levels)
        assert found[name]["gwet_ac2"] == pytest.approx(gwet.agreement(counted, gwet.quadratic(levels)))
    assert "scale taken from the scores, 2 to 5: codebook.csv has none" in found["scores"]["note"]
    assert "scale taken" not in found["told"]["note"]
    assert "AC2: quadratic weights, " in found["told"]["method"]


def test_conversations_with_one_rating_count_towards_the_chance_agreement_of_ac2(export_of: ExportOf) -> None:
    """Gwet 2014: 12 units, 4 raters, one unit with one rating; irrCAC 0.4.4 prints .91400 with quadratic weights."""
    folder = export_of(judged_by("reviewer", matrix_of(FOUR_OBSERVERS)))
    write_table(folder, "codebook", [CARE])
    row = table_of(folder).iloc[0]
    assert row["gwet_ac2"] == pytest.approx(0.91400, abs=5e-6)
    assert row["n"] == 11


@pytest.mark.parametrize("highest", ["60", "100000", "1e12"])
def test_reliability_of_a_scale_of_too_many_levels_has_no_ac2(export_of: ExportOf, highest: str) -> None:
    folder = export_of(judged_by("reviewer", SHROUT_FLEISS[:, :2]))
    write_table(folder, "codebook", [CARE | {"minimum": "0", "maximum": highest}])
    row = table_of(folder).iloc[0]
    assert np.isnan(row["gwet_ac2"])
    assert "gwet_ac2: the scale has more than 60 levels" in row["note"]
    assert np.isfinite(row["alpha_ordinal"])


def test_reliability_of_averaged_replicates_has_no_levels(export_of: ExportOf) -> None:
    ratings = judged_by("judge", SHROUT_FLEISS, strategy="standard", replicate=1)
    ratings += judged_by("judge", SHROUT_FLEISS + 1, strategy="standard", replicate=2)
    row = table_of(export_of(ratings)).iloc[0]
    assert np.isnan(row["gwet_ac2"])
    assert "gwet_ac2: some scores lie between the levels of the scale" in row["note"]


def of_people(matrix: np.ndarray, each: int) -> list[dict[str, Any]]:
    rated = judged_by("reviewer", matrix)
    return [row | {"participant": f"P{int(row['conversation'][1:]) // each}"} for row in rated]


def test_reliability_of_several_conversations_of_a_person_is_by_a_jackknife_of_persons(export_of: ExportOf) -> None:
    scores = np.rint(3 + ratings_of_people(np.random.default_rng(4), 20, 3))
    row = table_of(export_of(of_people(scores, CHATS))).iloc[0]
    found = clustered.two_way(two_way(scores), scores, people(20), Bootstrap(50, 1))
    for form in FORMS:
        assert row[[form, f"{form}_low", f"{form}_high"]].tolist() == pytest.approx(
            [found[form].estimate, found[form].low, found[form].high], rel=1e-6
        )
    assert (row["n"], row["clusters"]) == (80, 20)
    assert row["method"].startswith("ICC: jackknife of clusters, Student's t; ICC(A,·): jackknife of clusters")
    alone = table_of(export_of(judged_by("reviewer", scores))).iloc[0]
    assert alone["method"].startswith("ICC: F; ")


def test_reliability_of_a_persons_conversations_with_gaps_is_by_a_jackknife_too(export_of: ExportOf) -> None:
    scores = np.rint(3 + ratings_of_people(np.random.default_rng(4), 20, 3))
    scores[::3, 1] = np.nan
    row = table_of(export_of(of_people(scores, CHATS))).iloc[0]
    assert "by REML variance components over all ratings, jackknife intervals" in row["note"]
    assert "ICC(A,·), ICC(C,·): jackknife of clusters, Student's t, one step of Newton's" in row["method"]
    for form in FORMS:
        assert row[f"{form}_low"] < row[form] < row[f"{form}_high"]
    alone = table_of(export_of(judged_by("reviewer", scores))).iloc[0]
    assert "ICC(1,·): F; ICC(A,·), ICC(C,·): delta-method interval on the logit" in alone["method"]


def test_reliability_says_where_so_many_raters_leave_conversations_of_a_person_independent(
    export_of: ExportOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clustered, "MOST_RATERS", 2)
    scores = np.rint(3 + ratings_of_people(np.random.default_rng(4), 20, 3))
    scores[::3, 1] = np.nan
    row = table_of(export_of(of_people(scores, CHATS))).iloc[0]
    assert "(A,·) and (C,·): 80 conversations of 20 clusters count as independent" in row["note"]
    assert "ICC(A,·), ICC(C,·): delta-method interval on the logit" in row["method"]


def test_reliability_of_one_persons_conversations_has_no_interval(export_of: ExportOf) -> None:
    row = table_of(export_of(of_people(SHROUT_FLEISS, 6))).iloc[0]
    assert round(row["icc_a_1"], 2) == 0.29
    assert np.isnan(row["icc_a_1_low"])
    assert "fewer than two clusters" in row["note"]


def test_reliability_has_cohens_kappas_of_two_raters_alone(export_of: ExportOf) -> None:
    row = table_of(export_of(judged_by("expert", ANXIETY.astype(float)))).iloc[0]
    assert round(row["kappa_weighted"], 3) == 0.297
    for name, weights in (("kappa_cohen", None), ("kappa_linear", "linear"), ("kappa_weighted", "quadratic")):
        theirs = cohens_kappa(
            pd.crosstab(*ANXIETY.T).reindex(index=range(1, 7), columns=range(1, 7), fill_value=0), wt=weights
        )
        assert (row[name], row[f"{name}_se"]) == pytest.approx((theirs.kappa, theirs.std_kappa))
    row = table_of(export_of(judged_by("expert", SHROUT_FLEISS))).iloc[0]
    assert np.isnan(row["kappa_weighted"])
    assert "kappa_weighted, kappa_weighted_se: more than two raters" in row["note"]


def test_reliability_of_items_has_feldts_interval_or_a_jackknife_of_persons(export_of: ExportOf) -> None:
    scores = np.rint(3 + ratings_of_people(np.random.default_rng(6), 15, 4))

    def row_of(each: int) -> pd.Series:
        ratings = [
            {"conversation": f"C{target}", "participant": f"P{target // each}", "rater": f"P{target // each}"}
            | {"item": f"item{item}", "score": score}
            for (target, item), score in np.ndenumerate(scores)
        ]
        return table_of(export_of(ratings)).iloc[0]

    alone, together = row_of(1), row_of(CHATS)
    usual = two_way(scores)
    assert (alone["cronbach_low"], alone["cronbach_high"]) == pytest.approx(
        (usual["icc_c_k"].low, usual["icc_c_k"].high)
    )
    found = clustered.two_way(usual, scores, people(15), Bootstrap(50, 1))["icc_c_k"]
    assert (together["cronbach_low"], together["cronbach_high"]) == pytest.approx((found.low, found.high))
    assert (alone["clusters"], together["clusters"]) == (60, 15)
    assert "omega: 60 ratings of 15 clusters count as independent" in together["note"]
    assert "independent" not in alone["note"]


def test_reliability_has_the_error_of_fleiss_kappa_of_people(export_of: ExportOf) -> None:
    """Of Fleiss' patients two each are one person's."""
    diagnoses = np.array([[float(digit) for digit in patient] for patient in FLEISS_DIAGNOSES.split()])
    ratings = [row | {"participant": f"P{int(row['conversation'][1:]) // 2}"} for row in judged_by("expert", diagnoses)]
    row = table_of(export_of(ratings)).iloc[0]
    assert (round(row["kappa_fleiss"], 3), row["clusters"]) == (0.43, 15)
    assert 0 < row["kappa_fleiss_se"] < 0.2


def test_reliability_with_gaps_has_an_agreement_and_no_fleiss_kappa(export_of: ExportOf) -> None:
    scores = np.array([[1, 2, np.nan], [2, 2, 2], [3, 1, 3], [4, 4, np.nan], [2, 3, 2]])
    row = table_of(export_of(judged_by("expert", scores))).iloc[0]
    assert row[["kappa_fleiss", "kappa_fleiss_se"]].isna().all()
    assert 0 < row["percent_agreement"] < 1


def of_covariance(covariance: np.ndarray) -> np.ndarray:
    """Fifty rows whose covariances are just these."""
    drawn = np.random.default_rng(1).normal(size=(50, len(covariance)))
    alike = np.linalg.qr(drawn - drawn.mean(axis=0))[0] * np.sqrt(49)
    return alike @ np.linalg.cholesky(covariance).T


def test_omega_of_congeneric_items_is_the_closed_form() -> None:
    # McDonald 1999: (Σλ)² / ((Σλ)² + Σθ), so 6.76 / 9.02 = .7494; alpha is (4/3)(1 - 4/9.02) = .7421.
    loadings = np.array([0.8, 0.7, 0.6, 0.5])
    scores = of_covariance(np.outer(loadings, loadings) + np.diag(1 - loadings**2))
    assert round(omega_total(scores), 4) == 0.7494
    assert round(cronbach_alpha(scores), 4) == 0.7421


def test_omega_weighs_items_by_their_points() -> None:
    loadings, rest = np.array([0.9, 1.4, 0.6, 2.0]), np.array([0.5, 1.0, 0.3, 2.0])
    scores = of_covariance(np.outer(loadings, loadings) + np.diag(rest))
    assert omega_total(scores) == pytest.approx(4.9**2 / (4.9**2 + 3.8), abs=1e-5)


def test_omega_of_equal_loadings_is_alpha() -> None:
    scores = of_covariance(np.full((5, 5), 0.4) + 0.6 * np.eye(5))
    assert omega_total(scores) == pytest.approx(cronbach_alpha(scores), abs=1e-6)


@settings(deadline=None, max_examples=20)
@given(st.permutations(range(4)), st.permutations(range(50)), st.floats(-3, 3))
def test_omega_ignores_the_order_of_items_and_ratings_and_a_constant(
    items: list[int], ratings: list[int], constant: float
) -> None:
    loadings = np.array([0.8, 0.7, 0.6, 0.5])
    scores = of_covariance(np.outer(loadings, loadings) + np.diag(1 - loadings**2))
    assert omega_total(scores[ratings][:, items] + constant) == pytest.approx(omega_total(scores), abs=1e-5)


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        (SHROUT_FLEISS[:, :2], "a factor needs at least three items"),
        (SHROUT_FLEISS[:4], "fewer complete ratings than a factor needs"),
        (np.column_stack([SHROUT_FLEISS[:, :3], np.ones(6)]), "an item does not vary"),
        (SHROUT_FLEISS[:, [0, 1, 2, 2]], "an item follows from the others"),
    ],
)
def test_omega_is_undefined_where_no_factor_can_be_fitted(scores: np.ndarray, reason: str) -> None:
    with pytest.raises(Undefined, match=reason):
        omega_total(scores)


def points(behind: np.ndarray) -> np.ndarray:
    """From 1 to 5, most of them high, as of ratings that please."""
    return np.digitize(behind, [-2.2, -1.5, -0.8, 0.1]) + 1.0


def test_omega_of_points_by_polychoric_correlations_is_that_of_what_lies_behind_them() -> None:
    """Nothing printed is known to us: planted loadings, whose closed form is .7494, come back; omega is below."""
    loadings = np.array([0.8, 0.7, 0.6, 0.5])
    random = np.random.default_rng(11)
    behind = random.normal(size=(6000, 1)) * loadings + random.normal(size=(6000, 4)) * np.sqrt(1 - loadings**2)
    assert omega_polychoric(points(behind)) == pytest.approx(0.7494, abs=0.015)
    assert omega_total(points(behind)) < 0.72


def test_omega_by_polychoric_correlations_does_not_mind_how_points_are_spaced() -> None:
    random = np.random.default_rng(12)
    scores = points(random.normal(size=(300, 1)) + random.normal(size=(300, 4)))
    assert omega_polychoric(scores**2) == pytest.approx(omega_polychoric(scores), abs=1e-6)


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        (SHROUT_FLEISS[:, :2], "a factor needs at least three items"),
        (SHROUT_FLEISS[:4], "fewer complete ratings than a factor needs"),
        (np.column_stack([SHROUT_FLEISS[:, :3], np.ones(6)]), "an item does not vary"),
        (SHROUT_FLEISS / 2, "not whole numbers"),
        (SHROUT_FLEISS[:, [0, 1, 2, 2]], "at its bound"),
    ],
)
def test_omega_by_polychoric_correlations_is_undefined_with_a_reason(scores: np.ndarray, reason: str) -> None:
    with pytest.raises(Undefined, match=reason):
        omega_polychoric(scores)


def test_polychoric_correlations_that_contradict_each_other_have_no_omega(monkeypatch: pytest.MonkeyPatch) -> None:
    contradictory = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    monkeypatch.setattr("studies.analysis.measures.polychoric.correlations", lambda _scores: contradictory)
    with pytest.raises(Undefined, match="contradict each other"):
        omega_polychoric(SHROUT_FLEISS[:, :3])


def test_reliability_has_both_omegas_of_points_on_the_row_of_all_items(export_of: ExportOf) -> None:
    random = np.random.default_rng(13)
    scores = points(random.normal(size=(80, 1)) + random.normal(size=(80, 4)))
    ratings = [
        {"conversation": f"C{target}", "rater": f"P{target}", "item": f"item{item}", "score": score}
        for (target, item), score in np.ndenumerate(scores)
    ]
    row = table_of(export_of(ratings)).iloc[0]
    assert row["omega_polychoric"] == pytest.approx(omega_polychoric(scores))
    assert row["omega_polychoric"] > row["omega"]


def test_cronbach_alpha_needs_totals_that_vary() -> None:
    with pytest.raises(Undefined, match="the totals do not vary"):
        cronbach_alpha(np.array([[1.0, 2.0], [2.0, 1.0]]))
