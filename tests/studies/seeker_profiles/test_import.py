"""Profiles from files: every fault at once and nothing changed; what is there already is not stored again."""

import json
import re
from copy import deepcopy
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from studies.models import SeekerProfile
from studies.seeker_profiles.selection import DEMO_PROFILES, find_profiles, get_approved_profiles
from tests import factories

pytestmark = pytest.mark.django_db

NODES = json.loads(DEMO_PROFILES.read_text(encoding="utf-8"))["profiles"]


ROOT = Path(__file__).resolve().parents[3]


def bring(path: Path) -> dict[str, Any]:
    out = StringIO()
    call_command("import_profiles", "demo", str(path), "--json", stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])


def refused(path: Path) -> list[str]:
    with pytest.raises(CommandError) as caught:
        bring(path)
    assert caught.value.returncode == 2
    return str(caught.value).splitlines()


def lines(folder: Path, *nodes: dict[str, Any]) -> Path:
    file = folder / "mine.jsonl"
    file.write_text("".join(json.dumps(node, ensure_ascii=False) + "\n" for node in nodes), encoding="utf-8")
    return file


def test_file_is_stored_approved_and_twice_is_once() -> None:
    study = factories.study()
    assert bring(DEMO_PROFILES) == {"study": "demo", "added": 12, "unchanged": 0, "refused": 0, "mild": []}
    assert bring(DEMO_PROFILES) == {"study": "demo", "added": 0, "unchanged": 12, "refused": 0, "mild": []}
    assert [profile.id for profile in get_approved_profiles(study)] == sorted(node["id"] for node in NODES)
    row = SeekerProfile.objects.get(key="zh01")
    assert (row.language, row.origin, row.state, row.checks) == ("zh", "seeker_profiles_demo.json", "approved", [])


def test_every_fault_is_told_with_its_place_and_nothing_is_stored(tmp_path: Path) -> None:
    factories.study()
    broken = deepcopy(NODES[1])
    del broken["C"]["problem"]
    broken["D"]["age"] = "old"
    assert refused(lines(tmp_path, NODES[0], broken, NODES[0])) == [
        "mine.jsonl: line 2.D.age: must be a whole number",
        "mine.jsonl: line 2.C.problem: is missing",
        'mine.jsonl: line 3.id: "en01" is already the id of line 1',
    ]
    assert not SeekerProfile.objects.exists()


def test_the_same_id_with_other_content_is_refused(tmp_path: Path) -> None:
    factories.study()
    bring(DEMO_PROFILES)
    other = {**deepcopy(NODES[0]), "id": "new"}, {**NODES[1], "D": {**NODES[1]["D"], "age": 39}}
    assert refused(lines(tmp_path, *other)) == [
        "mine.jsonl: the study has another profile 'en02'; give this one an id of its own"
    ]
    assert SeekerProfile.objects.count() == 12


def test_file_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    factories.study()
    assert refused(tmp_path / "none.json") == ["none.json: cannot be read: No such file or directory"]


def test_what_the_checks_refuse_is_stored_refused_and_not_played(tmp_path: Path) -> None:
    study = factories.study()
    grave = {**NODES[0], "S": {**NODES[0]["S"], "opening": "i want to kill myself"}}
    file = lines(tmp_path, grave, NODES[1])
    assert bring(file) == {"study": "demo", "added": 2, "unchanged": 0, "refused": 1, "mild": []}
    row = SeekerProfile.objects.get(key="en01")
    assert (row.state, row.checks[0]["rule"], row.checks[0]["where"]) == ("refused", "risk", "S.opening")
    found = find_profiles(study, file)
    assert ([profile.id for profile in found.profiles], found.not_played) == (["en02"], {"en01": "refused"})


def test_profile_too_mild_for_the_worst_case_is_named_whenever_its_file_is_brought(tmp_path: Path) -> None:
    factories.study()
    file = lines(tmp_path, {**NODES[0], "worst_case_default": {"low_engagement": 1}}, NODES[1])
    for added in ("2 profiles added", "0 profiles added"):
        out = StringIO()
        call_command("import_profiles", "demo", str(file), stdout=out)
        assert added in out.getvalue()
        assert "Too mild for the worst case, and left out of it: en01. Fewer than two" in out.getvalue()
    assert bring(file)["mild"] == ["en01"]
    row = SeekerProfile.objects.get(key="en01")
    assert [(finding["rule"], finding["where"]) for finding in row.checks] == [("mild", "worst_case_default")]


def test_what_the_checks_find_is_kept_with_an_approved_one(tmp_path: Path) -> None:
    factories.study()
    bring(lines(tmp_path, {**NODES[0], "C": {**NODES[0]["C"], "background": "Write to a@example.org"}}))
    row = SeekerProfile.objects.get()
    assert (row.state, [finding["rule"] for finding in row.checks]) == ("approved", ["email"])


def test_the_example_of_the_docs_is_taken(tmp_path: Path) -> None:
    factories.study()
    docs = (ROOT / "docs" / "profiles.md").read_text(encoding="utf-8")
    file = tmp_path / "profiles.json"
    file.write_text(re.search(r"```json\n(.*?)```", docs, re.DOTALL)[1], encoding="utf-8")
    assert bring(file)["added"] == 1
    assert SeekerProfile.objects.get().checks == []
