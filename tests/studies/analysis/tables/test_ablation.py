from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253
import pytest

from studies.analysis import AnalysisError, analyse
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.reporting.drawing import style
from studies.analysis.reporting.parts import Excerpt
from studies.analysis.reporting.sections.conditions import ablation as ablation_section
from studies.analysis.run import compute
from studies.analysis.tables.ablation import TABLE, ablation
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
    return frame_of(rows, TABLE.all_columns())


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
    assert "1 profiles without the unchanged seeker are left out" in table.loc["mild", "note"]
    assert table.loc["kind", ["estimate", "low", "high", "whole"]].isna().all()
    assert (
        table.loc["kind", "note"]
        == "estimate, low, high, changed, whole: no profile was met by the unchanged seeker too"
    )


def test_ratings_of_ablations_alone_are_refused(export_of: Callable[[Any], Path]) -> None:
    folder = export_of([{"conversation": "C", "score": 3}])
    write_table(folder, "conversations", [{"conversation": "C", "setup": "one agent"}])
    with pytest.raises(AnalysisError, match=r"^ratings\.csv: every rating is of an ablation"):
        load(folder)


def test_results_count_ratings_of_ablations_and_say_where_they_are(tmp_path: Path) -> None:
    summary = analyse(write_benchmark(tmp_path / "export", profiles=3, seed=5), tmp_path / "out", bootstrap=20)
    assert summary.ratings == 3 * 3 * 2 * 2
    assert "Ratings of seekers that were changed for an ablation are only in sensitivity.csv." in summary.warnings


def in_two_languages(folder: Path) -> Path:
    chats = pd.read_csv(folder / "conversations.csv", dtype=str, keep_default_na=False)
    chats["language"] = chats["profile"].map(lambda profile: "en" if profile < "S002" else "zh")
    chats.to_csv(folder / "conversations.csv", index=False)
    return folder


def test_languages_of_profiles_have_rows_of_their_own(tmp_path: Path) -> None:
    table = table_of(in_two_languages(write_benchmark(tmp_path / "export", profiles=5, seed=5)))
    kind = table.query("arm == 'kind' and item == 'care'").set_index("language")
    assert kind["clusters"].to_dict() == {"*": 5, "en": 2, "zh": 3}
    assert kind.loc["*", "estimate"] == pytest.approx(
        (2 * kind.loc["en", "estimate"] + 3 * kind.loc["zh", "estimate"]) / 5
    )


def excerpts_of(folder: Path) -> dict[str, pd.DataFrame]:
    with style():
        section = ablation_section(compute(load(folder), Bootstrap(20, 1), lambda *_: None, ["ablation", "pairwise"]))
    assert section is not None
    return {part.name: part.frame for part in section.parts if isinstance(part, Excerpt)}


def test_report_has_the_whole_seeker_above_each_changed_one_by_language(tmp_path: Path) -> None:
    folder = in_two_languages(write_benchmark(tmp_path / "export", profiles=5, seed=5))
    board = excerpts_of(folder)["ablation-means-simulated_seeker-ten"]
    assert board["setup"].tolist() == ["unchanged seeker", "without resistance"] * 6
    assert board["language"].tolist() == ["English", "English", "Chinese", "Chinese"] * 3
    assert board["profiles"].tolist() == [2, 2, 3, 3] * 3
    table = table_of(folder).set_index(["arm", "language", "item"])
    row = table.loc["kind", "zh", "care"]
    assert board.loc[board["language"] == "Chinese", "care"].tolist()[:2] == [
        f"{row['whole']:.2f}",
        f"{row['changed']:.2f}",
    ]


def test_report_has_no_language_where_there_is_one(tmp_path: Path) -> None:
    board = excerpts_of(write_benchmark(tmp_path / "export", profiles=3, seed=5))["ablation-means-simulated_seeker-ten"]
    assert board.columns.tolist() == ["arm", "condition", "setup", "care", "safety", "All items", "profiles"]


def test_report_tells_how_often_the_whole_seeker_was_preferred(tmp_path: Path) -> None:
    """On whichever side it was shown, and of unchanged seekers and their own ablations alone."""
    folder = write_benchmark(tmp_path / "export", profiles=4, seed=5)
    assert "ablation-preferences" not in excerpts_of(folder)
    chat = "kind-S00{number}-{condition}-{setup}".format
    rows = []
    for number, verdict in enumerate(["a", "b", "a", "tie"]):  # the unchanged seeker is a, then b
        sides = [chat(number=number, condition="worst_case", setup=setup) for setup in ("", "without resistance")]
        sides = sides[::-1] if number % 2 else sides
        rows.append((*sides, verdict))
        rows.append((chat(number=number, condition="average", setup=""), sides[0], "b"))
    names = ("conversation_a", "conversation_b", "verdict")
    usual = {"rater": "R", "rater_kind": "reviewer", "question": "human", "shown_first": "a", "instrument": "two"}
    pairs = [usual | {"pair": f"{n}"} | dict(zip(names, row, strict=True)) for n, row in enumerate(rows)]
    write_table(folder, "pairs", pairs)
    [row] = excerpts_of(folder)["ablation-preferences"].to_dict("records")
    assert {name: row[name] for name in ("setup", "win", "tie", "loss", "n")} == {
        "setup": "without resistance",
        "win": "75 %",
        "tie": "25 %",
        "loss": "0 %",
        "n": 4,
    }
