from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studies.analysis.bootstrap import Bootstrap, weights
from studies.analysis.frames import load
from studies.analysis.tables.ranks import COLUMNS, ranks
from tests.studies.analysis.builders import frame_of, write_export
from tests.studies.analysis.tables.test_arm_pairs import rated, three_arms

ExportOf = Callable[[Any], Path]


def table_of(folder: Path, replicates: int = 200) -> pd.DataFrame:
    rows = [row for _, found in ranks(load(folder), Bootstrap(replicates, 1)) for row in found]
    return frame_of(rows, COLUMNS)


def by_arm(table: pd.DataFrame) -> pd.DataFrame:
    return table.pivot(index="arm", columns="statistic", values="estimate")


def test_planted_order_comes_back(export_of: ExportOf) -> None:
    table = table_of(export_of(rated(three_arms(40))))
    wide = by_arm(table)
    assert list(wide.columns) == ["mean_rank", "rank_1", "rank_2", "rank_3", "share_best"]
    assert wide["mean_rank"].is_monotonic_decreasing
    assert wide.at["c", "rank_1"] > 0.99
    assert wide.at["a", "rank_3"] > 0.9
    assert (table["clusters"] == 40).all()
    assert (table["n"] == 120).all()


def test_chances_are_shares_of_resamples_of_the_means(export_of: ExportOf) -> None:
    """Without gaps, each resample's order is that of its means."""
    random = np.random.default_rng(3)
    scores = random.normal([3, 3.1, 3.2], 1, (12, 3))
    wide = by_arm(table_of(export_of(rated(scores)), replicates=300))
    order = np.argsort(-(weights(12, 300, 1) @ np.round(scores, 6)), axis=1)
    expected = [[np.mean(order[:, place] == arm) for place in range(3)] for arm in range(3)]
    assert wide[["rank_1", "rank_2", "rank_3"]].to_numpy() == pytest.approx(np.array(expected))


def test_mean_rank_and_share_best_share_ties(export_of: ExportOf) -> None:
    scores = np.array([[5.0, 5, 1], [4, 4, 4], [2, 5, 3], [1, 2, 3]])
    table = table_of(export_of(rated(scores)))
    wide = by_arm(table)
    assert wide["mean_rank"].tolist() == [9.5 / 4, 6.5 / 4, 2]
    assert wide["share_best"].tolist() == pytest.approx([5 / 24, 11 / 24, 1 / 3])
    within = table[table["statistic"].isin(["mean_rank", "share_best"])]
    assert (within["low"] <= within["estimate"]).all()
    assert (within["high"] >= within["estimate"]).all()


def test_people_who_did_not_meet_every_arm_still_count_in_the_places(export_of: ExportOf) -> None:
    scores = three_arms(30)
    scores[:20, 0] = np.nan
    table = table_of(export_of(rated(scores)))
    counted = table.groupby("statistic")["clusters"].unique().map(list).to_dict()
    assert counted == {"mean_rank": [10], "share_best": [10], "rank_1": [30], "rank_2": [30], "rank_3": [30]}
    assert "20 of 30 users did not meet every arm and are left out" in table.iloc[0]["note"]


def test_arms_without_anybody_in_common_have_no_places(export_of: ExportOf) -> None:
    scores = np.full((6, 4), np.nan)
    scores[:3, :2], scores[3:, 2:] = np.arange(6).reshape(3, 2), np.arange(6).reshape(3, 2) % 4
    table = table_of(export_of(rated(scores)))
    assert table["estimate"].isna().all()
    assert set(table["note"]) == {
        "estimate, low, high: no user met every arm",
        "estimate, low, high: not all arms were met by the same users, not even through others",
    }


def test_resamples_that_do_not_link_all_arms_are_counted(export_of: ExportOf) -> None:
    scores = three_arms(5)
    scores[:3, 2] = scores[3:, 0] = np.nan
    table = table_of(export_of(rated(scores)))
    note = table[table["statistic"] == "rank_1"]["note"].iloc[0]
    assert note.startswith("low, high: it is a share of the resamples themselves; ")
    assert note.endswith("of 200 resamples do not connect all arms and are left out")
    assert by_arm(table)[["rank_1", "rank_2", "rank_3"]].sum(axis=1).tolist() == pytest.approx([1, 1, 1])


@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations("abc"), st.integers(-2, 5))
def test_names_of_arms_and_a_constant_change_no_place(tmp_path: Path, names: list[str], constant: int) -> None:
    scores = three_arms(9)
    before = by_arm(table_of(write_export(tmp_path / "one", rated(scores))))
    after = by_arm(table_of(write_export(tmp_path / "two", rated(scores + constant, arms="".join(names)))))
    for name, renamed in zip("abc", names, strict=True):
        assert after.loc[renamed].tolist() == pytest.approx(before.loc[name].tolist())
