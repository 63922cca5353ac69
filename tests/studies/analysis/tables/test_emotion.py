from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253
import pytest
from scipy import stats  # noqa: TID253

from studies.analysis import AnalysisError
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.emotion import TABLE, emotion
from tests.studies.analysis.benchmark import write_benchmark, write_table
from tests.studies.analysis.builders import frame_of
from tests.studies.analysis.measures.test_paired import FIRST, SECOND

ExportOf = Callable[[Any], Path]


def table_of(folder: Path, replicates: int = 200) -> pd.DataFrame:
    rows = [row for _, found in emotion(load(folder), Bootstrap(replicates, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


def felt(export_of: ExportOf, values: list[tuple[Any, Any]]) -> Path:
    """Valence before and after of one person each."""
    folder = export_of([{"conversation": "elsewhere", "score": 3}])
    rows = [{"valence_before": before, "valence_after": after} for before, after in values]
    about = [
        {"conversation": f"C{n}", "participant": f"P{n}", "arm": "a", "seeker_kind": "person"} for n in range(len(rows))
    ]
    write_table(folder, "conversations", [one | row for one, row in zip(about, rows, strict=True)])
    return folder


def test_change_is_after_minus_before_with_the_bca_interval_of_scipy(export_of: ExportOf) -> None:
    table = table_of(felt(export_of, list(zip(FIRST, SECOND, strict=True))), 20_000).set_index("statistic")
    assert table.loc["before", "estimate"] == pytest.approx(FIRST.mean())
    assert table.loc["after", "estimate"] == pytest.approx(SECOND.mean())
    change = table.loc["change"]
    assert change[["estimate", "n", "clusters", "measure", "seekers"]].tolist() == [
        pytest.approx((SECOND - FIRST).mean()), 9, 9, "valence", "person",
    ]  # fmt: skip
    expected = stats.bootstrap((SECOND - FIRST,), lambda x, axis: x.mean(axis), n_resamples=20_000, rng=3)
    assert [change["low"], change["high"]] == pytest.approx(list(expected.confidence_interval), abs=0.02)


def test_who_told_one_of_the_two_is_left_out_and_counted(export_of: ExportOf) -> None:
    table = table_of(felt(export_of, [(3, 5), (4, ""), ("", 9), (2, 7), ("", "")]))
    assert table["estimate"].tolist() == [2.5, 6, 3.5]
    assert set(table["n"]) == {2}
    assert table["note"].str.contains("2 conversations are left out: one of the two values is not known").all()


def test_nobody_who_told_both_leaves_an_empty_cell_with_its_reason(export_of: ExportOf) -> None:
    table = table_of(felt(export_of, [(3, ""), (4, "")]))
    assert table["estimate"].isna().all()
    assert set(table["note"]) == {"estimate, low, high: no conversation has values from both before and after"}


def test_simulated_seekers_change_from_their_first_to_their_last_state(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "export", profiles=10, seed=5)
    states, about = (pd.read_csv(folder / f"{name}.csv", keep_default_na=False) for name in ("states", "conversations"))
    both = states.merge(about.query("setup == '' and turns > 1"), on="conversation").sample(frac=1, random_state=2)
    ends = (
        both.sort_values("turn").groupby(["arm", "condition", "conversation"])["emotion_score"].agg(["first", "last"])
    )
    expected = (ends["last"] - ends["first"]).groupby(["arm", "condition"]).agg(["mean", "size"])
    found = table_of(folder).query("measure == 'emotion_score' and statistic == 'change'")
    assert found["estimate"].tolist() == pytest.approx(expected["mean"].tolist())
    assert found["n"].tolist() == expected["size"].tolist()


def imported(
    export_of: ExportOf, emotions: dict[str, list[Any]], replies: int | None = None, **about: dict[str, str]
) -> Path:
    """Of each conversation the emotions at the seeker's messages, which the first `replies` of are answered, else all;
    `about`: what else conversations.csv says of some."""
    folder = export_of([{"conversation": "elsewhere", "score": 3}])
    usual = {"participant": "", "profile": "", "arm": "a", "seeker_kind": "imported", "valence_before": ""}
    rows = [{"conversation": name} | usual | about.get(name, {}) for name in emotions]
    write_table(folder, "conversations", rows)
    said = [
        {"conversation": name, "turn": turn, "role": "seeker", "text": "Well.", "emotion": emotion}
        for name, known in emotions.items()
        for turn, emotion in enumerate(known, 1)
    ]
    given = [row | {"role": "supporter", "emotion": ""} for row in said if replies is None or row["turn"] <= replies]
    write_table(folder, "turns", [*given, *said])
    return folder


def test_imports_change_from_the_first_to_the_last_message(export_of: ExportOf) -> None:
    table = table_of(imported(export_of, {"C1": [50, "", 80], "C2": [40, 30, 20.5]}, replies=2))
    assert table[["measure", "seekers", "source", "statistic"]].values.tolist() == [
        ["emotion", "imported", "imported", statistic] for statistic in ("before", "after", "change")
    ]
    assert table["estimate"].tolist() == [45, 50.25, 5.25]
    assert table["n"].tolist() == [2, 2, 2]
    assert not table["note"].str.contains("last").any()


def test_an_import_that_ends_with_a_reply_says_that_its_last_emotion_is_from_before(export_of: ExportOf) -> None:
    notes = table_of(imported(export_of, {"C1": [50, 80], "C2": [40, 30]})).set_index("statistic")["note"]
    said = "in 2 conversations, the last emotion is from before the last reply"
    assert [said in notes[statistic] for statistic in ("before", "after", "change")] == [False, True, True]


def test_an_import_needs_the_emotion_at_both_of_its_ends(export_of: ExportOf) -> None:
    ends = {"C1": [50, 60], "C2": ["", 10, 20], "C3": [10, 20, "sad"], "C4": [30], "C5": ["", 1, ""]}
    change = table_of(imported(export_of, ends)).set_index("statistic").loc["change"]
    assert (change["estimate"], change["n"]) == (10, 1)
    assert "3 conversations are left out: one of the two values is not known" in change["note"]


def test_a_supporter_that_opens_an_import_does_not_hide_what_was_before(export_of: ExportOf) -> None:
    folder = imported(export_of, {"C1": ["", 50, 70]})
    turns = pd.read_csv(folder / "turns.csv", keep_default_na=False)
    opens = (turns["turn"] == 1) & (turns["role"] == "seeker")
    turns.assign(text=turns["text"].mask(opens, "")).to_csv(folder / "turns.csv", index=False)
    assert table_of(folder)["estimate"].tolist() == [50, 70, 20]


def test_imports_of_people_of_profiles_and_of_nobody_are_never_in_one_row(export_of: ExportOf) -> None:
    emotions = {"C1": [10, 20], "C2": [10, 40], "C3": [10, 80], "C4": [10, 90]}
    about = {"C1": {"participant": "S7"}, "C2": {"profile": "p1"}, "C4": {"participant": "S8", "profile": "p1"}}
    found = table_of(imported(export_of, emotions, **about)).query("statistic == 'change'").set_index("source")
    assert found["estimate"].to_dict() == {"imported": 70, "imported_participant": 45, "imported_profile": 30}


def test_what_people_said_of_themselves_comes_before_what_the_file_says(export_of: ExportOf) -> None:
    emotions = {"C1": [10, 20], "C2": [10, 40]}
    table = table_of(imported(export_of, emotions, C1={"participant": "S7", "valence_before": "3"}))
    found = table.set_index(["measure", "statistic"])["estimate"]
    assert found["emotion"].to_dict() == {"before": 10, "after": 40, "change": 30}
    assert found["valence"].isna().all()


def test_a_feeling_that_is_no_number_is_named(export_of: ExportOf) -> None:
    folder = felt(export_of, [(3, 5), ("good", 2)])
    with pytest.raises(AnalysisError, match=r"^conversations\.csv:3:valence_before: 'good' is not a number$"):
        load(folder)
