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
from studies.analysis.tables.arm_pairs import D_Z, METHODS, TABLE, arm_pairs
from tests.studies.analysis.benchmark import DROP, write_benchmark
from tests.studies.analysis.builders import frame_of
from tests.studies.analysis.measures.test_paired import FIRST, SECOND, SLEEP

ExportOf = Callable[[Any], Path]


def rated(scores: np.ndarray, arms: str = "abcdefgh", **more: Any) -> list[dict[str, Any]]:
    """Own ratings of people × arms; nan where someone did not meet an arm."""
    return [
        {
            "conversation": f"P{user:03}{arms[arm]}",
            "participant": f"P{user:03}",
            "rater": f"P{user:03}",
            "arm": arms[arm],
            "score": round(float(scores[user, arm]), 6),
        }
        | more
        for user, arm in np.argwhere(np.isfinite(scores))
    ]


def table_of(folder: Path, replicates: int = 200) -> pd.DataFrame:
    rows = [row for _, found in arm_pairs(load(folder), Bootstrap(replicates, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


def three_arms(users: int = 20) -> np.ndarray:
    random = np.random.default_rng(4)
    return np.array([3.0, 3.6, 4.5]) + random.normal(0, 1, (users, 1)) + random.normal(0, 0.8, (users, 3))


def test_figures_of_a_pair_are_those_of_hollander_and_wolfe(export_of: ExportOf) -> None:
    """As test_paired.py has them; the first visit plays arm a."""
    row = table_of(export_of(rated(np.column_stack([FIRST, SECOND])))).iloc[0]
    assert row["wilcoxon_p"] == pytest.approx(0.0390625)
    assert (row["clusters"], row["n"]) == (9, 18)
    assert row["method"] == "t interval; wilcoxon_p: Wilcoxon exact"
    assert "interval: only 9 clusters" in row["note"]
    assert "wilcoxon_p: with so few pairs that differ it cannot fall below 0.003906" in row["note"]


def test_figures_of_a_pair_are_those_of_students_sleep(export_of: ExportOf) -> None:
    """R prints t = -4.0621, p = .002833 and -2.4598858 -0.7001142 for these, effectsize d = -1.28 [-2.12, -0.41]."""
    row = table_of(export_of(rated(SLEEP.T))).iloc[0]
    assert row["difference"] == pytest.approx(-1.58)
    assert row[["low", "high"]].tolist() == pytest.approx([-2.4598858, -0.7001142], abs=1e-6)
    assert round(row["p"], 6) == 0.002833
    assert row[list(D_Z)].tolist() == pytest.approx([-1.28, -2.12, -0.41], abs=0.005)


def test_a_pair_without_differences_counts_in_its_family(export_of: ExportOf) -> None:
    """Arms a and b are scored alike by all eight, c always 1 to 8 points lower: t = 4.5 / √(6 / 8) = 5.196 twice, and
    Holm multiplies by three."""
    scores = np.column_stack([np.full(8, 9.0), np.full(8, 9.0), 9 - np.arange(1.0, 9.0)])
    table = table_of(export_of(rated(scores))).set_index(["arm_a", "arm_b"])
    p = 2 * stats.t.sf(4.5 / (6 / 8) ** 0.5, 7)
    assert table["p"].tolist()[1:] == pytest.approx([p] * 2)
    assert table["wilcoxon_p"].tolist()[1:] == pytest.approx([2 / 2**8] * 2)
    assert table[["p", "wilcoxon_p"]].isna().to_numpy().tolist() == [[True] * 2, [False] * 2, [False] * 2]
    assert np.isnan(table.loc[("a", "b"), "p_holm"])
    assert table["p_holm"].tolist()[1:] == pytest.approx([3 * p] * 2)


def test_planted_differences_come_back(export_of: ExportOf) -> None:
    table = table_of(export_of(rated(three_arms(60)))).set_index(["arm_a", "arm_b"])
    for pair, planted in {("a", "b"): -0.6, ("a", "c"): -1.5, ("b", "c"): -0.9}.items():
        row = table.loc[pair]
        assert row["low"] < planted < row["high"]
        assert row["low"] < row["difference"] < row["high"]
        assert row["p_holm"] < 0.01


def test_people_who_met_one_of_the_arms_are_in_no_pair(export_of: ExportOf) -> None:
    scores = three_arms(8)
    scores[0, 0] = scores[1, 2] = scores[2, 2] = np.nan
    table = table_of(export_of(rated(scores))).set_index(["arm_a", "arm_b"])
    assert table["clusters"].to_dict() == {("a", "b"): 7, ("a", "c"): 5, ("b", "c"): 6}
    assert (table["n"] == 2 * table["clusters"]).all()
    assert table.at[("a", "c"), "difference"] == pytest.approx(np.mean((scores[:, 0] - scores[:, 2])[3:]))


def test_interval_and_p_are_of_one_t_test(export_of: ExportOf) -> None:
    scores = three_arms(30)
    few, many = (table_of(export_of(rated(scores[:users]))).iloc[0] for users in (29, 30))
    test = stats.ttest_rel(scores[:, 0], scores[:, 1])
    assert many["p"] == pytest.approx(test.pvalue, rel=1e-4)
    assert many[["low", "high"]].tolist() == pytest.approx(list(test.confidence_interval()), abs=1e-5)
    assert (few["method"], many["method"]) == ("t interval; wilcoxon_p: Wilcoxon exact",) * 2
    assert ("interval: only 29 clusters" in few["note"], "interval" in many["note"]) == (True, False)


def test_one_user_has_a_difference_and_no_interval(export_of: ExportOf) -> None:
    row = table_of(export_of(rated(np.array([[3.0, 4.0]])))).iloc[0]
    assert (row["difference"], row["clusters"]) == (-1, 1)
    assert row[["low", "high"]].isna().all()
    assert row["note"].startswith("low, high, p, d_z: one pair; ")


def test_arms_that_nobody_met_both_have_a_reason(export_of: ExportOf) -> None:
    scores = np.array([[3.0, np.nan], [np.nan, 4.0]])
    [row] = table_of(export_of(rated(scores))).to_dict("records")
    assert (row["clusters"], row["n"]) == (0, 0)
    assert row["note"] == "difference, low, high, p, wilcoxon_p, d_z: no one met both arms"


def test_holm_is_over_the_pairs_of_an_item(export_of: ExportOf) -> None:
    random = np.random.default_rng(6)
    ratings = [
        rating
        for item in ("care", "safety")
        for rating in rated(three_arms(12) + random.normal(0, 1, (12, 3)), item=item)
    ]
    table = table_of(export_of(ratings))
    assert table["item"].tolist() == ["*"] * 3 + ["care"] * 3 + ["safety"] * 3
    for _item, rows in table.groupby("item"):
        assert rows["p_holm"].tolist() == pytest.approx(multipletests(rows["p"], method="holm")[1].tolist())


def test_kinds_of_raters_are_families_of_their_own(export_of: ExportOf) -> None:
    people = rated(three_arms(10))
    judged = [row | {"rater": "J", "rater_kind": "judge", "strategy": "standard"} for row in people]
    both = table_of(export_of(people + judged))
    alone = table_of(export_of(people))
    assert both["raters"].tolist() == ["judge:standard"] * 3 + ["seeker"] * 3
    pd.testing.assert_frame_equal(both.iloc[3:].reset_index(drop=True), alone)


def test_relabelled_arms_turn_the_signs_and_nothing_else(export_of: ExportOf) -> None:
    scores = three_arms(12)
    before = table_of(export_of(rated(scores))).set_index(["arm_a", "arm_b"])
    after = table_of(export_of(rated(scores[::-1] + 2, arms="zyx"))).set_index(["arm_a", "arm_b"])
    names = {"a": "z", "b": "y", "c": "x"}
    for (a, b), row in before.iterrows():
        turned = after.loc[(names[b], names[a])]
        for signed in ("difference", "d_z"):
            assert turned[signed] == pytest.approx(-row[signed])
        assert turned["d_z_low"] == pytest.approx(-row["d_z_high"])
        for same in ("p", "wilcoxon_p", "p_holm", "clusters"):
            assert turned[same] == pytest.approx(row[same])


def test_a_pair_that_never_differs_has_no_test(export_of: ExportOf) -> None:
    scores = np.column_stack([np.arange(7.0), np.arange(7.0)])
    [row] = table_of(export_of(rated(scores))).to_dict("records")
    assert row["difference"] == 0
    assert np.isnan([row[name] for name in ("low", "p", "wilcoxon_p", "p_holm", "d_z")]).all()
    assert "low, high, p, d_z: the differences do not vary" in row["note"]
    assert "wilcoxon_p: no pair differs" in row["note"]


def test_conditions_of_simulated_seekers_stay_apart(tmp_path: Path) -> None:
    table = table_of(write_benchmark(tmp_path / "export", profiles=12, seed=5))
    care = table[table["item"] == "care"].set_index(["condition", "arm_a", "arm_b"])
    assert set(table["seekers"]) == {"simulated"}
    for a, b in (("kind", "mild"), ("kind", "stern"), ("mild", "stern")):
        assert care.at[("average", a, b), "low"] < 0 < care.at[("average", a, b), "high"]
        row = care.loc[("worst_case", a, b)]
        assert row["low"] < DROP[a] - DROP[b] < row["high"]
        assert row["difference"] == pytest.approx(paired_difference(tmp_path, a, b))


def paired_difference(tmp_path: Path, a: str, b: str) -> float:
    """By pandas, from the files."""
    chats = pd.read_csv(tmp_path / "export" / "conversations.csv")
    ratings = pd.read_csv(tmp_path / "export" / "ratings.csv")[["conversation", "item", "score"]]
    chats = chats[(chats["condition"] == "worst_case") & chats["setup"].isna()][["conversation", "profile", "arm"]]
    wide = ratings[ratings["item"] == "care"].merge(chats).pivot(index="profile", columns="arm", values="score")
    return float((wide[a] - wide[b]).mean())


def test_one_arm_is_no_pair(export_of: ExportOf) -> None:
    assert table_of(export_of(rated(three_arms(5)[:, :1]))).empty


def test_every_statistic_is_explained() -> None:
    assert set(METHODS) <= {*TABLE.all_columns()}
