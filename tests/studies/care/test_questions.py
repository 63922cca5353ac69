"""A person asks the team by the link on their pages; the question is on the board, and the answer on their pages."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse

from dialogue.models import RiskEvent
from studies.data import erasure
from studies.models import Question
from studies.participation.enrolment import invite
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return factories.study("demo")


@pytest.fixture
def desk(django_user_model):
    desk = Client()
    desk.force_login(
        django_user_model.objects.create_user("researcher", password="x", is_staff=True, is_superuser=True)
    )
    return desk


@pytest.fixture
def person(study):
    person, token = invite(study)
    person.browser = Client()
    person.browser.post(reverse("join", args=[token]), {"act": "start"})
    person.refresh_from_db()
    return person


def ask(person, text="Where is my code?", **fields):
    return person.browser.post("/study/ask/", {"text": text, **fields})


def board(desk):
    return desk.get("/research/demo/", {"test": "no"})


def test_a_question_is_on_the_board_and_its_answer_on_the_persons_pages(person, desk):
    assert 'href="/study/ask/"' in person.browser.get("/study/").content.decode()
    assert ask(person)["Location"] == "/study/"
    [asked] = Question.objects.all()
    assert (asked.text, asked.step) == ("Where is my code?", "language")

    [waiting] = board(desk).context["waiting"]
    assert (waiting.label, waiting.number, waiting.since) == ("Questions from people", 1, asked.asked_at)
    assert "Where is my code?" in board(desk).content.decode()
    page = reverse("research-question", args=["demo", asked.pk])
    assert Client().get(page).status_code == 302
    assert desk.post(page, {"answer": " "}).status_code == 422
    assert desk.post(page, {"answer": "At the end."})["Location"] == page

    asked.refresh_from_db()
    assert (asked.answer, asked.answered_by_name) == ("At the end.", "researcher")
    assert board(desk).context["waiting"] == []
    shown = person.browser.get("/study/").content.decode()
    assert "At the end." in shown
    assert "researcher" not in shown


def test_an_answer_stands_open_until_the_person_has_read_it(person, desk):
    ask(person)
    [asked] = Question.objects.all()
    page = reverse("research-question", args=["demo", asked.pk])
    desk.post(page, {"answer": "At the end."})
    assert '<details class="card letter" open>' in person.browser.get("/leave/").content.decode()
    assert "has not said yet that they have read it" in desk.get(page).content.decode()

    person.browser.post("/study/letter/", {"letter": f"answer {asked.pk}"})
    asked.refresh_from_db()
    first = asked.read_at
    person.browser.post("/study/letter/", {"letter": f"answer {asked.pk}"})

    asked.refresh_from_db()
    assert asked.read_at == first is not None
    shown = person.browser.get("/leave/").content.decode()
    assert ('<details class="card letter" >' in shown, "At the end." in shown) == (True, True)
    assert "that they have read it." in desk.get(page).content.decode()
    assert "has not said yet" not in desk.get(page).content.decode()


def test_answer_to_someone_else_cannot_be_marked_as_read(study, person, desk):
    _other, token = invite(study)
    browser = Client()
    browser.post(reverse("join", args=[token]), {"act": "start"})
    ask(person)
    [asked] = Question.objects.all()
    desk.post(reverse("research-question", args=["demo", asked.pk]), {"answer": "At the end."})
    assert browser.post("/study/letter/", {"letter": f"answer {asked.pk}"}).status_code == 302
    asked.refresh_from_db()
    assert asked.read_at is None


def test_a_question_is_answered_once(person, desk, django_user_model):
    ask(person)
    [asked] = Question.objects.all()
    page = reverse("research-question", args=["demo", asked.pk])
    for text in ("First.", "Second."):
        desk.post(page, {"answer": text})
    asked.refresh_from_db()
    assert asked.answer == "First."


def test_a_form_sent_twice_asks_once_and_what_is_empty_or_too_long_asks_nothing(person):
    for _ in range(2):
        ask(person, idempotency="same")
    assert Question.objects.count() == 1
    assert ask(person, "  ").status_code == 400
    long = "a" * 2001
    response = ask(person, long)
    assert (response.status_code, long in response.content.decode()) == (400, True)
    assert Question.objects.count() == 1


def test_nobody_has_more_than_five_open_questions(person):
    for number in range(7):
        ask(person, f"Question {number}?")
    assert Question.objects.count() == 5
    assert "<textarea" not in person.browser.get("/study/ask/").content.decode()


@pytest.mark.django_db(transaction=True)
def test_several_tabs_at_once_ask_no_more_than_five(person):
    for number in range(4):
        ask(person, f"Question {number}?")
    tabs = 4
    together = Barrier(tabs)

    def ask_in_a_tab(number):
        try:
            browser = Client()
            browser.cookies = person.browser.cookies
            together.wait(timeout=30)
            return browser.post("/study/ask/", {"text": f"Tab {number}?", "idempotency": f"tab-{number}"})["Location"]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(tabs) as pool:
        locations = sorted(pool.map(ask_in_a_tab, range(tabs)))
    assert locations == ["/study/", *["/study/ask/"] * 3]
    assert Question.objects.count() == 5


def test_words_that_show_grave_danger_alarm_and_lead_to_help(person):
    assert ask(person, "I want to kill myself tonight")["Location"] == "/study/care/"
    [event] = RiskEvent.objects.all()
    assert (event.subject, event.source, event.level >= 3, event.entries[0]) == (
        person.code,
        "answer",
        True,
        "question",
    )
    assert event.alarms.exists()
    assert Question.objects.count() == 1
    assert person.browser.get("/study/care/").status_code == 200


def test_questions_of_others_are_not_found_and_strangers_have_none(person, desk):
    ask(person)
    factories.study("another")
    [asked] = Question.objects.all()
    assert desk.get(reverse("research-question", args=["another", asked.pk])).status_code == 404
    assert Client().get("/study/ask/").status_code == 403


def test_an_erasure_takes_the_questions_along(person):
    ask(person)
    removed = erasure.erase(person)
    assert removed.rows["questions"] == 1
    assert not Question.objects.exists()
