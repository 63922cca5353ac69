from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest
from statsmodels.stats.multitest import multipletests  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.measures import paired
from studies.analysis.tables.conditions import TABLE, conditions
from tests.studies.analysis.benchmark import DROP, write_benchmark, write_table
from tests.studies.analysis.builders import frame_of
from tests.studies.analysis.measures.test_paired import FIRST, SECOND

ExportOf = Callable[[Any], Path]


def table_of(folder: Path, replicates: int = 200) -> pd.DataFrame:
    rows = [row for _, found in conditions(load(folder), Bootstrap(replicates, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


def scored(condition: str, profile: str, score: float, **more: Any) -> dict[str, Any]:
    code = f"{profile} {condition} {more.get('replicate', '')} {more.get('arm', 'a')}"
    return {"conversation": code, "condition": condition, "profile": profile, "score": score, "arm": "a"} | more


def simulated(export_of: ExportOf, scores: list[dict[str, Any]]) -> Path:
    """`scores`: as `scored` makes them; the profile is known from conversations.csv alone."""
    names = ("conversation", "condition", "profile", "arm")
    folder = export_of(
        [{key: value for key, value in row.items() if key not in ("profile", "replicate")} for row in scores]
    )
    chats = pd.DataFrame([{name: row[name] for name in names} for row in scores]).drop_duplicates()
    write_table(folder, "conversations", chats.assign(seeker_kind="simulated").to_dict("records"))
    return folder


def test_planted_drops_come_back_paired_by_profile(tmp_path: Path) -> None:
    whole = table_of(write_benchmark(tmp_path / "export", profiles=24, seed=5)).set_index(["arm", "item"])
    table = whole.drop(index="*")
    assert table.index.tolist() == [(arm, item) for arm in DROP for item in ("*", "care", "safety")]
    for (arm, _), row in table.iterrows():
        assert row["low"] < DROP[arm] < row["high"]
        assert row["difference"] == pytest.approx(row["worst_case"] - row["average"])
        assert row["average_low"] < row["average"] < row["average_high"]
        assert (row["n"], row["pairs"]) == (48, 24)
        assert (row["raters"], row["seekers"]) == ("simulated_seeker", "simulated")
        assert row["method"] == "paired; t interval; wilcoxon_p: Wilcoxon exact"
        assert row["note"].endswith("interval: only 24 clusters, the interval may be too narrow")
    both = table.loc[[("kind", "care"), ("kind", "safety")]]
    assert table.loc[("kind", "*"), "difference"] == pytest.approx(both["difference"].mean())
    for item in ("*", "care", "safety"):
        row = whole.loc[("*", item)]
        assert row["low"] < np.mean(list(DROP.values())) < row["high"]
        assert (row["n"], row["pairs"]) == (48 * len(DROP), 24)


def test_holm_is_over_the_items_of_an_arm_and_of_their_means_over_the_arms(tmp_path: Path) -> None:
    table = table_of(write_benchmark(tmp_path / "export", profiles=8, seed=5))
    over_items, over_arms = table["item"] == "*", table["arm"] == "*"
    means = over_items & ~over_arms
    for family in (means, *(~over_items & (table["arm"] == arm) for arm in (*DROP, "*"))):
        assert family.sum() == (3 if family is means else 2)
        expected = multipletests(table.loc[family, "p"], method="holm")[1]
        assert table.loc[family, "p_holm"].tolist() == pytest.approx(expected.tolist())
    alone = table[over_items & over_arms].iloc[0]
    assert alone["p_holm"] == alone["p"]


def test_over_the_arms_each_profile_counts_once_if_it_met_all_of_them(export_of: ExportOf) -> None:
    """Profile S1 falls by 2 with arm a and by 1 with b, S2 by 3 and 0; S3 did not meet b in the worst case."""
    fallen = {("S1", "a"): (5, 3), ("S1", "b"): (4, 3), ("S2", "a"): (5, 2), ("S2", "b"): (3, 3), ("S3", "a"): (5, 1)}
    rows = [
        scored(condition, profile, score, arm=arm)
        for (profile, arm), scores in fallen.items()
        for condition, score in zip(("average", "worst_case"), scores, strict=True)
    ]
    rows.append(scored("average", "S3", 5, arm="b"))
    table = table_of(simulated(export_of, rows)).set_index("arm")
    assert table.loc["*", ["average", "worst_case", "difference", "n", "pairs"]].tolist() == [4.25, 2.75, -1.5, 8, 2]
    assert table.loc["a", "pairs"] == 3


def test_one_arm_has_no_row_over_the_arms(export_of: ExportOf) -> None:
    rows = [scored(condition, f"S{number}", number) for number in range(3) for condition in ("average", "worst_case")]
    assert table_of(simulated(export_of, rows))["arm"].tolist() == ["a"]


def test_figures_of_pairs_are_those_of_hollander_and_wolfe(export_of: ExportOf) -> None:
    """As test_paired.py has them; the first visit plays the average."""
    rows = []
    for profile, (first, second) in enumerate(zip(FIRST, SECOND, strict=True)):
        rows += [scored("average", f"S{profile}", first), scored("worst_case", f"S{profile}", second)]
    row = table_of(simulated(export_of, rows)).iloc[0]
    assert row["wilcoxon_p"] == pytest.approx(0.0390625)
    assert row["rank_biserial"] == pytest.approx(-(40 - 5) / 45)
    assert row[["d_z", "d_z_low", "d_z_high"]].tolist() == pytest.approx(paired.d_z(SECOND - FIRST))
    assert "wilcoxon_p: with so few pairs that differ it cannot fall below 0.003906" in row["note"]


def test_interval_is_narrower_by_pairs_than_apart(tmp_path: Path, export_of: ExportOf) -> None:
    random = np.random.default_rng(2)
    rows = []
    for profile in range(40):
        ease = random.normal(0, 2)
        rows.append(scored("average", f"S{profile}", ease))
        rows.append(scored("worst_case", f"S{profile}", ease - 1 + random.normal(0, 0.1)))
    together = table_of(simulated(export_of, rows)).iloc[0]
    for row in rows[1::2]:
        row["profile"] = f"other {row['profile']}"
    apart = table_of(simulated(export_of, rows)).iloc[0]
    assert apart["difference"] == pytest.approx(together["difference"])
    assert together["high"] - together["low"] < 0.1 < apart["high"] - apart["low"]
    assert (apart["pairs"], apart["n"]) == (0, 80)
    assert apart["method"] == "not paired; t interval (Welch)"
    assert apart[["wilcoxon_p", "rank_biserial", "d_z", "d_z_low", "d_z_high"]].isna().all()
    assert apart["note"] == (
        "wilcoxon_p, rank_biserial, d_z: no profile and no person was met in both conditions; "
        "profiles or people: 40 average, 40 worst case"
    )


def test_replicates_of_a_profile_count_as_one(export_of: ExportOf) -> None:
    rows = [
        scored("average", "S1", 4),
        scored("worst_case", "S1", 3, replicate=1),
        scored("worst_case", "S1", 1, replicate=2),
    ]
    rows += [scored("average", "S2", 5), scored("worst_case", "S2", 2)]
    row = table_of(simulated(export_of, rows)).iloc[0]
    assert row[["average", "worst_case", "difference", "n", "pairs"]].tolist() == [4.5, 2, -2.5, 5, 2]


def test_profiles_met_in_one_condition_only_are_left_out_and_told(export_of: ExportOf) -> None:
    rows = [scored(condition, f"S{number}", number) for number in (1, 2, 5) for condition in ("average", "worst_case")]
    rows = [row | {"score": row["score"] - (row["condition"] == "worst_case") * row["score"] / 5} for row in rows]
    row = table_of(simulated(export_of, [*rows, scored("average", "S9", 1)])).iloc[0]
    assert (row["average"], row["pairs"], row["n"]) == (pytest.approx(8 / 3), 3, 6)
    assert "1 profiles or people met in one condition only are left out" in row["note"]


def test_people_without_profiles_are_paired_by_person(export_of: ExportOf) -> None:
    """ratings.csv alone tells the condition and the participant."""
    rows = [
        {
            "conversation": f"{person}{condition}",
            "participant": person,
            "rater": person,
            "arm": "a",
            "condition": condition,
            "score": score,
        }
        for person, *scores in (("P1", 4, 2), ("P2", 5, 4))
        for condition, score in zip(("average", "worst_case"), scores, strict=True)
    ]
    row = table_of(export_of(rows)).iloc[0]
    assert row[["difference", "pairs", "raters", "seekers"]].tolist() == [-1.5, 2, "seeker", ""]


def test_equal_means_of_others_differ_by_exactly_nothing(export_of: ExportOf) -> None:
    average = [scored("average", f"P{n}", score) for n, score in enumerate((4.0, 1.7, 2.6, 1.3))]
    worst = [scored("worst_case", f"Q{n}", score) for n, score in enumerate((1.3, 4.0, 1.7, 2.6))]
    assert np.mean([4.0, 1.7, 2.6, 1.3]) != np.mean([1.3, 4.0, 1.7, 2.6])
    row = table_of(simulated(export_of, average + worst)).iloc[0]
    assert (row["difference"], row["pairs"]) == (0, 0)


def test_one_profile_has_an_estimate_and_reasons(export_of: ExportOf) -> None:
    row = table_of(simulated(export_of, [scored("average", "S1", 4), scored("worst_case", "S1", 3)])).iloc[0]
    assert (row["difference"], row["wilcoxon_p"], row["rank_biserial"]) == (-1, 1, -1)
    assert row[["low", "high", "average_low", "d_z"]].isna().all()
    assert row["note"].startswith(
        "average_low, average_high, worst_case_low, worst_case_high: fewer than two clusters; "
        "low, high, p, d_z: one pair"
    )


def test_pairs_without_any_difference_have_no_test(export_of: ExportOf) -> None:
    rows = [scored(condition, f"S{number}", number) for number in range(4) for condition in ("average", "worst_case")]
    row = table_of(simulated(export_of, rows)).iloc[0]
    assert row["difference"] == 0
    assert row[["low", "high", "p", "wilcoxon_p", "p_holm", "rank_biserial", "d_z"]].isna().all()
    for reason in (
        "low, high, p, d_z: the differences do not vary",
        "wilcoxon_p, rank_biserial: no pair differs",
    ):
        assert reason in row["note"]


def test_rows_in_any_order_relabelled_arms_and_a_constant_change_no_difference(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "export", profiles=6, seed=8)
    before = table_of(folder)
    for name in ("ratings", "conversations"):
        rows = pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False).sample(frac=1, random_state=1)
        rows["arm"] = rows["arm"].map({"kind": "x", "mild": "y", "stern": "z"})
        if "score" in rows:
            rows["score"] = (rows["score"].astype(float) + 1).round(6).astype(str)
        rows.to_csv(folder / f"{name}.csv", index=False)
    after = table_of(folder)
    same = ["difference", "low", "high", "p", "wilcoxon_p", "p_holm", "rank_biserial", "d_z", "n", "note"]
    pd.testing.assert_frame_equal(after[same], before[same])
    assert after["average"].tolist() == pytest.approx((before["average"] + 1).tolist())


def test_checkpoints_and_one_condition_alone_are_no_comparison(export_of: ExportOf) -> None:
    rows = [scored("average", "S1", 4), scored("worst_case", "S1", 3, moment="checkpoint", turn=5)]
    assert table_of(simulated(export_of, rows)).empty
