"""Test data are thrown away together: nothing is left of them, everything of others stays."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from studies.data.test_data import remove_test_data
from studies.models import AdverseEvent, ArmRun, AuditChain, AuditEntry, Participation, Protocol, Study
from studies.participation.enrolment import invite
from studies.setup.storage import load_spec
from tests import factories
from tests.studies.data.test_erasure import MARK, erase, everything_in, marked_person

pytestmark = pytest.mark.django_db
LOG = (AuditChain, AuditEntry)


@pytest.fixture(autouse=True)
def var(tmp_path: Path, settings) -> Path:
    settings.VAR = tmp_path
    return tmp_path


def make_test_data(study: Study) -> Participation:
    """Someone of the test data who has left a mark wherever words can stand."""
    person = marked_person(study)
    Participation.objects.filter(pk=person.pk).update(is_test=True)
    ArmRun.objects.filter(participation=person).update(is_test=True)
    person.refresh_from_db()
    return person


def test_nothing_is_left_of_test_data(study: Study, var: Path) -> None:
    person = make_test_data(study)
    (var / "notes.txt").write_text(person.code)
    told = erase("demo", "--test-data")
    assert (told["people"], told["rows"]["conversations"], told["remaining"]) == (1, 2, ["notes.txt"])
    (var / "notes.txt").unlink()
    left = everything_in(var)
    assert MARK not in left
    assert person.code not in left
    assert AdverseEvent.objects.count() == 0


def test_everything_of_others_stays(study: Study, var: Path) -> None:
    real = marked_person(study)
    before = everything_in(var, but=LOG)
    tester, _link = invite(study, track="participant", is_test=True)
    factories.rating(tester, factories.run_with_turns(study, tester, is_test=True))
    assert remove_test_data(study).people == 1
    assert everything_in(var, but=LOG) == before
    assert Participation.objects.filter(pk=real.pk).exists()


def test_version_that_only_test_data_have_met_can_change_again(study: Study) -> None:
    factories.person(study, is_test=True)
    spec = factories.demo_spec()
    assert not study.current().may_change()
    remove_test_data(study)
    assert study.current().may_change()
    assert load_spec(spec).protocol == study.current()
    assert Protocol.objects.filter(study=study).count() == 1


def test_progress_counts_people(study: Study) -> None:
    for _number in range(2):
        invite(study, track="participant", is_test=True)
    told = []
    remove_test_data(study, lambda done, total: told.append((done, total)))
    assert told == [(0, 2), (1, 2), (2, 2)]


def test_study_without_test_data_is_told_so(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("erase", "demo", "--test-data")
    assert capsys.readouterr().out == "demo has no test data.\n"


@pytest.mark.parametrize("words", [["demo"], ["demo", "P1", "--test-data"], ["demo", "--everyone", "--test-data"]])
def test_command_wants_a_person_or_test_data(study: Study, words: list[str]) -> None:
    with pytest.raises(CommandError, match=r"^Name a person's code, or give --imported NAME, --everyone or "):
        call_command("erase", *words)


def test_page_asks_first_and_removes_after_the_key_was_typed(study: Study, desk) -> None:
    invite(study, track="participant", is_test=True)
    address = reverse("research-test-data", args=[study.key])
    assert address in desk.get(reverse("research-study", args=[study.key])).content.decode()
    assert desk.get(address).context["people"] == 1
    assert desk.post(address, {"key": "other"}).status_code == 422
    assert Participation.objects.count() == 1
    told = desk.post(address, {"key": study.key}, follow=True)
    assert "Removed: 1 test person." in told.content.decode()
    assert Participation.objects.count() == 0
    assert desk.get(address)["Location"] == reverse("research-study", args=[study.key])
