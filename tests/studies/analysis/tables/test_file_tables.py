"""Statistics without a column: each stands once as a row, with what is said of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253
import pytest

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.notes import Note, Notes
from studies.analysis.results import Results
from studies.analysis.run import compute
from studies.analysis.tables.file_tables import build_file_tables
from studies.analysis.tables.person_answers import SMALL
from studies.analysis.tables.registry import TABLES
from studies.analysis.tables.table import Table
from tests.studies.analysis.benchmark import write_benchmark, write_table
from tests.studies.analysis.builders import six_people

OF = ["judge", "strategy", "raters", "instrument", "moment", "item"]


@pytest.fixture
def results(export_of: Callable[[Any], Path]) -> Results:
    names = ["agreement", "reliability", "arm_pairs", "sensitivity"]
    return compute(load(export_of(six_people())), Bootstrap(20, 1), lambda *_: None, names)


@pytest.fixture
def benchmark(tmp_path: Path) -> Results:
    folder = write_benchmark(tmp_path / "benchmark", profiles=4, seed=3)
    names = ["ablation", "sensitivity", "rater_effects", "survival"]
    return compute(load(folder), Bootstrap(20, 1), lambda *_: None, names)


def test_statistics_without_a_column_are_rows_of_sensitivity(results: Results) -> None:
    rows = results.file_tables["sensitivity"]
    agreement = results.tables["agreement"].rename(columns={"human": "raters"}).set_index(OF)
    found = rows[rows["statistic"] == "ccc"].set_index(OF)
    for name, column in {"estimate": "ccc", "low": "ccc_low", "high": "ccc_high"}.items():
        assert found[name].dropna().to_dict() == agreement[column][found.index].dropna().to_dict()
    assert set(found.index) == set(agreement.index[agreement["ccc_low"].notna()])
    assert "ccc_low" not in results.file_tables["agreement"]
    assert set(found["variant"]) == {"all"}


def test_every_number_of_such_a_column_has_one_row(results: Results) -> None:
    of_samples = len(results.tables["sensitivity"])
    names = {"kappa_cohen", "kappa_cohen_se", "alpha_nominal", "d_z", "wilcoxon_p", "spearman_p"}
    further = results.file_tables["sensitivity"].iloc[of_samples:]
    counted = further["statistic"].value_counts()
    wide = pd.concat([results.tables[name] for name in ("agreement", "reliability", "arm_pairs")])
    assert {name: counted[name] for name in names} == {name: wide[name].notna().sum() for name in names}
    assert not further.duplicated(["statistic", *OF, "arm_a", "arm_b", "seekers", "condition"]).any()
    assert further["estimate"].notna().all()


def test_a_row_has_the_notes_on_its_own_statistic(results: Results) -> None:
    rows = results.file_tables["sensitivity"]
    of_bias = rows[rows["statistic"] == "bias"].iloc[0]
    assert str(of_bias["method"]) == "BCa"
    assert "ceiling" not in str(of_bias["note"])
    assert {str(method) for method in rows[rows["statistic"] == "kappa_cohen"]["method"]} == {""}
    assert all("Wilcoxon" in str(method) for method in rows[rows["statistic"] == "wilcoxon_p"]["method"])


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_column_is_in_the_file_or_a_row_or_aside(table: Table) -> None:
    assert len(set(table.all_columns())) == len(table.all_columns())


def test_a_note_names_no_column_that_is_aside() -> None:
    table = Table("novelty", lambda *_: iter(()), ["count", "note"], {}, "News", aside=("share", "method"))
    notes = Notes(SMALL.on("count", "share"), Note("one_user").on("share"), Note("one_pair"))
    rows = pd.DataFrame([[pd.NA, notes, pd.NA, ""]], columns=table.all_columns())
    written = build_file_tables({"novelty": rows}, [table], {})["novelty"]
    assert [*written["note"].iloc[0]] == [SMALL.on("count"), Note("one_pair")]


def test_there_are_few_files_and_columns() -> None:
    files = [table for table in TABLES if not table.file]
    assert len(files) <= 24
    assert sum(len(table.columns) for table in files) <= 350
    assert {table.file for table in TABLES} - {""} <= {table.name for table in files}


def test_tables_that_stand_in_the_file_of_another_are_all_there(benchmark: Results) -> None:
    written = benchmark.file_tables
    assert set(written) == {"sensitivity", "rater_effects", "survival"}
    ablation = benchmark.tables["ablation"].set_index(["setup", "arm", "item"])
    changed = written["sensitivity"].query("variant == 'without resistance'")
    for statistic, column in {"difference": "estimate", "whole": "whole"}.items():
        rows = changed[changed["statistic"] == statistic].set_index(["variant", "arm_a", "item"])
        assert rows["estimate"].to_dict() == ablation[column].to_dict()


def test_those_at_risk_are_counted_once(benchmark: Results) -> None:
    rows, whole = benchmark.file_tables["survival"], benchmark.tables["survival"]
    shares = whole["statistic"].isin(["open", "ongoing", "incidence"])
    assert rows["n"][: len(whole)][shares].tolist() == whole["at_risk"][shares].tolist()
    assert rows["n"][: len(whole)][~shares].tolist() == whole["n"][~shares].tolist()
    assert "incidence: walked_out" in set(rows["statistic"])


def test_a_row_of_a_further_statistic_is_of_the_same_arm(benchmark: Results) -> None:
    rows = benchmark.file_tables["survival"].set_index("statistic")
    tests = rows[rows.index.str.startswith("log_rank")]
    assert any(name.endswith("_p") for name in tests.index)
    assert set(tests["arm"]) == {"*"}


def test_order_is_among_what_moves_scores(export_of: Callable[[Any], Path]) -> None:
    folder = export_of([score for person in range(8) for score in two_conversations(person)])
    write_table(folder, "conversations", [chat for person in range(8) for chat in two_positions(person)])
    names = ["order", "rater_effects"]
    results = compute(load(folder), Bootstrap(20, 1), lambda *_: None, names)
    order, rows = results.tables["order"], results.file_tables["rater_effects"]
    slopes = order[order["statistic"] == "position_slope"]
    found = rows[rows["term"].isin(["position_slope", "position_slope_p"])]
    assert found["estimate"].tolist() == [*slopes["estimate"], *slopes["p"]]
    assert rows[rows["term"] == "position_mean"]["level"].tolist() == ["1", "2"]
    assert list(rows[rows["term"] == "first_position_mean"]["level"]) == ["a", "b"]


def two_conversations(person: int) -> list[dict[str, Any]]:
    of = {"participant": f"P{person}", "rater": f"P{person}"}
    arms = "ab" if person % 2 else "ba"
    return [
        of | {"conversation": f"C{person}{place}", "arm": arm, "score": (person * 3 + place * 2) % 5}
        for place, arm in enumerate(arms, 1)
    ]


def two_positions(person: int) -> list[dict[str, Any]]:
    return [
        {name: score[name] for name in ("conversation", "participant", "arm")} | {"position": place}
        for place, score in enumerate(two_conversations(person), 1)
    ]
