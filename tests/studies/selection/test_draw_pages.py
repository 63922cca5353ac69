"""The draw on its page: the proposal, what it shows of whom, and what is stored when it is carried out."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from studies.models import Participation, SelectionDecision, SelectionDraw
from studies.selection.scoring import store_score
from tests.studies.selection.people import applicant

pytestmark = pytest.mark.django_db

RULE = {"size": "2", "track": "participant", "shares": "equal", "seed": "17", "others": "wait", "minimum": ""}


@pytest.fixture
def address(study):
    return reverse("research-applicants-draw", args=[study.key])


@pytest.fixture
def people(study):
    return [applicant(study, issue_category=problem) for problem in ("work", "work", "work", "family")]


def waiting():
    return set(Participation.objects.filter(status="in_review").values_list("code", flat=True))


def test_proposal_changes_nothing_and_is_the_same_each_time(address, people, desk):
    first, second = (desk.post(address, {**RULE, "strata": ["problem"]}) for _ in range(2))

    proposal = first.context["proposal"]
    assert [(place.words, place.applicants, place.drawn) for place in proposal.places()] == [
        ("Family", 1, 1),
        ("Work or job", 3, 1),
    ]
    assert proposal.codes() == second.context["proposal"].codes()
    assert (len(waiting()), SelectionDraw.objects.count()) == (4, 0)


def test_confirmed_draw_admits_those_of_the_proposal_and_keeps_its_seed(study, address, people, desk):
    codes = desk.post(address, {**RULE, "strata": ["problem"]}).context["proposal"].codes()

    told = desk.post(address, {**RULE, "strata": ["problem"], "codes": codes, "confirm": "yes"}, follow=True)

    assert "2 people can continue." in told.content.decode()
    kept = SelectionDraw.objects.get()
    assert (kept.rule["seed"], kept.rule["strata"], kept.applicants, kept.by_name) == (17, ["problem"], 4, "ada")
    decisions = SelectionDecision.objects.filter(draw=kept)
    assert set(decisions.values_list("participation__code", "admitted", "reason")) == {
        (code, True, "drawn, seed 17") for code in codes.split()
    }
    assert waiting() == {person.code for person in people} - set(codes.split())
    assert "2 of 4 applicants, seed 17, by ada" in desk.get(address).content.decode()


def test_the_others_are_declined_where_this_was_asked_for(address, people, desk):
    rule = {**RULE, "others": "decline"}
    page = desk.post(address, rule)
    assert "The 2 other applicants are declined." in page.content.decode()

    desk.post(address, {**rule, "codes": page.context["proposal"].codes(), "confirm": "yes"})

    assert waiting() == set()
    assert sorted(SelectionDecision.objects.values_list("admitted", flat=True)) == [False, False, True, True]


def test_draw_is_proposed_again_if_the_applicants_have_changed(study, address, people, desk):
    codes = desk.post(address, {**RULE, "size": "4"}).context["proposal"].codes()
    late = applicant(study)

    page = desk.post(address, {**RULE, "size": "5", "codes": codes, "confirm": "yes"})

    assert "have changed" in page.content.decode()
    assert late.code in page.context["proposal"].codes()
    assert len(waiting()) == 5


def test_draw_uses_age_and_gender_but_does_not_tell_whose_they_are(study, address, desk):
    man, woman = applicant(study, gender="man", age=61.0), applicant(study, gender="woman", age=61.0)

    page = desk.post(address, {**RULE, "strata": ["gender", "age_band", "language"]})

    proposal = page.context["proposal"]
    assert [place.words for place in proposal.places()] == ["Man · 55 to 64 · English", "Woman · 55 to 64 · English"]
    assert proposal.people() == sorted([(man.code, "English"), (woman.code, "English")])


def test_those_below_the_minimum_or_in_doubt_are_not_drawn(study, address, desk):
    good, poor, unscored = (applicant(study) for _ in range(3))
    doubted = applicant(study, kind="review_by_person")
    bea = User.objects.create(username="bea")
    for person, total in ((good, 6), (poor, 2), (doubted, 8)):
        store_score(person, bea, {"issue_clear": total})

    page = desk.post(address, {**RULE, "size": "4", "minimum": "5"})

    assert page.context["proposal"].codes() == good.code
    assert "Fewer than 4 applicants can be drawn" in page.content.decode()
    assert {poor.code, unscored.code} <= waiting()


def test_those_whom_a_researcher_has_let_continue_are_drawn(study, address, desk):
    doubted = applicant(study, kind="review_by_person")
    assert desk.post(address, RULE).context["proposal"].codes() == ""

    Participation.objects.update(awaited_since=timezone.now())

    assert desk.post(address, RULE).context["proposal"].codes() == doubted.code


@pytest.mark.parametrize(
    ("field", "value"), [("size", "0"), ("size", "many"), ("seed", "-1"), ("strata", "iq"), ("shares", "none")]
)
def test_faulty_rule_is_refused(address, people, desk, field, value):
    page = desk.post(address, {**RULE, field: value, "confirm": "yes"})

    assert page.status_code == 422
    assert "Nothing has been drawn" in page.content.decode()
    assert len(waiting()) == 4
