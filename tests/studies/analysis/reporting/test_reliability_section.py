"""How many people and raters tell arms apart, as the report says it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.reporting.parts import Excerpt
from studies.analysis.reporting.sections.reliability import reliability
from studies.analysis.run import compute
from tests.studies.analysis.builders import write_export
from tests.studies.analysis.tables.test_decision_study import FOUR, judged, rated

NAME = "people-and-raters"


def parts_of(folder: Path, ratings: list[dict[str, Any]]) -> list[Any]:
    """Of the section, computed from these ratings."""
    export = load(write_export(folder / "export", ratings))
    tables = ["reliability", "rater_effects"]
    section = reliability(compute(export, Bootstrap(20, 1), lambda *_: None, tables))
    return section.parts if section else []


def people_and_raters(folder: Path, ratings: list[dict[str, Any]]) -> Excerpt:
    [found] = [part for part in parts_of(folder, ratings) if isinstance(part, Excerpt) and part.name == NAME]
    return found


def test_a_line_for_each_number_of_raters_and_a_column_for_each_of_people(tmp_path: Path) -> None:
    found = people_and_raters(tmp_path, judged(FOUR))
    assert found.frame.columns.tolist() == [
        "raters", "instrument", "moment", "item", "k_raters", "5", "10", "20", "50", "100"
    ]  # fmt: skip
    assert found.frame["k_raters"].tolist() == [1, 2, 3, 4, 5, 8]
    assert set(found.frame["item"]) == {"All items"}
    means = [float(text.partition(" ")[0]) for text in found.frame["100"]]
    assert means == sorted(means)


def test_an_instrument_of_one_item_is_told_by_that_item(tmp_path: Path) -> None:
    found = people_and_raters(tmp_path, judged(FOUR[..., 0]))
    assert set(found.frame["item"]) == {"item0"}
    assert len(found.frame) == 6


def test_why_there_is_no_interval_stands_below(tmp_path: Path) -> None:
    gaps = np.where(np.random.default_rng(2).random(FOUR.shape) < 0.3, np.nan, FOUR)
    remark = people_and_raters(tmp_path, judged(gaps)).remark
    assert remark.startswith("Without an interval: Henderson's method 1, by which it was computed, gives no interval (")


@pytest.mark.parametrize("table", [FOUR[:, :, :1], FOUR[:1]])
def test_one_rater_or_one_arm_has_no_such_table(table: np.ndarray, tmp_path: Path) -> None:
    ratings = judged(table) + rated(FOUR[0])
    assert NAME not in [getattr(part, "name", "") for part in parts_of(tmp_path, ratings)]
