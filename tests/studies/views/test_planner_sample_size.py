"""The sample-size planner: plain addresses, numbers from a child process."""

import subprocess

import pytest
from django.contrib.auth.models import User
from django.test import Client

from studies.analysis.planning import QUESTIONS
from studies.views.research import planner_sample_size as planner

pytestmark = pytest.mark.django_db
PAGE = "/research/planning/sample-size/"


def text_of(page):
    return " ".join(page.content.decode().split())


def test_it_answers_at_once_with_what_is_usual(desk):
    page = desk.get(PAGE)
    assert (page.context["need"]["needed"], page.context["need"]["exact"]) == (85, 84)
    assert "85 conversations, if all were independent (Fisher's z). By the exact distribution of r: 84." in text_of(
        page
    )


def test_it_answers_what_the_address_asks(desk):
    asked = {"question": "paired", "d": "0.5", "per_person": "2", "within": "0.5", "dropout": "20"}
    page = desk.get(PAGE, asked)
    need = page.context["need"]  # 34 × 1.5 / 2 = 25.5 pairs; 26 / 0.8 = 32.5
    assert (need["people"], need["invited"], need["conversations"]) == (26, 33, 104)
    text = text_of(page)
    assert "invite 33, as some drop out" in text
    assert 'name="d" value="0.5"' in text
    assert "Pairs of conversations of each person" in text


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_question_has_a_page_of_its_own(question, desk):
    page = desk.get(PAGE, {"question": question})
    assert page.status_code == 200
    assert f'href="?question={question}" aria-current="page"' in text_of(page)
    assert list(page.context["form"].fields) == [*planner.ASKED[question], *planner.OF_PEOPLE]


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"r": "1.4"}, "Give a number from -0.99 to 0.99."),
        ({"r": "a lot"}, "Give a number from -0.99 to 0.99."),
        ({"r": ""}, "Give a number from -0.99 to 0.99."),
        ({"r": "nan"}, "Give a number from -0.99 to 0.99."),
        ({"r": "0"}, "So small a value cannot be found: give at least 0.01."),
        ({"dropout": "100"}, "Give a number from 0 to 95."),
        ({"question": "icc", "raters": "2.5"}, "Give a number from 2 to 100."),
    ],
)
def test_it_says_plainly_what_is_wrong_and_computes_nothing(asked, error, desk):
    page = desk.get(PAGE, asked)
    assert page.status_code == 422
    assert text_of(page).count(error) == 1
    assert page.context["need"] is None


def test_an_unknown_question_is_the_first(desk):
    assert desk.get(PAGE, {"question": "<b>"}).context["question"] == "correlation"


@pytest.mark.parametrize("fault", [subprocess.TimeoutExpired("python", 30), subprocess.CalledProcessError(1, "python")])
def test_a_child_that_fails_is_told_of_and_tried_again(fault, desk, monkeypatch):
    planner.computed.cache_clear()
    monkeypatch.setattr(planner.subprocess, "run", lambda *_, **__: (_ for _ in ()).throw(fault))
    assert "It could not be computed." in text_of(desk.get(PAGE))
    monkeypatch.undo()
    assert desk.get(PAGE).context["need"]["needed"] == 85


def test_it_is_for_researchers():
    person = Client()
    person.force_login(User.objects.create(username="bob"))
    assert person.get(PAGE).status_code == 403
    assert Client().get(PAGE).status_code == 302
