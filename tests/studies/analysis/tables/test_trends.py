from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest

from studies.analysis import AnalysisError
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.trends import TABLE, trends
from tests.studies.analysis.benchmark import write_benchmark, write_table
from tests.studies.analysis.builders import frame_of

ExportOf = Callable[[Any], Path]


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in trends(load(folder), Bootstrap(200, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


def with_states(export_of: ExportOf, states: list[tuple[str, int, Any]]) -> Path:
    """Of conversations of arm a, each with its own person."""
    names = sorted({conversation for conversation, *_ in states})
    folder = export_of([{"conversation": name, "participant": f"P {name}", "arm": "a", "score": 3} for name in names])
    rows = [dict(zip(("conversation", "turn", "emotion_score"), state, strict=True)) for state in states]
    write_table(folder, "states", [row | {"source": "judge"} for row in rows])
    return folder


def test_planted_slopes_come_back_for_each_arm_and_condition(tmp_path: Path) -> None:
    slopes = table_of(write_benchmark(tmp_path / "export", profiles=20, seed=5)).query("statistic == 'slope'")
    assert len(slopes) == 6
    for _, row in slopes.iterrows():
        planted = 2 if row["condition"] == "average" else -1
        assert row["estimate"] == pytest.approx(planted, abs=0.5)
        assert row["low"] < row["estimate"] < row["high"]
    assert set(slopes["source"]) == {"seeker"}


def test_means_are_of_the_conversations_that_were_scored_at_the_turn(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "export", profiles=10, seed=5)
    states, about = (pd.read_csv(folder / f"{name}.csv", keep_default_na=False) for name in ("states", "conversations"))
    both = states.merge(about.query("setup == ''"), on="conversation")
    expected = both.groupby(["arm", "condition", "turn"])["emotion_score"].agg(["mean", "size"]).reset_index()
    found = table_of(folder).query("statistic == 'mean'")
    assert found["estimate"].tolist() == pytest.approx(expected["mean"].tolist())
    assert found["n"].tolist() == expected["size"].tolist()
    assert found["turn"].tolist() == expected["turn"].tolist()


def test_slope_is_that_of_least_squares_with_an_own_height_for_each_conversation(export_of: ExportOf) -> None:
    random = np.random.default_rng(2)
    states = [(f"C{n}", turn, float(random.normal(n, 3))) for n in range(5) for turn in range(1, 3 + n)]
    turns = np.array([turn for _, turn, _ in states])
    heights = np.array([[name == f"C{n}" for n in range(5)] for name, *_ in states], dtype=float)
    expected = np.linalg.lstsq(np.column_stack([turns, heights]), [score for *_, score in states], rcond=None)[0][0]
    row = table_of(with_states(export_of, states)).query("statistic == 'slope'").iloc[0]
    assert row["estimate"] == pytest.approx(expected)
    assert (row["n"], row["clusters"]) == (5, 5)


def test_those_who_leave_early_do_not_tilt_the_slope(export_of: ExportOf) -> None:
    """The unhappy leave: means rise from turn to turn, no one does."""
    states = [(f"C{n}", turn, 10 * n) for n in range(1, 6) for turn in range(1, n + 1)]
    table = table_of(with_states(export_of, states)).set_index("statistic")
    assert table.loc["mean", "estimate"].is_monotonic_increasing
    assert table.loc["slope", "estimate"] == 0
    assert table.loc["slope", "note"] == "low, high: the scores do not vary"


def test_a_single_turn_has_no_slope_and_a_state_without_score_is_none(export_of: ExportOf) -> None:
    table = table_of(with_states(export_of, [("C1", 1, 50), ("C1", 2, ""), ("C2", 1, 40)])).set_index("statistic")
    assert table.loc["mean", ["turn", "estimate", "n"]].tolist() == [1, 45, 2]
    assert table.loc["slope", "note"] == "estimate, low, high: no conversation was scored at two turns"


def test_checkpoints_go_over_the_turns_for_each_item_and_kind_of_raters(export_of: ExportOf) -> None:
    rows = []
    for person in range(4):
        about = {"conversation": f"C{person}", "participant": f"P{person}", "rater": f"P{person}", "arm": "a"}
        for turn in (5, 10):
            rows.append(about | {"moment": "checkpoint", "turn": turn, "score": person + turn / 5})
        rows.append(about | {"score": 5})
        judged = {"rater": "J", "rater_kind": "judge", "strategy": "standard", "moment": "checkpoint"}
        rows.append(about | judged | {"turn": 5, "score": 2})
    table = table_of(export_of(rows))
    assert table.groupby("source")["turn"].apply(lambda turns: turns.dropna().tolist()).to_dict() == {
        "judge:standard": [5],
        "seeker": [5, 10],
    }
    seeker = table[(table["source"] == "seeker") & (table["item"] == "care")]
    assert seeker["estimate"].tolist() == pytest.approx([2.5, 3.5, 0.2])
    assert set(seeker["moment"]) == {"checkpoint"}


def test_emotions_of_an_import_go_over_the_turns_where_they_are_numbers(export_of: ExportOf) -> None:
    folder = export_of([{"conversation": name, "arm": "a", "score": 3} for name in ("C1", "C2")])
    said = [("C1", 1, "40"), ("C1", 2, "55.5"), ("C2", 1, "50"), ("C2", 2, "sad"), ("C2", 3, "")]
    names = ("conversation", "turn", "emotion")
    messages = [dict(zip(names, row, strict=True)) | {"role": "seeker", "text": "-"} for row in said]
    replies = [row | {"role": "supporter", "emotion": ""} for row in messages]
    write_table(folder, "turns", [*messages, *replies])
    table = table_of(folder)
    assert set(table["item"]) == {"emotion"}
    assert set(table["source"]) == {""}
    means = table.query("statistic == 'mean'")
    assert means[["turn", "estimate", "n"]].values.tolist() == [[1, 45, 2], [2, 55.5, 1]]
    assert table.query("statistic == 'slope'")[["estimate", "n"]].values.tolist() == [[15.5, 1]]


def test_adding_a_constant_moves_means_alone(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "export", profiles=5, seed=5)
    before = table_of(folder)
    states = pd.read_csv(folder / "states.csv").sample(frac=1, random_state=2)
    states.assign(emotion_score=states["emotion_score"] + 10).to_csv(folder / "states.csv", index=False)
    moved = before["estimate"] + np.where(before["statistic"] == "mean", 10, 0)
    assert table_of(folder)["estimate"].tolist() == pytest.approx(moved.tolist())


def test_faults_of_states_are_named(export_of: ExportOf) -> None:
    with pytest.raises(AnalysisError, match=r"^states\.csv:3:emotion_score: 'low' is not a number$"):
        table_of(with_states(export_of, [("C1", 1, 5), ("C1", 2, "low")]))


def in_two_languages(export_of: ExportOf) -> Path:
    """Three Chinese conversations that rise and two English ones that fall; of arm b no one spoke English."""
    states = [(f"C{n}", turn, 50 + turn * (1 if n < 3 else -1)) for n in range(5) for turn in (1, 2)]
    folder = with_states(export_of, states)
    spoken = [{"conversation": f"C{n}", "arm": "a", "language": "zh" if n < 3 else "en"} for n in range(5)]
    spoken[0]["arm"] = "b"
    ratings = pd.read_csv(folder / "ratings.csv", dtype=str, keep_default_na=False).assign(arm="")
    ratings.to_csv(folder / "ratings.csv", index=False)
    write_table(folder, "conversations", spoken)
    return folder


def test_each_language_has_rows_of_its_own_beside_those_of_all(export_of: ExportOf) -> None:
    table = table_of(in_two_languages(export_of))
    means = table[(table["statistic"] == "mean") & (table["turn"] == 2)].set_index(["arm", "language"])
    assert means["estimate"].to_dict() == {
        ("a", "*"): 50,
        ("a", "en"): 48,
        ("a", "zh"): 52,
        ("b", "*"): 52,
        ("b", "zh"): 52,
    }
    assert means["n"].to_dict() == {("a", "*"): 4, ("a", "en"): 2, ("a", "zh"): 2, ("b", "*"): 1, ("b", "zh"): 1}
    slopes = table[table["statistic"] == "slope"].set_index(["arm", "language"])["estimate"]
    assert slopes["a"].to_dict() == {"*": 0, "en": -1, "zh": 1}


def test_one_language_has_no_rows_of_its_own(tmp_path: Path) -> None:
    assert set(table_of(write_benchmark(tmp_path / "export", profiles=3, seed=5))["language"]) == {"*"}
