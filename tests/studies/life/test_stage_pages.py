"""A researcher closes a study and opens it again, each by a confirmed act."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dialogue.models import RiskEvent
from studies.models import Participation, Study
from studies.models.participation import Status
from studies.participation.unblinding import is_blinded, unblind, unblinding_of
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def hearts():
    """A study with one real person under way, and one who has not used their link."""
    study = factories.study("hearts")
    factories.person(study)
    factories.person(study, status=Status.INVITED)
    return study


@pytest.fixture
def closed(hearts, desk):
    factories.close(hearts)
    return hearts


def address(name):
    return reverse(f"research-{name}", args=["hearts"])


def text_of(page):
    return " ".join(page.content.decode().split())


def test_an_open_study_asks_for_its_help_lines_to_be_tried_again(desk, hearts):
    def told():
        waiting = desk.get(address("study")).context["waiting"]
        return [one.url for one in waiting if str(one.label) == "Help lines to try"], text_of(desk.get(address("life")))

    waits, text = told()
    assert waits == [address("resources")]
    assert "No one has tried the lines" in text
    desk.post(address("resources"))
    waits, text = told()
    assert waits == []
    assert "ada tried the lines that people in distress see on" in text
    assert "too long ago" not in text
    hearts.resource_checks.update(at=timezone.now() - timedelta(days=91))
    waits, text = told()
    assert waits == [address("resources")]
    assert "That is too long ago" in text


def all_are_through(study):
    study.participations.exclude(status=Status.INVITED).update(status=Status.COMPLETED)


def test_closing_asks_first_and_says_whom_it_concerns(desk, hearts):
    assert address("close") in text_of(desk.get(address("life")))
    text = text_of(desk.get(address("close")))
    assert "1 person has a link and has not started." in text
    assert "1 person is still in the study." in text
    assert "Type hearts to confirm" in text
    hearts.refresh_from_db()
    assert not hearts.is_closed()


def test_signs_of_danger_that_wait_are_told_before_the_study_ends(desk, hearts):
    assert "at the safety desk" not in text_of(desk.get(address("close")))
    RiskEvent.objects.create(subject=hearts.participations.first().code, source="answer", level=3)
    assert "1 sign of danger still waits at the safety desk." in text_of(desk.get(address("close")))
    factories.close(hearts)
    assert "1 sign of danger still waits at the safety desk." in text_of(desk.get(address("archive")))


def test_closing_is_told_on_the_studys_pages(desk, hearts):
    response = desk.post(address("close"), {"key": "hearts"}, follow=True)
    assert response.redirect_chain == [(address("life"), 302)]
    hearts.refresh_from_db()
    assert hearts.closing.by_name == "ada"
    for name in ("study", "life", "analysis"):
        text = text_of(desk.get(address(name)))
        assert "Closed by ada, " in text
        assert "1 person has started and can finish." in text
        assert "The results by arm are shown when no one is still in the study, or after unblinding." in text
    assert "Closed</span>" in text_of(desk.get(reverse("research-studies")))


def test_pages_say_when_the_results_are_open(desk, closed):
    all_are_through(closed)
    for name in ("study", "analysis"):
        assert "No one is still in the study. The results by arm are shown." in text_of(desk.get(address(name)))


def test_results_that_were_unblinded_are_not_said_to_be_hidden(desk, closed):
    unblind(closed, User.objects.get(), when="earlier", reason="A sign of harm.")
    text = text_of(desk.get(address("study")))
    assert "1 person has started and can finish. The results by arm are shown." in text


@pytest.mark.parametrize("key", ["heart", "", " "])
def test_closing_needs_the_studys_key(key, desk, hearts):
    assert desk.post(address("close"), {"key": key}).status_code == 422
    hearts.refresh_from_db()
    assert not hearts.is_closed()


def test_no_links_are_made_while_it_is_closed(desk, closed):
    response = desk.post(address("invite"), {"count": 2, "track": "participant"}, follow=True)
    assert "The study is not open, so no links for real people were made." in text_of(response)
    assert Participation.objects.count() == 2


def test_opening_again_in_time_asks_for_no_reason(desk, closed):
    assert "Closing has not shown any results by arm" in text_of(desk.get(address("open")))
    desk.post(address("open"), {"key": "hearts"})
    closed.refresh_from_db()
    assert not closed.is_closed()
    assert is_blinded(closed)


def test_opening_again_with_open_results_needs_a_reason_and_is_told(desk, closed):
    all_are_through(closed)
    assert "The results by arm have been shown to all researchers." in text_of(desk.get(address("open")))
    assert desk.post(address("open"), {"key": "hearts", "reason": " "}).status_code == 422
    assert Study.objects.get().is_closed()

    desk.post(address("open"), {"key": "hearts", "reason": "Ten more are needed."})

    closed.refresh_from_db()
    assert not closed.is_closed()
    assert unblinding_of(closed).when == "reopened"
    text = text_of(desk.get(address("analysis")))
    assert "Opened again by ada, " in text
    assert "after the results by arm had been shown: Ten more are needed." in text


def test_who_finishes_meanwhile_makes_opening_again_ask_for_a_reason(desk, closed):
    """The page was opened while someone was under way."""
    all_are_through(closed)
    response = desk.post(address("open"), {"key": "hearts"})
    assert response.status_code == 422
    assert "reason" in response.context["form"].errors


def test_each_page_leads_on_where_there_is_nothing_to_do(desk, hearts):
    assert desk.get(address("open"))["Location"] == address("life")
    factories.close(hearts)
    assert desk.post(address("close"), {"key": "hearts"})["Location"] == address("life")


@pytest.mark.parametrize("name", ["close", "open"])
def test_closing_and_opening_are_for_researchers(name, hearts):
    if name == "open":
        factories.close(hearts)
    stranger, person = Client(), Client()
    person.force_login(User.objects.create(username="bob"))
    was = Study.objects.get().closed_at
    assert stranger.post(address(name), {"key": "hearts"}).status_code == 403
    assert person.post(address(name), {"key": "hearts"}).status_code == 403
    assert Study.objects.get().closed_at == was


def test_admin_shows_the_closing_and_changes_nothing(closed):
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    page = reverse("admin:studies_study_change", args=[closed.pk])
    assert "Closed" in root.get(page).content.decode()
    assert root.post(page, {"stage": "open"}).status_code == 403
