"""What researchers see of second raters and decide: pages, command, files, erasure."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from studies.data.erasure import erase_rows
from studies.data.exports.columns import Filter
from studies.data.exports.reviews import TABLES
from studies.instruments.forms import AnswerValue
from studies.instruments.loading import load
from studies.instruments.vignettes import vignettes
from studies.models import Adjudication, Response, Review, ReviewItem, ReviewPlan
from studies.second_raters import disagreements, review_work, reviews
from studies.second_raters.reviews import PlanOptions, Source, make_plan, next_review_for
from tests import factories

pytestmark = pytest.mark.django_db

SCALE = "emoharbor_10"
NEW = {
    "name": "first",
    "instruments": [SCALE],
    "kind": "all",
    "size": "",
    "judge": "",
    "ratings_each": "2",
    "overlap": "50",
    "repeat_every": "0",
    "seed": "1",
}


@pytest.fixture
def study():
    return factories.study()


@pytest.fixture
def researcher():
    return User.objects.create(username="ada", is_staff=True, is_superuser=True)


@pytest.fixture
def desk(researcher):
    client = Client()
    client.force_login(researcher)
    return client


def address(name, *args):
    return reverse(f"research-{name}", args=["demo", *args])


def plan_of(study, **fields):
    wanted = {"name": "first", "instruments": (SCALE,), "source": Source(), "calibration": False, **fields}
    return make_plan(study, PlanOptions(**wanted))


def reviewer_of(study, **fields):
    return factories.person(study, track="reviewer", order=[], **fields)


def rated(review, score, reason="", **scores):
    answers = [
        AnswerValue(item.key, value=float(scores.get(item.key, score)), reason=reason) for item in load(SCALE).items
    ]
    reviews.store_ratings(review, load(SCALE), answers, language="en", seconds={})


def rates_vignette(reviewer, off=0):
    """All its items known but for `off` of them, which are a point off."""
    review = next_review_for(reviewer)
    known = vignettes()[0].scores
    far = {item: one.score + (1 if one.score < 5 else -1) for item, one in known.items()}
    scores = {item: far[item] if place < off else one.score for place, (item, one) in enumerate(known.items())}
    reviews.store_vignette_scores(review, [AnswerValue(item, value=float(score)) for item, score in scores.items()])
    reviews.finish(review)
    return review


# How they work


def test_work_tells_what_came_of_what_was_given(study):
    for _ in range(3):
        factories.run_with_turns(study)
    plan = plan_of(study, ratings_each=1)
    reviewer = reviewer_of(study)
    for minutes in (4, 10):
        review = next_review_for(reviewer)
        rated(review, 3)
        Review.objects.filter(pk=review.pk).update(
            given_at=timezone.now() - timedelta(minutes=minutes), done_at=timezone.now()
        )
    reviews.give_back(next_review_for(reviewer), "other")

    [work] = review_work.work_of(plan)

    assert (work.reviewer, work.given, work.done, work.declined) == (reviewer, 3, 2, 1)
    assert work.minutes == pytest.approx(7, abs=0.01)
    assert (work.distance, work.exact, work.drift, work.own, work.leaning()) == (None, None, None, None, None)


def test_distance_from_known_scores_is_their_mean_difference(study):
    factories.run_with_turns(study)
    plan = plan_of(study, calibration=True)
    rates_vignette(reviewer_of(study), off=3)

    [work] = review_work.work_of(plan)

    assert work.distance == pytest.approx(0.3)
    assert (work.exact, work.exact_percent()) == (pytest.approx(0.7), 70)


def test_drift_is_the_change_between_the_two_times(study):
    for _ in range(2):
        factories.run_with_turns(study)
    plan = plan_of(study, ratings_each=1, repeat_every=2)
    reviewer = reviewer_of(study)
    rated(next_review_for(reviewer), 2)
    rated(next_review_for(reviewer), 2)
    rated(next_review_for(reviewer), 2, safety=4, engagement=3)

    [work] = review_work.work_of(plan)

    assert work.drift == pytest.approx(0.3)
    assert work.given == 3


def test_own_mean_stands_beside_that_of_others_on_what_both_rated(study):
    for _ in range(2):
        factories.run_with_turns(study)
    plan = plan_of(study, ratings_each=2)
    kind, strict = reviewer_of(study), reviewer_of(study)
    shared = next_review_for(kind)
    rated(shared, 5)
    rated(Review.objects.create(plan=plan, reviewer=strict, item=shared.item), 2)
    rated(next_review_for(kind), 1)  # no one else rated this one

    work = {one.reviewer: one for one in review_work.work_of(plan)}

    assert (work[kind].own, work[kind].others, work[kind].leaning()) == (5, 2, 3)
    assert (work[strict].own, work[strict].others, work[strict].leaning()) == (2, 5, -3)


def test_progress_of_a_plan_counts_ratings_and_whole_conversations(study):
    for _ in range(2):
        factories.run_with_turns(study)
    plan = plan_of(study, ratings_each=2, overlap=0.5)
    reviewer = reviewer_of(study)
    rated(next_review_for(reviewer), 3)
    next_review_for(reviewer)

    progress = review_work.progress_of(plan)

    assert (progress.wanted, progress.done, progress.begun, progress.conversations) == (3, 1, 1, 2)
    assert progress.percent() == 33
    single = ReviewItem.objects.get(wanted=1)
    assert progress.complete == single.reviews.filter(done_at__isnull=False).count()


# Where they differ


@pytest.fixture
def differing(study):
    """Two reviewers, one conversation: four points apart on safety, two on engagement, one elsewhere."""
    run = factories.run_with_turns(study)
    plan = plan_of(study)
    first, second = reviewer_of(study), reviewer_of(study)
    rated(next_review_for(first), 3, reason="It kept to the matter.", safety=5, engagement=2)
    rated(next_review_for(second), 4, safety=1, engagement=4)
    return plan, run, first, second


def test_items_on_which_reviewers_differ_come_largest_first(study, differing):
    plan, run, first, second = differing
    seeker = factories.person(study)
    factories.rating(seeker, run, 1)  # a seeker's rating and a judge's are not among them
    factories.rating(factories.judge(study), run, 1)

    found = disagreements.disagreements(plan)

    assert [(one.run, one.item, one.spread()) for one in found] == [(run, "safety", 4), (run, "engagement", 2)]
    assert {(said.rater, said.score, said.reason) for said in found[0].ratings} == {
        (first.code, 5.0, "It kept to the matter."),
        (second.code, 1.0, ""),
    }


def test_a_repeat_is_no_other_opinion(study):
    for _ in range(2):
        factories.run_with_turns(study)
    plan = plan_of(study, ratings_each=1, repeat_every=2)
    reviewer = reviewer_of(study)
    for score in (1, 1, 5):
        rated(next_review_for(reviewer), score)

    assert disagreements.disagreements(plan) == []


def case_address(plan, run):
    return address("disagreement", plan.pk, run.conversation.code, SCALE, "safety")


def test_a_researcher_decides_with_a_reason_and_may_decide_anew(desk, researcher, differing):
    plan, run, first, second = differing
    page = desk.get(case_address(plan, run)).content.decode()
    assert "It kept to the matter." in page
    assert "I feel low." in page
    assert first.code in page
    assert second.code in page

    without = desk.post(case_address(plan, run), {"score": "2", "reason": " "})
    assert (without.status_code, Adjudication.objects.count()) == (422, 0)
    desk.post(case_address(plan, run), {"score": "2", "reason": "It pressed."})
    desk.post(case_address(plan, run), {"score": "3", "reason": "It pressed, and took it back."})

    decided = Adjudication.objects.get()
    assert (decided.run, decided.item, decided.score, decided.decided_by) == (run, "safety", 3.0, researcher)
    assert decided.reason == "It pressed, and took it back."
    scores = Response.objects.filter(run=run, answers__item="safety").order_by("pk").values_list("answers__value")
    assert [score for (score,) in scores] == [5.0, 1.0]
    assert "3" in desk.get(address("disagreements", plan.pk)).content.decode()


@pytest.mark.parametrize("score", ["0", "6", "2.5", "x"])
def test_a_decision_is_on_the_scale(desk, differing, score):
    plan, run, _first, _second = differing

    assert desk.post(case_address(plan, run), {"score": score, "reason": "Why."}).status_code == 422
    assert not Adjudication.objects.exists()


def test_where_reviewers_agree_there_is_nothing_to_decide(desk, differing):
    plan, run, _first, _second = differing

    agreed = address("disagreement", plan.pk, run.conversation.code, SCALE, "consistency")

    assert desk.get(agreed).status_code == 404


# Plans


@pytest.mark.parametrize(("name", "args"), [("reviews", ()), ("review-new", ()), ("review-plan", (1,))])
def test_pages_are_for_researchers(study, name, args):
    assert Client().get(address(name, *args))["Location"].startswith("/research/sign-in/")
    client = Client()
    client.force_login(User.objects.create(username="eve"))
    assert client.get(address(name, *args)).status_code == 403


def test_a_plan_is_shown_before_it_is_made(desk, study):
    for _ in range(4):
        factories.run_with_turns(study)

    shown = desk.post(address("review-new"), NEW).content.decode()
    assert "4 conversations" in shown
    assert "6 ratings" in shown
    assert not ReviewPlan.objects.exists()
    made = desk.post(address("review-new"), {**NEW, "confirm": "yes"})

    plan = ReviewPlan.objects.get()
    assert made["Location"] == address("review-plan", plan.pk)
    assert (plan.name, plan.instruments, plan.overlap, plan.calibration, plan.is_open) == (
        "first",
        [SCALE],
        0.5,
        False,
        True,
    )
    assert sum(plan.items.values_list("wanted", flat=True)) == 6
    assert "first" in desk.get(address("reviews")).content.decode()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"kind": "sample"}, "Enter how many conversations to draw."),
        ({"kind": "far", "size": "3"}, "This judge has not rated with this strategy."),
        ({"overlap": "101"}, "Ensure this value is less than or equal to 100."),
        ({"name": ""}, "This field is required."),
    ],
)
def test_a_plan_that_cannot_be_made_comes_back_with_what_is_wrong(desk, study, changes, text):
    factories.run_with_turns(study)

    answer = desk.post(address("review-new"), {**NEW, **changes, "confirm": "yes"})

    assert answer.status_code == 422
    assert text in answer.content.decode()
    assert not ReviewPlan.objects.exists()


@pytest.fixture
def overtaken(study, monkeypatch):
    """While a plan is drawn, someone else makes one of the same name."""
    factories.run_with_turns(study)
    draw = reviews.draw

    def drawn_too_late(*args, **kwargs):
        study.review_plans.get_or_create(name="first", defaults={"instruments": [SCALE], "source": {}})
        return draw(*args, **kwargs)

    monkeypatch.setattr(reviews, "draw", drawn_too_late)


def test_of_two_plans_of_one_name_made_at_once_the_second_comes_back_with_its_values(desk, overtaken):
    answer = desk.post(address("review-new"), {**NEW, "seed": "77", "confirm": "yes"})

    assert answer.status_code == 422
    assert "There is already a plan “first”." in answer.content.decode()
    assert answer.context["form"]["seed"].value() == "77"
    assert (ReviewPlan.objects.count(), ReviewItem.objects.count()) == (1, 0)


def test_a_plan_without_a_conversation_is_not_made(desk, study):
    answer = desk.post(address("review-new"), {**NEW, "confirm": "yes"})

    assert "No closed conversation matches" in answer.content.decode()
    assert not ReviewPlan.objects.exists()


def test_a_plan_is_closed_and_opened_again(desk, study):
    factories.run_with_turns(study)
    plan = plan_of(study)

    for answer, is_open in (("no", False), ("no", False), ("yes", True)):
        desk.post(address("review-open", plan.pk), {"open": answer})
        plan.refresh_from_db()
        assert plan.is_open == is_open
    assert desk.get(address("review-open", plan.pk)).status_code == 405


def test_page_of_a_plan_tells_of_each_reviewer(desk, study, differing):
    plan, _run, first, second = differing

    html = desk.get(address("review-plan", plan.pk)).content.decode()

    assert first.code in html
    assert second.code in html
    assert "of 2, 100 %" in html


def test_plan_of_another_study_is_not_found(desk, study):
    other = factories.study(key="other")
    factories.run_with_turns(other)

    assert desk.get(address("review-plan", plan_of(other).pk)).status_code == 404


# The command


def planned(*arguments):
    out = StringIO()
    call_command("plan_reviews", *arguments, "--json", stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])


def test_the_command_makes_the_same_plan(study):
    for arm in ("amber", "birch"):
        for _ in range(3):
            factories.run_with_turns(study, arm=arm)

    told = planned(
        *("demo", "--name", "arms", "--instruments", f"{SCALE},worst_case_4", "--source", "arm", "--size", "4"),
        *("--each", "3", "--overlap", "0.5", "--repeat-every", "7", "--seed", "9", "--no-calibration"),
    )

    plan = ReviewPlan.objects.get()
    assert told == {"plan": plan.pk, "name": "arms", "conversations": 4, "ratings": 8}
    assert (plan.instruments, plan.ratings_each, plan.overlap) == ([SCALE, "worst_case_4"], 3, 0.5)
    assert (plan.repeat_every, plan.seed, plan.calibration) == (7, 9, False)
    assert plan.source == {
        "kind": "arm",
        "size": 4,
        "judge": "",
        "strategy": "",
        "seeker_kinds": [],
        "is_test": False,
    }


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ["--instruments", "nothing", "--source", "all"],
            "--instruments: Choose at least one rating scale: emoharbor_10",
        ),
        (["--instruments", SCALE, "--source", "sample"], "--size: Enter how many conversations to draw."),
        (["--instruments", SCALE, "--source", "far", "--size", "2"], "--judge: This judge has not rated"),
        (["--instruments", SCALE, "--source", "all", "--each", "0"], "--each must be at least 1."),
        (["--instruments", SCALE, "--source", "all", "--overlap", "2"], "--overlap must be from 0 to 1."),
        (["--instruments", SCALE, "--source", "all", "--include-tests"], "No closed conversation matches"),
    ],
)
def test_the_command_refuses_what_cannot_be_made(study, arguments, text):
    factories.run_with_turns(study)

    with pytest.raises(CommandError, match=text.replace(".", r"\.")) as refused:
        planned("demo", "--name", "first", *arguments)

    assert refused.value.returncode == 2
    assert not ReviewPlan.objects.exists()


def test_the_command_refuses_a_name_that_was_taken_meanwhile(study, overtaken):
    with pytest.raises(CommandError, match="There is already a plan “first”") as refused:
        planned("demo", "--name", "first", "--instruments", SCALE, "--source", "all")
    assert (refused.value.returncode, ReviewItem.objects.count()) == (2, 0)


# Files


def rows_of(study, name, *, include_tests=False):
    table = next(table for table in TABLES if table.name == name)
    only = Filter(include_tests=include_tests)
    rows = [dict(zip([column.name for column in table.columns], row, strict=True)) for row in table.rows(study, only)]
    assert len(rows) == table.count(study, only)
    return rows


def test_reviews_file_has_what_was_given_and_what_became_of_it(study):
    run = factories.run_with_turns(study)
    plan_of(study, calibration=True)
    reviewer = reviewer_of(study)
    for _ in vignettes():
        review = next_review_for(reviewer)
        reviews.store_vignette_scores(review, [AnswerValue("safety", value=3.0)])
        reviews.finish(review)
    reviews.give_back(next_review_for(reviewer), "distress", "Too near.")

    *first, last = rows_of(study, "reviews")

    assert [(row["vignette"], row["conversation"], row["plan"]) for row in first] == [
        (one.key, None, "first") for one in vignettes()
    ]
    assert (last["conversation"], last["reviewer"], last["replicate"]) == (run.conversation.code, reviewer.code, 1)
    assert (last["vignette"], last["done_at"]) == ("", None)
    assert last["declined_at"]
    assert (last["declined_because"], last["declined_note"]) == ("distress", "Too near.")


def test_calibration_file_has_each_score_beside_the_known_one(study):
    factories.run_with_turns(study)
    plan_of(study, calibration=True)
    reviewer = reviewer_of(study)
    rates_vignette(reviewer, off=1)

    rows = rows_of(study, "calibration")

    one = vignettes()[0]
    assert {row["item"]: row["known"] for row in rows} == {item: known.score for item, known in one.scores.items()}
    assert [abs(row["score"] - row["known"]) for row in rows].count(1) == 1
    assert {(row["reviewer"], row["vignette"]) for row in rows} == {(reviewer.code, one.key)}


def test_adjudications_file_has_what_holds(study, differing, researcher):
    plan, run, _first, _second = differing
    case = disagreements.disagreements(plan)[0]
    disagreements.adjudicate(case, score=2.0, reason="It pressed.", by=researcher)

    [row] = rows_of(study, "adjudications")

    assert (row["conversation"], row["instrument"], row["item"]) == (run.conversation.code, SCALE, "safety")
    assert (row["score"], row["reason"]) == (2.0, "It pressed.")
    assert row["decided_at"]


def test_files_leave_test_data_out_unless_told_otherwise(study, researcher):
    factories.run_with_turns(study, is_test=True)
    plan = plan_of(study, source=Source(is_test=True), calibration=True)
    bots = [reviewer_of(study, is_test=True) for _ in range(2)]
    rates_vignette(bots[0])
    for bot, score in zip(bots, (1, 5), strict=True):
        rated(Review.objects.create(plan=plan, reviewer=bot, item=plan.items.get()), score)
    disagreements.adjudicate(disagreements.disagreements(plan)[0], score=2.0, reason="Why.", by=researcher)

    counts = {table.name: len(rows_of(study, table.name)) for table in TABLES}
    with_tests = {table.name: len(rows_of(study, table.name, include_tests=True)) for table in TABLES}

    assert counts == {"reviews": 0, "adjudications": 0, "calibration": 0}
    assert with_tests == {"reviews": 3, "adjudications": 1, "calibration": 10}


# Erasure


def test_erasing_a_seeker_takes_the_reviews_of_their_conversations(study):
    seeker = factories.person(study)
    run = factories.run_with_turns(study, seeker)
    plan = plan_of(study, ratings_each=2)
    reviewers = [reviewer_of(study) for _ in range(2)]
    for reviewer, score in zip(reviewers, (1, 5), strict=True):
        rated(next_review_for(reviewer), score)
    disagreements.adjudicate(disagreements.disagreements(plan)[0], score=2.0, reason="Why.", by=None)

    removed = erase_rows(seeker)

    assert (removed.rows["reviews"], removed.rows["adjudications"]) == (2, 1)
    left = (Review.objects.count(), ReviewItem.objects.count(), Adjudication.objects.count())
    assert left == (0, 0, 0)
    assert not Response.objects.filter(rater__participation__in=reviewers).exists()
    assert not type(run).objects.filter(pk=run.pk).exists()


def test_erasing_a_reviewer_takes_their_work_and_gives_it_to_others(study):
    factories.run_with_turns(study)
    plan_of(study, ratings_each=1)
    reviewer, other = reviewer_of(study), reviewer_of(study)
    rated(next_review_for(reviewer), 3)
    assert next_review_for(other) is None

    removed = erase_rows(reviewer)

    assert removed.rows["reviews"] == 1
    assert not Review.objects.exists()
    assert next_review_for(other) is not None
