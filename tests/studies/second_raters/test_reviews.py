"""Second raters: what a plan draws, who gets what, what is stored, and that nothing is given twice."""

import threading
from collections import Counter
from datetime import timedelta
from itertools import combinations

import pytest
from django.db import connection
from django.utils import timezone, translation

from dialogue.models import Conversation
from dialogue.models.conversation import SeekerKind
from studies.instruments.forms import AnswerValue
from studies.instruments.loading import load
from studies.instruments.vignettes import vignettes
from studies.models import Answer, Participation, Response, Review, ReviewPlan
from studies.participation import progress
from studies.participation.responses import answers_of
from studies.second_raters import reviews
from studies.second_raters.reviews import PlanOptions, Source, faults, make_plan, next_review_for
from tests import factories

pytestmark = pytest.mark.django_db

SCALE = "emoharbor_10"


@pytest.fixture
def study():
    return factories.study()


def conversations(study, count, **fields):
    return [factories.run_with_turns(study, **fields) for _ in range(count)]


def plan_of(study, *, name="first", instruments=(SCALE,), calibration=False, source=None, **fields):
    wanted = PlanOptions(name, instruments, source or Source(), calibration=calibration, **fields)
    assert faults(study, wanted) == {}
    return make_plan(study, wanted)


def reviewer_of(study, **fields):
    return factories.person(study, track="reviewer", order=[], **fields)


def finished(review, score=3.0):
    """As when the reviewer sends each form of the page."""
    while instrument := reviews.instrument_due(review):
        scale = load(instrument)
        answers = [AnswerValue(item.key, value=score) for item in scale.items]
        reviews.store_ratings(review, scale, answers, language="en", seconds={})
    review.refresh_from_db()


def rates_everything(reviewer, score=3.0):
    while review := next_review_for(reviewer):
        finished(review, score)


# Drawing


def test_a_plan_has_all_closed_conversations_with_a_reply_and_no_others(study):
    kept = conversations(study, 3)
    factories.run_with_turns(study, turns=())
    factories.run_with_turns(study, status="open")
    factories.run_with_turns(study, is_test=True)
    factories.run_with_turns(study, valid=False)
    factories.run_with_turns(study, end_reason="safety")
    for fields in ({"status": "withdrawn"}, {"excluded": True}):
        factories.run_with_turns(study, factories.person(study, **fields))

    assert set(reviews.draw(study, Source(), seed=1)) == set(kept)


def test_a_plan_for_test_data_has_nothing_else(study):
    conversations(study, 2)
    tests = conversations(study, 2, is_test=True)

    assert set(reviews.draw(study, Source(is_test=True), seed=1)) == set(tests)


def test_a_sample_has_its_size_and_is_the_same_for_the_same_seed(study):
    conversations(study, 12)
    source = Source("sample", size=5)

    first = reviews.draw(study, source, seed=4)

    assert len(set(first)) == 5
    assert reviews.draw(study, source, seed=4) == first
    assert any(reviews.draw(study, source, seed=seed) != first for seed in range(5, 9))


def test_a_plan_can_be_about_one_kind_of_seeker(study):
    simulated = conversations(study, 2)
    person = factories.person(study)
    own = factories.run_with_turns(study, person)

    assert reviews.draw(study, Source(seeker_kinds=(SeekerKind.PERSON,)), seed=1) == [own]
    assert set(reviews.draw(study, Source(seeker_kinds=(SeekerKind.SIMULATED,)), seed=1)) == set(simulated)


def test_arm_after_arm_has_as_many_of_each_and_each_in_one_piece(study):
    for arm, count in {"amber": 5, "birch": 3, "cedar": 4}.items():
        conversations(study, count, arm=arm)

    arms = [run.arm for run in reviews.draw(study, Source("arm"), seed=1)]

    assert Counter(arms) == {"amber": 3, "birch": 3, "cedar": 3}
    assert [arms[place] for place in (0, 3, 6)] == [arms[place] for place in (2, 5, 8)]
    orders = {tuple(dict.fromkeys(r.arm for r in reviews.draw(study, Source("arm"), seed=s))) for s in range(12)}
    assert len(orders) > 2


def test_strata_have_as_many_of_each_arm_within_the_size_and_mixed(study):
    for arm in ("amber", "birch"):
        conversations(study, 8, arm=arm)

    arms = [run.arm for run in reviews.draw(study, Source("strata", size=11), seed=3)]

    assert Counter(arms) == {"amber": 5, "birch": 5}
    assert arms != sorted(arms)
    assert arms != sorted(arms, reverse=True)


def test_far_takes_those_on_which_the_judge_differs_most_from_people(study):
    judge, runs = factories.judge(study), conversations(study, 4)
    seeker = factories.person(study)
    for run, (judged, rated) in zip(runs, [(4, 4), (5, 1), (1, 4), (3, 4)], strict=True):
        factories.rating(judge, run, judged)
        factories.rating(seeker, run, rated)
    factories.rating(judge, conversations(study, 1)[0], 5)  # no person rated it
    other = factories.judge(study, strategy="user_aware")
    factories.rating(other, runs[0], 1)

    source = Source("far", size=2, judge="demo", strategy="standard")

    assert set(reviews.draw(study, source, seed=1)) == {runs[1], runs[2]}
    assert reviews.distances(study, source) == {run.pk: far for run, far in zip(runs, [0, 4, 3, 1], strict=True)}


def test_the_share_in_the_overlap_gets_several_ratings_and_the_others_one(study):
    conversations(study, 10)

    plan = plan_of(study, ratings_each=3, overlap=0.4)

    assert Counter(plan.items.values_list("wanted", flat=True)) == {3: 4, 1: 6}
    assert list(plan.items.values_list("position", flat=True)) == list(range(1, 11))


@pytest.mark.parametrize(
    ("changes", "about"),
    [
        ({"name": "there"}, "name"),
        ({"instruments": ()}, "instruments"),
        ({"instruments": ("profile",)}, "instruments"),
        ({"instruments": ("reply_rating",)}, "instruments"),
        ({"source": Source("sample")}, "size"),
        ({"source": Source("far", size=3, judge="demo", strategy="none")}, "judge"),
        ({"source": Source("some")}, "source"),
    ],
)
def test_a_plan_that_cannot_be_made_is_refused_with_its_place(study, changes, about):
    conversations(study, 1)
    plan_of(study, name="there")

    assert list(
        faults(study, PlanOptions(**{"name": "new", "instruments": (SCALE,), "source": Source(), **changes}))
    ) == [about]


def test_a_plan_of_nothing_is_refused(study):
    with pytest.raises(reviews.PlanRefused, match="No closed conversation matches"):
        plan_of(study)
    assert not study.review_plans.exists()


# Giving out


def test_a_reviewer_gets_one_thing_at_a_time_and_nothing_twice(study):
    runs = conversations(study, 3)
    plan = plan_of(study, ratings_each=2)
    plan_of(study, name="second", ratings_each=2)
    reviewer = reviewer_of(study)

    first = next_review_for(reviewer)

    assert next_review_for(reviewer) == first
    rates_everything(reviewer)
    rated = list(reviewer.reviews.values_list("item__run", flat=True))
    assert sorted(rated) == sorted(run.pk for run in runs)
    assert plan.reviews.count() == 3


def test_nothing_is_given_beyond_what_is_wanted(study):
    conversations(study, 4)
    plan = plan_of(study, ratings_each=2, overlap=0.5)
    for _ in range(4):
        rates_everything(reviewer_of(study))

    done = Counter(plan.reviews.values_list("item", flat=True))

    assert done == dict(plan.items.values_list("pk", "wanted"))


def test_test_data_is_for_artificial_reviewers_and_real_for_real_ones(study):
    conversations(study, 1)
    conversations(study, 1, is_test=True)
    real, tests = plan_of(study), plan_of(study, name="tests", source=Source(is_test=True))

    assert next_review_for(reviewer_of(study)).plan == real
    assert next_review_for(reviewer_of(study, is_test=True)).plan == tests


def test_a_closed_plan_gives_nothing_out_and_what_was_begun_may_be_finished(study):
    conversations(study, 2)
    plan = plan_of(study)
    reviewer = reviewer_of(study)
    begun = next_review_for(reviewer)
    ReviewPlan.objects.filter(pk=plan.pk).update(is_open=False)

    assert next_review_for(reviewer) == begun
    finished(begun)
    assert next_review_for(reviewer) is None


def test_conversations_come_in_the_language_of_the_reviewer(study):
    english, chinese = conversations(study, 2)
    chinese.conversation.language = "zh"
    chinese.conversation.save()
    plan_of(study)

    assert next_review_for(reviewer_of(study)).item.run == english
    assert next_review_for(reviewer_of(study, language="zh")).item.run == chinese
    assert next_review_for(reviewer_of(study, language="zh")).item.run == chinese


def test_arms_are_given_out_one_after_the_other(study):
    for arm in ("amber", "birch"):
        conversations(study, 3, arm=arm)
    plan_of(study, source=Source("arm"), ratings_each=2)
    reviewers = [reviewer_of(study) for _ in range(2)]
    arms = []
    for _ in range(6):
        for reviewer in reviewers:
            review = next_review_for(reviewer)
            arms.append(review.item.run.arm)
            finished(review)

    assert arms[:6] == [arms[0]] * 6
    assert arms[6:] == [arms[6]] * 6
    assert arms[0] != arms[6]


def test_the_overlap_is_spread_evenly_over_all_pairs_of_five_reviewers(study):
    conversations(study, 20)
    plan = plan_of(study, ratings_each=2)
    reviewers = [reviewer_of(study) for _ in range(5)]
    for _ in range(8):
        for reviewer in reviewers:
            finished(next_review_for(reviewer))

    raters = reviews.raters_of(plan)
    shared = Counter(pair for both in raters.values() for pair in combinations(sorted(both), 2))

    assert Counter(map(len, raters.values())) == {2: 20}
    assert Counter(plan.reviews.values_list("reviewer", flat=True)) == {reviewer.pk: 8 for reviewer in reviewers}
    assert len(shared) == 10
    assert max(shared.values()) - min(shared.values()) <= 1


def late(review):
    Review.objects.filter(pk=review.pk).update(given_at=timezone.now() - timedelta(hours=25))


def test_what_was_begun_and_lies_for_a_day_goes_to_others(study):
    conversations(study, 1)
    plan_of(study, ratings_each=1)
    slow, quick = reviewer_of(study), reviewer_of(study)
    begun = next_review_for(slow)
    assert next_review_for(quick) is None
    late(begun)

    taken = next_review_for(quick)

    assert taken.item == begun.item
    assert next_review_for(slow) is None
    begun.refresh_from_db()
    assert begun.declined_because == "expired"


def test_what_nobody_took_meanwhile_is_still_the_reviewers(study):
    conversations(study, 1)
    plan_of(study, ratings_each=1)
    slow, quick = reviewer_of(study), reviewer_of(study)
    begun = next_review_for(slow)
    late(begun)

    assert next_review_for(slow) == begun
    assert next_review_for(quick) is None


def test_what_is_given_back_goes_to_others_and_never_to_the_same_one(study):
    conversations(study, 1)
    plan_of(study, ratings_each=1)
    first, second = reviewer_of(study), reviewer_of(study)
    review = next_review_for(first)

    reviews.give_back(review, "distress", "It is too near.")

    assert next_review_for(first) is None
    assert next_review_for(second).item == review.item
    review.refresh_from_db()
    assert (review.declined_because, review.declined_note) == ("distress", "It is too near.")


def test_what_a_reviewer_has_begun_who_leaves_goes_to_others(study):
    conversations(study, 1)
    plan_of(study, ratings_each=1)
    leaving = reviewer_of(study)
    next_review_for(leaving)

    progress.leave(leaving)

    assert next_review_for(reviewer_of(study)) is not None


@pytest.mark.django_db(transaction=True)
def test_many_at_once_never_get_more_than_is_wanted():
    study = factories.study()
    conversations(study, 3)
    plan = plan_of(study, ratings_each=2, overlap=0.34)
    people = [reviewer_of(study) for _ in range(6)]
    start = threading.Barrier(2 * len(people))

    def take_one(reviewer):
        """From two tabs each."""
        start.wait()
        next_review_for(Participation.objects.get(pk=reviewer.pk))
        connection.close()

    tabs = [threading.Thread(target=take_one, args=[person]) for person in people for _ in range(2)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()

    assert Counter(plan.reviews.values_list("item", flat=True)) == dict(plan.items.values_list("pk", "wanted"))
    assert max(Counter(plan.reviews.values_list("reviewer", flat=True)).values()) == 1


# Vignettes and repeats


def test_vignettes_come_first_and_only_once_for_a_reviewer(study):
    conversations(study, 1)
    plan_of(study, calibration=True)
    reviewer = reviewer_of(study)
    met = []
    while (review := next_review_for(reviewer)) and review.vignette:
        met.append(review.vignette)
        reviews.store_vignette_scores(review, [AnswerValue("safety", value=3.0)])
        assert next_review_for(reviewer) == review  # until they have seen how far they were
        reviews.finish(review)

    assert met == [one.key for one in vignettes()]
    finished(review)
    conversations(study, 1)
    plan_of(study, name="second", calibration=True)
    assert next_review_for(reviewer).vignette == ""


def test_no_vignette_is_given_where_no_conversation_would_follow(study):
    conversations(study, 1)
    plan_of(study, calibration=True).items.all().delete()  # as when their people are erased

    assert next_review_for(reviewer_of(study)) is None


def test_vignettes_are_for_the_scale_that_is_known_of_them(study):
    conversations(study, 1)
    plan_of(study, instruments=("worst_case_4",), calibration=True)

    assert next_review_for(reviewer_of(study)).vignette == ""


@pytest.mark.parametrize("one", vignettes(), ids=lambda one: one.key)
def test_a_vignette_has_a_known_score_for_each_item_of_its_scale(one):
    items = {item.key: item for item in load(one.instrument).items}

    assert one.scores.keys() == items.keys()
    assert all(items[key].minimum <= known.score <= items[key].maximum for key, known in one.scores.items())
    assert all(text[language] for turn in one.turns for text in turn for language in ("en", "zh"))
    assert all(known.why[language] for known in one.scores.values() for language in ("en", "zh"))


def test_an_earlier_conversation_comes_again_as_the_second_replicate(study):
    conversations(study, 5)
    plan_of(study, ratings_each=1, repeat_every=2)
    reviewer = reviewer_of(study)
    given = []
    while review := next_review_for(reviewer):
        given.append((review.item_id, review.replicate))
        finished(review, score=float(review.replicate + 2))

    items = [item for item, replicate in given if replicate == 1]
    assert [replicate for _, replicate in given] == [1, 1, 2, 1, 1, 2, 1]
    assert (given[2][0], given[5][0]) == (items[0], items[1])
    again = Response.objects.get(run__review_items=items[0], replicate=2)
    assert set(again.answers.values_list("value", flat=True)) == {4.0}


# What is stored


def test_a_rating_is_the_reviewers_and_never_taken_for_the_seekers(study):
    seeker = factories.person(study)
    run = factories.run_with_turns(study, seeker)
    factories.rating(seeker, run, 5)
    plan_of(study)
    reviewer = reviewer_of(study)

    finished(next_review_for(reviewer), score=2.0)

    response = Response.objects.get(rater__participation=reviewer)
    stored = (response.rater.kind, response.run, response.moment, response.replicate, response.is_rating)
    assert stored == ("reviewer", run, "final", 1, True)
    assert (response.first_turn, response.last_turn) == (1, 2)
    assert set(answers_of(seeker, SCALE, run=run, moment="final").values()) == {5.0}
    assert Answer.objects.filter(response=response, value=2.0).count() == 10


def test_a_conversation_is_done_when_every_scale_of_the_plan_is_answered(study):
    conversations(study, 1)
    plan_of(study, instruments=(SCALE, "worst_case_4"))
    review = next_review_for(reviewer_of(study))
    answers = [AnswerValue(item.key, value=3.0) for item in load(SCALE).items]

    reviews.store_ratings(review, load(SCALE), answers, language="en", seconds={})

    review.refresh_from_db()
    assert (review.done_at, reviews.instrument_due(review)) == (None, "worst_case_4")
    finished(review)
    assert review.done_at


def test_work_is_missing_where_a_done_conversation_has_no_ratings(study):
    conversations(study, 1)
    plan_of(study)
    reviewer = reviewer_of(study, plan=[{"kind": "reviews", "key": "reviews"}, {"kind": "debrief", "key": "debrief"}])
    review = next_review_for(reviewer)
    finished(review)
    assert progress.missing_parts(reviewer) == []

    Response.objects.all().delete()

    assert progress.missing_parts(reviewer) == ["reviews"]


def test_how_much_is_left_is_shared_among_those_who_are_at_work(study):
    conversations(study, 10)
    plan_of(study, ratings_each=2, calibration=True)
    reviewer, _other = reviewer_of(study), reviewer_of(study)

    assert reviews.load_of(reviewer) == reviews.Load(done=0, left=10 + len(vignettes()))
    next_review_for(reviewer)
    assert reviews.load_of(reviewer) == reviews.Load(done=0, left=10 + len(vignettes()))


@pytest.mark.parametrize(("page", "left"), [("en", 2), ("zh-hans", 5)])
def test_before_a_language_is_chosen_the_work_is_that_in_the_language_of_the_page(study, page, left):
    conversations(study, 2)
    for run in conversations(study, 5):
        Conversation.objects.filter(run=run).update(language="zh")
    plan_of(study, ratings_each=1)
    reviewer = reviewer_of(study, language="")
    with translation.override(page):
        assert reviews.load_of(reviewer) == reviews.Load(done=0, left=left)
