"""The researchers' pages about pairs: a plan is looked at before it is made, and its results are counted."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from studies.instruments.forms import AnswerValue
from studies.models import Pair, PairPlan, Study
from studies.second_raters import comparisons
from tests import factories

pytestmark = pytest.mark.django_db
WANTED = {
    "name": "first",
    "instrument": "pairwise_support",
    "between": "arms",
    "level": "conversation",
    "count": "4",
    "each": "2",
    "seed": "1",
}


@pytest.fixture
def study() -> Study:
    study = factories.study()
    for _ in range(2):
        person = factories.person(study)
        for arm in ("amber", "birch"):
            factories.run_with_turns(study, person, arm=arm)
    return study


@pytest.fixture
def desk() -> Client:
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    return client


def address(name: str, *args: Any) -> str:
    return reverse(f"research-{name}", args=["demo", *args])


def html(response: Any) -> str:
    return response.content.decode()


def cells(page: str) -> list[list[str]]:
    """The text of each table row, cell by cell."""
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    return [[plain(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)] for row in rows]


def plain(text: str) -> str:
    return re.sub(r"<[^>]+>|\s+", " ", text).strip()


def made(study: Study, **changes: Any) -> PairPlan:
    drawing = comparisons.Drawing(**{"count": 2, **changes})
    return comparisons.make_plan(study, name="first", instrument="pairwise_support", each=1, drawing=drawing)


@pytest.mark.parametrize("name", ["pairs", "pair-new"])
def test_pages_are_for_researchers(study, name):
    assert Client().get(address(name))["Location"] == f"/research/sign-in/?next={address(name)}"
    member = Client()
    member.force_login(User.objects.create(username="bob"))
    assert member.get(address(name)).status_code == 403


def test_list_tells_how_to_make_the_first_plan(study, desk):
    page = html(desk.get(address("pairs")))
    assert "plan_pairs demo --name first" in page
    assert '<a href="/research/demo/pairs/" aria-current="page">' in page


def test_plan_is_looked_at_first_and_then_made(study, desk):
    page = html(desk.post(address("pair-new"), WANTED))
    assert re.search(r"4 pairs\s+·\s+8 comparisons\s+·\s+2 with the same seeker on both sides", page)
    assert ["amber", "birch", "4"] in cells(page)
    assert not PairPlan.objects.exists()

    response = desk.post(address("pair-new"), WANTED | {"confirm": "yes"})
    plan = PairPlan.objects.get()
    assert response["Location"] == address("pair-plan", plan.pk)
    assert (plan.verdicts_each, plan.source["count"], Pair.objects.count()) == (2, 4, 4)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"between": "seekers", "level": "reply"}, "Seekers can only be compared by whole conversations"),
        ({"instrument": "emoharbor_10"}, "Select a valid choice"),
        ({"count": "0"}, "greater than or equal to 1"),
        ({"name": ""}, "This field is required"),
        ({"name": "taken"}, "There is already a plan with this name."),
    ],
)
def test_plan_that_cannot_be_is_told_and_not_made(study, desk, change, why):
    PairPlan.objects.create(study=study, name="taken", instrument="x", source={})
    response = desk.post(address("pair-new"), WANTED | {"confirm": "yes"} | change)
    assert (response.status_code, why in html(response)) == (422, True)
    assert PairPlan.objects.count() == 1


def test_of_two_plans_of_one_name_made_at_once_the_second_comes_back_with_its_values(study, desk, monkeypatch):
    draw = comparisons.Drawing.pairs

    def drawn_too_late(drawing, study):
        study.pair_plans.get_or_create(name="first", defaults={"instrument": "x", "source": {}})
        return draw(drawing, study)

    monkeypatch.setattr(comparisons.Drawing, "pairs", drawn_too_late)
    response = desk.post(address("pair-new"), WANTED | {"seed": "77", "confirm": "yes"})
    assert (response.status_code, "There is already a plan “first”." in html(response)) == (422, True)
    assert response.context["form"]["seed"].value() == "77"
    assert (PairPlan.objects.count(), Pair.objects.count()) == (1, 0)


def test_plan_of_nothing_is_not_made(study, desk):
    page = html(desk.post(address("pair-new"), WANTED | {"test_data": "on", "confirm": "yes"}))
    assert "There are no two closed conversations to compare." in page
    assert not PairPlan.objects.exists()


def test_plan_shows_progress_and_who_was_preferred(study, desk):
    plan = made(study)
    reviewer = factories.person(study, track="reviewer")
    for place in ("first", "tie"):
        comparison = comparisons.next_comparison_for(reviewer)
        if place == "first":
            winner = comparison.pair.side(comparison.shown_first)[0].arm
        comparisons.store_verdicts(comparison, [AnswerValue("better_overall", text=place)])

    page = html(desk.get(address("pair-plan", plan.pk)))
    won, lost = ("1", "0") if winner == "amber" else ("0", "1")
    assert ["Which supporter was better overall?", "amber", "birch", won, "1", lost] in cells(page)
    listed = next(row for row in cells(html(desk.get(address("pairs")))) if row[0] == "first")
    assert listed == ["first", "pairwise_support", "2", "2", "2", "", "open"]


def test_plan_is_closed_and_opened_again_by_post_alone(study, desk):
    plan = made(study)
    for answer, is_open in (("no", False), ("yes", True)):
        assert desk.get(address("pair-open", plan.pk)).status_code == 405
        response = desk.post(address("pair-open", plan.pk), {"open": answer})
        assert response["Location"] == address("pair-plan", plan.pk)
        plan.refresh_from_db()
        assert plan.is_open is is_open


def test_plan_of_another_study_is_not_found(study, desk):
    plan = made(study)
    factories.study("other")
    assert desk.get(reverse("research-pair-plan", args=["other", plan.pk])).status_code == 404
    assert desk.post(reverse("research-pair-open", args=["other", plan.pk])).status_code == 404


def test_list_takes_as_many_queries_for_three_plans_as_for_one(study, desk, django_assert_num_queries):
    drawing = comparisons.Drawing(count=1)
    for names in ("a", "bc"):
        for name in names:
            comparisons.make_plan(study, name=name, instrument="pairwise_support", each=1, drawing=drawing)
        with django_assert_num_queries(7):
            desk.get(address("pairs"))
