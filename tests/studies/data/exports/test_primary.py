"""What manifest.json tells of primary contrasts (which, since which version, when, whether in time) and of epsilon."""

from pathlib import Path
from typing import Any

import pytest

from studies.design.alt_test_spec import AltTestSpec
from studies.design.contrast_spec import ContrastSpec
from studies.models import Protocol
from studies.workbench.csv_cells import format_cell
from tests import factories
from tests.studies.data.exports.test_files import manifest_in, run_export

pytestmark = pytest.mark.django_db

ARMS = ContrastSpec(arms=("amber", "birch"), item="*", instrument="emoharbor_10", seekers="person")
STRATEGIES = ContrastSpec(
    strategies=("standard", "state_aware"), judge="demo", item="safety", instrument="emoharbor_10"
)


def told(folder: Path) -> list[tuple[str, Any, bool, Any]]:
    """Of each: what is compared, since which version, whether in time, and until which version."""
    run_export(folder)
    return [
        ("arms" if one["arms"] else "strategies", one["version"], one["before_first_answer"], one["withdrawn_in"])
        for one in manifest_in(folder)["primary"]
    ]


def declared_at(folder: Path) -> list[str]:
    return [one["declared_at"] for one in manifest_in(folder)["primary"]]


def test_manifest_names_nothing_where_nothing_is_declared(tmp_path: Path):
    factories.study()
    assert told(tmp_path / "out") == []
    assert manifest_in(tmp_path / "out")["first_answer_at"] is None


def test_manifest_says_what_is_compared_and_since_when(tmp_path: Path):
    study = factories.study(primary=(ARMS,))
    person = factories.person(study)
    response = factories.rating(person, factories.run_with_turns(study, person))

    assert told(tmp_path / "out") == [("arms", 1, True, None)]
    [one] = manifest_in(tmp_path / "out")["primary"]
    said = {name: one[name] for name in ("arms", "item", "instrument", "raters", "moment", "seekers")}
    assert said == {
        "arms": ["amber", "birch"],
        "item": "*",
        "instrument": "emoharbor_10",
        "raters": "seeker",
        "moment": "final",
        "seekers": "person",
    }
    written = [one["declared_at"], manifest_in(tmp_path / "out")["first_answer_at"]]
    moments = [study.current().created_at, response.submitted_at]
    assert written == [format_cell(moment) for moment in moments]


def test_what_is_declared_after_people_began_is_told_as_late_and_what_is_left_out_as_withdrawn(tmp_path: Path):
    study = factories.study(primary=(ARMS,))
    person = factories.person(study)
    factories.rating(person, factories.run_with_turns(study, person))

    factories.study(primary=(ARMS, STRATEGIES))
    assert told(tmp_path / "out") == [("arms", 1, True, None), ("strategies", 2, False, None)]

    factories.person(study)
    factories.study(primary=(STRATEGIES,))
    assert told(tmp_path / "out") == [("arms", 1, True, 3), ("strategies", 2, False, None)]

    factories.person(study)
    factories.study(primary=(ARMS, STRATEGIES))
    assert told(tmp_path / "out") == [("arms", 1, True, 3), ("strategies", 2, False, None), ("arms", 4, False, None)]


def test_a_declaration_put_into_a_version_that_nobody_has_begun_is_no_older_than_that(tmp_path: Path):
    study = factories.study()
    person = factories.person(study)
    factories.study(gone_after_days=9)
    factories.rating(person, factories.run_with_turns(study, person, protocol=Protocol.objects.get(version=1)))

    factories.study(gone_after_days=9, primary=(ARMS,))

    assert Protocol.objects.count() == 2
    assert told(tmp_path / "out") == [("arms", 2, False, None)]


def test_another_change_of_the_study_does_not_make_a_declaration_younger(tmp_path: Path):
    study = factories.study(primary=(ARMS,))
    factories.person(study)
    told(tmp_path / "out")
    before = declared_at(tmp_path / "out")

    factories.study(primary=(ARMS,), gone_after_days=9)

    assert told(tmp_path / "out") == [("arms", 1, True, None)]
    assert declared_at(tmp_path / "out") == before


def test_only_answers_that_are_exported_count_as_the_first(tmp_path: Path):
    study = factories.study()
    factories.person(study)
    tester = factories.person(study, is_test=True)
    factories.rating(tester, factories.run_with_turns(study, tester, is_test=True))
    factories.study(primary=(ARMS,))
    assert told(tmp_path / "out") == [("arms", 2, True, None)]
    assert manifest_in(tmp_path / "out")["first_answer_at"] is None


def test_manifest_tells_epsilon_of_the_alternative_annotator_test(tmp_path: Path):
    factories.study(alt_test=AltTestSpec(reviewer=0.05))
    run_export(tmp_path / "out")
    assert manifest_in(tmp_path / "out")["alt_test_epsilon"] == {"expert": 0.2, "reviewer": 0.05, "crowd": 0.1}
