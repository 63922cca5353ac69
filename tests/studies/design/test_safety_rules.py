"""[safety] of a study file: what it comes to mean, and every fault with its place."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from studies.design import safety_rules
from studies.design.safety_rules import OnCall, SafetyRules, SecondLine, StoppingRule
from studies.design.serialisation import spec_from_json, spec_to_json
from studies.design.writing import dump_study
from tests.studies.design.test_reading import faults_of, read, small

SAFETY: dict[str, Any] = {
    "ack_minutes": 5,
    "time_zone": "Asia/Shanghai",
    "after_safe": "continue",
    "worse_by": 3,
    "oncall": [
        {"name": "Dr. Lee", "email": "lee@example.org", "hours": ["mon-fri 09:00-17:00"]},
        {"name": "Duty phone", "webhook": "https://ntfy.example.org/duty", "form": "ntfy", "secret_env": "DUTY_KEY"},
    ],
    "second_line": {
        "kind": "openai_moderation",
        "base_url": "https://api.example.org/v1",
        "model": "omni",
        "provider": "Lab",
    },
    "stopping_rules": [{"count": "events", "at_least": 3, "share": 0.1}],
}


def test_study_without_the_section_has_the_usual_rules(tmp_path: Path) -> None:
    assert read(tmp_path, small()).safety == SafetyRules()


def test_section_is_read_and_comes_back_from_file_and_database(tmp_path: Path) -> None:
    spec = read(tmp_path, small() | {"safety": SAFETY})

    assert spec.safety == SafetyRules(
        ack_minutes=5,
        time_zone="Asia/Shanghai",
        after_safe="continue",
        worse_by=3,
        oncall=(
            OnCall(name="Dr. Lee", email="lee@example.org", hours=("mon-fri 09:00-17:00",)),
            OnCall(name="Duty phone", webhook="https://ntfy.example.org/duty", form="ntfy", secret_env="DUTY_KEY"),
        ),
        second_line=SecondLine(
            kind="openai_moderation", base_url="https://api.example.org/v1", model="omni", provider="Lab"
        ),
        stopping_rules=(StoppingRule(count="events", at_least=3, share=0.1),),
    )
    assert spec_from_json(spec_to_json(spec)) == spec
    assert read(tmp_path, tomllib.loads(dump_study(spec))) == spec


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("ack_minutes", 0, "safety.ack_minutes"),
        ("time_zone", "Mars/Olympus", "safety.time_zone"),
        ("after_safe", "leave", "safety.after_safe"),
        ("alarm", True, "safety.alarm"),
        ("oncall", [{"name": "A", "email": "a@example.org\\r\\nBcc: b@example.org"}], "safety.oncall[1].email"),
        ("oncall", [{"email": "a@example.org"}], "safety.oncall[1].name"),
        ("oncall", [{"name": "A"}], "safety.oncall[1]: needs an email or a webhook"),
        ("oncall", [{"name": "A", "email": "a@example.org"}] * 2, 'safety.oncall[2].name: "A" is listed twice'),
        ("oncall", [{"name": "A", "hours": ["nine to five"]}], "safety.oncall[1].hours[1]"),
        ("oncall", [{"name": "A", "webhook": "https://me:secret@example.org"}], "safety.oncall[1].webhook"),
        ("second_line", {"kind": "oracle", "provider": "Lab"}, "safety.second_line.kind"),
        ("stopping_rules", [{"count": "events", "at_least": 0}], "safety.stopping_rules[1].at_least"),
    ],
)
def test_fault_of_the_section_names_its_place(tmp_path: Path, key: str, value: Any, place: str) -> None:
    [fault] = faults_of(tmp_path, small() | {"safety": {key: value}})

    assert place in fault
    assert "secret" not in fault


@pytest.mark.parametrize(
    ("line", "faults"),
    [
        (
            {"kind": "openai_moderation"},
            ["safety.second_line.provider: is missing: the consent form must name who gets a person's text"],
        ),
        (
            {"kind": "openai_compatible", "model": "m", "provider": "Labb"},
            ['safety.second_line.provider: "Labb" is not among consent.providers; did you mean "Lab"?'],
        ),
        ({"kind": "openai_compatible", "provider": "Lab"}, ["safety.second_line.model: is missing"]),
    ],
)
def test_second_line_needs_a_provider_that_the_consent_names(
    tmp_path: Path, line: dict[str, Any], faults: list[str]
) -> None:
    assert faults_of(tmp_path, small() | {"safety": {"second_line": line}}) == faults


def test_scripted_second_line_needs_no_provider(tmp_path: Path) -> None:
    rules = read(tmp_path, small() | {"safety": {"second_line": {"kind": "scripted"}}}).safety
    assert rules.second_line == SecondLine(kind="scripted")


def test_time_zones_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page of a person reads the stored rules again, and the list of zones lies in hundreds of files."""
    read = []
    monkeypatch.setattr(safety_rules, "available_timezones", lambda: read.append(1) or {"Asia/Shanghai"})
    safety_rules.get_time_zones.cache_clear()
    try:
        assert [safety_rules.check_time_zone("Asia/Shanghai") for _ in range(3)] == ["Asia/Shanghai"] * 3
    finally:
        safety_rules.get_time_zones.cache_clear()
    assert read == [1]
