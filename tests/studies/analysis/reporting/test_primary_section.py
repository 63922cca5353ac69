"""What the report says of contrasts that were declared, and of their absence."""

import json
from pathlib import Path
from typing import Any

import pytest

from studies.analysis import analyse
from studies.analysis.notes import Note, Notes
from studies.analysis.reporting.exhibits.card import card
from studies.analysis.reporting.parts import Excerpt
from studies.analysis.reporting.sections.methods import methods
from studies.analysis.reporting.sections.primary import primary
from tests.studies.analysis.builders import six_people, write_export
from tests.studies.analysis.reporting.test_sections import results_of, text_of
from tests.studies.analysis.tables.test_primary import ARMS, STRATEGIES, declaring

ROW = {
    "raters": "seeker",
    "judge": "J",
    "instrument": "ten",
    "item": "care",
    "moment": "final",
    "a": "user_aware",
    "b": "standard",
    "estimate": 0.123,
    "low": 0.01,
    "high": 0.2,
    "p": 0.012,
    "p_holm": 0.024,
    "n": 12,
    "clusters": 6,
    "note": Notes(),
    "seekers": "",
    "condition": "",
    "declared_at": "2026-01-04T09:00:00Z",
    "hodges_lehmann": float("nan"),
}
UNKNOWN = {"estimate": float("nan"), "low": float("nan"), "high": float("nan"), "p": float("nan")}
OF_ARMS = {"judge": "", "a": "a", "b": "b", "seekers": "counsellor", "condition": "worst_case"}
LACKING = ROW | OF_ARMS | UNKNOWN | {"note": Notes(Note("no_scores").on("estimate", "low", "high", "p"))}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_export(tmp_path / "export", six_people())


def test_what_was_declared_stands_apart(folder: Path) -> None:
    section = primary(results_of(folder, primary=[ROW, LACKING]))
    assert section is not None
    text = text_of(section)
    assert "The study file declares 2 primary contrasts; p (Holm) is p after Holm&#x27;s correction" in text
    assert "All other comparisons in this report are exploratory." in text
    assert "<li>a − b: care, as rated by participants (counsellors in a role, worst case)</li>" in text
    [excerpt] = [part for part in section.parts if isinstance(part, Excerpt)]
    [found] = excerpt.frame.to_dict("records")
    assert found["contrast"] == "user-aware − standard: agreement of J with participants on care"
    assert (found["estimate"], found["p_holm"], found["declared on"]) == (0.123, 0.024, "2026-01-04")


def test_the_card_shows_what_was_declared_and_not_what_was_found_later(folder: Path) -> None:
    said = card(results_of(folder, primary=[ROW, LACKING]))
    assert "Declared as primary" in said
    assert "user-aware − standard: agreement of J with participants on care" in said
    assert "<strong>+0.12</strong> <span>[0.01, 0.20], p\u00a0=\u00a0.024</span>" in said
    assert "What a strategy adds" not in said


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([ROW], "Only the contrasts in primary.csv"),
        ([], "No primary contrast was declared in the study file, so all tests are exploratory"),
    ],
)
def test_methods_say_what_is_exploratory(folder: Path, rows: list[dict[str, Any]], said: str) -> None:
    results = results_of(folder, primary=rows)
    assert said in text_of(methods(results))
    assert (primary(results) is None) == (not rows)


def test_a_declaration_that_came_late_or_was_taken_back_is_a_limit(folder: Path) -> None:
    before = results_of(folder).limits()
    declaring(folder, STRATEGIES, ARMS | {"before_first_answer": False}, STRATEGIES | {"item": "x", "withdrawn_in": 2})
    assert [limit for limit in results_of(folder).limits() if limit not in before] == [
        "Declared as primary only after the first answer, so treat as exploratory: "
        "a − b: care, as rated by participants.",
        "Declared as primary, but removed in a later version of the study file: "
        "user-aware − standard: agreement of J with participants on x.",
    ]


def test_report_has_the_section_where_something_was_declared(folder: Path, tmp_path: Path) -> None:
    analyse(folder, tmp_path / "without", bootstrap=20)
    declared = declaring(folder, STRATEGIES, ARMS)
    analyse(declared, tmp_path / "with", bootstrap=20)
    reports = [(tmp_path / name / "report.html").read_text(encoding="utf-8") for name in ("with", "without")]
    assert ['<div id="primary">' in report for report in reports] == [True, False]
    assert reports[0].index('id="primary"') < reports[0].index('id="arms"')
    results = json.loads((tmp_path / "with" / "results.json").read_text(encoding="utf-8"))
    assert [row["judge"] for row in results["tables"]["primary"]] == ["J", ""]
    assert "(sensitivity: Wilcoxon)" in reports[0]
    shifts = [row for row in results["tables"]["sensitivity"] if row["statistic"] == "hodges_lehmann"]
    assert [(row["arm_a"], row["arm_b"], row["item"]) for row in shifts] == [("a", "b", "care")]
