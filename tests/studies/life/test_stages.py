"""Closing a study: no one new begins, who has begun finishes, and then the results by arm are open."""

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from studies.care import answers
from studies.models import Participation, Study, Unblinding
from studies.models.participation import Status
from studies.participation import enrolment, progress
from studies.participation.unblinding import is_blinded, unblind, unblinding_of
from tests import factories
from tests.answers import ELIGIBLE
from tests.people import Person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_commit_at_once")]

CLOSED = "This study is closed. Thank you for coming"


@pytest.fixture
def ada():
    return User.objects.create(username="ada", is_staff=True, is_superuser=True)


@pytest.fixture
def hearts():
    """A study to which anyone may come, and no one has."""
    return factories.study("hearts", open_enrolment=True)


def begun(study, **fields):
    return factories.person(study, started_at=None, **fields)


# Closing and opening


def test_closing_keeps_when_and_who_and_outlives_the_account(hearts, ada):
    factories.close(hearts)
    User.objects.all().delete()
    hearts.refresh_from_db()
    assert hearts.is_closed()
    assert (hearts.closing.by, hearts.closing.by_name) == (None, "ada")


def test_closing_twice_is_once(hearts, ada):
    factories.close(hearts)
    first = hearts.closed_at
    factories.close(hearts, by="bob")
    assert (hearts.closed_at, hearts.closing.by_name) == (first, "ada")


def test_closing_is_of_one_study(hearts, ada):
    other = factories.study("other")
    factories.close(hearts)
    other.refresh_from_db()
    assert not other.is_closed()


def test_a_study_that_is_opened_again_is_as_before(hearts, ada):
    factories.close(hearts)
    factories.reopen(hearts, reason="")
    fresh = Study.objects.get(pk=hearts.pk)
    assert (fresh.stage, fresh.closing, fresh.closed_at) == ("open", None, None)


# Blindness


@pytest.mark.parametrize("status", [Status.APPLIED, Status.IN_REVIEW, Status.ACTIVE, Status.HELD])
def test_results_stay_hidden_while_somebody_is_under_way(status, hearts, ada):
    begun(hearts, status=Status.COMPLETED)
    late = begun(hearts, status=status)
    factories.close(hearts)
    assert is_blinded(hearts)
    progress.leave(late)
    assert not is_blinded(hearts)


def test_neither_test_people_nor_links_that_nobody_used_keep_results_hidden(hearts, ada):
    begun(hearts, status=Status.COMPLETED)
    begun(hearts, is_test=True)
    enrolment.invite(hearts)
    factories.close(hearts)
    assert not is_blinded(hearts)


def test_a_study_that_is_open_stays_blind_when_all_are_through(hearts):
    begun(hearts, status=Status.COMPLETED)
    assert is_blinded(hearts)


def test_opening_again_before_results_were_open_leaves_it_blind(hearts, ada):
    begun(hearts)
    factories.close(hearts)
    factories.reopen(hearts, reason="")
    assert is_blinded(hearts)
    assert not Unblinding.objects.exists()


def test_opening_again_after_results_were_open_is_an_unblinding(hearts, ada):
    begun(hearts, status=Status.COMPLETED)
    factories.close(hearts)
    factories.reopen(hearts, reason="Ten more are needed.")
    kept = unblinding_of(hearts)
    assert (kept.when, kept.by_name, kept.reason) == ("reopened", "ada", "Ten more are needed.")
    begun(hearts)
    assert not is_blinded(hearts)


def test_an_earlier_unblinding_stays_the_one_that_is_kept(hearts, ada):
    begun(hearts, status=Status.COMPLETED)
    unblind(hearts, ada, when="earlier", reason="A sign of harm.")
    factories.close(hearts)
    factories.reopen(hearts, reason="")
    assert unblinding_of(hearts).when == "earlier"


@pytest.mark.parametrize(("key", "fields"), [("demo", {}), ("hearts", {"is_test": True})])
def test_opening_what_never_was_blind_is_no_unblinding(key, fields, ada):
    study = factories.study(key)
    begun(study, status=Status.COMPLETED, **fields)
    factories.close(study)
    factories.reopen(study, reason="")
    assert not Unblinding.objects.exists()


def test_opening_what_is_open_changes_nothing(hearts, ada):
    begun(hearts, status=Status.COMPLETED)
    factories.reopen(hearts, reason="Twice.")
    assert is_blinded(hearts)


# Who comes


@pytest.mark.parametrize(("language", "tag"), [("en", "en"), ("zh", "zh-Hans")])
def test_the_open_door_says_kindly_that_it_is_closed(language, tag, hearts, ada):
    factories.close(hearts)
    page = Client(headers={"accept-language": language}).get("/open/hearts/")
    assert page.status_code == 403
    text = page.content.decode()
    assert f'<html lang="{tag}">' in text
    assert hearts.current().spec().title[language] in text
    assert hearts.current().spec().contact in text
    assert page.context["resources"]
    assert not Participation.objects.exists()
    call_command("invite", "hearts", "--count", "2", "--test", verbosity=0)
    assert [person.is_test for person in Participation.objects.all()] == [True, True]


def test_an_invitation_that_was_not_used_leads_to_the_same_page(hearts, ada):
    person, token = enrolment.invite(hearts)
    factories.close(hearts)
    client = Client()
    for page in (client.get(f"/j/{token}/"), client.post(f"/j/{token}/", follow=True)):
        assert page.status_code == 403
        assert CLOSED in page.content.decode()
    person.refresh_from_db()
    assert (person.status, person.plan, person.started_at) == (Status.INVITED, [], None)


def test_a_form_that_is_sent_with_an_unused_link_changes_nothing(hearts, ada):
    person, token = enrolment.invite(hearts)
    factories.close(hearts)
    client = Client()
    client.post(f"/j/{token}/")
    assert client.post("/study/", {"step": "language", "language": "en"}).status_code == 403
    person.refresh_from_db()
    assert person.status == Status.INVITED


def test_an_unused_link_works_when_the_study_is_open_again(hearts, ada):
    person, token = enrolment.invite(hearts)
    factories.close(hearts)
    factories.reopen(hearts, reason="")
    assert Client().post(f"/j/{token}/", follow=True).status_code == 200
    person.refresh_from_db()
    assert person.has_started()


def test_who_has_begun_comes_back_through_the_open_door_and_nobody_else_beside_them(hearts, ada):
    client = Client()
    link = client.post("/open/hearts/", follow=True).context["link"]
    client.get("/study/")
    factories.close(hearts)
    assert client.get("/open/hearts/").context["link"] == link
    assert client.get("/study/").status_code == 200
    assert client.post("/open/hearts/").status_code == 403
    assert Participation.objects.count() == 1


def test_who_came_through_the_open_door_and_did_not_begin_comes_too_late(hearts, ada):
    client = Client()
    client.post("/open/hearts/")
    factories.close(hearts)
    assert client.get("/open/hearts/").status_code == 403
    assert client.get("/study/").status_code == 403


def test_who_has_begun_goes_on_to_the_end(hearts, ada):
    person = Person("hearts")
    person.go_to("chat", run=1)
    factories.close(hearts)
    person.go_to("debrief")
    assert person.page().status_code == 200
    person.row.refresh_from_db()
    assert person.row.status == Status.COMPLETED
    assert not is_blinded(hearts)


def test_safety_works_for_who_is_under_way(hearts, ada, mailoutbox):
    person = Person("hearts")
    person.send({"language": "en"})
    person.send(ELIGIBLE)
    factories.close(hearts)
    answers.record_unsafe(person.row)
    assert "You told us that you do not feel safe." in person.page().content.decode()
    person.row.refresh_from_db()
    assert person.row.status == Status.STOPPED


def test_test_people_rehearse_a_closed_study(hearts, ada):
    factories.close(hearts)
    person, token = enrolment.invite(hearts, is_test=True)
    assert Client().post(f"/j/{token}/", follow=True).status_code == 200
    person.refresh_from_db()
    assert person.has_started()


def test_no_links_are_made_for_a_closed_study(hearts, ada):
    factories.close(hearts)
    with pytest.raises(CommandError, match="hearts: it is closed"):
        call_command("invite", "hearts", "--count", "2", verbosity=0)
    assert not Participation.objects.exists()
