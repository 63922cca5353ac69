"""What a run will take, said before it is begun: near to what it then takes, and nothing is asked or stored for it."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from django.core.management import call_command

from dialogue.jobs.estimate import Estimate, Load, cost_of, filler_text, scale_loads
from dialogue.models import Call, Conversation, Job, Supporter, Turn
from dialogue.providers.base import Message, ModelSettings
from dialogue.providers.prices import Entry, Price, Prices, estimate_tokens
from studies.design.spec import ArmSpec
from studies.models import ArmRun, Rater, Response, SeekerProfile, Study
from studies.simulation import estimate_words
from studies.simulation.benchmark import Estimating, Wish
from tests import factories
from tests.studies.simulation.test_simulate import profiles

NOWHERE = "http://127.0.0.1:9/v1"  # no one listens
STORED = (ArmRun, Call, Conversation, Job, Rater, Response, SeekerProfile, Supporter, Turn)


def wish(path: Path, **changes: object) -> Wish:
    return replace(Wish(conditions=["average"], arms=["delta"], profiles=path, max_turns=4), **changes)


def estimated(wish: Wish, study: Study | None = None) -> Estimate:
    run, _fitting = wish.of(study or factories.study())
    return Estimating(run).run()


def in_ledger(*purposes: str) -> tuple[int, int]:
    calls = Call.objects.filter(purpose__in=purposes)
    asked = [[Message(each["role"], each["text"]) for each in call.request] for call in calls]
    return len(asked), sum(map(estimate_tokens, asked))


@pytest.mark.django_db(transaction=True)
def test_estimate_is_near_to_what_a_run_takes(tmp_path):
    path = profiles(tmp_path, "en01", "zh01")
    factories.study()
    held = ("--profiles", str(path), "--arms", "delta", "--max-turns", "4")
    call_command("simulate", "demo", "--seeker", "average", *held, verbosity=0)
    calls, tokens = in_ledger("seeker", "thinker", "reply", "judge")

    estimate = estimated(wish(path, replicates=2))  # one more of each

    assert (estimate.conversations, estimate.held_before, estimate.turns[0].number) == (2, 2, 4)
    assert estimate.calls == calls
    assert estimate.input_tokens == pytest.approx(tokens, rel=0.05)


@pytest.mark.django_db(transaction=True)
def test_judges_of_conversations_to_come_are_counted_as_they_will_be(tmp_path):
    path = profiles(tmp_path, "en01")
    asked = wish(path, conditions=["average", "worst_case"], judges=["demo"], strategies=["user_aware", "state_aware"])

    estimate = estimated(asked)

    assert estimate.judgements == 2 * (1 + 2)  # worst-case conversations have a second questionnaire
    by_purpose = {purpose: sum(load.calls for load in estimate.loads if load.purpose == purpose) for purpose in
                  {load.purpose for load in estimate.loads}}  # fmt: skip
    assert by_purpose == {"seeker": 8, "reply": 8, "thinker": 8, "judge": 3 + 6}  # 3: the seekers' own ratings


@pytest.mark.django_db(transaction=True)
def test_estimate_stores_nothing(tmp_path):
    run, _fitting = wish(profiles(tmp_path, "en01"), judges=["demo"], review=True).of(factories.study())
    before = [model.objects.count() for model in STORED]
    assert Estimating(run).run().calls
    assert [model.objects.count() for model in STORED] == before


@pytest.mark.django_db(transaction=True)
def test_reviews_are_counted_of_what_was_held_and_of_what_is_to_come(tmp_path):
    study = factories.study()
    held = ("--profiles", str(profiles(tmp_path, "en01")), "--arms", "delta", "--max-turns", "4")
    call_command("simulate", "demo", "--seeker", "average", *held, verbosity=0)
    run, _fitting = wish(profiles(tmp_path, "en01", "en02"), review=True).of(study)

    estimate = Estimating(run).run()

    assert (estimate.conversations, estimate.held_before) == (1, 1)
    assert sum(load.calls for load in estimate.loads if load.purpose == "reviewer") == 2


@pytest.mark.django_db(transaction=True)
def test_a_trial_of_fewer_turns_says_nothing_of_more(tmp_path):
    study, path = factories.study(), profiles(tmp_path, "en01")
    held = ("--profiles", str(path), "--arms", "delta", "--max-turns", "1")
    call_command("simulate", "demo", "--seeker", "average", *held, verbosity=0)
    run, _fitting = wish(path).of(study)
    [turns] = Estimating(run).run().turns
    assert (turns.number, turns.count) == (4, 0)


@pytest.mark.django_db(transaction=True)
def test_each_arm_is_counted_at_its_own_model(tmp_path):
    remote = [ArmSpec("openai_compatible", key, NOWHERE, key=key, title={"en": key}) for key in ("dear", "cheap")]
    study = factories.study(arms=tuple(remote))
    run, _fitting = wish(profiles(tmp_path, "en01", "en02"), arms=[]).of(study)

    replies = [load for load in Estimating(run).run().loads if load.purpose == "reply"]

    calls = {key: sum(load.calls for load in replies if load.settings.model == key) for key in ("dear", "cheap")}
    assert calls == {"dear": 8, "cheap": 8}


def priced(amount: str) -> Prices:
    price = Price(Decimal(amount), Decimal(0), Decimal(2 * int(amount)), "v1", "EUR")
    return Prices("v1", "EUR", (Entry("known", "", date(2026, 1, 1), price),))


def load(model: str, kind: str = "openai_compatible") -> Load:
    return Load("reply", ModelSettings(kind, model), 10, 1_000_000, 500_000)


def test_cost_is_tokens_times_price():
    """3 a million read, 6 a million written: 1 × 3 + 0.5 × 6."""
    assert cost_of([load("known")], priced("3"), date(2026, 2, 1)).amount == 6


def test_cost_without_a_price_is_not_0_but_unknown():
    cost = cost_of([load("known"), load("other"), load("other")], priced("3"), date(2026, 2, 1))
    assert (cost.amount, cost.unpriced) == (6, ("other",))


def test_scripts_cost_nothing():
    assert cost_of([load("attuned", "scripted")], priced("3"), date(2026, 2, 1)).unpriced == ()


def test_samples_are_scaled_to_all_items():
    [whole] = scale_loads([[load("known")], [load("known"), load("known")]], 20)
    assert (whole.calls, whole.input_tokens) == (300, 30_000_000)


@pytest.mark.parametrize(("language", "characters"), [("en", 400), ("zh-hans", 150)])
def test_filling_has_the_tokens_that_it_stands_for(language, characters):
    """Without those around a message: dialogue.providers.prices.TOKENS_AROUND_A_MESSAGE."""
    assert estimate_tokens([Message("user", filler_text(characters, language))]) - 4 == 100


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ({"judgements": 26}, "26 judgements"),
        ({"conversations": 1, "held_before": 2}, "1 conversation (2 more have been held)"),
        ({"held_before": 2, "judgements": 1}, "2 conversations have been held before, 1 judgement"),
        ({"conversations": 3, "judgements": 6}, "3 conversations, 6 judgements"),
        ({"profiles": 4}, "4 profiles"),
        ({}, "Nothing is left to ask."),
    ],
)
def test_what_there_is_none_of_is_not_told(numbers, told):
    assert estimate_words.describe_number(Estimate(**numbers)) == told
