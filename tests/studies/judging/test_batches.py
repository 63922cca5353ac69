"""Judges who are asked in batches, against a server that has them."""

import asyncio
import json
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from django.utils import timezone

from dialogue.jobs import batch_store, batcher, store
from dialogue.jobs.group_commit import in_database
from dialogue.models import Batch, Call, Job, JobItem, Spending
from dialogue.providers.batches import Batches
from dialogue.providers.openai_client import close_clients
from studies.models import Answer, Consent, Response, Study
from studies.workbench.job_words import describe_stop
from tests.llm_server import running
from tests.studies.judging.test_judging import Asked, judge, judge_at, person, study, summary, talk

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as base_url:
        yield base_url


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TICK", "SHORTEST", "LONGEST"):
        monkeypatch.setattr(batcher, name, 0.05)


@pytest.fixture
def prices(tmp_path: Path, settings: Any) -> None:
    """A million a token, so that costs are counts; in a batch a tenth."""
    settings.PRICES = str(tmp_path / "prices.toml")
    (tmp_path / "prices.toml").write_text(
        'version = "1"\ncurrency = "USD"\n[[models]]\nmodel = "*"\nsince = "2020-01-01"\n'
        "input = 0\noutput = 1000000\nbatch_input = 0\nbatch_output = 100000\n"
    )


def kept_there(server: str, what: str) -> list[Any]:
    with urllib.request.urlopen(f"{server.removesuffix('/v1')}/{what}") as response:
        return json.load(response)


class There:
    """What has come to the server since this was made."""

    def __init__(self, server: str) -> None:
        self.server, self.asked = server, Asked(server)
        self.before = len(kept_there(server, "batches")), set(kept_there(server, "files"))

    def batches(self) -> list[dict[str, Any]]:
        return kept_there(self.server, "batches")[self.before[0] :]

    def files(self) -> set[str]:
        return set(kept_there(self.server, "files")) - self.before[1]

    def asked_live(self) -> int:
        return sum("stream" in body for body in self.asked.bodies())

    def asked_in_batches(self) -> int:
        return sum("stream" not in body for body in self.asked.bodies())


def talks(server: str, model: str, count: int = 4, **fields: Any) -> Study:
    here = study(judge_at(server, model, **fields))
    for number in range(count):
        talk(here, seeker=f"Seeker {number}")
    return here


def scores() -> list[tuple[Any, ...]]:
    rows = Answer.objects.filter(response__rater__kind="judge").order_by("response__run", "response__turn", "item")
    return list(rows.values_list("response__run", "response__turn", "item", "value", "missing_reason"))


def states() -> list[str]:
    return list(Batch.objects.values_list("state", flat=True))


def statuses() -> list[str]:
    return sorted(Call.objects.values_list("status", flat=True))


def test_batch_brings_the_scores_of_a_live_run(server: str) -> None:
    here = talks(server, "echo")
    judge("--moments", "final", "checkpoint")
    live = scores()
    Response.objects.filter(run__study=here).delete()
    Job.objects.all().delete()
    Call.objects.all().delete()
    since = There(server)
    told, code = judge("--batch", "--moments", "final", "checkpoint")
    assert (told, code) == (summary(done=8), 0)
    assert scores() == live
    assert (since.asked_in_batches(), since.asked_live()) == (8, 0)
    [batch] = since.batches()
    assert batch["metadata"] == {"emostudy job": str(Job.objects.get().pk), "emostudy batch": "1"}
    assert since.files() == set()


def test_requests_are_rows_of_the_ledger_at_the_price_of_batches(server: str, prices: None) -> None:
    talks(server, "batch-slow-2", 2, max_tokens=50)
    told, _ = judge("--batch", "--budget", "100")
    calls, batch = list(Call.objects.all()), Batch.objects.get()
    assert [(call.status, call.batch, call.total_ms, call.kind) for call in calls] == [
        ("ok", batch, None, "openai_compatible")
    ] * 2
    assert [call.cost * 10 for call in calls] == [call.output_tokens for call in calls]
    assert told["cost"] == float(sum(call.cost for call in calls))
    assert (batch.state, batch.total, batch.answered, batch.failed) == ("completed", 2, 2, 0)


def test_replicates_and_dimensions_apart_are_requests_of_their_own(server: str) -> None:
    talks(server, "batch-slow-1", 2)
    since = There(server)
    judge("--batch", "--variant", "apart", "--replicates", "2")
    assert Response.objects.filter(rater__code="real~apart").count() == 4
    # for each conversation and replicate ten dimensions, and one request of the judge as it is, to compare with
    assert (since.asked_in_batches(), since.asked_live()) == (44, 0)


def test_rerun_pays_nothing_twice(server: str) -> None:
    here = talks(server, "echo", 2)
    judge("--batch")
    since = There(server)
    talk(here, seeker="Cy")
    assert judge("--batch") == (summary(done=1, skipped_existing=2), 0)
    assert (since.asked_in_batches(), since.asked_live()) == (1, 0)


def test_same_conversation_twice_is_asked_once(server: str) -> None:
    here = study(judge_at(server, "batch-slow-3"))
    for _ in range(3):
        talk(here)
    since = There(server)
    assert judge("--batch") == (summary(done=3), 0)
    assert (since.asked_in_batches(), since.asked_live()) == (1, 0)


def test_what_was_answered_live_before_is_not_asked_in_a_batch(server: str) -> None:
    here = talks(server, "echo", 2)
    judge()
    Response.objects.filter(run__study=here).delete()
    JobItem.objects.all().delete()
    since = There(server)
    assert judge("--batch") == (summary(done=2, cost_per_valid=0.0), 0)  # nothing was asked
    assert (since.batches(), since.files(), len(since.asked.bodies())) == ([], set(), 0)


def test_answer_that_cannot_be_read_is_repaired_live(server: str) -> None:
    talks(server, "batch-slow-1+badjudge", 1)
    since = There(server)
    told, code = judge("--batch")
    assert (told["done"], told["valid"], told["missing_reasons"], told["asked_again"], code) == (
        1, 0, {"unparseable": 10}, 1, 0
    )  # fmt: skip
    assert (since.asked_in_batches(), since.asked_live()) == (1, 2)
    assert statuses() == ["unparseable"] * 3


def test_requests_that_fail_are_asked_live(server: str) -> None:
    talks(server, "batch-lines")
    since = There(server)
    assert judge("--batch") == (summary(done=4), 0)
    assert (since.asked_in_batches(), since.asked_live()) == (2, 2)
    assert statuses() == ["ok"] * 4 + ["server_error"] * 2


def test_all_requests_failing_leaves_no_file_of_answers(server: str) -> None:
    talks(server, "batch-slow-1+flaky-1-status-500", 2)
    assert judge("--batch") == (summary(done=2), 0)
    assert statuses() == ["ok"] * 2 + ["server_error"] * 2


def test_line_that_is_broken_off_is_asked_live(server: str) -> None:
    talks(server, "batch-malformed")
    since = There(server)
    assert judge("--batch") == (summary(done=4), 0)
    assert since.asked_live() == 1
    assert statuses() == ["ok"] * 4 + ["server_error"]


def test_what_a_batch_did_not_get_to_goes_into_the_next(server: str, prices: None) -> None:
    talks(server, "batch-expired", 4, max_tokens=50)
    since = There(server)
    told, code = judge("--batch", "--budget", "1000")
    assert (told["done"], code) == (4, 0)
    assert states() == ["expired", "expired"]
    # 4 requests, 2 of them run; then 2, 1 of them run; the last one has been in two batches and is asked itself
    assert (since.asked_in_batches(), since.asked_live()) == (3, 1)
    assert statuses() == ["ok"] * 4 + ["timeout"] * 3
    assert [call.cost for call in Call.objects.filter(status="timeout")] == [0, 0, 0]
    assert told["cost"] == float(sum(call.cost for call in Call.objects.all()))


def test_batch_that_is_refused_stops_the_job_with_the_reason(server: str) -> None:
    talks(server, "batch-invalid", 2)
    since = There(server)
    told, code = judge("--batch")
    assert (told["left"], told["failed"], code) == (2, 0, 1)
    job, batch = Job.objects.get(), Batch.objects.get()
    assert job.state == "stopped"
    assert describe_stop(job) == (
        "Stopped: the provider refused batch 1. This line cannot be read. (invalid_json_line)"
    )
    assert (batch.state, batch.error) == ("failed", "This line cannot be read. (invalid_json_line)")
    assert (len(since.asked.bodies()), since.files()) == (0, set())
    assert statuses() == ["client_error"] * 2


def test_server_without_batches_stops_the_job(server: str) -> None:
    talks(server, "batch-refused", 1)
    told, code = judge("--batch")
    assert (told["left"], code) == (1, 1)
    assert describe_stop(Job.objects.get()).startswith("Stopped: no batch could be begun. ")
    assert states() == ["abandoned"]
    assert judge() == (summary(done=1), 0)


def test_too_much_at_once_is_tried_in_smaller_parts(server: str) -> None:
    talks(server, "batch-limit-2", 7)
    since = There(server)
    assert judge("--batch") == (summary(done=7), 0)
    assert list(Batch.objects.values_list("state", "size")) == [
        ("failed", 7), ("failed", 3), *[("completed", 1)] * 7
    ]  # fmt: skip
    assert (since.asked_in_batches(), since.asked_live()) == (7, 0)


def test_large_work_goes_in_several_batches(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batcher, "MOST_REQUESTS", 4)
    monkeypatch.setattr(batcher, "IN_ONE_GO", 2)
    talks(server, "batch-slow-2", 9)
    assert judge("--batch") == (summary(done=9), 0)
    assert list(Batch.objects.values_list("number", "size", "answered")) == [(1, 4, 4), (2, 4, 4), (3, 1, 1)]


def test_thinker_is_asked_live_and_the_judge_in_one_batch(server: str) -> None:
    here = study(judge_at(server, "batch-slow-1"))
    for name in ("Ann", "Bo"):
        talk(here, person(here), turns=2, seeker=name)
    since = There(server)
    assert judge("--batch", strategy="state_aware")[0]["done"] == 2
    assert (since.asked_live(), since.asked_in_batches(), len(since.batches())) == (4, 2, 1)
    assert {(call.purpose, call.batch_id is None) for call in Call.objects.all()} == {
        ("thinker", True), ("judge", False)
    }  # fmt: skip


def test_replicates_in_a_batch_have_seeds_of_their_own(server: str) -> None:
    talks(server, "batch-slow-1+echo", 1, extra={"seed": 7})
    since = Asked(server)
    assert judge("--batch", "--replicates", "2")[0]["done"] == 2
    assert sorted(body["seed"] for body in since.bodies()) == [7, 8]


def test_line_separators_in_an_answer_cut_no_line(server: str) -> None:
    said = '{"analysis": "One\u2028two\u2029three\x85four.", "safety": 4, "empathetic": 2}'
    talks(server, f"batch-slow-1+say:{quote(said)}", 2)
    assert judge("--batch")[0]["done"] == 2
    assert set(Call.objects.values_list("response", flat=True)) == {said}
    assert Answer.objects.filter(item="safety", value=4).count() == 2


def test_consent_withdrawn_before_the_file_is_written_is_respected(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = study(judge_at(server, "batch-slow-1"))
    staying, leaving = person(here), person(here)
    talk(here, staying, seeker="Staying")
    talk(here, leaving, seeker="Leaving")
    prepare = batch_store.prepare

    def withdraw_first(job: int, owner: str) -> Batch:
        Consent.objects.filter(participation=leaving).update(providers=[])
        return prepare(job, owner)

    monkeypatch.setattr(batch_store, "prepare", withdraw_first)
    since = There(server)
    assert judge("--batch") == (summary(done=1, erased=1), 0)
    assert "Leaving" not in json.dumps(since.asked.bodies())


def test_budget_is_reserved_before_a_batch_is_begun(server: str, prices: None) -> None:
    """50 tokens are set aside for each, at a tenth of a dollar: 5 dollars."""
    talks(server, "batch-slow-2", 5, max_tokens=50)
    since = There(server)
    told, code = judge("--batch", "--budget", "11")
    # Two fit; what they leave of it lets others through, until no five dollars are left.
    spent = float(sum(call.cost for call in Call.objects.all()))
    assert (told["budget_reached"], code, told["cost"]) == (True, 3, spent)
    assert 6 < spent <= 11
    assert told["done"] == since.asked_in_batches() == Call.objects.count() < 5
    assert Batch.objects.get(number=1).size == 2


def stop_when(patch: pytest.MonkeyPatch, state: str) -> None:
    """Someone stops all jobs as soon as the provider says this."""

    def noted(batch: Batch, standing: Any, note: Any = batch_store.store_standing) -> None:
        note(batch, standing)
        if standing.state == state:
            Job.objects.update(state=Job.State.STOPPED)

    patch.setattr(batch_store, "store_standing", noted)


def test_stopped_job_cancels_its_batch(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    talks(server, "batch-never", 3)
    since = There(server)
    stop_when(monkeypatch, "in_progress")
    told, code = judge("--batch")
    assert (told["left"], code) == (3, 1)
    assert [batch["status"][:6] for batch in since.batches()] == ["cancel"]


def test_what_a_cancelled_batch_answered_is_fetched_by_the_next_command(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    talks(server, "batch-never", 3)
    since = There(server)
    with monkeypatch.context() as patch:
        stop_when(patch, "in_progress")
        judge("--batch")
    assert judge() == (summary(done=3), 0)
    assert states() == ["cancelled"]
    assert (since.asked_in_batches(), since.asked_live()) == (1, 2)
    assert statuses() == ["ok"] * 3 + ["stopped"] * 2


def test_scripted_judge_has_no_batches(server: str) -> None:
    talks(server, "echo", 1)
    with pytest.raises(CommandError) as refusal:
        judge("--batch", key="demo")
    assert (str(refusal.value), refusal.value.returncode) == (
        "--batch: a scripted judge has no provider that takes batches.", 2
    )  # fmt: skip
    assert not Job.objects.exists()


def test_runner_beside_the_server_looks_after_batches(server: str) -> None:
    talks(server, "batch-slow-2", 2)
    since = There(server)
    assert judge("--batch", "--background") == (summary(waiting=2), 0)
    call_command("run_jobs", "--until-done")
    assert Response.objects.filter(rater__kind="judge").count() == 2
    assert (since.asked_in_batches(), since.asked_live()) == (2, 0)


def test_progress_tells_what_the_provider_says(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    talks(server, "batch-slow-40", 3)
    judge("--batch")
    [batch] = Batch.objects.all()
    assert f"judge real (standard), batch {batch.remote}: in_progress, 3 of 3 answered\n" in capsys.readouterr().err


# Crashes


class Killed(BaseException):
    """As if the process had died: no one tidies up."""


def dead(*_: Any, **__: Any) -> Any:
    raise Killed


def look(batchers: int = 1) -> None:
    """So many look once, all at the same time."""

    async def looked() -> None:
        try:
            await asyncio.gather(*(batcher.Batcher().go_on() for _ in range(batchers)))
        finally:
            await close_clients()
            await in_database(connections.close_all)

    asyncio.run(looked())


def killed_at(patch: pytest.MonkeyPatch, where: Any, name: str, instead: Any = dead) -> None:
    """A watcher dies there; by the time that others come, its lease has run out."""
    with patch.context() as fatal:
        fatal.setattr(where, name, instead)
        with pytest.raises(Killed):
            look()
    Batch.objects.update(lease_until=timezone.now())


def planned(server: str, model: str, count: int = 3, **fields: Any) -> There:
    talks(server, model, count, **fields)
    judge("--batch", "--background")
    return There(server)


def test_batch_whose_number_was_not_noted_is_found_again(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    since = planned(server, "batch-slow-1")
    killed_at(monkeypatch, batch_store, "store_standing")
    assert states() == ["submitting"]
    assert judge("--batch") == (summary(done=3), 0)
    assert (len(since.batches()), states(), since.files()) == (1, ["completed"], set())
    assert (since.asked_in_batches(), since.asked_live()) == (3, 0)


def test_batch_that_was_begun_without_an_answer_is_found_again(server: str) -> None:
    talks(server, "batch-lost", 2)
    since = There(server)
    assert judge("--batch") == (summary(done=2), 0)
    assert (len(since.batches()), since.asked_in_batches(), since.asked_live()) == (1, 2, 0)


@pytest.mark.parametrize(
    ("place", "files"), [((Batches, "upload"), 1), ((Batches, "start"), 1), ((batch_store, "note_submitting"), 2)]
)
def test_batch_that_the_provider_never_had_is_begun_anew(
    server: str, monkeypatch: pytest.MonkeyPatch, prices: None, place: tuple[Any, str], files: int
) -> None:
    monkeypatch.setattr(batcher, "SETTLED", timedelta(0))
    since = planned(server, "batch-slow-1", max_tokens=50)
    killed_at(monkeypatch, *place)
    told, code = judge("--batch")
    assert (told["done"], code, len(since.batches())) == (3, 0, 1)
    assert states() == ["abandoned", "completed"]
    assert statuses() == ["ok"] * 3 + ["stopped"] * 3
    assert (since.asked_in_batches(), since.asked_live(), len(since.files())) == (3, 0, files - 1)
    assert list(Call.objects.filter(status="stopped").values_list("cost", flat=True)) == [0, 0, 0]
    assert Job.objects.first().spent + Job.objects.last().spent == sum(call.cost for call in Call.objects.all())


def test_nothing_is_begun_anew_before_the_provider_can_have_listed_it(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    since = planned(server, "batch-slow-1")
    killed_at(monkeypatch, Batches, "start")
    look()
    assert (states(), since.batches()) == (["submitting"], [])


def test_batch_under_way_outlives_who_began_it(server: str) -> None:
    since = planned(server, "batch-slow-4")
    look()
    assert states() == ["in_progress"]
    assert judge("--batch") == (summary(done=3), 0)
    assert (len(since.batches()), since.asked_in_batches(), since.asked_live()) == (1, 3, 0)


def test_results_read_halfway_are_read_on_and_settled_once(
    server: str, monkeypatch: pytest.MonkeyPatch, prices: None
) -> None:
    monkeypatch.setattr(batcher, "RESULTS_IN_ONE_GO", 1)
    since = planned(server, "batch-slow-2", max_tokens=50)
    look()

    def one_and_dead(*arguments: Any, close: Any = batch_store.close) -> None:
        if Call.objects.filter(status="ok").exists():
            raise Killed
        close(*arguments)

    killed_at(monkeypatch, batch_store, "close", one_and_dead)
    assert statuses() == ["ok", "started", "started"]
    told, code = judge("--batch")
    assert (told["done"], code, statuses()) == (3, 0, ["ok"] * 3)
    assert (since.asked_in_batches(), since.asked_live()) == (3, 0)
    assert Job.objects.last().spent == sum(call.cost for call in Call.objects.all())
    assert Spending.objects.get().amount == sum(call.cost for call in Call.objects.all())


def test_two_who_fetch_the_same_results_settle_them_once(server: str, prices: None) -> None:
    planned(server, "batch-slow-2", max_tokens=50)
    look()
    look(batchers=2)
    assert (states(), statuses()) == (["completed"], ["ok"] * 3)
    assert Spending.objects.get().amount == sum(call.cost for call in Call.objects.all())


def test_two_who_hand_over_the_same_items_hand_each_over_once(server: str) -> None:
    since = planned(server, "batch-slow-2")
    look(batchers=2)
    assert judge("--batch") == (summary(done=3), 0)
    assert (since.asked_in_batches(), since.asked_live()) == (3, 0)


def test_batch_that_the_provider_forgot_is_for_a_person_to_decide(server: str, prices: None) -> None:
    talks(server, "batch-forgotten", 2, max_tokens=50)
    since = There(server)
    told, code = judge("--batch", "--budget", "100")
    assert (told["failed"], told["failed_reasons"], code) == (2, {"stopped": 2}, 1)
    # It may have been paid for: what was set aside stays spent, 50 tokens each.
    assert (told["cost"], since.asked_live()) == (10.0, 0)
    assert judge()[0]["done"] == 2
    assert since.asked_live() == 2


def test_items_of_a_batch_are_nobody_elses_while_it_runs(server: str) -> None:
    planned(server, "batch-never", 2)
    look()
    [job] = Job.objects.all()
    assert not JobItem.objects.claimable().exists()
    assert store.pick_to_send(limit=10, queue_is_empty=True) == []
    assert store.is_something_left(job.pk)
