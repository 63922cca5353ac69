"""What a study file may say of strata: only what is known before the draw."""

from pathlib import Path
from typing import Any

import pytest

from studies.design.serialisation import spec_from_json, spec_to_json
from studies.design.spec import OrderSpec
from studies.design.strata import Source, instruments_before_chats
from studies.design.writing import dump_study
from tests.studies.design.test_reading import faults_of, read, small

ASKED = [
    {"kind": "questionnaire", "instrument": "screening"},
    {"kind": "consent"},
    {"kind": "questionnaire", "instrument": "ipip_bfm_50"},
    {"kind": "chats"},
    {"kind": "questionnaire", "instrument": "profile"},
]


def with_order(**order: Any) -> dict[str, Any]:
    return small() | {"steps": ASKED, "order": order}


def test_strata_are_read_and_written(tmp_path: Path) -> None:
    order = {"strata": ["language", "severity", "neuroticism"], "severity": "ipip_bfm_50.ES", "lease_hours": 24}
    spec = read(tmp_path, with_order(**order))
    assert spec.order == OrderSpec(
        strata=("language", "severity", "neuroticism"), severity="ipip_bfm_50.ES", lease_hours=24
    )
    assert read(tmp_path, dump_study(spec)).order == spec.order
    assert spec_from_json(spec_to_json(spec)).order == spec.order
    assert Source(*spec.order.severity_source()) == ("ipip_bfm_50", "ES", False)
    assert Source(*OrderSpec().severity_source()) == ("screening", "issue_bearable", True)
    assert instruments_before_chats(spec, "participant") == ["screening", "ipip_bfm_50"]


@pytest.mark.parametrize(
    ("order", "fault"),
    [
        ({"strata": ["age"]}, 'order.strata[1]: "age" is not one of language, severity, extraversion'),
        ({"strata": ["language", "language"]}, 'order.strata[2]: "language" is listed twice'),
        ({"strata": ["language"], "design": "random"}, 'order.strata: needs design = "williams" or "blocks"'),
        ({"severity": "screening.issue_bearable"}, 'order.severity: needs "severity" among the strata'),
        (
            {"strata": ["severity"], "severity": "profile.topic"},
            'order.severity: "profile" is not asked before the chats',
        ),
        (
            {"strata": ["severity"], "severity": "screening.bearable"},
            'order.severity: "bearable" is neither a scale nor an item with numbers',
        ),
        (
            {"strata": ["severity"], "severity": "screening.issue_text"},
            'order.severity: "issue_text" is neither a scale nor an item with numbers',
        ),
        ({"lease_hours": 0}, "order.lease_hours: must be between 1 and 8760"),
    ],
)
def test_a_stratum_that_cannot_be_known_is_a_fault(order: dict[str, Any], fault: str, tmp_path: Path) -> None:
    [found] = faults_of(tmp_path, with_order(**order))
    assert found.startswith(fault)


@pytest.mark.parametrize("factor", ["openness", "severity"])
def test_nobody_is_asked_before_the_chats(factor: str, tmp_path: Path) -> None:
    asked = [step for step in ASKED if step.get("instrument") not in ("screening", "ipip_bfm_50")]
    [found] = faults_of(tmp_path, with_order(strata=[factor]) | {"steps": asked})
    assert "before the chats" in found


def test_one_language_is_no_stratum(tmp_path: Path) -> None:
    document = with_order(strata=["language"]) | {"languages": ["en"]}
    [found] = faults_of(tmp_path, document)
    assert found == "order.strata[1]: the study has only one language"


def test_a_study_whose_researchers_admit_people_has_no_number_of_places(tmp_path: Path) -> None:
    faults = faults_of(tmp_path, with_order(participants=20) | {"selection": "manual"})
    assert faults == ["order.participants: with manual selection, researchers decide how many to admit"]
