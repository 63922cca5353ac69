from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253
import pytest
from scipy import stats  # noqa: TID253

from studies.analysis import AnalysisError
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.emotion import COLUMNS, emotion
from tests.studies.analysis.benchmark import write_benchmark, write_table
from tests.studies.analysis.measures.test_paired import FIRST, SECOND

ExportOf = Callable[[Any], Path]


def table_of(folder: Path, replicates: int = 200) -> pd.DataFrame:
    rows = [row for _, found in emotion(load(folder), Bootstrap(replicates, 1)) for row in found]
    return pd.DataFrame(rows, columns=COLUMNS)


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
    assert table["note"].str.contains("2 conversations of which one of the two is not known are left out").all()


def test_nobody_who_told_both_leaves_an_empty_cell_with_its_reason(export_of: ExportOf) -> None:
    table = table_of(felt(export_of, [(3, ""), (4, "")]))
    assert table["estimate"].isna().all()
    assert set(table["note"]) == {"estimate, low, high: of no conversation are before and after both known"}


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


def test_a_feeling_that_is_no_number_is_named(export_of: ExportOf) -> None:
    folder = felt(export_of, [(3, 5), ("good", 2)])
    with pytest.raises(AnalysisError, match=r"^conversations\.csv:3:valence_before: 'good' is not a number$"):
        load(folder)
