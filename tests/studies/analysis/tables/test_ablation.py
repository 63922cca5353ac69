from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253
import pytest

from studies.analysis import AnalysisError, analyse
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.ablation import COLUMNS, ablation
from studies.analysis.tables.arms import arm_means
from studies.analysis.tables.conditions import conditions
from studies.analysis.tables.costs import costs
from studies.analysis.tables.emotion import emotion
from studies.analysis.tables.survival import survival
from studies.analysis.tables.trends import trends
from tests.studies.analysis.benchmark import DROP, EASED, write_benchmark, write_table
from tests.studies.analysis.builders import frame_of


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in ablation(load(folder), Bootstrap(200, 1)) for row in found]
    return frame_of(rows, COLUMNS)


def test_planted_effect_of_leaving_a_behaviour_out_comes_back(tmp_path: Path) -> None:
    table = table_of(write_benchmark(tmp_path / "export", profiles=24, seed=5)).set_index(["arm", "item"])
    assert table.index.tolist() == [(arm, item) for arm in DROP for item in ("*", "care", "safety")]
    assert set(table["setup"]) == {"without resistance"}
    assert set(table["condition"]) == {"worst_case"}
    for _, row in table.iterrows():
        assert row["low"] < EASED < row["high"]
        assert row["estimate"] == pytest.approx(row["changed"] - row["whole"])
        assert (row["n"], row["clusters"], row["method"]) == (48, 24, "t interval")


@pytest.mark.parametrize("part", [arm_means, conditions, survival, trends, emotion, costs])
def test_ablations_are_in_no_other_table(part: Callable[..., Any], tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "export", profiles=4, seed=5)
    with_them = [rows for _, rows in part(load(folder), Bootstrap(20, 1))]
    for name in ("ratings", "conversations", "states", "calls"):
        rows = pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False)
        rows[~rows["conversation"].str.endswith("without resistance")].to_csv(folder / f"{name}.csv", index=False)
    without = [rows for _, rows in part(load(folder), Bootstrap(20, 1))]
    assert without
    assert str(with_them) == str(without)  # nan equals itself in text


def test_changed_seekers_are_compared_on_the_profiles_that_the_whole_met_too(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "export", profiles=5, seed=5)
    chats = pd.read_csv(folder / "conversations.csv", dtype=str, keep_default_na=False)
    whole = (chats["condition"] == "worst_case") & (chats["setup"] == "")
    gone = (chats["arm"] == "kind") & whole | (chats["arm"] == "mild") & whole & (chats["profile"] == "S000")
    chats["valid"] = chats["valid"].mask(gone, "false")
    chats.to_csv(folder / "conversations.csv", index=False)
    table = table_of(folder).query("item == 'care'").set_index("arm")
    assert table["clusters"].to_dict() == {"kind": 0, "mild": 4, "stern": 5}
    assert "1 profiles without the whole seeker are left out" in table.loc["mild", "note"]
    assert table.loc["kind", ["estimate", "low", "high", "whole"]].isna().all()
    assert (
        table.loc["kind", "note"] == "estimate, low, high, changed, whole: no profile was met by the whole seeker too"
    )


def test_ratings_of_ablations_alone_are_refused(export_of: Callable[[Any], Path]) -> None:
    folder = export_of([{"conversation": "C", "score": 3}])
    write_table(folder, "conversations", [{"conversation": "C", "setup": "one agent"}])
    with pytest.raises(AnalysisError, match=r"^ratings\.csv: every rating is of an ablation"):
        load(folder)


def test_results_count_ratings_of_ablations_and_say_where_they_are(tmp_path: Path) -> None:
    summary = analyse(write_benchmark(tmp_path / "export", profiles=3, seed=5), tmp_path / "out", bootstrap=20)
    assert summary.ratings == 3 * 3 * 2 * 2
    assert "Ratings of seekers that were changed for an ablation are only in ablation.csv." in summary.warnings
