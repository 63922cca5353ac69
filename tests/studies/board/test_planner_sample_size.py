"""The sample-size planner: plain addresses, numbers from a child process."""

import subprocess

import pytest
from django.contrib.auth.models import User
from django.test import Client

from studies.analysis.planning import QUESTIONS, SIMULATED
from studies.board import planner_sample_size as planner

pytestmark = pytest.mark.django_db
PAGE = "/research/planning/sample-size/"


def text_of(page):
    return " ".join(page.content.decode().split())


def test_it_answers_at_once_with_what_is_usual(desk):
    page = desk.get(PAGE)
    assert (page.context["need"]["needed"], page.context["need"]["exact"]) == (85, 84)
    assert "85 conversations if all were independent (Fisher's z). By the exact distribution of r: 84." in text_of(page)


def test_it_answers_what_the_address_asks(desk):
    asked = {"question": "paired", "d": "0.5", "per_person": "2", "within": "0.5", "dropout": "20"}
    page = desk.get(PAGE, asked)
    need = page.context["need"]  # 34 × 1.5 / 2 = 25.5 pairs; 26 / 0.8 = 32.5
    assert (need["people"], need["invited"], need["conversations"]) == (26, 33, 104)
    text = text_of(page)
    assert "invite 33, because some drop out" in text
    assert 'name="d" value="0.5"' in text
    assert "Pairs of conversations per person" in text


@pytest.mark.parametrize("question", [*QUESTIONS, *SIMULATED])
def test_each_question_has_a_page_of_its_own(question, desk):
    page = desk.get(PAGE, {"question": question})
    assert page.status_code == 200
    assert f'href="?question={question}" aria-current="page"' in text_of(page)
    assert list(page.context["form"].fields) == [*planner.ASKED[question], *planner.OF_PEOPLE]


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"r": "1.4"}, "Enter a number from -0.99 to 0.99."),
        ({"r": "a lot"}, "Enter a number from -0.99 to 0.99."),
        ({"r": ""}, "Enter a number from -0.99 to 0.99."),
        ({"r": "nan"}, "Enter a number from -0.99 to 0.99."),
        ({"r": "0"}, "A value this small cannot be detected: enter at least 0.01."),
        ({"dropout": "100"}, "Enter a number from 0 to 95."),
        ({"question": "icc", "raters": "2.5"}, "Enter a number from 2 to 100."),
        ({"question": "dependent", "r": ".9", "r2": "-.9"}, "Three correlations like these cannot occur together."),
        (
            {"question": "discrimination", "within": "1"},
            "At 1, every difference between two models is the same for all people.",
        ),
        ({"question": "discrimination", "models": "1"}, "Enter a number from 2 to 12."),
    ],
)
def test_it_says_plainly_what_is_wrong_and_computes_nothing(asked, error, desk):
    page = desk.get(PAGE, asked)
    assert page.status_code == 422
    assert text_of(page).count(error) == 1
    assert (page.context.get("need"), page.context.get("chance")) == (None, None)


def test_two_judges_are_simulated(desk):
    asked = {"question": "dependent", "r": ".5", "r2": ".4", "people": "61", "per_person": "3", "dropout": "20"}
    page = desk.get(PAGE, asked)
    chance = page.context["chance"]
    assert (chance["studies"], chance["asked"]["independent"], chance["invited"]) == (10_000, 183, 77)
    assert chance["asked"]["power"] == pytest.approx(0.5, abs=0.03)
    text = text_of(page)
    assert "They give as much information as 183 independent conversations (design effect 1.00)." in text
    assert "two observed correlations that differ by 0.099 are just significant." in text
    assert "from 10000 simulated studies" in text
    assert "The first judge&#x27;s correlation with people" in text


def test_pairs_of_models_are_simulated(desk):
    page = desk.get(PAGE, {"question": "discrimination", "models": "4", "people": "30"})
    chance = page.context["chance"]
    assert [pair["steps"] for pair in chance["pairs"]] == [1, 2, 3]
    assert (chance["asked"]["conversations"], chance["studies"]) == (120, 500)
    assert "Wilcoxon's signed-rank test" in text_of(page).replace("&#x27;", "'")


def test_an_unknown_question_is_the_first(desk):
    assert desk.get(PAGE, {"question": "<b>"}).context["question"] == "correlation"


@pytest.mark.parametrize("fault", [subprocess.TimeoutExpired("python", 30), subprocess.CalledProcessError(1, "python")])
def test_a_child_that_fails_is_told_of_and_tried_again(fault, desk, monkeypatch):
    planner.compute.cache_clear()
    monkeypatch.setattr(planner.subprocess, "run", lambda *_, **__: (_ for _ in ()).throw(fault))
    assert "This could not be computed." in text_of(desk.get(PAGE))
    monkeypatch.undo()
    assert desk.get(PAGE).context["need"]["needed"] == 85


def test_it_is_for_researchers():
    person = Client()
    person.force_login(User.objects.create(username="bob"))
    assert person.get(PAGE).status_code == 403
    assert Client().get(PAGE).status_code == 302
