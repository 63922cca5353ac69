"""Statistics without a column: each stands once as a row, with what is said of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253
import pytest

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.results import Results
from studies.analysis.run import compute
from studies.analysis.tables.registry import TABLES
from tests.studies.analysis.builders import six_people

OF = ["judge", "strategy", "raters", "instrument", "moment", "item"]


@pytest.fixture
def results(export_of: Callable[[Any], Path]) -> Results:
    names = ["agreement", "reliability", "arm_pairs", "sensitivity"]
    return compute(load(export_of(six_people())), Bootstrap(20, 1), lambda *_: None, names)


def test_statistics_without_a_column_are_rows_of_sensitivity(results: Results) -> None:
    rows = results.file_tables["sensitivity"]
    agreement = results.tables["agreement"].rename(columns={"human": "raters"}).set_index(OF)
    found = rows[rows["statistic"] == "ccc"].set_index(OF)
    for name, column in {"estimate": "ccc", "low": "ccc_low", "high": "ccc_high"}.items():
        assert found[name].dropna().to_dict() == agreement[column][found.index].dropna().to_dict()
    assert set(found.index) == set(agreement.index[agreement["ccc_low"].notna()])
    assert "ccc_low" not in results.file_tables["agreement"]
    assert set(found["sample"]) == {"all"}


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


@pytest.mark.parametrize("table", [table for table in TABLES if table.further], ids=lambda table: table.name)
def test_a_column_is_in_the_file_or_a_row(table: Any) -> None:
    assert not set(table.columns) & set(table.further)
    assert len(set(table.further)) == len(table.further)
