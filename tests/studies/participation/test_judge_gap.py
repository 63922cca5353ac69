"""How far judges are from people: over shared items, of final scores, by the database."""

import random
from collections import defaultdict
from statistics import fmean

import pytest
from django.core.cache import caches

from studies.models import Answer, ArmRun, Rater
from studies.participation.judge_gap import judge_gaps, largest_gaps
from studies.second_raters import reviews
from studies.second_raters.reviews import Source
from tests import factories

pytestmark = pytest.mark.django_db

ITEMS = ("empathetic", "safety", "engagement")


@pytest.fixture
def study():
    return factories.study()


def rate(rater, run, *scores, moment="final", replicate=1):
    """The first of ITEMS; None is a missing score."""
    given = {item: 0.0 if score is None else score for item, score in zip(ITEMS, scores, strict=False)}
    response = factories.answer(rater, "emoharbor_10", given, run=run, moment=moment, replicate=replicate)
    missing = [item for item, score in zip(ITEMS, scores, strict=False) if score is None]
    Answer.objects.filter(response=response, item__in=missing).update(value=None, missing_reason="unparseable")


def crowd(study, code="W1"):
    return Rater.objects.get_or_create(study=study, kind="crowd", code=code)[0]


@pytest.fixture(autouse=True)
def nothing_kept():
    """The rows of each test have the keys of those before it."""
    caches["own"].clear()


def test_a_judge_is_as_far_as_the_mean_of_the_differences_by_item(study):
    run, judge = factories.run_with_turns(study), factories.judge(study)
    rate(crowd(study), run, 1, 2, 5)
    rate(judge, run, 4, 4, 4)

    assert judge_gaps(study) == [(run.pk, judge.pk, pytest.approx((3 + 2 - 1) / 3), 3)]


def test_items_that_only_one_side_scored_do_not_count(study):
    run, judge = factories.run_with_turns(study), factories.judge(study)
    rate(crowd(study), run, 1, None, 5)
    rate(judge, run, 4, 4, None)

    assert judge_gaps(study) == [(run.pk, judge.pk, 3, 1)]


def test_several_people_count_as_their_mean_and_replicates_as_theirs(study):
    run, judge = factories.run_with_turns(study), factories.judge(study)
    rate(crowd(study), run, 1, 1)
    rate(crowd(study, "W2"), run, 3, None)  # item means 2 and 1
    rate(judge, run, 5, 1)
    rate(judge, run, 4, 2, replicate=2)  # 4.5 and 1.5

    assert judge_gaps(study) == [(run.pk, judge.pk, pytest.approx(1.5), 2)]


def test_simulated_seekers_are_no_people_and_checkpoints_no_end(study):
    run, judge = factories.run_with_turns(study), factories.judge(study)
    rate(Rater.objects.create(study=study, kind="simulated_seeker", code="s"), run, 1)
    rate(crowd(study), run, 1, moment="checkpoint")
    rate(judge, run, 5)
    rate(judge, run, 5, moment="checkpoint")

    assert judge_gaps(study) == []


def test_other_studies_do_not_count(study):
    other = factories.study("another")
    run = factories.run_with_turns(other)
    rate(crowd(other), run, 1)
    rate(factories.judge(other), run, 5)

    assert judge_gaps(study) == []


def test_the_threshold_itself_is_far_enough(study):
    run, judge = factories.run_with_turns(study), factories.judge(study)
    rate(crowd(study), run, 1.1, 1.1, 1.1)
    rate(judge, run, 1.4, 1.4, 1.4)  # 0.29999999999999982 by floating point

    assert largest_gaps(study, at_least=0.3).keys() == {run.pk}
    assert largest_gaps(study, at_least=0.31) == {}


def test_farthest_is_the_judge_with_the_greatest_distance_whichever_way(study):
    run = factories.run_with_turns(study)
    kind, harsh = factories.judge(study), factories.judge(study, strategy="user_aware")
    rate(crowd(study), run, 3)
    rate(kind, run, 4)
    rate(harsh, run, 1)

    assert (largest_gaps(study)[run.pk].rater, largest_gaps(study)[run.pk].points) == (harsh.pk, -2)
    assert largest_gaps(study, kind)[run.pk].points == 1
    assert largest_gaps(study, kind, at_least=1.5) == {}


def test_what_was_found_is_kept_until_an_answer_comes_or_goes(study, django_assert_num_queries):
    run, judge = factories.run_with_turns(study), factories.judge(study)
    rate(crowd(study), run, 1)
    rate(judge, run, 3)
    largest_gaps(study)

    with django_assert_num_queries(1):
        assert largest_gaps(study, at_least=3) == {}
    rate(crowd(study, "W2"), run, 2)
    assert largest_gaps(study)[run.pk].points == 1.5
    Answer.objects.filter(response__rater__code="W2").delete()
    assert largest_gaps(study)[run.pk].points == 2


def test_the_database_finds_what_python_finds(study):
    chance = random.Random(5)
    runs = [factories.run_with_turns(study) for _ in range(6)]
    judges = [factories.judge(study, strategy=name) for name in ("standard", "user_aware")]
    for run in runs:
        for rater in (*judges, crowd(study), crowd(study, "W2")):
            if chance.random() < 0.8:
                rate(rater, run, *(chance.choice([None, 1, 2, 3, 4, 5]) for _item in ITEMS))

    found = {(run, rater): points for run, rater, points, _items in judge_gaps(study)}

    assert found == {place: pytest.approx(points) for place, points in by_python(runs, judges).items()}
    for judge in judges:
        source = Source("far", judge=judge.code, strategy=judge.strategy)
        drawn = {run: points for (run, rater), points in found.items() if rater == judge.pk}
        assert reviews.distances(study, source) == {run: pytest.approx(abs(points)) for run, points in drawn.items()}


def by_python(runs: list[ArmRun], judges: list[Rater]) -> dict[tuple[int, int], float]:
    found = {}
    for run in runs:
        of_people, of_judges = defaultdict(list), {judge.pk: {} for judge in judges}
        for answer in Answer.objects.filter(response__run=run, value__isnull=False).select_related("response__rater"):
            if answer.response.rater.kind == "judge":
                of_judges[answer.response.rater_id][answer.item] = answer.value
            else:
                of_people[answer.item].append(answer.value)
        for judge, scores in of_judges.items():
            shared = [scores[item] - fmean(of_people[item]) for item in scores if item in of_people]
            if shared:
                found[run.pk, judge] = fmean(shared)
    return found
