"""An admin deletes the data of all people of a finished study from its page."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from dialogue.models import RiskEvent
from studies.data.holdings import HOLDINGS, Fate
from studies.life.removal_pages import ERASED
from studies.models import Answer, AuditEntry, Study
from tests import factories
from tests.studies.data.test_erasure import MARK, everything_in, finish, marked_person
from tests.studies.life.test_anonymising_page import life_of, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def var(tmp_path: Path, settings) -> Path:
    settings.VAR = tmp_path
    return tmp_path


def erase_of(study: Study) -> str:
    return reverse("research-erase-study", args=[study.key])


def test_everyone_is_deleted_from_the_page(desk, study, var):
    person = marked_person(study)
    call_command("export", "demo", "--out", str(var / "export"), verbosity=0)
    (var / "notes.txt").write_text(person.code)
    finish(study)
    assert erase_of(study) in text_of(desk.get(life_of(study)))
    page = text_of(desk.get(erase_of(study)))
    assert "Type demo to confirm" in page
    assert "Someone may be in danger: a sign is open on the Safety desk." in page

    told = desk.post(erase_of(study), {"key": "demo"}, follow=True)

    assert told.redirect_chain == [(life_of(study), 302)]
    text = text_of(told)
    assert "The data of all people are deleted. Records deleted: " in text
    assert "These files on the server still name someone. Delete them unless they must stay: notes.txt" in text
    assert MARK not in everything_in(var).replace(f"['{MARK}']", "")  # a card is the study's own text
    assert not (var / "export").exists()
    entry = AuditEntry.objects.filter(act=AuditEntry.Act.ERASED, thing=AuditEntry.Thing.DATA).get()
    assert (entry.study_key, entry.by_name) == ("demo", "ada")


@pytest.mark.parametrize("key", ["dem", "", " "])
def test_wrong_key_deletes_nothing(key, desk, study, var):
    marked_person(study)
    finish(study)
    words = everything_in(var).count(MARK)
    assert desk.post(erase_of(study), {"key": key}).status_code == 422
    assert everything_in(var).count(MARK) == words


def test_study_that_is_not_finished_keeps_everyone(desk, study):
    person = factories.person(study)
    factories.answer(person, "profile", {"occupation": "a lamp lighter"})
    assert erase_of(study) not in text_of(desk.get(life_of(study)))
    page = text_of(desk.get(erase_of(study)))
    assert "This is not possible yet, because the study is not closed." in page
    assert "Type demo to confirm" not in page

    told = desk.post(erase_of(study), {"key": "demo"}, follow=True)

    assert "Nothing has changed: the study is not closed, or people are still taking part." in text_of(told)
    assert Answer.objects.get().text == "a lamp lighter"


@pytest.mark.parametrize("role", ["researcher", "reader", "safety_officer"])
def test_deleting_everyone_is_for_admins(role, study):
    person = marked_person(study)
    finish(study)
    client = Client()
    client.force_login(factories.grant(study, User.objects.create(username="bob"), role))
    assert client.get(erase_of(study)).status_code == 403
    assert client.post(erase_of(study), {"key": "demo"}).status_code == 403
    assert RiskEvent.objects.filter(subject=person.code).exists()


def test_page_names_every_kind_of_record_that_is_deleted_once():
    told = [kind for kinds in ERASED.values() for kind in kinds]
    assert sorted(told) == sorted(each.name for each in HOLDINGS if each.erased == Fate.DELETED)
