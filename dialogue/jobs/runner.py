"""Works through items: a bounded number at once, each under a lease, its result stored once. How many calls are made at
once, the caller sees to; so while one item is being stored, the next one's call is under way already.

Any number of runners may work on the same rows, in as many processes and on as many machines as there are. When one
dies, its leases run out and others take up what it held; what it had paid for is in the ledger.
"""

import asyncio
import gc
import logging
import os
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connections, transaction

from dialogue.jobs import failures, store
from dialogue.jobs.calls import BudgetReached, Caller, CallsStopped, GivenUp
from dialogue.jobs.group_commit import AWAY, GroupCommit, in_database
from dialogue.jobs.handlers import Handler, handler_for
from dialogue.jobs.reasons import Reason
from dialogue.models import Job, JobItem
from dialogue.models.job import LEASE
from dialogue.providers.base import OF_QUESTION, OF_SETTINGS, TOO_LONG, ProviderError
from dialogue.providers.openai_client import close_clients
from dialogue.providers.registry import MODELS, is_replayed
from dialogue.providers.retrying import PASSING

log = logging.getLogger(__name__)

HEARTBEAT = LEASE.total_seconds() / 4
POLL = 0.5  # seconds between two looks for work where there was none
IDLE = 2.0  # the same for a runner that waits for jobs to come
GRACE = 5.0  # seconds in which calls under way may end, where we are told to stop
SELDOM = 10_000  # new objects; Python would look for cycles among each 700
USELESS = 20  # so many answers of no use, and none of use between them, stop a job
VALID = "valid"  # in a result: whether it is of use; where it is not said, it is
BROKEN = 3  # so many items that fail in the same way, and none that succeeded, stop a job
BROKEN_LATER = 20  # the same in a row where something has succeeded: the server takes some questions, and not others


OF_SERVER = (*PASSING, *OF_SETTINGS, "client_error")  # failures that whatever is asked of it may end in


@dataclass(frozen=True)
class FinishedItem:
    item: JobItem
    handler: Handler
    outcome: Any


class Runner:
    """The worker on the items of all jobs, or only of `job`, which the caller looks after. One for each event loop."""

    def __init__(self, *, at_once: int, job: int | None = None) -> None:
        self.owner = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self.at_once, self.job = at_once, job
        commit = GroupCommit()
        self.keep = commit.writer_for(self.keep_finished)
        self.caller = Caller(at_once=at_once, commit=commit)
        self.handlers: dict[int, Handler] = {}
        self.unable: dict[int, str] = {}  # jobs that this process cannot work on, and why
        self.failures: dict[int, Counter[str]] = {}  # by job: how often it failed for good, until something succeeds
        self.has_succeeded: set[int] = set()  # jobs of which something has
        self.in_vain: Counter[int] = Counter()  # by job: answers of no use, until one is of use
        self.at_work: dict[int, asyncio.Task[None]] = {}  # by item
        self.freed = asyncio.Event()
        self.stopping = asyncio.Event()

    async def run(self, *, until_done: bool) -> None:
        """Work until asked to stop; with `until_done`, only until no process has anything left to do."""
        heartbeat = asyncio.create_task(self.keep_leases())
        try:
            with collect_seldom():
                await self.go_on_and_on(until_done=until_done)
        finally:
            await self.leave(heartbeat)

    async def go_on_and_on(self, *, until_done: bool) -> None:
        while not self.stopping.is_set():
            try:
                if not await self.go_on() and until_done:
                    break
            except AWAY as error:
                if until_done:
                    raise
                log.error("the database does not answer (%s); jobs wait for it", error)
            await self.wait(IDLE if not (until_done or self.at_work) else POLL)

    async def go_on(self) -> bool:
        """Take as many items as there is room for. Return False where nothing is left."""
        self.freed.clear()
        return bool(await self.take() or self.at_work or await self.is_something_left())

    async def run_one(self, item: int) -> None:
        """Work on one item, whose number a broker brought. Do nothing where another has it already."""
        if tasks := await self.start_items(limit=1, item=item):
            await asyncio.wait(tasks)

    async def take(self) -> int:
        """Claim as many items as there is room for, and return their number. There is room for twice the calls at once,
        so that the next questions are ready while a wave of answers is stored. With one call at once, each item is
        stored before the next begins: they keep their order, and two runs on scripts store equal rows."""
        room = (2 * self.at_once + 1 if self.at_once > 1 else 1) - len(self.at_work)
        if room < self.at_once:
            return 0
        return len(await self.start_items(limit=room, job=self.job, but_jobs=tuple(self.unable)))

    async def start_items(self, **which: Any) -> list["asyncio.Task[None]"]:
        claimed = await in_database(store.claim, self.owner, **which)
        ready = await in_database(self.read, claimed) if claimed else []
        return [self.start_item(item, material) for item, material in ready if item.pk not in self.at_work]

    def start_item(self, item: JobItem, material: Any) -> "asyncio.Task[None]":
        def forget_task(task: "asyncio.Task[None]") -> None:
            del self.at_work[item.pk]
            self.freed.set()
            if not task.cancelled() and (error := task.exception()):
                log.error("an item could not be settled", exc_info=error)

        task = self.at_work[item.pk] = asyncio.create_task(self.settle(item, material))
        task.add_done_callback(forget_task)
        return task

    async def wait(self, seconds: float) -> None:
        """Wait until there is room again or the work ends, but no longer than `seconds`."""
        waiting = [asyncio.create_task(event.wait()) for event in (self.stopping, self.freed)]
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()

    async def is_something_left(self) -> bool:
        return await in_database(store.is_something_left, self.job, tuple(self.unable))

    # Reading

    def read(self, items: Sequence[JobItem]) -> list[tuple[JobItem, Any]]:
        """Return each item with what its work needs. Items of jobs that this process cannot do are given back."""
        ready: list[tuple[JobItem, Any]] = []
        for job in dict.fromkeys(item.job_id for item in items):
            ours = [item for item in items if item.job_id == job]
            handler = self.handler(job)
            if handler is None:
                store.decline(self.owner, [item.pk for item in ours], self.unable[job])
                continue
            materials = self.materials(handler, ours)
            for item in ours:
                if item.pk in materials:
                    ready.append((item, materials[item.pk]))
                else:
                    store.drop(self.owner, item.pk)
        return ready

    def handler(self, job: int) -> Handler | None:
        if job not in self.handlers and job not in self.unable:
            try:
                self.handlers[job] = make_handler(job)
            except ProviderError as error:
                log.warning("job %s is left to others: %s", job, error.detail)
                self.unable[job] = error.detail
            except AWAY:
                raise
            except Exception:
                log.exception("job %s is left to others", job)
                self.unable[job] = "It broke on a worker: see that worker's log."
        return self.handlers.get(job)

    def materials(self, handler: Handler, items: Sequence[JobItem]) -> Mapping[int, Any]:
        """Return what the items' work needs, while they are ours. One that cannot be read does not take others with
        it."""
        try:
            with transaction.atomic():
                ours = store.lock_owned(self.owner, [item.pk for item in items])
                return handler.read([item for item in items if item.pk in ours])
        except AWAY:
            raise
        except Exception as error:
            if len(items) > 1:
                return {pk: one for item in items for pk, one in self.materials(handler, [item]).items()}
            log.exception("item %s of job %s cannot be read", items[0].pk, items[0].job_id)
            store.mark_failed(self.owner, items[0].pk, failure="broken", detail=failures.internal_error(error).detail)
            return {}

    # One item

    async def settle(self, item: JobItem, material: Any) -> None:
        """Work on an item, and store its outcome or why there is none."""
        handler = self.handlers[item.job_id]
        try:
            outcome = await handler.work(item, material, self.caller)
            await self.count_useless(item.job_id, await self.keep(FinishedItem(item, handler, outcome)))
        except CallsStopped:
            await in_database(store.release, self.owner, [item.pk])
        except BudgetReached as stop:
            await self.stop(item.job_id, Job.State.BUDGET, stop.reason)
            await in_database(store.release, self.owner, [item.pk])
        except ProviderError as error:
            await self.store_failure(item, error)
        except store.LeaseLost:
            log.warning("item %s of job %s was left to others: its lease had run out", item.pk, item.job_id)
        except AWAY:
            raise  # its lease runs out, and someone takes it up once the database is back
        except Exception as error:
            if not await in_database(JobItem.objects.filter(pk=item.pk).exists):
                return  # erased while we were at it
            log.exception("item %s of job %s broke", item.pk, item.job_id)
            await self.store_failure(item, failures.internal_error(error))
        else:
            self.failures.pop(item.job_id, None)
            self.has_succeeded.add(item.job_id)

    async def count_useless(self, job: int, result: Mapping[str, Any]) -> None:
        """Count answers of no use, which are stored as they are. Stop a job that gets nothing else."""
        if VALID in result:
            self.in_vain[job] = 0 if result[VALID] else self.in_vain[job] + 1
        if self.in_vain[job] >= USELESS:
            await self.stop(job, Job.State.STOPPED, Reason.of("useless_answers", number=USELESS))

    async def stop(self, job: int, state: Job.State, reason: Reason) -> None:
        self.caller.ended.add(job)
        await in_database(store.end, job, state, reason)

    async def store_failure(self, item: JobItem, error: ProviderError) -> None:
        detail = failures.public_detail(error)
        way = store.way_of(error.status, detail)
        for_good = (error.permanent or isinstance(error, GivenUp)) and error.status not in OF_QUESTION
        pause = isinstance(error, GivenUp) and error.because == "pause"
        stops = pause or (for_good and self.is_broken(item.job_id, error, way))
        if stops:
            reason = Reason.of("failures", model=failures.name_model(error), status=error.status, detail=detail)
            await self.stop(item.job_id, Job.State.STOPPED, reason)
        await in_database(
            store.mark_failed,
            self.owner,
            item.pk,
            failure=error.status,
            detail=detail,
            set_aside=error.status == TOO_LONG,
        )
        if stops and error.status in OF_SERVER:
            await in_database(store.forgive, item.job_id, way)

    def is_broken(self, job: int, error: ProviderError, way: str) -> bool:
        """Count one more of these failures, and return True where the job has to stop for them.

        A refused request costs nothing. Where others were accepted, more refusals show whether these items are at fault
        or the server.
        """
        times = self.failures.setdefault(job, Counter())
        times[way] += 1
        takes_others = error.status == "client_error" and job in self.has_succeeded
        return times[way] >= (BROKEN_LATER if takes_others else BROKEN)

    @transaction.atomic(savepoint=False)
    def keep_finished(self, finished: Sequence[FinishedItem]) -> list[Mapping[str, Any]]:
        """Store what is still ours, and return the results. An item whose lease ran out belongs to another by now."""
        stored: dict[int, Mapping[str, Any]] = {}
        owned = store.lock_owned(self.owner, [one.item.pk for one in finished])
        for handler in {id(one.handler): one.handler for one in finished}.values():
            if ours := [one for one in finished if one.handler is handler and one.item.pk in owned]:
                results = handler.store_outcomes([(one.item, one.outcome) for one in ours])
                pairs = [(one.item.pk, result) for one, result in zip(ours, results, strict=True)]
                store.mark_done(pairs)
                stored.update(pairs)
        return [stored.get(one.item.pk, {}) for one in finished]

    # Living and leaving

    async def keep_leases(self) -> None:
        while True:
            try:
                items = tuple(self.at_work)
                standing = await in_database(store.renew, self.owner, items, self.handlers, attended=self.job)
            except AWAY as error:
                log.error("leases could not be renewed: %s", error)
            else:
                self.caller.ended |= standing.ended
                for item in standing.lost & self.at_work.keys():
                    self.at_work[item].cancel()
            await asyncio.sleep(HEARTBEAT)

    async def leave(self, heartbeat: "asyncio.Task[None]") -> None:
        """Let calls under way end, because they are paid. Give back what is not done, so that no one waits for our
        leases."""
        self.caller.stopping = True
        if self.at_work:
            await asyncio.wait(self.at_work.values(), timeout=GRACE)
        heartbeat.cancel()
        for task in self.at_work.values():
            task.cancel()
        await asyncio.gather(*self.at_work.values(), return_exceptions=True)
        await in_database(store.release, self.owner)
        if self.caller.closing_tasks:
            await asyncio.wait(self.caller.closing_tasks)
        if self.job is not None:
            await in_database(store.leave, self.job)
        await close_clients()
        await in_database(connections.close_all)


@contextmanager
def collect_seldom() -> Iterator[None]:
    """Collect garbage seldom. Hundreds of calls under way are thousands of live objects; to search them and all of
    Django for cycles took a fifth of a runner's work."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(SELDOM, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def make_handler(job: int) -> Handler:
    """Return the handler of a job. Raises ProviderError where it cannot work in this process."""
    row = Job.objects.get(pk=job)
    if row.plan.get(store.REPLAYS, False) != is_replayed(MODELS):
        raise ProviderError("client_error", "It is for processes with another REPLAY.", permanent=True)
    handler = handler_for(row)
    handler.check()
    return handler
