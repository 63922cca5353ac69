from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest
from scipy import stats  # noqa: TID253
from statsmodels.stats.multitest import multipletests  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.measures.discrimination import mean_squares
from studies.analysis.tables.discrimination import COLUMNS, CORRECTION, METHODS, TABLE, TEST, discrimination
from tests.studies.analysis.benchmark import write_benchmark
from tests.studies.analysis.builders import frame_of, write_export
from tests.studies.analysis.measures.test_discrimination import planted
from tests.studies.analysis.published import SHROUT_FLEISS
from tests.studies.analysis.tables.test_arm_pairs import rated
from tests.studies.analysis.tables.test_arm_pairs import table_of as pairs_of

ExportOf = Callable[[Any], Path]
CONTRACT = (
    "raters,item,users,models,msr,msr_low,msr_high,msr_corrected,mac,f_oneway,f_eq13,f_repeated,p_repeated,kendall_w,"
    "pairwise_share,test,correction,note,judge,strategy"
)


def table_of(folder: Path, replicates: int = 200) -> pd.DataFrame:
    rows = [row for _, found in discrimination(load(folder), Bootstrap(replicates, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


def test_columns_are_those_of_the_contract_and_explained() -> None:
    assert set(CONTRACT.split(",")) <= set(COLUMNS)
    assert set(METHODS) <= {*TABLE.all_columns()}


def test_figures_are_those_of_shrout_and_fleiss(export_of: ExportOf) -> None:
    """Targets for users and judges for models: their table 3 has F = 32.49 / 1.02."""
    [row] = table_of(export_of(rated(SHROUT_FLEISS))).to_dict("records")
    assert (row["raters"], row["item"], row["users"], row["models"]) == ("seeker", "care", 6, 4)
    assert round(row["f_repeated"], 2) == 31.87
    assert row["f_oneway"] == pytest.approx(row["f_eq13"] * 6 / 5)
    assert row["mac"] == pytest.approx(row["msr"] / (1 + row["msr"]))
    assert row["kendall_w"] == pytest.approx(stats.friedmanchisquare(*SHROUT_FLEISS.T).statistic / 18)
    assert row["friedman_p"] == pytest.approx(stats.friedmanchisquare(*SHROUT_FLEISS.T).pvalue)
    assert row["msr_low"] < row["msr_corrected"] < row["msr"]
    assert row["msr_corrected"] < row["msr_high"]
    assert (row["test"], row["correction"]) == (str(TEST), str(CORRECTION))
    assert "only 6 clusters" in row["note"]


def test_planted_ratio_comes_back(export_of: ExportOf) -> None:
    [row] = table_of(export_of(rated(planted(80, 5, ratio=0.4, level=0.4, seed=2)))).to_dict("records")
    assert row["msr_low"] < 0.4 < row["msr_high"]
    assert row["msr_corrected"] == pytest.approx(0.4, abs=0.1)
    assert row["p_repeated"] < 0.001
    assert row["note"] == ""


def test_share_of_pairs_is_that_of_wilcoxon_and_holm(export_of: ExportOf) -> None:
    folder = export_of(rated(planted(30, 6, ratio=0.3, level=0.5, seed=4)))
    [row] = table_of(folder).to_dict("records")
    assert 0 < row["pairwise_share"] < 1
    adjusted = multipletests(pairs_of(folder)["wilcoxon_p"], method="holm")[1]
    assert row["pairwise_share"] == pytest.approx((adjusted < 0.05).mean())


def test_people_who_did_not_meet_every_model_are_left_out_and_told(export_of: ExportOf) -> None:
    scores = planted(40, 4, ratio=0.3, level=0.4, seed=6)
    scores[:10, 0] = np.nan
    [row] = table_of(export_of(rated(scores))).to_dict("records")
    assert row["users"] == 30
    assert row["msr"] == pytest.approx(float(mean_squares(scores[10:]).separation()), rel=1e-4)
    assert row["note"] == "10 of 40 users did not meet every model: they count in the pairs alone"


def test_without_anybody_who_met_every_model_pairs_are_left(export_of: ExportOf) -> None:
    scores = planted(45, 3, ratio=0.6, level=0.4, seed=6)
    scores[np.arange(45)[:, np.newaxis] % 3 == np.arange(3)] = np.nan
    [row] = table_of(export_of(rated(scores))).to_dict("records")
    assert row["users"] == 0
    assert row["pairwise_share"] > 0
    assert row["note"].startswith("msr, mac, f_oneway, f_eq13, msr_corrected, ")
    assert "icc_a_1, icc_c_1: no user met every model" in row["note"]


def test_imports_without_people_have_a_reason(export_of: ExportOf) -> None:
    ratings = [
        {"conversation": f"{arm}{number}", "arm": arm, "score": number % 5 + 2 * (arm == "b")}
        for arm in "ab"
        for number in range(10)
    ]
    [row] = table_of(export_of(ratings)).to_dict("records")
    assert "pairwise_share: no user met two models" in row["note"]


def test_models_that_do_not_differ_have_a_ratio_of_nothing(export_of: ExportOf) -> None:
    scores = planted(40, 3, ratio=0.0, level=0.4, seed=1)
    scores -= scores.mean(axis=0)
    [row] = table_of(export_of(rated(scores + 3))).to_dict("records")
    assert (row["msr_corrected"], row["msr_low"], row["pairwise_share"]) == (0, 0, 0)
    assert "msr_corrected: -0.0" in row["note"]


def test_scores_that_do_not_vary_have_reasons(export_of: ExportOf) -> None:
    [row] = table_of(export_of(rated(np.full((7, 3), 4.0)))).to_dict("records")
    assert row["pairwise_share"] == 0
    for reason in (
        "icc_c_1: the scores within the models do not vary",
        "kendall_w, friedman_p: no user puts the arms in any order",
    ):
        assert reason in row["note"]


def test_relabelled_arms_a_constant_and_the_order_of_rows_change_nothing(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "export", profiles=8, seed=8)
    before = table_of(folder)
    for name in ("ratings", "conversations"):
        rows = pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False).sample(frac=1, random_state=1)
        rows["arm"] = rows["arm"].map({"kind": "z", "mild": "y", "stern": "x"})
        if "score" in rows:
            rows["score"] = (rows["score"].astype(float) + 1).round(6).astype(str)
        rows.to_csv(folder / f"{name}.csv", index=False)
    pd.testing.assert_frame_equal(table_of(folder), before, rtol=1e-4)


def test_worst_cases_tell_apart_what_average_seekers_do_not(tmp_path: Path) -> None:
    """The planted drops differ between the arms, their averages do not."""
    table = table_of(write_benchmark(tmp_path / "export", profiles=30, seed=5))
    assert table[["condition", "item"]].drop_duplicates().shape == (6, 2)
    wide = table.pivot(index="item", columns="condition", values=["msr_corrected", "pairwise_share"])
    assert (wide["msr_corrected", "worst_case"] > 0.3).all()
    assert (wide["msr_corrected", "average"] < 0.05).all()
    assert (wide["pairwise_share", "worst_case"] == 1).all()


def test_pairs_that_never_differ_and_that_always_differ_alike_are_tested_too(export_of: ExportOf) -> None:
    """Six users score a and b alike and c 1 point lower. Of all 2^6 choices of signs two are so far from 0: p = 1/32
    for two pairs, and Holm over three makes it 3/32, so Wilcoxon can tell no pair apart. With seven users it is 3/64,
    and two of the three pairs differ."""
    scores = np.tile([4.0, 4.0, 3.0], (7, 1)) + np.arange(7.0)[:, np.newaxis]
    six, seven = (table_of(export_of(rated(scores[:users]))).iloc[0] for users in (6, 7))
    assert np.isnan(six["pairwise_share"])
    assert seven["pairwise_share"] == pytest.approx(2 / 3)


def test_shares_that_no_pair_can_reach_are_left_out(export_of: ExportOf) -> None:
    """Of two users who differ the smallest p of Wilcoxon is 1/2."""
    [row] = table_of(export_of(rated(planted(2, 3, ratio=0.5, level=0.2, seed=3)))).to_dict("records")
    assert np.isnan(row["pairwise_share"])
    assert "pairwise_share: with 2 users no pair can be told apart" in row["note"]


def test_pairs_with_too_few_users_are_counted(export_of: ExportOf) -> None:
    """Nine users met a and b, four of them c too: 2 / 2^9 by three is below .05, 2 / 2^4 by two is not."""
    scores = planted(9, 3, ratio=0.5, level=0.2, seed=3)
    scores[4:, 2] = np.nan
    [row] = table_of(export_of(rated(scores))).to_dict("records")
    assert row["pairwise_share"] in (0, pytest.approx(1 / 3))
    assert "pairwise_share: 1 of 3 pairs have enough users to be told apart" in row["note"]


def test_each_of_several_judges_has_rows_of_its_own_as_if_it_were_alone(export_of: ExportOf, tmp_path: Path) -> None:
    """EmoHarbor's Table 2, by judge."""
    people = rated(planted(12, 3, ratio=0.4, level=0.4, seed=2))
    judged = {
        judge: [
            {**row, "rater": judge, "rater_kind": "judge", "strategy": "standard", "score": row["score"] * scale}
            for row in people
        ]
        for judge, scale in (("J1", 1.0), ("J2", 0.5))
    }
    table = table_of(export_of([*people, *judged["J1"], *judged["J2"]]))
    assert table[["raters", "judge"]].to_numpy().tolist() == [
        ["judge:standard", "*"],
        ["judge:standard", "J1"],
        ["judge:standard", "J2"],
        ["seeker", ""],
    ]
    alone = table_of(write_export(tmp_path / "alone", judged["J2"]))
    assert alone["judge"].tolist() == ["*"]
    pd.testing.assert_frame_equal(
        table[table["judge"] == "J2"].drop(columns="judge").reset_index(drop=True), alone.drop(columns="judge")
    )
