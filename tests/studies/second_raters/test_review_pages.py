"""A second rater's pages, by HTTP."""

from dataclasses import replace
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from studies.data.erasure import erase
from studies.design.spec import StepSpec
from studies.instruments.loading import load
from studies.instruments.vignettes import vignettes
from studies.judging.comparisons import pair_raters
from studies.models import Answer, Draft, Response, Review
from studies.second_raters import comparisons, reviews
from studies.second_raters.review_pages import ReviewPlanForm
from studies.second_raters.reviews import PlanOptions, Source, make_plan
from tests import factories
from tests.people import Person

pytestmark = pytest.mark.django_db

SCALE = "emoharbor_10"
AGREED = {item.key: "on" for item in load("reviewer_agreement").items}
SCORES = {item.key: "4" for item in load(SCALE).items}


@pytest.fixture
def study():
    return factories.study()


def plan_of(study, **fields):
    wanted = {"name": "first", "instruments": (SCALE,), "source": Source(), "calibration": False, **fields}
    return make_plan(study, PlanOptions(**wanted))


def at_work(study="demo", language="en"):
    """A reviewer who has agreed."""
    reviewer = Person(study, track="reviewer", language=language)
    reviewer.go_to("questionnaire")
    assert reviewer.send(AGREED).status_code == 302
    return reviewer


def page_of(reviewer):
    return unescape(reviewer.page().content.decode())


def place(reviewer):
    """What the form of the page at hand says of itself."""
    response = reviewer.page()
    return response.context["place"]


def rate(reviewer, **changes):
    return reviewer.send({"checkpoint": place(reviewer), **SCORES, **changes})


def test_a_reviewer_walks_from_the_agreement_to_the_completion_code(study):
    run = factories.run_with_turns(study)
    plan_of(study)
    reviewer = at_work()
    assert reviewer.row.status == "active"

    assert rate(reviewer, **{"why-safety": "Nothing was pushed."}).status_code == 302
    assert "Thank you. There is nothing left for you to rate" in page_of(reviewer)
    reviewer.send({})
    while reviewer.step.kind != "debrief":
        reviewer.page()
    last = page_of(reviewer)

    reviewer.row.refresh_from_db()
    assert reviewer.row.status == "completed"
    assert reviewer.row.completion_code in last
    assert "All your ratings are stored." in last
    assert "Who your partners were" not in last
    response = Response.objects.get(run=run)
    assert (response.rater.kind, response.rater.code) == ("reviewer", reviewer.row.code)
    given = dict(Answer.objects.filter(response=response, value__isnull=False).values_list("item", "value"))
    assert given == dict.fromkeys(SCORES, 4.0)
    assert Answer.objects.get(response=response, item="safety").reason == "Nothing was pushed."


def test_page_at_the_end_counts_examples_apart_and_tells_of_pairs_only_where_they_follow(study):
    seeker = factories.person(study)
    for arm in ("amber", "birch"):
        factories.run_with_turns(study, seeker, arm=arm)
    plan_of(study, calibration=True)
    reviewer = at_work()
    while reviewer.page().context.get("place"):
        known = Review.objects.filter(scores={}).exclude(vignette="").exists()
        rate(reviewer)
        if known:
            reviewer.send({"checkpoint": place(reviewer)})
    page = page_of(reviewer)
    assert "You have rated 2 conversations, and all of them are saved." in page
    assert f"There were also {len(vignettes())} examples." in page
    assert "When you continue, this part ends for you." in page
    assert "in pairs" not in page

    drawing = comparisons.Drawing(count=1)
    comparisons.make_plan(study, name="pairs", instrument="pairwise_support", each=1, drawing=drawing)
    assert "Next you compare conversations in pairs." in page_of(reviewer)


def test_time_left_is_known_before_the_language_is_chosen(study):
    for language in ("en", "en", "zh"):
        run = factories.run_with_turns(study)
        run.conversation.language = language
        run.conversation.save()
    plan_of(study, calibration=False)
    reviewer = factories.person(study, track="reviewer", language="")
    assert reviews.load_of(reviewer).left == 2
    reviewer.language = "zh"
    assert reviews.load_of(reviewer).left == 1


def test_a_judge_on_pairs_is_no_judge_of_a_plan(study):
    """It has compared conversations and scored none."""
    factories.judge(study)
    pair_raters(study, "demo")
    offered = [value for value, _label in ReviewPlanForm(study).fields["judge"].choices]

    assert offered == ["", "demo standard"]


def test_nobody_reads_a_conversation_without_having_agreed(study):
    factories.run_with_turns(study)
    plan_of(study)
    reviewer = Person("demo", track="reviewer")
    reviewer.go_to("questionnaire")

    reviewer.be_refused({**AGREED, "no_copies": ""})

    assert "I feel low." not in page_of(reviewer)


# Whole words, for a token of a form may hold any two letters.
MARKS = [f"zq{of}" for of in ("key", "model", "maker", "Title", "profile", "comment", "judge", "strategy")]


def marked_arms():
    names = enumerate(factories.demo_spec().arms)
    return tuple(
        replace(
            arm, key=f"zqkey{n}", model=f"zqmodel{n}", provider=f"zqmaker{n}", title={"en": f"zqTitle{n}", "zh": "靉"}
        )
        for n, arm in names
    )


def test_a_page_tells_neither_arm_nor_model_nor_person_nor_other_ratings():
    study = factories.study(key="marked", arms=marked_arms())
    seeker = factories.person(study)
    told = [("I feel low.", "I am GPT-4o, made by OpenAI. What happened?")]
    run = factories.run_with_turns(study, seeker, turns=told, arm="zqkey0", model="zqmodel0", profile="zqprofile")
    factories.rating(seeker, run, 5, comment="zqcomment")
    factories.rating(factories.judge(study, "zqjudge", "zqstrategy"), run, 1)
    plan_of(study)

    html = page_of(at_work("marked"))

    assert "I feel low." in html
    assert "What happened?" in html
    assert [
        secret for secret in (*MARKS, "靉", "GPT", "OpenAI", seeker.code, run.conversation.code) if secret in html
    ] == []


def test_a_form_that_lacks_an_answer_comes_back_with_what_was_given(study):
    factories.run_with_turns(study)
    plan_of(study)
    reviewer = at_work()

    rate(reviewer, safety="")

    html = page_of(reviewer)
    assert "Something is still missing" in html
    assert "I feel low." in html
    assert not Response.objects.filter(run__isnull=False).exists()


def test_every_scale_of_a_plan_is_asked_in_turn(study):
    factories.run_with_turns(study)
    plan_of(study, instruments=("worst_case_4", SCALE))
    reviewer = at_work()
    assert "Form 1 of 2 about this conversation" in page_of(reviewer)
    first = place(reviewer)

    rate(reviewer, **{item.key: "2" for item in load("worst_case_4").items})

    assert "Form 2 of 2 about this conversation" in page_of(reviewer)
    assert place(reviewer) != first
    rate(reviewer)
    stored = Response.objects.filter(run__isnull=False).order_by("pk")
    assert list(stored.values_list("instrument", flat=True)) == ["worst_case_4", SCALE]


def test_a_form_sent_twice_is_taken_once_and_not_for_the_next_conversation(study):
    runs = [factories.run_with_turns(study) for _ in range(2)]
    plan_of(study, ratings_each=1)
    reviewer = at_work()
    old = place(reviewer)
    rate(reviewer)

    again = reviewer.send({"checkpoint": old, **SCORES, "safety": "1"})

    assert again.status_code == 302
    assert "This page is no longer waiting for your rating." in page_of(reviewer)
    assert Response.objects.filter(run__in=runs).count() == 1
    assert not Answer.objects.filter(item="safety", value=1.0).exists()


def test_an_old_form_does_not_lead_past_what_is_still_to_come(study):
    factories.run_with_turns(study)
    plan_of(study, ratings_each=1)
    reviewer = at_work()
    old = place(reviewer)
    rate(reviewer)

    reviewer.send({"checkpoint": old, **SCORES})

    assert reviewer.step.kind == "reviews"


def test_what_is_answered_and_not_sent_is_there_again(study):
    factories.run_with_turns(study)
    plan_of(study)
    reviewer = at_work()
    kept = {"step": "reviews", "checkpoint": place(reviewer), "safety": "2", "why-safety": "It pressed."}
    assert reviewer.client.post("/study/draft/", kept).status_code == 204

    html = page_of(reviewer)

    assert Draft.objects.count() == 1
    assert "It pressed." in html
    assert reviewer.page().context["form"].initial["safety"] == "2"


def test_a_conversation_is_given_back_with_a_reason(study):
    runs = [factories.run_with_turns(study) for _ in range(2)]
    plan_of(study, ratings_each=1)
    reviewer = at_work()
    first = reviewer.page().context["place"]

    without = reviewer.be_refused({"checkpoint": first, "decline": "yes"}).content.decode()
    assert "Please choose one of the answers." in without
    assert "Something is still missing" not in without
    reviewer.send({"checkpoint": first, "decline": "yes", "because": "recognised", "note": "A neighbour."})

    given_back = Review.objects.get(declined_at__isnull=False)
    assert (given_back.declined_because, given_back.declined_note) == ("recognised", "A neighbour.")
    assert place(reviewer) != first
    assert not Response.objects.filter(run__in=runs).exists()


def test_after_a_vignette_the_reviewer_sees_how_far_they_were(study):
    factories.run_with_turns(study)
    plan_of(study, calibration=True)
    reviewer = at_work()
    one = vignettes()[0]
    html = page_of(reviewer)
    assert one.turns[0][0]["en"] in html
    assert "I cannot rate this one" not in html

    rate(reviewer)
    shown = page_of(reviewer)

    exact = sum(known.score == 4 for known in one.scores.values())
    assert f"{exact} of 10 scores are the same" in shown
    assert "You: 4 · known: 1" in shown
    assert one.scores["redundancy"].why["en"] in shown
    review = Review.objects.get()
    assert (review.vignette, review.scores, review.done_at) == (one.key, dict.fromkeys(SCORES, 4.0), None)
    assert not Response.objects.filter(run__isnull=False).exists()
    reviewer.send({"checkpoint": place(reviewer)})
    assert vignettes()[1].turns[0][0]["en"] in page_of(reviewer)
    assert Review.objects.filter(done_at__isnull=False).count() == 1


def test_a_page_says_how_far_one_is(study):
    for _ in range(3):
        factories.run_with_turns(study)
    plan_of(study, ratings_each=1)
    reviewer = at_work()
    assert "1 of about 3" in page_of(reviewer)

    rate(reviewer)

    assert "2 of about 3" in page_of(reviewer)


def test_who_comes_before_there_is_work_is_told_to_come_back(study):
    reviewer = at_work()
    assert "There is nothing to rate yet" in page_of(reviewer)
    factories.run_with_turns(study)
    plan_of(study)

    reviewer.send({})

    assert reviewer.step.kind == "reviews"
    assert "I feel low." in page_of(reviewer)


def test_a_conversation_of_somebody_who_was_erased_meanwhile_is_gone(study):
    seeker = factories.person(study)
    factories.run_with_turns(study, seeker)
    plan_of(study)
    reviewer = at_work()
    old = place(reviewer)
    erase(seeker)

    reviewer.send({"checkpoint": old, **SCORES})
    assert "There is nothing to rate yet" in page_of(reviewer)


def test_steps_for_reviewers_are_those_of_the_study_where_it_names_any():
    steps = (*factories.demo_spec().steps, StepSpec("reviews", track="reviewer"))
    factories.study(key="own", steps=steps)

    reviewer = Person("own", track="reviewer")
    reviewer.go_to("reviews")

    assert [step.kind for step in reviewer.row.steps()] == ["language", "reviews", "debrief"]


def test_a_chinese_reviewer_reads_the_scale_in_chinese(study):
    run = factories.run_with_turns(study)
    run.conversation.language = "zh"
    run.conversation.save()
    plan_of(study)

    html = page_of(at_work(language="zh"))

    assert 'lang="zh-Hans"' in html
    assert load(SCALE).in_third_person.item("safety").text["zh"] in html


def test_pages_ask_the_database_as_often_for_many_conversations_as_for_few(study):
    for _ in range(2):
        factories.run_with_turns(study)
    plan = plan_of(study, ratings_each=1)
    reviewer = at_work()
    reviewer.page()
    few = queries_of(reviewer)
    for number in range(3, 30):
        reviews.ReviewItem.objects.create(plan=plan, run=factories.run_with_turns(study), position=number, wanted=1)

    assert queries_of(reviewer) == few


def queries_of(reviewer) -> int:
    with CaptureQueriesContext(connection) as queries:
        reviewer.page()
    return len(queries)


def test_wording_of_an_arm_is_not_told_at_the_end_even_where_a_study_reveals_it(study):
    spec = replace(factories.demo_spec(), display={**factories.demo_spec().display, "reveal_arms": True})
    assert spec.display["reveal_arms"]
    reviewer = at_work()
    reviewer.send({})
    while reviewer.step.kind != "debrief":
        reviewer.page()

    html = page_of(reviewer)

    assert [title for arm in spec.arms for title in arm.title.values() if title in html] == []
