from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253
import pytest

from studies.analysis import analyse, compute, load
from studies.analysis.reporting.sections.experts import SHORT, printed_table
from studies.instruments.loading import load as instrument

ExportOf = Callable[[Any], Path]

# Yang et al. 2026 (arXiv:2605.28228), Table 3, first line. Every mean there is a multiple of a third.
CPSYCOUNX = ["1.33", "1.33", "2.00", "2.00", "1.00", "2.67", "1.00", "2.00", "1.33", "2.00"]
HEAD = ["Model", "HL", "Eng.", "Emp.", "Per.", "AS", "Cons.", "Red.", "Help.", "MI", "Safe."]


def thirds(mean: str) -> list[int]:
    """Three whole scores with this mean."""
    total = round(3 * float(mean))
    return [total // 3 + (place < total % 3) for place in range(3)]


def table_3() -> list[dict[str, Any]]:
    """Ratings whose means are that line, in the order of EmoHarbor's items, and four more dimensions."""
    by_name = dict(zip(SHORT["emoharbor_10"], CPSYCOUNX, strict=True))
    rows = []
    for item in instrument("emoharbor_10").items:
        for number, score in enumerate(thirds(by_name[item.key])):
            rows.append(rating(number, "emoharbor_10", item.key, score))
    return rows + [rating(0, "worst_case_4", item.key, 3) for item in instrument("worst_case_4").items]


def rating(counsellor: int, scale: str, item: str, score: int, arm: str = "Cpsycounx") -> dict[str, Any]:
    person = f"E{counsellor}"
    about = {"conversation": f"{arm}{person}", "participant": person, "rater": person, "rater_kind": "expert"}
    return about | {"arm": arm, "instrument": scale, "item": item, "score": score}


def printed(folder: Path, instrument: str = "emoharbor_10") -> pd.DataFrame:
    """Return the table of an instrument, from arms.csv."""
    arms = compute(load(folder), tables=["arms"], bootstrap=5, seed=1)["arms"]
    rows = arms[(arms["instrument"] == instrument) & (arms["raters"] == "expert") & (arms["item"] != "*")]
    return printed_table(rows, instrument)


def test_expert_table_is_the_papers_by_key_and_not_by_place(export_of: ExportOf) -> None:
    shown = printed(export_of(table_3()))
    assert list(shown.columns) == HEAD
    assert shown.iloc[0].tolist() == ["Cpsycounx", *CPSYCOUNX]


def test_expert_table_keeps_the_four_dimensions_apart(export_of: ExportOf) -> None:
    four = printed(export_of(table_3()), "worst_case_4")
    assert list(four.columns) == ["Model", "DEU", "GE", "BES", "AGS"]
    assert four.iloc[0].tolist() == ["Cpsycounx", "3.00", "3.00", "3.00", "3.00"]


def test_short_names_are_of_all_items_of_the_instruments() -> None:
    for scale, names in SHORT.items():
        assert {item.key for item in instrument(scale).items} == set(names)


def test_expert_table_has_a_dash_where_nobody_rated_an_item(export_of: ExportOf) -> None:
    rows = [rating(1, "emoharbor_10", "safety", 5), rating(1, "emoharbor_10", "empathetic", 4, arm="B")]
    assert printed(export_of(rows)).iloc[0].tolist() == ["B", "4.00", "–"]


def test_report_shows_both_tables_in_the_papers_layout(export_of: ExportOf, tmp_path: Path) -> None:
    analyse(export_of(table_3()), tmp_path / "out", bootstrap=5)
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    heads = "".join(f'<th scope="col">{name}</th>' for name in HEAD)
    assert heads in report


@pytest.mark.parametrize("name", ["rater_effects", "arm_pairs"])
def test_report_says_where_there_is_nothing(name: str, export_of: ExportOf, tmp_path: Path) -> None:
    analyse(export_of([{"conversation": "C1", "score": 3}]), tmp_path / "out", bootstrap=5)
    assert f"rows of {name}.csv" not in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "out" / f"{name}.csv").read_text().count("\n") == 1
