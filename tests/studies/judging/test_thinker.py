"""A Thinker whose thought could not be read is asked anew the next time, and for that thought alone."""

from collections import Counter
from typing import Any

import pytest

from dialogue.models import Call, InnerState, JobItem
from dialogue.prompts import DEFAULTS
from studies.models import Response
from tests.studies.judging.test_judging import Asked, judge, judge_at, person, study, talk

# Transactions are real: the judge works in another thread, with a connection of its own.
pytestmark = pytest.mark.django_db(transaction=True)


def held(server: str, model: str, turns: int = 3) -> None:
    here = study(judge_at(server, model))
    talk(here, person(here), turns=turns)


def think(*arguments: str) -> dict[str, Any]:
    return judge(*arguments, strategy="state_aware")[0]


def asked_of(since: Asked) -> Counter[int]:
    """How often the server was asked for the thought after each turn, repairs left out."""
    prompts = [body["messages"][-1]["content"] for body in since.bodies() if body["temperature"] == 0.1]
    return Counter(prompt.count("] Seeker: ") for prompt in prompts if "<dialogue>" in prompt)


def thinker() -> JobItem:
    return JobItem.objects.get(role="thinker")


def test_thought_is_asked_anew_and_what_could_be_read_is_not(server: str) -> None:
    """The server answers each message badly when it comes first, so each run gets one thought further."""
    held(server, "flaky-1-badjudge")
    since, asked = Asked(server), []
    for _ in range(4):
        told = think()
        asked.append(asked_of(since))
        since = Asked(server)
    # a turn is asked and asked again with a reminder, both in vain; the next time it is asked once
    assert asked == [{1: 2}, {1: 1, 2: 2}, {2: 1, 3: 2}, {3: 1}]
    assert (told["done"], thinker().state) == (1, "done")
    assert list(InnerState.objects.values_list("turn", flat=True)) == [1, 2, 3]
    readable = Call.objects.filter(purpose="thinker", status="ok").order_by("turn")
    assert list(readable.values_list("turn", "replicate")) == [(1, 2), (2, 2), (3, 2)]
    assert Response.objects.filter(rater__kind="judge").count() == 1


def test_thought_that_is_never_readable_ends_in_quarantine(server: str) -> None:
    held(server, "badjudge", turns=1)
    states, asked = [], []
    for _ in range(4):
        since = Asked(server)
        think()
        states.append(thinker().state)
        asked.append(len(since.bodies()))
    assert states == ["failed", "failed", "quarantined", "quarantined"]
    assert asked == [3, 3, 3, 0]


def test_quarantined_thought_is_asked_anew_where_that_is_wanted(server: str) -> None:
    held(server, "flaky-3-badjudge", turns=1)
    for _ in range(3):
        think()
    assert thinker().state == "quarantined"
    assert think("--retry-quarantined")["done"] == 1
    assert Call.objects.get(purpose="thinker", status="ok").replicate == 4


def test_worker_that_died_before_the_last_answer_is_followed_and_not_repeated(server: str) -> None:
    held(server, "badjudge", turns=1)
    think()
    [again] = [call for call in Call.objects.all() if DEFAULTS.get("reminder", "en").text in call.request[-1]["text"]]
    again.delete()  # as if it had not been asked yet
    since = Asked(server)
    think()
    assert asked_of(since) == {1: 1}
    assert set(Call.objects.values_list("replicate", flat=True)) == {1}
