"""The table of applicants, what each researcher may see in it, and the score of an application."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import strip_tags

from studies.models import Participation, SelectionScore, Study
from studies.selection.scoring import store_score
from tests import factories
from tests.people import Person
from tests.studies.selection.people import MATTER, applicant

pytestmark = pytest.mark.django_db

POINTS = {"complete": "2", "issue_clear": "3", "issue_specific": "1", "effort": "1"}


def table(study: Study, **query: str) -> str:
    return reverse("research-applicants", args=[study.key]) + "?" + "&".join(f"{k}={v}" for k, v in query.items())


def page_of(person: Participation) -> str:
    return reverse("research-applicant", args=[person.study.key, person.code])


def ada() -> User:
    return User.objects.get(username="ada")


def scored(person: Participation, total: int, scorer: str = "bea") -> None:
    user, _created = User.objects.get_or_create(username=scorer, defaults={"is_staff": True, "is_superuser": True})
    store_score(person, user, {"issue_clear": total})


def text_of(response) -> str:
    """What the page says, without what stands in its tags."""
    return strip_tags(response.content.decode())


def codes(response) -> list[str]:
    return [row.applicant.code for row in response.context["rows"]]


def test_person_who_has_done_the_screening_is_an_applicant(study, desk):
    person = Person("chosen")
    person.go_to("screening")
    person.send(person.answers())

    [row] = desk.get(table(study)).context["rows"]

    assert (row.applicant.code, row.problem, row.words, row.experience, row.scorers) == (
        person.row.code,
        "Work or job",
        MATTER,
        "Every week",
        0,
    )
    assert ("How well can you talk about feelings in that language?", "Fully") in row.others
    assert row.applicant.since is not None


def test_profile_is_asked_between_the_screening_and_the_selection(desk):
    steps = list(factories.demo_spec().steps)
    profile = next(step for step in steps if step.instrument == "profile")
    steps.remove(profile)
    place = next(number for number, step in enumerate(steps) if step.instrument == "screening")
    chosen = factories.study("chosen", selection="manual", steps=(*steps[: place + 1], profile, *steps[place + 1 :]))
    person = Person("chosen")
    person.go_to("screening")
    person.send({**person.answers(), "treatment": "changing"})
    assert (person.step.kind, codes(desk.get(table(chosen)))) == ("review", [])

    desk.post(reverse("research-admit", args=["chosen", person.row.code]))
    person.send(person.answers())

    [row] = desk.get(table(chosen)).context["rows"]
    assert (row.applicant.code, row.applicant.answer("gender", "profile")) == (person.row.code, "woman")
    assert (person.step.kind, row.applicant.is_eligible) == ("review", True)


def test_people_who_wait_for_another_decision_are_no_applicants(study, desk):
    person = applicant(study)
    Participation.objects.filter(pk=person.pk).update(position=2)

    assert codes(desk.get(table(study))) == []
    assert desk.get(page_of(person)).status_code == 404


def test_table_shows_neither_age_nor_gender_before_the_own_score(study, desk):
    person = applicant(study, gender="non_binary", age=61.0)
    scored(person, 3)
    words = ("Non-binary", "61", "25 to 34", "55 to 64")

    before = text_of(desk.get(table(study))) + text_of(desk.get(page_of(person)))
    desk.post(page_of(person), POINTS)
    after = [text_of(desk.get(table(study))), text_of(desk.get(page_of(person)))]

    assert [word for word in words if word in before] == []
    assert ["Non-binary" in page and "61" in page for page in after] == [True, True]


def test_safety_answers_are_shown_to_the_safety_group_alone(study, desk):
    person = applicant(study, suicidal_2w="prefer_not")

    others = desk.get(table(study)).content.decode() + desk.get(page_of(person)).content.decode()
    factories.grant(study, ada(), "safety_officer")
    safety = [desk.get(table(study)).content.decode(), desk.get(page_of(person)).content.decode()]

    words = ("better off dead", "Prefer not to say", "taking medicine")
    assert [word for word in words if word in others] == []
    assert [word in page for page in safety for word in words] == [True] * 6


def test_page_of_a_person_shows_safety_answers_to_the_safety_group_alone(study, desk):
    address = reverse("research-person", args=[study.key, applicant(study).code])

    before = desk.get(address).context["safety"]
    factories.grant(study, ada(), "safety_officer")

    assert (before, bool(desk.get(address).context["safety"])) == ([], True)


def test_page_of_a_person_tells_reasons_about_safety_to_the_safety_group_alone(study, desk):
    person = applicant(study)
    outcome = {"kind": "review_by_person", "reasons": ["safety", "unstable_unknown", "language"], "flags": []}
    Participation.objects.filter(pk=person.pk).update(outcome=outcome)
    address = reverse("research-person", args=[study.key, person.code])

    before = desk.get(address)
    factories.grant(study, ada(), "safety_officer")
    keys = [key for _words, key in desk.get(address).context["reasons"]]

    hidden = ("Safety answers: for the person on call only", "")
    assert before.context["reasons"] == [("not fluent enough in the language", "language"), hidden]
    assert ("in danger" in before.content.decode(), keys) == (False, outcome["reasons"])


def test_score_is_the_mean_of_the_scorers(study, desk):
    person = applicant(study)
    scored(person, 3)

    assert desk.post(page_of(person), POINTS).status_code == 302

    [row] = desk.get(table(study)).context["rows"]
    assert (row.score, row.scorers) == ("5", 2)
    assert SelectionScore.objects.get(scorer=ada()).points == {name: int(value) for name, value in POINTS.items()}


def test_scoring_again_replaces_the_own_score(study, desk):
    person = applicant(study)

    desk.post(page_of(person), POINTS)
    desk.post(page_of(person), {**POINTS, "complete": "0"})

    assert SelectionScore.objects.get().total == 5


def test_scores_of_others_appear_after_the_own(study, desk):
    person = applicant(study)
    scored(person, 3)

    before = desk.get(page_of(person)).content.decode()
    desk.post(page_of(person), POINTS)

    assert "bea" not in before
    assert "bea: 3" in desk.get(page_of(person)).content.decode()


@pytest.mark.parametrize(
    ("item", "value", "told"),
    [
        ("complete", "3", "less than or equal to 2"),
        ("complete", "-1", "greater than or equal to 0"),
        ("effort", "", "This field is required"),
        ("effort", "much", "Enter a whole number"),
    ],
)
def test_points_that_do_not_exist_are_refused(study, desk, item, value, told):
    person = applicant(study)

    page = desk.post(page_of(person), {**POINTS, item: value})

    assert page.status_code == 422
    assert told in page.content.decode()
    assert not SelectionScore.objects.exists()


def test_filters_and_order(study, desk):
    work, family, other = applicant(study), applicant(study, issue_category="family"), applicant(study)
    Participation.objects.filter(pk=other.pk).update(language="zh", track="counsellor")
    scored(work, 2)
    scored(family, 7)
    scored(work, 3, scorer="ada")

    def found(**query):
        return codes(desk.get(table(study, **query)))

    assert found() == [work.code, family.code, other.code]
    assert found(problem="family") == [family.code]
    assert found(language="zh") == found(track="counsellor") == found(scored="none") == [other.code]
    assert found(scored="me") == [work.code]
    assert found(scored="not_me") == [family.code, other.code]
    assert found(problem="nonsense") == []
    assert found(sort="-score") == [family.code, work.code, other.code]
    assert found(sort="score") == [work.code, family.code, other.code]


def test_applicants_are_in_the_navigation_of_studies_with_manual_selection_alone(study, desk):
    factories.study("demo")
    here, there = (desk.get(reverse("research-study", args=[key])).content.decode() for key in ("chosen", "demo"))
    assert ("/applicants/" in here, "/applicants/" in there) == (True, False)


def test_pages_are_for_researchers(study):
    person = applicant(study)
    for address in (table(study), page_of(person)):
        assert Client().get(address).status_code == 302


def test_table_makes_as_many_queries_for_many_as_for_one(study, desk):
    counts = []
    for _ in range(3):
        scored(applicant(study), 3)
        with CaptureQueriesContext(connection) as queries:
            desk.get(table(study))
        counts.append(len(queries))
    assert counts[1] == counts[2]
