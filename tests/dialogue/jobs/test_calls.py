"""Asking models: a row for each attempt, nothing asked twice, no more spent than was allowed."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import Sum
from django.utils import timezone

from dialogue.jobs import calls, store
from dialogue.jobs.calls import BudgetReached, Caller, CallsStopped, GivenUp, Question
from dialogue.jobs.group_commit import GroupCommit, in_database
from dialogue.jobs.runner import Runner
from dialogue.models import Call, Conversation, Job, JobItem, Spending
from dialogue.providers.base import Message, ModelSettings, ProviderError, Reply
from tests.dialogue.jobs.work import job, question, run, states, wanted, when

pytestmark = pytest.mark.django_db(transaction=True)

Asked = Callable[[], Counter[str]]


@pytest.fixture(autouse=True)
def no_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts follow one another at once; a server's Retry-After is kept."""
    monkeypatch.setattr("dialogue.providers.retrying.FIRST_WAIT", 0.0)
    monkeypatch.setattr(calls, "LOOK_AGAIN", 0.02)


def ask(*questions: Question, at_once: int = 64) -> list[Any]:
    """All at the same time; what was raised in the place of its answer."""

    async def answers() -> list[Any]:
        caller = Caller(at_once=at_once)
        return await asyncio.gather(*(caller.ask(one) for one in questions), return_exceptions=True)

    return run(answers())


def plan(llm_url: str, model: str = "echo", **more: Any) -> dict[str, Any]:
    return {"url": llm_url, "model": model, **more}


def ledger(*fields: str) -> list[Any]:
    return list(Call.objects.order_by("pk").values_list(*fields, flat=len(fields) == 1))


# The ledger


def test_row_is_written_before_the_call_and_closed_after_it(llm_url: str) -> None:
    conversation = Conversation.objects.create()
    one = question("Hello", plan(llm_url, "slow"), conversation=conversation.pk, turn=3, provider="ACME")

    async def watched() -> tuple[list[Any], Reply]:
        asking = asyncio.create_task(Caller(at_once=1).ask(one))
        while not (rows := await in_database(ledger, "status", "response")):
            await asyncio.wait([asking], timeout=0.05)
        return rows, await asking

    before, reply = run(watched())
    assert before == [("started", "")]
    row = Call.objects.get()
    assert (row.status, row.response, row.conversation, row.turn, row.provider) == (
        "ok", reply.text, conversation, 3, "ACME",
    )  # fmt: skip
    assert (row.purpose, row.attempt, row.model_returned, row.key) == ("judge", 1, "slow", one.key())
    assert (row.request, row.input_tokens, row.output_tokens) == (
        [{"role": "user", "text": "Hello"}], reply.input_tokens, reply.output_tokens,
    )  # fmt: skip
    assert (row.cost, row.prices) == (None, "")  # our table has no price for it


def test_same_question_is_asked_once_whoever_asks(llm_url: str, asked: Asked) -> None:
    first, again = question("Same", plan(llm_url)), question("Same", plan(llm_url), turn=2, provider="other")
    (reply,) = ask(first)
    assert ask(again, again, first) == [reply] * 3
    assert asked() == {"Same": 1}
    assert ledger("status") == ["ok"]


def test_same_question_at_the_same_time_is_asked_once(llm_url: str, asked: Asked) -> None:
    replies = ask(*[question("At once", plan(llm_url))] * 10)
    assert len({reply.text for reply in replies}) == 1
    assert asked() == {"At once": 1}


def test_question_in_flight_in_another_process_is_waited_for(llm_url: str, asked: Asked) -> None:
    same = [wanted(f"item {n}", payload={"words": "One for all"}) for n in range(12)]
    job(*same, plan=plan(llm_url, "slow"))

    async def two() -> None:
        await asyncio.gather(*(Runner(at_once=4).run(until_done=True) for _ in range(2)))

    run(two())
    assert set(states().values()) == {"done"}
    assert asked() == {"One for all": 1}


def test_question_of_a_process_that_died_is_asked_again(llm_url: str, asked: Asked) -> None:
    planned = job("Orphan", plan=plan(llm_url))
    (held,) = store.claim("dead", limit=1)
    one = question("Orphan", plan(llm_url), item=held.pk, job=planned.job.pk)
    Call.objects.create(purpose="judge", key=one.key(), item=held, status="started")
    JobItem.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    run(Runner(at_once=1).run(until_done=True))
    assert ledger("status") == ["stopped", "ok"]
    assert (states(), asked()) == ({"Orphan": "done"}, {"Orphan": 1})


BASE = question("Words", {"url": "http://127.0.0.1:1/v1", "model": "m"})


@pytest.mark.parametrize(
    "changes",
    [
        {"messages": (Message("user", "Other words"),)},
        {"messages": (Message("system", "Words"),)},
        {"replicate": 2},
        {"settings": replace(BASE.settings, model="n")},
        {"settings": replace(BASE.settings, base_url="http://127.0.0.1:2/v1")},
        {"settings": replace(BASE.settings, temperature=0.5)},
        {"settings": replace(BASE.settings, max_tokens=9)},
        {"settings": replace(BASE.settings, extra={"seed": 4})},
    ],
    ids=str,
)
def test_other_question_has_another_key(changes: dict[str, Any]) -> None:
    assert replace(BASE, **changes).key() != BASE.key()


def test_who_asks_and_how_patiently_changes_no_key() -> None:
    patient = replace(BASE.settings, api_key_env="KEY", extra={"requests_per_minute": 9, "gap_timeout": 3})
    noted = {"redacted": {"email": 1}}
    assert replace(BASE, item=1, job=2, turn=3, purpose="reply", settings=patient, noted=noted).key() == BASE.key()


@pytest.mark.parametrize("status", ["truncated", "unparseable", "out_of_range"])
def test_answer_that_is_no_good_is_an_answer_all_the_same(status: str, llm_url: str, asked: Asked) -> None:
    async def twice() -> list[Reply]:
        return [await Caller(at_once=1).ask(question("Prose", plan(llm_url)), lambda _: status) for _ in range(2)]

    first, second = run(twice())
    assert (first.text, asked(), ledger("status")) == (second.text, {"Prose": 1}, [status])


def test_answer_of_the_ledger_tells_that_it_was_cut_though_it_could_not_be_read(llm_url: str) -> None:
    async def twice() -> list[Reply]:
        cut = question("Cut", plan(llm_url, "length"))
        return [await Caller(at_once=1).ask(cut, lambda _: "unparseable") for _ in range(2)]

    first, second = run(twice())
    assert ledger("status", "finish_reason") == [("unparseable", "length")]
    assert (first.finish_reason, second.finish_reason) == ("length", "length")
    assert Call(status="truncated").as_reply().finish_reason == "length"  # rows of before the column


def test_erased_conversation_leaves_no_row_and_harms_no_other(llm_url: str) -> None:
    here, erased = Conversation.objects.create(), Conversation.objects.create()
    gone = erased.pk
    erased.delete()
    questions = [question(f"About {pk}", plan(llm_url), conversation=pk) for pk in (here.pk, gone)]
    reply, error = ask(*questions)
    assert (type(reply), type(error).__name__) == (Reply, "IntegrityError")
    assert ledger("conversation") == [here.pk]


def test_conversation_erased_during_the_call_keeps_nothing_of_it(llm_url: str) -> None:
    conversation = Conversation.objects.create()

    async def erased_meanwhile() -> Reply:
        asking = asyncio.create_task(
            Caller(at_once=1).ask(question("Secret", plan(llm_url, "slow"), conversation=conversation.pk))
        )
        while not await in_database(Call.objects.exists):
            await asyncio.wait([asking], timeout=0.05)
        await in_database(conversation.delete)
        return await asking

    run(erased_meanwhile())
    assert not Call.objects.exists()


# Failures


@pytest.mark.parametrize(
    ("model", "statuses", "because"),
    [
        ("status-401", ["key_refused"], "permanent"),
        ("status-500", ["server_error"] * 8, "attempts"),
        ("status-429", ["rate_limited"] * 8, "attempts"),
        ("refusal", ["refused"], "permanent"),
        ("empty", ["empty"] * 3, "identical"),
        ("hangup", ["network"] * 8, "attempts"),
        ("flaky-2-status-500+status-401", ["server_error", "server_error", "key_refused"], "permanent"),
    ],
)
def test_failure_is_in_the_ledger_and_tells_why_it_was_given_up(
    model: str, statuses: list[str], because: str, llm_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dialogue.providers.limits.COOLDOWN", 0.01)
    (error,) = ask(question(f"Try {model}", plan(llm_url, model)))
    assert isinstance(error, GivenUp)
    assert (error.status, error.because) == (statuses[-1], because)
    assert ledger("status", "attempt") == [(status, n) for n, status in enumerate(statuses, 1)]


def test_call_that_fails_at_first_is_made_again(llm_url: str) -> None:
    (reply,) = ask(question("Twice", plan(llm_url, "flaky-2-status-503")))
    assert "You say: Twice" in reply.text
    assert ledger("status", "attempt") == [("server_error", 1), ("server_error", 2), ("ok", 3)]


def test_failure_is_no_answer_for_the_next(llm_url: str, asked: Asked) -> None:
    failing = question("Again", plan(llm_url, "flaky-1-status-401"))
    assert isinstance(ask(failing)[0], ProviderError)
    assert isinstance(ask(failing)[0], Reply)
    assert asked() == {"Again": 2}


def test_second_of_two_who_ask_the_same_asks_again_where_the_first_failed(llm_url: str) -> None:
    failing = question("Both", plan(llm_url, "flaky-1-status-401"))
    first, second = ask(failing, failing)
    assert (type(first), type(second)) == (GivenUp, Reply)


def test_call_that_is_cut_off_by_us_is_closed(llm_url: str) -> None:
    async def cut_off() -> None:
        asking = asyncio.create_task(Caller(at_once=1).ask(question("Stop", plan(llm_url, "stall"))))
        while not await in_database(Call.objects.exists):
            await asyncio.wait([asking], timeout=0.05)
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled()

    run(cut_off())
    assert ledger("status", "response") == [("stopped", "")]


def test_call_that_nobody_waits_for_any_more_when_it_is_opened_is_not_made(llm_url: str, asked: Asked) -> None:
    """Else its row stayed open, and whoever has the item by then would wait for an answer that never comes."""

    async def lost() -> None:
        commit = GroupCommit()
        caller = Caller(at_once=1, commit=commit)
        asking = asyncio.create_task(caller.ask(question("Lost", plan(llm_url))))
        while commit.waiting or not commit.task:  # noqa: ASYNC110 - until its row is being written
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        await when(Call.objects.filter(status="stopped").exists)
        assert await caller.ask(question("Lost", plan(llm_url)))

    run(lost())
    assert (asked(), ledger("status")) == ({"Lost": 1}, ["stopped", "ok"])


def test_nothing_further_is_asked_where_the_job_has_ended(llm_url: str, asked: Asked) -> None:
    async def ended() -> None:
        caller = Caller(at_once=1)
        caller.ended.add(7)
        with pytest.raises(CallsStopped):
            await caller.ask(question("No more", plan(llm_url), job=7))

    run(ended())
    assert (asked(), ledger("pk")) == ({}, [])


def test_job_that_ends_is_not_waited_for_until_the_next_attempt(llm_url: str, asked: Asked) -> None:
    async def ended() -> None:
        caller = Caller(at_once=1)
        asking = asyncio.create_task(caller.ask(question("Wait", plan(llm_url, "status-503-300"), job=7)))
        await when(Call.objects.filter(status="server_error").exists)
        caller.ended.add(7)
        with pytest.raises(CallsStopped):
            await asyncio.wait_for(asking, 20)

    run(ended())
    assert asked() == {"Wait": 1}


def test_stored_answer_waits_for_no_place_at_the_endpoint(llm_url: str) -> None:
    one = question("Stored", plan(llm_url))
    rare = replace(one, settings=replace(one.settings, extra={"requests_per_minute": 1}))
    (reply,) = ask(one)
    assert ask(*[rare] * 20) == [reply] * 20


def test_who_waits_for_a_place_is_told_of_a_long_pause(llm_url: str, asked: Asked) -> None:
    words = [f"Question {n}" for n in range(4)]
    errors = ask(*(question(one, plan(llm_url, "status-429-3600")) for one in words), at_once=1)
    assert {(type(error), error.status, error.because) for error in errors} == {(GivenUp, "rate_limited", "pause")}
    assert asked().total() == 1
    assert Counter(ledger("status")) == {"rate_limited": 1, "stopped": 3}


def test_each_replicate_has_a_seed_of_its_own_and_the_key_of_before() -> None:
    seeded = replace(BASE, settings=replace(BASE.settings, extra={"seed": 7, "top_k": 1}))
    third = replace(seeded, replicate=3)
    assert [dict(one.settings_to_send().extra) for one in (seeded, third)] == [
        {"seed": 7, "top_k": 1},
        {"seed": 9, "top_k": 1},
    ]
    assert replace(BASE, replicate=3).settings_to_send() == BASE.settings
    assert third.settings == seeded.settings


# Money. A question of one word costs 0.001 for what is read and 0.01 for each token that is written.


def spent(planned: store.PlannedJob) -> Decimal:
    planned.job.refresh_from_db()
    return planned.job.spent


def in_ledger() -> Decimal:
    return Call.objects.aggregate(sum=Sum("cost"))["sum"] or Decimal(0)


def asked_for(planned: store.PlannedJob, llm_url: str, count: int, **more: Any) -> list[Question]:
    """`count` questions, each for an item of the job that is worked on."""
    items = store.claim("worker", limit=count, job=planned.job.pk)
    return [
        question(one.subject, plan(llm_url, **{"max_tokens": 100, **more}), item=one.pk, job=planned.job.pk)
        for one in items
    ]


def names(count: int) -> list[str]:
    return [f"item{n}" for n in range(count)]


@pytest.mark.usefixtures("priced")
def test_cost_is_what_the_tokens_cost_and_the_rest_is_given_back(llm_url: str) -> None:
    planned = job("Hello", budget=Decimal(9))
    (reply,) = ask(*asked_for(planned, llm_url, 1))
    cost = Decimal(reply.input_tokens) / 1000 + Decimal(reply.output_tokens) / 100
    assert ledger("cost", "prices") == [(cost, "test")]
    assert spent(planned) == Spending.objects.get().amount == cost


@pytest.mark.usefixtures("priced")
@pytest.mark.parametrize(
    ("model", "is_paid"), [("status-500", False), ("status-401", False), ("break", True), ("streamerror", True)]
)
def test_failure_costs_what_was_set_aside_where_something_had_come(model: str, is_paid: bool, llm_url: str) -> None:
    planned = job("Hello", budget=Decimal(99))
    ask(*asked_for(planned, llm_url, 1, model=model))
    assert all((cost > 1) == is_paid for cost in ledger("cost"))  # 100 tokens written cost 1
    assert spent(planned) == in_ledger()


@pytest.mark.usefixtures("priced")
def test_budget_of_a_job_is_never_passed_and_used_up(llm_url: str) -> None:
    """Set aside is far more than a call costs in the end: those under way do not use up the budget for the others."""
    planned = job(*names(64), budget=Decimal("4.5"))
    answers = ask(*asked_for(planned, llm_url, 64))
    assert {type(one) for one in answers} == {Reply, BudgetReached}
    assert spent(planned) == in_ledger() <= planned.job.budget
    assert planned.job.budget - planned.job.spent < Decimal("1.1")  # not enough for one more
    assert len([one for one in answers if isinstance(one, Reply)]) == Call.objects.filter(status="ok").count() > 20


@pytest.mark.usefixtures("priced")
@pytest.mark.parametrize("limit", [{"max_tokens": 500}, {"extra": {"max_completion_tokens": 500}}])
def test_all_that_a_model_may_write_is_set_aside(limit: dict[str, Any], llm_url: str, asked: Asked) -> None:
    planned = job("Hello", budget=Decimal("4.9"))
    (stop,) = ask(*asked_for(planned, llm_url, 1, **{"max_tokens": None, **limit}))
    assert (type(stop), asked(), spent(planned)) == (BudgetReached, {}, 0)


@pytest.mark.parametrize("limit", [{"max_tokens": 500}, {"extra": {"max_completion_tokens": 500}}])
def test_answer_that_was_cut_off_is_asked_for_with_more_room(limit: dict[str, Any], llm_url: str) -> None:
    one = question("Longer", plan(llm_url, **limit))

    async def twice() -> None:
        asking = Caller(at_once=1).bind(one)
        await asking(one.messages, lambda _: "ok")
        await asking(one.messages, lambda _: "ok", longer=True)

    run(twice())
    limits = [row.get("max_completion_tokens") or row["max_tokens"] for row in ledger("parameters")]
    assert limits == [500, 1000]


@pytest.mark.usefixtures("priced")
def test_budget_of_a_day_holds_for_all_jobs_together(llm_url: str, settings: Any) -> None:
    settings.DAILY_BUDGET = Decimal("2.5")
    one, two = job(*names(16)), job(*(f"other{n}" for n in range(16)), budget=Decimal("1.5"))
    ask(*asked_for(one, llm_url, 16), *asked_for(two, llm_url, 16))
    assert spent(one) + spent(two) == in_ledger() == Spending.objects.get().amount <= Decimal("2.5")
    assert spent(two) <= Decimal("1.5")
    Spending.objects.update(day=timezone.now().date() - timedelta(days=1))
    store.release("worker")
    assert Reply in {type(answer) for answer in ask(*asked_for(one, llm_url, 1))}


@pytest.mark.usefixtures("priced")
def test_what_was_set_aside_goes_back_to_its_day(llm_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    yesterday = timezone.now().date() - timedelta(days=1)
    days = iter([yesterday, yesterday])
    monkeypatch.setattr(calls, "today", lambda: next(days, yesterday + timedelta(days=1)))
    ask(question("Midnight", plan(llm_url, max_tokens=100)))
    assert list(Spending.objects.values_list("day", "amount")) == [(yesterday, in_ledger())]


@pytest.mark.usefixtures("priced")
def test_answer_from_the_ledger_costs_nothing(llm_url: str) -> None:
    planned = job("Hello", budget=Decimal(9))
    (one,) = asked_for(planned, llm_url, 1)
    ask(one)
    before = spent(planned)
    ask(one)
    assert (spent(planned), in_ledger()) == (before, before)


def test_model_without_a_price_is_not_asked_where_there_is_a_budget(llm_url: str, asked: Asked) -> None:
    planned = job("Hello", budget=Decimal(9))
    (stop,) = ask(*asked_for(planned, llm_url, 1))
    assert (type(stop), asked()) == (BudgetReached, {})
    assert stop.reason.code == "no_price"


def test_script_costs_nothing() -> None:
    planned = job("Hello", budget=Decimal(0))
    scripted = Question("reply", (Message("user", "Hi"),), ModelSettings("scripted", "attuned"), job=planned.job.pk)
    assert isinstance(ask(scripted)[0], Reply)
    assert ledger("cost", "prices") == [(0, "free")]


@pytest.mark.usefixtures("priced")
def test_job_whose_budget_is_reached_ends_and_gives_back_its_items(llm_url: str) -> None:
    planned = job(*names(40), plan=plan(llm_url, max_tokens=100), budget=Decimal("2.5"))
    run(Runner(at_once=64, job=planned.job.pk).run(until_done=True))
    assert spent(planned) == in_ledger() <= Decimal("2.5")
    assert planned.job.state == Job.State.BUDGET
    assert Counter(states().values()).keys() == {"done", "waiting"}
    assert Counter(states().values())["done"] == Call.objects.filter(status="ok").count()
