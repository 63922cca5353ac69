"""An admin anonymises a finished study from its page."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from dialogue.models import Conversation
from dialogue.models.conversation import SeekerKind
from studies.data.anonymising import describe_rules
from studies.life.removal_pages import ANONYMISED
from studies.models import Answer, AuditEntry, Study
from studies.models.participation import Status
from tests import factories
from tests.studies.data.test_erasure import MARK, everything_in, marked_person

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def var(tmp_path: Path, settings) -> Path:
    settings.VAR = tmp_path
    return tmp_path


def finish(study: Study) -> None:
    study.participations.update(status=Status.COMPLETED)
    factories.close(study)


def life_of(study: Study) -> str:
    return reverse("research-life", args=[study.key])


def anonymise_of(study: Study) -> str:
    return reverse("research-anonymise", args=[study.key])


def text_of(page) -> str:
    return " ".join(page.content.decode().split())


def test_study_is_anonymised_from_its_page(desk, study, var):
    person = marked_person(study)
    person.consents.update(text_hash="of the form that everyone signs")
    call_command("export", "demo", "--out", str(var / "export"), verbosity=0)
    (var / "notes.txt").write_text(person.code)
    finish(study)
    people = study.participations.count()
    assert anonymise_of(study) in text_of(desk.get(life_of(study)))
    page = desk.get(anonymise_of(study))
    assert (page.context["people"], page.context["finished"]) == (people, True)
    assert "Type demo to confirm" in text_of(page)
    assert MARK in everything_in(var)

    told = desk.post(anonymise_of(study), {"key": "demo"}, follow=True)

    assert told.redirect_chain == [(life_of(study), 302)]
    text = text_of(told)
    assert f"The study is anonymised. People: {people}. Records deleted: " in text
    assert "These files on the server still name someone. Delete them unless they must stay: notes.txt" in text
    assert "The study was anonymised on " in text
    assert MARK not in everything_in(var).replace(f"['{MARK}']", "")  # a card is the study's own text
    assert not (var / "export").exists()
    entry = AuditEntry.objects.filter(act=AuditEntry.Act.ERASED).get()
    assert (entry.study_key, entry.thing, entry.by_name) == ("demo", AuditEntry.Thing.DATA, "ada")


def test_second_time_is_offered_for_what_came_since(desk, study):
    finish(study)
    desk.post(anonymise_of(study), {"key": "demo"})
    assert "Anonymise again …" in text_of(desk.get(life_of(study)))
    imported = factories.run_with_turns(study, external_id="c1", external_participant="Mary")
    Conversation.objects.filter(run=imported).update(seeker_kind=SeekerKind.IMPORTED)
    page = desk.get(anonymise_of(study))
    assert "data added since then are covered too" in text_of(page)
    assert "It also concerns 1 name from imported files." in text_of(page)
    desk.post(anonymise_of(study), {"key": "demo"})
    assert study.runs.get().external_participant == ""


@pytest.mark.parametrize("key", ["dem", "", " "])
def test_wrong_key_changes_nothing(key, desk, study, var):
    marked_person(study)
    finish(study)
    words = everything_in(var).count(MARK)
    page = desk.post(anonymise_of(study), {"key": key})
    assert page.status_code == 422
    assert everything_in(var).count(MARK) == words
    assert Study.objects.get().anonymised_at is None


@pytest.mark.parametrize(
    ("closed", "why"),
    [
        (False, "This is not possible yet, because the study is not closed."),
        (True, "This is not possible yet, because 1 person is still taking part."),
    ],
)
def test_study_that_is_not_finished_is_refused(closed, why, desk, study):
    person = factories.person(study)
    factories.answer(person, "profile", {"occupation": "a lamp lighter"})
    if closed:
        factories.close(study)
    text = text_of(desk.get(life_of(study)))
    assert anonymise_of(study) not in text
    assert "When the study is closed and no one is taking part, you can anonymise it here" in text
    page = text_of(desk.get(anonymise_of(study)))
    assert why in page
    assert "Type demo to confirm" not in page

    told = desk.post(anonymise_of(study), {"key": "demo"}, follow=True)

    assert told.redirect_chain == [(life_of(study), 302)]
    assert "Nothing has changed: the study is not closed, or people are still taking part." in text_of(told)
    assert Answer.objects.get().text == "a lamp lighter"
    assert Study.objects.get().anonymised_at is None


@pytest.mark.parametrize("role", ["researcher", "reader", "safety_officer"])
def test_anonymising_is_for_admins(role, study):
    finish(study)
    client = Client()
    client.force_login(factories.grant(study, User.objects.create(username="bob"), role))
    assert anonymise_of(study) not in text_of(client.get(life_of(study)))
    assert client.get(anonymise_of(study)).status_code == 403
    assert client.post(anonymise_of(study), {"key": "demo"}).status_code == 403
    assert Study.objects.get().anonymised_at is None


def test_page_names_every_kind_of_record_that_goes_once():
    told = [kind for kinds in ANONYMISED.values() for kind in kinds]
    assert sorted(told) == sorted(name for name, _rule in describe_rules())
