"""Pairs side by side: drawn evenly, given out evenly, judged blind, and kept as sides of the pair."""

import json
import re
from collections import Counter
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from dialogue.models import Conversation
from studies.data import erasure
from studies.design.spec import StepSpec
from studies.instruments.loading import load
from studies.models import Comparison, Draft, Pair, PairPlan, Participation, Rater, Study, Verdict
from studies.participation.responses import rater_for
from studies.second_raters import comparisons
from studies.second_raters.reviews import PlanRefused
from tests import factories
from tests.people import Person

pytestmark = pytest.mark.django_db
ARMS = ("amber", "birch", "cedar")
QUESTIONS = [item.key for item in load("pairwise_support").items]
REVIEWER_STEPS = (StepSpec("consent"), StepSpec("chats"), StepSpec("pairs", track="reviewer"))


@pytest.fixture
def study() -> Study:
    """Four people with three arms each."""
    study = factories.study(steps=REVIEWER_STEPS)
    for _ in range(4):
        held_with_all(study)
    return study


def held_with_all(study: Study, **fields: Any) -> Participation:
    person = factories.person(study, **{key: value for key, value in fields.items() if key == "is_test"})
    for arm in ARMS:
        turns = [(f"I say it to {person.code}.", "What happened then?"), ("Much.", "That sounds like a lot.")]
        factories.run_with_turns(study, person, arm=arm, turns=turns, **fields)
    return person


def plan(study: Study, *, each: int = 1, name: str = "first", **drawing: Any) -> PairPlan:
    drawing = {"count": 12, **drawing}
    return comparisons.make_plan(
        study, name=name, instrument="pairwise_support", each=each, drawing=comparisons.Drawing(**drawing)
    )


def reviewer(study: Study, **fields: Any) -> Participation:
    return factories.person(study, track="reviewer", **fields)


def at_the_page(language: str = "en") -> Person:
    person = Person("demo", track="reviewer", language=language)
    person.go_to("pairs")
    person.page()
    return person


def html(response: Any) -> str:
    return response.content.decode()


def answers(person: Person, place: str = "first", **others: str) -> dict[str, str]:
    comparison = Comparison.objects.get(rater__code=person.row.code, done_at=None)
    return {**dict.fromkeys(QUESTIONS, place), "checkpoint": str(comparison.pk), **others}


def judged(person: Participation) -> Comparison:
    comparison = comparisons.next_comparison_for(person)
    assert comparison is not None
    Comparison.objects.filter(pk=comparison.pk).update(done_at=timezone.now())
    return comparison


# Drawing


def test_plan_lets_every_two_arms_meet_equally_often_with_the_same_person(study):
    made = plan(study)
    assert comparisons.contests_of(made) == {("amber", "birch"): 4, ("amber", "cedar"): 4, ("birch", "cedar"): 4}
    assert all(pair.run_a.participation == pair.run_b.participation for pair in made.pairs.all())
    assert list(made.pairs.values_list("position", flat=True)) == list(range(1, 13))
    assert made.source == {"between": "arms", "level": "conversation", "count": 12, "seed": 1, "test_data": False}


def test_plan_of_replies_names_the_turn_of_both(study):
    made = plan(study, level="reply", count=24)
    assert Counter(made.pairs.values_list("turn_a", "turn_b")) == {(1, 1): 12, (2, 2): 12}


def test_test_data_and_real_data_never_stand_in_one_pair(study):
    held_with_all(study, is_test=True)
    assert {pair.run_a.is_test for pair in plan(study, count=500).pairs.all()} == {False}
    tried = plan(study, count=500, test_data=True, name="tried")
    assert ({pair.run_a.is_test and pair.run_b.is_test for pair in tried.pairs.all()}, tried.pairs.count()) == (
        {True},
        3,
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda run: setattr(run, "valid", False),
        lambda run: setattr(run.conversation, "status", "open") or setattr(run.conversation, "end_reason", ""),
        lambda run: setattr(run.conversation, "end_reason", "safety"),
        lambda run: run.conversation.turns.update(state="failed", reply=""),
        lambda run: setattr(run.participation, "excluded", True),
        lambda run: setattr(run.participation, "status", "withdrawn"),
    ],
)
def test_what_is_not_fit_to_be_compared_is_not_drawn(study, change):
    run = study.runs.first()
    change(run)
    for row in (run, run.conversation, run.participation):
        row.save()
    drawn = {run for pair in plan(study, count=500).pairs.all() for run in (pair.run_a_id, pair.run_b_id)}
    assert run.pk not in drawn
    assert len(drawn) >= 9


def test_seekers_are_compared_on_one_profile_and_with_one_arm():
    study = factories.study()
    for condition in ("average", "worst_case"):
        for profile in ("p1", "p2"):
            for arm in ARMS[:2]:
                factories.run_with_turns(study, arm=arm, condition=condition, profile=profile)
    made = plan(study, between="seekers", count=4)
    assert comparisons.contests_of(made) == {("simulated average", "simulated worst_case"): 4}
    for pair in made.pairs.all():
        assert (pair.run_a.arm, pair.run_a.profile) == (pair.run_b.arm, pair.run_b.profile)


def test_seekers_of_ablations_are_contestants_and_meet_equally_often():
    """EmoHarbor's Figure 5: unchanged seekers, one agent, simple profile, on one profile and with one arm."""
    study = factories.study()
    for setup in ("", "one agent", "simple profile"):
        for profile in ("p1", "p2"):
            factories.run_with_turns(study, arm="amber", condition="average", profile=profile, setup=setup)
    made = plan(study, between="seekers", count=6)
    whole, one, simple = ("simulated average", "simulated average (one agent)", "simulated average (simple profile)")
    assert comparisons.contests_of(made) == {(whole, one): 2, (whole, simple): 2, (one, simple): 2}
    assert all(pair.run_a.profile == pair.run_b.profile for pair in made.pairs.all())


def test_arms_are_compared_by_whole_seekers_alone():
    study = factories.study()
    for setup in ("", "one agent"):
        for arm in ARMS[:2]:
            factories.run_with_turns(study, arm=arm, condition="average", profile="p1", setup=setup)
    [pair] = plan(study, count=10).pairs.all()
    assert (pair.run_a.setup, pair.run_b.setup) == ("", "")


def test_arms_are_compared_with_seekers_of_one_kind_and_in_one_language(study):
    factories.run_with_turns(study, arm="delta", condition="worst_case")
    alone = factories.run_with_turns(study, factories.person(study), arm="ember")
    Conversation.objects.filter(pk=alone.conversation_id).update(language="zh")
    assert {arm for contest in comparisons.contests_of(plan(study, count=500)) for arm in contest} == set(ARMS)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"instrument": "emoharbor_10"}, "has no questions about pairs"),
        ({"count": 0}, "must be at least 1"),
        ({"each": 0}, "must be at least 1"),
        ({"between": "seekers"}, "no two closed conversations"),
        ({"between": "seekers", "level": "reply"}, "by whole conversations"),
        ({"name": "first"}, "There is already a plan “first”."),
    ],
)
def test_plan_that_cannot_be_is_refused_and_nothing_made(study, changes, why):
    plan(study)
    wanted = {"name": "second", "instrument": "pairwise_support", "each": 1} | changes
    drawing = comparisons.Drawing(**{key: wanted.pop(key) for key in ("count", "between", "level") if key in wanted})
    with pytest.raises(PlanRefused, match=why):
        comparisons.make_plan(study, drawing=drawing, **wanted)
    assert (PairPlan.objects.count(), Pair.objects.count()) == (1, 12)


# Giving out


def test_reviewer_gets_each_pair_once_and_sees_each_side_first_as_often(study):
    plan(study, each=2)
    person = reviewer(study)
    seen = []
    while (comparison := comparisons.next_comparison_for(person)) is not None:
        seen.append(comparison)
        Comparison.objects.filter(pk=comparison.pk).update(done_at=timezone.now())
        first = Counter(one.shown_first for one in seen)
        assert abs(first["a"] - first["b"]) <= 1
    assert len({comparison.pair_id for comparison in seen}) == len(seen) == 12


def test_second_reviewer_evens_out_the_sides_of_each_pair(study):
    plan(study, each=2)
    for person in (reviewer(study), reviewer(study)):
        for _ in range(12):
            judged(person)
    assert {tuple(sorted(pair.comparisons.values_list("shown_first", flat=True))) for pair in Pair.objects.all()} == {
        ("a", "b")
    }
    by_rater = Counter(Comparison.objects.values_list("rater", "shown_first"))
    assert set(by_rater.values()) == {6}


def test_pairs_with_the_fewest_verdicts_come_first_and_none_gets_too_many(study):
    plan(study, each=2)
    one, other = reviewer(study), reviewer(study)
    first = {judged(one).pair_id for _ in range(5)}
    second = {judged(other).pair_id for _ in range(7)}
    assert not first & second
    assert comparisons.waiting_for(reviewer(study), Rater(pk=0)).filter(given=0).count() == 0
    for person in (one, other, reviewer(study)):
        while comparisons.next_comparison_for(person) is not None:
            judged(person)
    assert {pair.comparisons.count() for pair in Pair.objects.all()} == {2}


def test_same_pair_is_at_hand_until_it_is_judged(study):
    plan(study)
    person = reviewer(study)
    assert comparisons.next_comparison_for(person) == comparisons.next_comparison_for(person)
    assert Comparison.objects.count() == 1


def test_pair_that_was_begun_and_left_goes_back_after_a_day(study):
    plan(study, count=3)
    left = comparisons.next_comparison_for(reviewer(study))
    other = reviewer(study)
    assert [judged(other).pair_id for _ in range(2)]
    assert comparisons.next_comparison_for(other) is None

    Comparison.objects.filter(pk=left.pk).update(given_at=timezone.now() - timedelta(hours=25))
    assert comparisons.next_comparison_for(other).pair == left.pair
    assert not Comparison.objects.filter(pk=left.pk).exists()


def test_pair_that_nobody_took_meanwhile_is_kept_for_another_day(study):
    plan(study, count=3)
    person = reviewer(study)
    begun = comparisons.next_comparison_for(person)
    Comparison.objects.filter(pk=begun.pk).update(given_at=timezone.now() - timedelta(hours=25))
    assert comparisons.next_comparison_for(person) == begun
    comparisons.take_back(study)
    assert comparisons.next_comparison_for(person) == begun


def test_artificial_reviewers_get_test_data_and_real_ones_get_real_data(study):
    held_with_all(study, is_test=True)
    plan(study)
    plan(study, name="tried", test_data=True)
    assert {judged(reviewer(study)).pair.plan.name for _ in range(3)} == {"first"}
    assert {judged(reviewer(study, is_test=True)).pair.plan.name for _ in range(3)} == {"tried"}


def test_pairs_of_a_closed_plan_or_another_language_are_not_given_out(study):
    made = plan(study)
    assert comparisons.next_comparison_for(reviewer(study, language="zh")) is None
    PairPlan.objects.filter(pk=made.pk).update(is_open=False)
    assert comparisons.next_comparison_for(reviewer(study)) is None


# The page


def test_verdict_is_kept_as_the_side_of_the_pair_wherever_it_stood(study):
    plan(study, count=12)
    person = at_the_page()
    for _ in range(6):
        sent = answers(person, "first", **{QUESTIONS[0]: "second", QUESTIONS[1]: "tie", f"why-{QUESTIONS[0]}": "Warm."})
        assert person.send(sent)["Location"] == "/study/"
        person.page()
    done = Comparison.objects.filter(done_at__isnull=False)
    assert Counter(done.values_list("shown_first", flat=True)) == {"a": 3, "b": 3}
    for comparison in done:
        said = dict(comparison.verdicts.values_list("question", "verdict"))
        assert said == {
            QUESTIONS[0]: comparison.second_side(),
            QUESTIONS[1]: "tie",
            **dict.fromkeys(QUESTIONS[2:], comparison.shown_first),
        }
        assert list(comparison.verdicts.exclude(reason="").values_list("question", "reason")) == [
            (QUESTIONS[0], "Warm.")
        ]


def test_first_conversation_of_the_page_is_the_side_that_is_shown_first(study):
    plan(study)
    person = at_the_page()
    for _ in range(4):
        comparison = Comparison.objects.get(done_at=None)
        for place, side in (("first", comparison.shown_first), ("second", comparison.second_side())):
            run, _turn = comparison.pair.side(side)
            run.conversation.turns.filter(number=1).update(reply=f"This is {place}.")
        page = html(person.page())
        assert page.index("This is first.") < page.index("This is second.")
        person.send(answers(person))
        person.page()


def test_page_betrays_no_arm_no_side_and_no_model_that_names_itself(study):
    plan(study)
    person = at_the_page()
    for run in study.runs.all():
        run.conversation.turns.filter(number=1).update(reply="I am ChatGPT, made by OpenAI. How are you?")
    page = html(person.page())
    hidden = [*ARMS, "ChatGPT", "OpenAI", *Conversation.objects.values_list("code", flat=True)]
    hidden += [
        *Pair.objects.values_list("code", flat=True),
        *Participation.objects.filter(track="participant").values_list("code", flat=True),
    ]
    said = re.sub(r"I say it to \w+\.", "", page)
    assert [word for word in hidden if word in said] == []
    assert re.findall(r'name="better_overall" value="(\w+)"', page) == ["first", "tie", "second"]
    assert page.count("How are you?") == 2


def test_reply_is_shown_with_what_came_before_it_and_nothing_after(study):
    made = plan(study, level="reply", count=24)
    made.pairs.exclude(turn_a=1).delete()
    page = html(at_the_page().page())
    assert (page.count("What happened then?"), page.count("That sounds like a lot.")) == (2, 0)
    assert page.count("the reply to compare") == 2


def test_head_of_the_page_counts_what_is_done_and_about_what_waits(study):
    plan(study, count=3)
    person = at_the_page()
    assert "1 of about 3 · about 19 minutes left" in html(person.page())
    person.send(answers(person))
    assert "2 of about 3 · about 13 minutes left" in html(person.page())


def test_others_who_are_at_work_take_their_share(study):
    plan(study, count=9, each=2)
    person, _other, _third = (reviewer(study) for _ in range(3))
    reviewer(study, status="completed")
    assert (comparisons.load_of(person).done, comparisons.load_of(person).left) == (0, 6)
    judged(person)
    assert (comparisons.load_of(person).done, comparisons.load_of(person).left) == (1, 6)


def test_incomplete_comparison_comes_again_and_nothing_is_stored(study):
    plan(study)
    person = at_the_page()
    sent = answers(person, **{f"why-{QUESTIONS[1]}": "It asked."})
    del sent[QUESTIONS[2]]
    page = person.be_refused(sent)
    assert f'href="#id_{QUESTIONS[2]}"' in html(page)
    assert "It asked." in html(page)
    assert (Verdict.objects.count(), Comparison.objects.get().done_at) == (0, None)


def test_answers_that_are_not_sent_are_there_again(study):
    plan(study)
    person = at_the_page()
    draft = {"step": "pairs", **answers(person, "tie", **{f"why-{QUESTIONS[0]}": "Both ask."})}
    assert person.client.post("/study/draft/", draft).status_code == 204
    page = html(person.page())
    assert page.count("checked") == len(QUESTIONS)
    assert "Both ask.</textarea>" in page
    person.send(answers(person))
    assert not Draft.objects.exists()


def test_form_of_a_pair_that_went_back_changes_nothing_and_shows_the_one_at_hand(study):
    plan(study)
    person = at_the_page()
    old = answers(person)
    Comparison.objects.all().delete()
    assert person.send(old).status_code == 302
    assert "no longer waiting for your comparison" in html(person.page())
    assert Verdict.objects.count() == 0
    assert person.send(answers(person)).status_code == 302
    assert Verdict.objects.count() == len(QUESTIONS)


def test_form_sent_twice_is_kept_once(study):
    plan(study)
    person = at_the_page()
    sent = answers(person)
    person.send(sent)
    person.send(sent | dict.fromkeys(QUESTIONS, "second"))
    assert Comparison.objects.filter(done_at__isnull=False).count() == 1
    assert Verdict.objects.count() == len(QUESTIONS)


def test_step_ends_where_nothing_is_left(study):
    plan(study, count=3)
    person = at_the_page()
    for _ in range(3):
        person.send(answers(person))
        person.page()
    assert person.step.kind == "debrief"
    person.row.refresh_from_db()
    assert person.row.status == "completed"


def test_page_speaks_chinese(study):
    Conversation.objects.update(language="zh")
    plan(study)
    page = html(at_the_page("zh").page())
    assert "总体上，哪一段的支持者更好？" in page
    assert re.search(r'<ol class="transcript"\s+lang="zh-Hans">', page)


# Commands, erasure


def run(*arguments: str) -> dict[str, Any]:
    stdout = StringIO()
    call_command(*arguments, "--json", verbosity=0, stdout=stdout)
    return json.loads(stdout.getvalue().splitlines()[-1])


NAMED = ("plan_pairs", "demo", "--name", "p", "--instrument", "pairwise_support", "--between", "arms")


def test_plan_pairs_makes_a_plan_and_says_who_meets_how_often(study):
    told = run(*NAMED, "--count", "7", "--each", "2", "--seed", "5")
    assert (told["study"], told["plan"], told["pairs"], sorted(told["contests"])) == (
        "demo",
        "p",
        7,
        ["amber>birch", "amber>cedar", "birch>cedar"],
    )
    made = PairPlan.objects.get()
    assert (made.verdicts_each, made.seed, made.is_open, made.pairs.count()) == (2, 5, True, 7)


def test_plan_pairs_refuses_with_exit_code_2(study):
    with pytest.raises(CommandError) as refused:
        run(*NAMED, "--include-tests")
    assert refused.value.returncode == 2
    assert not PairPlan.objects.exists()


def test_plan_pairs_refuses_a_name_that_is_taken_with_exit_code_2(study):
    plan(study, name="p")
    with pytest.raises(CommandError, match="There is already a plan “p”") as refused:
        run(*NAMED)
    assert (refused.value.returncode, PairPlan.objects.count()) == (2, 1)


def test_erasing_a_reviewer_or_a_seeker_takes_their_comparisons(study):
    made = plan(study, each=2)
    one, other = reviewer(study), reviewer(study)
    for person in (one, other):
        comparison = judged(person)
        Verdict.objects.create(comparison=comparison, question="q", verdict="a", reason="xyzzy")
    removed = erasure.erase_rows(one)
    assert (removed.rows["comparisons"], Verdict.objects.count()) == (1, 1)
    seeker = Comparison.objects.get(rater=rater_for(other)).pair.run_a.participation
    removed = erasure.erase_rows(seeker)
    assert (removed.rows["comparisons"], Verdict.objects.count(), made.pairs.count()) == (1, 0, 9)


@pytest.mark.parametrize("change", [{"status": "withdrawn"}, {"excluded": True}])
def test_who_leaves_after_the_draw_is_in_no_pair_that_is_given_out(study, change):
    made = plan(study, count=3)
    run = made.pairs.first().run_a
    Participation.objects.filter(pk=run.participation_id).update(**change)
    person = reviewer(study)
    seen = set()
    while (comparison := comparisons.next_comparison_for(person)) is not None:
        seen |= {comparison.pair.run_a_id, comparison.pair.run_b_id}
        judged(person)
    gone = set(run.participation.runs.values_list("pk", flat=True))
    assert seen & gone == set()


def test_pair_is_given_back_from_a_part_of_the_page_that_is_opened_first(study):
    plan(study, count=3)
    person = at_the_page()
    [folded] = re.findall(r'<details id="give-back".*?</details>', html(person.page()), re.DOTALL)
    assert 'name="decline"' in folded
    assert "open" not in folded.partition(">")[0]
    assert html(person.page()).count('name="decline"') == 1
