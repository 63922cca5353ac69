"""Runners at work: how much at once, what stops them, what they leave behind."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from dialogue.jobs import runner as running
from dialogue.jobs import store
from dialogue.jobs.calls import open_attempts
from dialogue.jobs.group_commit import in_database
from dialogue.jobs.reasons import Reason
from dialogue.jobs.runner import Runner
from dialogue.models import Call, Conversation, Job, JobItem
from dialogue.providers.base import Message, Reply
from tests.dialogue.jobs.work import Handler, job, run, states, wanted, when

pytestmark = pytest.mark.django_db(transaction=True)

Asked = Callable[[], Counter[str]]


def work(*, at_once: int = 4, of: int | None = None) -> None:
    run(Runner(at_once=at_once, job=of).run(until_done=True))


def ended(planned: store.PlannedJob) -> tuple[str, str]:
    planned.job.refresh_from_db()
    if not (reason := planned.job.reason):
        return planned.job.state, ""
    told = [reason["values"][name] for name in Reason.VALUES[reason["code"]]]
    return planned.job.state, ": ".join(filter(None, [reason["code"], *told]))


async def until(runner: Runner, what: Callable[[], Any]) -> None:
    """Run until the rows say so; then stop in good order."""
    going = asyncio.create_task(runner.run(until_done=False))
    await when(what)
    runner.stopping.set()
    await going


# Working


def test_all_is_done_and_kept_once(llm_url: str, asked: Asked) -> None:
    names = [f"item {n}" for n in range(30)]
    planned = job(*names, plan={"url": llm_url, "model": "echo"})
    work()
    assert states() == dict.fromkeys(names, "done")
    assert Counter(Handler.kept) == Counter(JobItem.objects.values_list("pk", flat=True))
    assert asked() == dict.fromkeys(names, 1)
    assert "You say: item 7" in JobItem.objects.get(subject="item 7").result["answer"]
    assert ended(planned) == (Job.State.DONE, "")


class Counting:
    """A model that takes its time, and how often it was asked at once."""

    def __init__(self) -> None:
        self.under_way = self.most = 0

    async def reply(self, messages: Sequence[Message]) -> Reply:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0.02)
        self.under_way -= 1
        return Reply("Yes.", "m")


@pytest.mark.parametrize("at_once", [1, 5])
def test_no_more_calls_are_under_way_than_allowed(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Counting()
    monkeypatch.setattr("dialogue.jobs.calls.model_for", lambda *_args, **_kw: model)
    job(*(f"item {n}" for n in range(20)), plan={"url": f"http://127.0.0.1:{at_once}", "model": "m"})
    work(at_once=at_once)
    assert (model.most, len(Handler.kept)) == (at_once, 20)


def test_runner_works_on_its_own_job_alone() -> None:
    ours, other = job("a", attended=True), job("b")
    work(of=ours.job.pk)
    assert states() == {"a": "done", "b": "waiting"}
    work()
    assert (states(), ended(other)) == ({"a": "done", "b": "done"}, (Job.State.DONE, ""))


def test_item_comes_after_the_one_that_it_needs() -> None:
    job(wanted("judge", needs=wanted("think").place), wanted("think", payload={"seconds": 0.1}))
    work()
    assert Handler.kept == [JobItem.objects.get(subject=name).pk for name in ("think", "judge")]


def test_several_runners_share_a_job() -> None:
    job(*(wanted(f"item {n}", payload={"seconds": 0.02}) for n in range(40)))

    async def three() -> None:
        await asyncio.gather(*(Runner(at_once=3).run(until_done=True) for _ in range(3)))

    run(three())
    assert Counter(Handler.kept) == Counter(JobItem.objects.values_list("pk", flat=True))


def test_what_a_dead_runner_held_is_taken_up() -> None:
    job("a", "b")
    store.claim("dead", limit=1)
    JobItem.objects.update(lease_until=timezone.now() + timedelta(seconds=1))
    work()
    assert states() == {"a": "done", "b": "done"}


def test_job_without_a_command_is_done_by_a_runner_that_waits() -> None:
    planned = job("a")
    run(until(Runner(at_once=1), lambda: ended(planned)[0] == Job.State.DONE))
    assert states() == {"a": "done"}


# Items that go wrong


def test_item_about_somebody_who_withdrew_is_dropped() -> None:
    job("a", wanted("b", payload={"withdrawn": True}))
    work()
    assert states() == {"a": "done"}


def test_item_whose_conversation_is_erased_meanwhile_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    conversation = Conversation.objects.create()
    item = wanted("a", conversation=conversation.pk, payload={"seconds": 1.0, "raises": "no such conversation"})
    planned = job(item, "b")

    async def erased() -> None:
        going = asyncio.create_task(Runner(at_once=4).run(until_done=True))
        await when(JobItem.objects.filter(subject="b", state="done").exists)
        await in_database(conversation.delete)
        await going

    run(erased())
    assert (states(), ended(planned), caplog.text) == ({"b": "done"}, (Job.State.DONE, ""), "")


@pytest.mark.parametrize("what", ["raises", "unreadable", "unkeepable"])
def test_item_that_breaks_does_not_take_others_with_it(what: str) -> None:
    job("a", wanted("b", payload={what: "a mistake of ours"}), "c")
    work()
    assert states() == {"a": "done", "b": "failed", "c": "done"}
    item = JobItem.objects.get(subject="b")
    assert item.failure == "broken"
    assert "ValueError" in item.detail


def test_answer_of_which_nothing_can_be_kept_is_in_the_ledger_all_the_same(llm_url: str, asked: Asked) -> None:
    plan = {"url": llm_url, "model": "echo"}
    job(wanted("a", payload={"unkeepable": "a mistake of ours"}), "b", plan=plan)
    work()
    assert states() == {"a": "failed", "b": "done"}
    assert list(Call.objects.values_list("status", flat=True)) == ["ok", "ok"]
    JobItem.objects.update(payload={"words": "a"})
    job("a", plan=plan)
    work()
    assert (states(), asked()) == ({"a": "done", "b": "done"}, {"a": 1, "b": 1})


def test_item_that_fails_the_same_way_in_three_commands_is_quarantined(
    llm_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dialogue.providers.retrying.FIRST_WAIT", 0.0)
    told = []
    for _ in range(3):
        planned = job("a", plan={"url": llm_url, "model": "status-500"})
        work()
        told.append(states()["a"])
    assert (told, ended(planned)) == (["failed", "failed", "quarantined"], (Job.State.DONE, ""))
    assert JobItem.objects.get().failure == "server_error"


def test_server_that_is_down_stops_the_job_and_is_no_fault_of_the_items(
    llm_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dialogue.providers.retrying.FIRST_WAIT", 0.0)
    names = [f"item {n}" for n in range(6)]
    for _ in range(4):
        planned = job(*names, plan={"url": "http://127.0.0.1:9/v1", "model": "echo"})
        work(at_once=2)
        assert ended(planned)[0] == Job.State.STOPPED
        assert ended(planned)[1].startswith("failures: network: ")
        assert set(states().values()) == {"failed", "waiting"}
    job(*names, plan={"url": llm_url, "model": "echo"})
    work()
    assert states() == dict.fromkeys(names, "done")


def test_three_permanent_failures_in_a_row_stop_the_job(llm_url: str, asked: Asked) -> None:
    planned = job(*(f"item {n}" for n in range(30)), plan={"url": llm_url, "model": "status-401"})
    work(at_once=2)
    told = Counter(states().values())
    assert 3 <= told["failed"] < 30  # what was begun before the stop was stored ended as well
    assert told["waiting"] == 30 - told["failed"]
    assert ended(planned) == (Job.State.STOPPED, "failures: key_refused: HTTP 401.")
    assert asked().total() == told["failed"]


def test_server_that_words_each_failure_anew_stops_the_job(llm_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialogue.providers.retrying.FIRST_WAIT", 0.0)
    planned = job(*(f"item {n}" for n in range(30)), plan={"url": llm_url, "model": "numbered-500"})
    work(at_once=1)
    assert Counter(states().values()) == {"failed": 3, "waiting": 27}
    assert ended(planned)[0] == Job.State.STOPPED
    assert set(JobItem.objects.filter(state="failed").values_list("failed_times", flat=True)) == {0}


def test_success_between_failures_lets_the_job_go_on() -> None:
    bad = [wanted(f"bad {n}", payload={"raises": "always the same"}) for n in range(6)]
    items = [one for pair in zip(bad, (f"good {n}" for n in range(6)), strict=True) for one in pair]
    planned = job(*items)
    work(at_once=1)
    assert (Counter(states().values()), ended(planned)) == ({"failed": 6, "done": 6}, (Job.State.DONE, ""))


def test_server_that_took_others_is_asked_more_often_before_the_job_stops(llm_url: str, asked: Asked) -> None:
    names = [f"item {n}" for n in range(30)]
    planned = job("short", *(f"{name} and what came of it" for name in names), plan={"url": llm_url, "model": "odd-10"})
    work(at_once=1)
    told = Counter(states().values())
    assert running.BROKEN_LATER <= told["failed"] < 30  # what was under way or had been taken ended as well
    assert (told["done"], told["waiting"]) == (1, 30 - told["failed"])
    assert ended(planned) == (Job.State.STOPPED, "failures: client_error: Bad request.")


def test_item_that_is_too_long_is_set_aside_and_stops_nothing(llm_url: str, asked: Asked) -> None:
    long = [f"item {n} and what came of it" for n in range(6)]
    plan = {"url": llm_url, "model": "context-10"}
    planned = job(*long, "short", plan=plan)
    work(at_once=1)
    assert states() == dict.fromkeys(long, "quarantined") | {"short": "done"}
    assert ended(planned) == (Job.State.DONE, "")
    again = job(*long, "short", plan=plan)
    assert (again.items, again.quarantined) == (0, 6)
    assert asked() == dict.fromkeys([*long, "short"], 1)


def test_what_was_never_tried_comes_before_what_was() -> None:
    job("a", "b", "c", "d")
    tried = store.claim("one", limit=2)
    store.release("one")
    assert [item.subject for item in tried] == ["a", "b"]
    assert [item.subject for item in store.claim("two", limit=3)] == ["c", "d", "a"]


def test_refusals_stop_nothing(llm_url: str) -> None:
    planned = job(*(f"item {n}" for n in range(6)), plan={"url": llm_url, "model": "refusal"})
    work(at_once=1)
    assert (Counter(states().values()), ended(planned)) == ({"failed": 6}, (Job.State.DONE, ""))


def test_job_without_its_key_is_left_to_others(caplog: pytest.LogCaptureFixture) -> None:
    planned = job("a", plan={"api_key_env": "A_KEY_OF_ANOTHER_MACHINE"})
    job("b")
    work()
    assert states() == {"a": "waiting", "b": "done"}
    assert ended(planned) == (Job.State.OPEN, "")
    assert caplog.messages == [f"job {planned.job.pk} is left to others: The environment variable "
                               "A_KEY_OF_ANOTHER_MACHINE is not set."]  # fmt: skip


def test_job_of_an_unknown_kind_is_left_to_others() -> None:
    planned = job("a")
    Job.objects.update(kind="from a newer version")
    job("b")
    work()
    assert (states(), ended(planned)) == ({"a": "waiting", "b": "done"}, (Job.State.OPEN, ""))


# Stopping


def test_runner_told_to_stop_lets_calls_under_way_end_and_gives_back_the_rest(
    llm_url: str, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "GRACE", 60.0)
    planned = job(*(f"item {n}" for n in range(40)), plan={"url": llm_url, "model": "slow"})
    run(until(Runner(at_once=4), Call.objects.exists))
    told = Counter(states().values())
    assert told.keys() == {"done", "waiting"}
    assert not JobItem.objects.exclude(owner="").exists()
    assert asked().total() == told["done"] == Call.objects.filter(status="ok").count() >= 4
    assert set(Call.objects.exclude(status="ok").values_list("status", flat=True)) <= {"stopped"}
    assert ended(planned) == (Job.State.OPEN, "")


def test_runner_does_not_wait_for_ever_for_calls_under_way(llm_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "GRACE", 0.1)
    job("a", plan={"url": llm_url, "model": "stall"})
    run(until(Runner(at_once=1), Call.objects.exists))
    assert (states(), Call.objects.get().status) == ({"a": "waiting"}, "stopped")


def test_runner_that_leaves_while_a_call_is_opened_closes_it(
    llm_url: str, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "GRACE", 0.0)
    is_written = threading.Event()

    def slowly(attempts: Any) -> Any:
        opened = open_attempts(attempts)
        is_written.set()
        time.sleep(0.3)
        return opened

    monkeypatch.setattr("dialogue.jobs.calls.open_attempts", slowly)
    job("a", plan={"url": llm_url, "model": "echo"})

    async def leave() -> None:
        runner = Runner(at_once=1)
        going = asyncio.create_task(runner.run(until_done=False))
        assert await asyncio.to_thread(is_written.wait, 20)
        runner.stopping.set()
        await going

    run(leave())
    assert (list(Call.objects.values_list("status", flat=True)), asked(), states()) == (
        ["stopped"],
        {},
        {"a": "waiting"},
    )


def test_runner_asks_nothing_further_for_a_job_that_was_stopped(
    llm_url: str, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "HEARTBEAT", 0.05)
    planned = job(*(f"item {n}" for n in range(40)), plan={"url": llm_url, "model": "slow"})

    async def stopped() -> None:
        going = asyncio.create_task(Runner(at_once=2, job=planned.job.pk).run(until_done=True))
        await when(Call.objects.exists)
        await in_database(store.end, planned.job.pk, Job.State.STOPPED, Reason.of("signal"))
        await going

    run(stopped())
    told = Counter(states().values())
    assert told.keys() == {"done", "waiting"}
    assert asked().total() == told["done"]


# Leases and the database


def test_runner_that_lost_its_lease_stops_and_stores_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "HEARTBEAT", 0.05)
    job(wanted("a", payload={"seconds": 60}))

    async def lost() -> None:
        runner = Runner(at_once=1)
        going = asyncio.create_task(runner.run(until_done=False))
        await when(JobItem.objects.filter(state="working").exists)
        await in_database(JobItem.objects.update, owner="quick")
        async with asyncio.timeout(20):
            while runner.at_work:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        runner.stopping.set()
        await going

    run(lost())
    assert (Handler.kept, JobItem.objects.get().owner) == ([], "quick")


def test_result_of_a_lost_lease_is_not_kept() -> None:
    job(wanted("a", payload={"seconds": 0.3}))

    async def lost() -> None:
        runner = Runner(at_once=1)
        going = asyncio.create_task(runner.run(until_done=False))
        await when(JobItem.objects.filter(state="working").exists)
        await in_database(JobItem.objects.update, owner="quick")
        await asyncio.wait(runner.at_work.values())
        runner.stopping.set()
        await going

    run(lost())
    assert (Handler.kept, JobItem.objects.get().owner) == ([], "quick")


def test_item_lost_before_it_is_read_is_left_to_its_new_owner() -> None:
    job("a", "b")
    runner = Runner(at_once=2)
    claimed = store.claim(runner.owner, limit=2)
    JobItem.objects.filter(subject="a").update(owner="quick")
    assert [item.subject for item, _ in runner.read(claimed)] == ["b"]
    assert states() == {"a": "working", "b": "working"}
    assert JobItem.objects.get(subject="a").owner == "quick"


def test_item_that_could_not_be_settled_is_taken_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the database stayed away too long, nobody holds the item; its lease is not renewed for ever."""
    monkeypatch.setattr(running, "HEARTBEAT", 0.05)
    monkeypatch.setattr(store, "LEASE", timedelta(seconds=0.5))
    job("a")
    keep, away = Handler.store_outcomes, iter([True])

    def first_away(self: Handler, outcomes: Any) -> Any:
        if next(away, False):
            raise OperationalError("gone for long")
        return keep(self, outcomes)

    monkeypatch.setattr(Handler, "store_outcomes", first_away)
    monkeypatch.setattr("dialogue.jobs.group_commit.TRIES", 1)
    work()
    assert (states(), JobItem.objects.get().attempts) == ({"a": "done"}, 2)


def test_waiting_runner_outlives_a_database_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialogue.jobs.group_commit.TRIES", 1)
    monkeypatch.setattr(running, "IDLE", 0.05)
    planned = job("a")
    claim, away = store.claim, iter([True, True])

    def sometimes(*args: Any, **kwargs: Any) -> Any:
        if next(away, False):
            raise OperationalError("the server closed the connection")
        return claim(*args, **kwargs)

    monkeypatch.setattr(store, "claim", sometimes)
    run(until(Runner(at_once=1), lambda: ended(planned)[0] == Job.State.DONE))
    assert states() == {"a": "done"}
