"""Items that are asked in batches: who holds them, what is asked, and what it costs."""

import re
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from dialogue.jobs import batch_store, batcher, store
from dialogue.jobs.calls import open_attempts
from dialogue.jobs.runner import Runner
from dialogue.models import Batch, Call, Job, JobItem, Spending
from dialogue.providers.base import ProviderError, Reply
from dialogue.providers.batches import NotRun, Standing
from dialogue.providers.prices import load_prices
from dialogue.providers.retrying import Retries
from tests.dialogue.jobs import work
from tests.dialogue.jobs.work import STATES, job, question, run, states, wanted

pytestmark = pytest.mark.django_db(transaction=True)


class Handler(work.Handler):
    def questions(self, item: JobItem, material: str) -> list[Any]:
        more = item.payload.get("more", [])
        return [question(words, self.job.plan, item=item.pk, job=self.job.pk) for words in (material, *more)]


@pytest.fixture(autouse=True)
def batched(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.JOB_HANDLERS = {"test": "tests.dialogue.jobs.test_batches.Handler"}
    for name in ("TICK", "SHORTEST", "LONGEST"):
        monkeypatch.setattr(batcher, name, 0.05)


@pytest.fixture
def prices(tmp_path: Path, settings: Any) -> None:
    """A token that is written costs 1, in a batch 0.5."""
    settings.PRICES = str(tmp_path / "prices.toml")
    table = "input = 0\noutput = 1000000\nbatch_input = 0\nbatch_output = 500000\n"
    head = 'version = "t"\ncurrency = "USD"\n[[models]]\nmodel = "*"\nsince = 2026-01-01\n'
    Path(settings.PRICES).write_text(head + table)


def batch_job(*items: Any, url: str = "", model: str = "m", **options: Any) -> Job:
    plan = {"model": model, "url": url, "max_tokens": 10}
    return job(*items, plan=plan, batched_role="test", **options).job


def gathered(of: Job, limit: int = 200) -> tuple[Batch, batch_store.Addition]:
    batch = batch_store.prepare(of.pk, "me")
    told = batch_store.fill_batch(batch, Handler(of), load_prices(batcher.settings.PRICES), limit=limit)
    batch.refresh_from_db()
    return batch, told


def names(lines: Sequence[bytes]) -> list[str]:
    return [str(line).split('"')[3] for line in lines]


def close(batch: Batch, *results: tuple[str, Any]) -> None:
    batch_store.close(batch, results, load_prices(batcher.settings.PRICES))


def answer(tokens: int = 2) -> Reply:
    return Reply("Yes.", "m", total_ms=None, input_tokens=1, output_tokens=tokens)


# Who holds what


def test_items_for_a_batch_are_not_claimed_before_they_were_in_one() -> None:
    batch_job("a", wanted("thinker", role="other"))
    assert [item.subject for item in store.claim("live", limit=9)] == ["thinker"]


def test_items_are_handed_over_once_all_that_is_asked_live_before_is_done() -> None:
    first = wanted("first", role="other")
    of = batch_job(first, wanted("a", needs=first.place), "b")
    assert batch_store.jobs_to_batch(None) == []
    JobItem.objects.filter(subject="first").update(state=STATES.DONE)
    assert batch_store.jobs_to_batch(None) == [of.pk]


def test_attended_job_is_left_to_its_command() -> None:
    of = batch_job("a", attended=True)
    assert batch_store.jobs_to_batch(None) == []
    assert batch_store.jobs_to_batch(of.pk) == [of.pk]
    batch = batch_store.prepare(of.pk, "me")
    assert batch_store.get_batches_under_way(None) == []
    assert batch_store.get_batches_under_way(of.pk) == [batch]


def test_batch_holds_its_items_until_it_ends() -> None:
    of = batch_job("a", "b")
    batch, told = gathered(of)
    assert (batch.size, told.items, len(told.lines)) == (2, 2, 2)
    assert store.claim("live", limit=9) == []
    assert store.is_something_left(of.pk)
    close(batch, *[(name, answer()) for name in names(told.lines)])
    assert batch_store.end_batch(batch, "completed")
    assert not batch_store.end_batch(batch, "completed")
    assert len(store.claim("live", limit=9)) == 2


def test_batch_goes_with_its_items_to_the_job_that_takes_them_over() -> None:
    batch, _ = gathered(batch_job("a"))
    second = batch_job("a", attended=True)
    assert batch_store.get_batches_under_way(second.pk) == [batch]
    assert batch_store.get_batches_under_way(None) == []


def test_item_of_a_dead_worker_is_taken_into_a_batch() -> None:
    job("a", plan={"model": "m", "url": ""})
    store.claim("dead", limit=1)
    JobItem.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
    _, told = gathered(batch_job("a"))
    assert len(told.lines) == 1


def test_who_has_withdrawn_is_not_handed_over() -> None:
    _, told = gathered(batch_job(wanted("a", payload={"withdrawn": True}), "b"))
    assert len(told.lines) == 1
    assert states() == {"b": "working"}


# What is asked


def test_row_is_open_before_anything_is_sent() -> None:
    batch, told = gathered(batch_job("a"))
    call = Call.objects.get()
    assert (call.status, call.batch, call.item, f"call-{call.pk}") == (
        "started", batch, JobItem.objects.get(), *names(told.lines)
    )  # fmt: skip


def test_same_words_are_asked_once_within_a_batch() -> None:
    same = [wanted(f"item {n}", payload={"words": "same"}) for n in range(3)]
    batch, told = gathered(batch_job(*same))
    assert (len(told.lines), batch.size, told.put_back) == (1, 3, [])


def test_same_words_wait_for_the_batch_that_asks_them() -> None:
    of = batch_job(wanted("item 1", payload={"words": "same"}), wanted("item 2", payload={"words": "same"}))
    first, told = gathered(of, limit=1)
    second, more = gathered(of)
    assert (more.lines, more.put_back, second.size) == ([], [JobItem.objects.get(subject="item 2").pk], 0)
    assert states() == {"item 1": "working", "item 2": "waiting"}
    close(first, (*names(told.lines), answer()))
    batch_store.end_batch(first, "completed")
    _, after = gathered(of)
    assert (after.lines, after.put_back) == ([], [])
    assert sorted(item.subject for item in store.claim("live", limit=9)) == ["item 1", "item 2"]


def test_live_call_waits_for_a_batch_that_asks_the_same() -> None:
    gathered(batch_job(wanted("a", payload={"words": "same"})))
    live = job(wanted("b", payload={"words": "same"}), plan={"model": "m", "url": "", "max_tokens": 10}).job
    [item] = store.claim("live", limit=1, job=live.pk)
    caller = Runner(at_once=1).caller
    asked = question("same", live.plan, item=item.pk, job=live.pk)
    [found] = open_attempts([caller.attempt(asked, asked.key(), 1)])
    assert found.name == "SAME_QUESTION"


def test_item_with_several_questions_is_held_for_all() -> None:
    of = batch_job(wanted("a", payload={"more": ["b", "c"]}))
    batch, told = gathered(of)
    assert (batch.size, told.requests, len(told.lines)) == (1, 0, 3)


# What it costs


def test_money_is_set_aside_and_given_back(prices: None) -> None:
    of = batch_job("a", "b", "c", budget=Decimal(100))
    batch, told = gathered(of)
    of.refresh_from_db()
    assert (of.spent, Spending.objects.get().amount) == (15, 15)  # 3 requests × 10 tokens × 0.5
    first, second, third = names(told.lines)
    late = ProviderError("server_error", "It broke.")
    close(batch, (first, answer(2)), (second, late), (third, NotRun("timeout", "Late.")), ("call-0", answer()))
    close(batch, (first, answer(8)), (second, answer(8)))  # read again after a crash
    of.refresh_from_db()
    assert (of.spent, Spending.objects.get().amount) == (1, 1)
    assert list(Call.objects.order_by("pk").values_list("status", "cost", "total_ms")) == [
        ("ok", 1, None), ("server_error", 0, None), ("timeout", 0, None)
    ]  # fmt: skip


def test_money_goes_back_to_the_day_of_which_it_was_taken(prices: None) -> None:
    batch, told = gathered(batch_job("a"))
    yesterday = timezone.now() - timedelta(days=1)
    Call.objects.update(created_at=yesterday)
    Spending.objects.update(day=yesterday.date())
    close(batch, (*names(told.lines), answer(2)))
    assert Spending.objects.get().amount == 1


def test_items_beyond_the_budget_wait_for_what_comes_back(prices: None) -> None:
    of = batch_job("a", "b", "c", budget=Decimal(11))
    batch, told = gathered(of)
    assert (len(told.lines), len(told.put_back), told.stop, batch.size) == (2, 1, None, 2)
    assert batch_store.is_something_else_left(of.pk)
    _, more = gathered(of)
    assert (more.lines, len(more.put_back), more.stop) == ([], 1, None)
    close(batch, *[(name, answer(2)) for name in names(told.lines)])
    batch_store.end_batch(batch, "completed")
    _, after = gathered(of)
    assert len(after.lines) == 1


def test_model_without_a_price_has_no_cost_in_the_ledger() -> None:
    batch, told = gathered(batch_job("a", "b"))
    first, second = names(told.lines)
    close(batch, (first, answer()), (second, NotRun("stopped", "x")))
    assert set(Call.objects.values_list("cost", flat=True)) == {None}


# How it ends


def test_what_was_not_run_goes_into_another_batch_and_then_is_asked_live() -> None:
    of = batch_job("a")
    for live in (0, 1):
        batch, told = gathered(of)
        close(batch, (*names(told.lines), NotRun("timeout", "Late.")))
        batch_store.end_batch(batch, "expired")
        assert JobItem.objects.claimable().count() == live


def test_batch_that_a_person_cancelled_does_not_count() -> None:
    of = batch_job("a")
    for _ in range(3):
        batch, told = gathered(of)
        close(batch, (*names(told.lines), NotRun("stopped", "Cancelled.")))
        batch_store.end_batch(batch, "cancelled")
        assert JobItem.objects.for_batch().count() == 1


def test_undone_batch_leaves_its_items_as_they_were() -> None:
    of = batch_job("a")
    batch, _ = gathered(of)
    batch_store.close_rest(batch, NotRun("stopped", "x"), load_prices(batcher.settings.PRICES))
    assert batch_store.undo_batch(batch, "abandoned")
    item = JobItem.objects.get()
    assert (item.state, item.batch, item.owner, item.attempts) == ("waiting", None, "", 0)


def test_only_one_takes_up_what_a_dead_one_prepared() -> None:
    batch, _ = gathered(batch_job("a"))
    assert not batch_store.take_over_batch(batch, "x")
    batch_store.release_batch(batch)
    assert [batch_store.take_over_batch(batch, owner) for owner in ("x", "y")] == [True, False]
    assert not batch_store.note_submitting(batch, batch.settings(), "file")


def test_state_that_we_do_not_know_is_work_under_way() -> None:
    batch, _ = gathered(batch_job("a"))
    batch_store.store_standing(batch, Standing("b1", "queued", total=1))
    batch.refresh_from_db()
    assert (batch.state, batch.remote, batch.total) == ("in_progress", "b1", 1)
    assert batch_store.describe_progress(batch.job_id) == "batch b1: in_progress, 0 of 1 answered"


def test_batch_is_wanted_while_its_job_is_not_stopped() -> None:
    batch, _ = gathered(batch_job("a"))
    for state, is_wanted in (("open", True), ("budget", True), ("stopped", False)):
        Job.objects.update(state=state)
        assert batch_store.is_wanted(batch) is is_wanted
    Job.objects.update(state="open")
    JobItem.objects.all().delete()
    assert not batch_store.is_wanted(batch)


# The whole


def worked(of: Job) -> None:
    async def work_on() -> None:
        async with batcher.run_batcher(of.pk):
            await Runner(at_once=4, job=of.pk).run(until_done=True)

    run(work_on())
    of.refresh_from_db()


def test_job_is_done_by_its_batch(llm_url: str, asked: Any) -> None:
    of = batch_job("a", "b", "c", url=llm_url, model="batch-slow-2")
    worked(of)
    assert (of.state, states()) == ("done", dict.fromkeys("abc", "done"))
    assert asked() == dict.fromkeys("abc", 1)


def test_server_that_is_away_is_tried_again_and_then_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batcher, "Retries", lambda: Retries(attempts=2, wall_seconds=60))
    of = batch_job("a", url="http://127.0.0.1:9/v1")
    worked(of)
    assert (of.state, states()) == ("stopped", {"a": "waiting"})
    assert of.reason["code"] == "batch_not_begun"
    assert list(Batch.objects.values_list("state", flat=True)) == ["abandoned"] * 2
    assert list(Call.objects.values_list("status", flat=True)) == ["stopped"] * 2


def test_handler_that_breaks_stops_the_job(llm_url: str, caplog: pytest.LogCaptureFixture) -> None:
    of = batch_job(wanted("a", payload={"unreadable": True}), url=llm_url, model="echo")
    worked(of)
    assert re.fullmatch(r"ValueError in work\.py, line \d+: see the log\.", of.reason["values"]["detail"])
    assert of.state == "stopped"
    assert states() == {"a": "waiting"}


def test_process_without_the_key_leaves_batches_to_others(llm_url: str) -> None:
    of = job("a", plan={"model": "m", "url": llm_url, "api_key_env": "NO_SUCH_KEY"}, batched_role="test").job

    async def look() -> None:
        await batcher.Batcher().go_on()

    run(look())
    of.refresh_from_db()
    assert (of.state, states(), Batch.objects.count()) == ("open", {"a": "waiting"}, 0)


def test_runner_is_needed_for_a_job_that_no_command_looks_after_and_for_a_batch() -> None:
    assert not batch_store.needs_runner()
    one = batch_job(wanted("a"), attended=True)
    assert not batch_store.needs_runner()
    Job.objects.update(attended_until=timezone.now() - timedelta(seconds=1))
    assert batch_store.needs_runner()
    batch_store.prepare(one.pk, "me")
    Job.objects.update(state=Job.State.DONE)
    assert batch_store.needs_runner()
    Batch.objects.update(ended_at=timezone.now())
    assert not batch_store.needs_runner()
