"""Hands items to the provider in batches, looks how far they are, and fetches what came of them.

One runs beside each runner of jobs. When it dies, another goes on: what is under way is in the rows and at the
provider.
"""

import asyncio
import logging
import os
import tempfile
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import timedelta
from math import inf
from typing import IO, cast

from django.conf import settings
from django.db import connections
from django.utils import timezone

from dialogue.jobs import batch_store, failures, store
from dialogue.jobs.batch_store import Addition
from dialogue.jobs.group_commit import AWAY, in_database
from dialogue.jobs.handlers import BatchHandler
from dialogue.jobs.reasons import Reason
from dialogue.jobs.runner import make_handler
from dialogue.models import Batch, Job
from dialogue.models.job import LEASE
from dialogue.providers.base import ModelSettings, ProviderError, Reply
from dialogue.providers.batches import Batches, NotRun, Standing, get_batches
from dialogue.providers.openai_client import Gone
from dialogue.providers.prices import load_prices
from dialogue.providers.retrying import Retries

log = logging.getLogger(__name__)

# OpenAI and Qwen take 50,000 requests in a file, OpenAI 200 MB and Together 100 MB. A file is closed before that: what
# is added in one go still fits.
MOST_REQUESTS = 40_000
MOST_BYTES = 60_000_000
IN_ONE_GO = 200  # items
RESULTS_IN_ONE_GO = 200
TICK = 1.0  # seconds between two looks at the rows
SHORTEST, LONGEST = 5.0, 60.0  # seconds between two looks at a batch: a tenth of its age
SETTLED = timedelta(minutes=2)  # so long after it was asked for, a batch that the provider does not list was not begun
LONGEST_LIFE = timedelta(days=3)  # a batch that cannot be looked at for so long stops its job
PATIENCE = 5.0  # seconds for what is under way when the work ends


class Batcher:
    """The worker on the batches of all jobs, or only of `job`, which the caller looks after."""

    def __init__(self, *, job: int | None = None) -> None:
        self.owner = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self.job = job
        self.prices = load_prices(settings.PRICES)
        self.not_before: dict[str, float] = {}  # by job or batch: when it is to be looked at again
        self.retries: dict[int, Retries] = {}  # by job
        self.stopping = asyncio.Event()

    async def run(self) -> None:
        while not self.stopping.is_set():
            try:
                await self.go_on()
            except AWAY as error:
                log.error("the database does not answer (%s); batches wait for it", error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), TICK)

    async def go_on(self) -> None:
        for job in await in_database(batch_store.jobs_to_batch, self.job):
            if self.is_due(f"job {job}"):
                await self.try_to_hand_over(job)
        for batch in await in_database(batch_store.get_batches_under_way, self.job):
            if self.is_due(f"batch {batch.pk}"):
                self.wait(f"batch {batch.pk}", interval(batch))
                await self.try_to_look_after(batch)

    def is_due(self, what: str) -> bool:
        return self.not_before.get(what, 0.0) <= time.monotonic()

    def wait(self, what: str, seconds: float) -> None:
        self.not_before[what] = time.monotonic() + seconds

    # Handing over

    async def try_to_hand_over(self, job: int) -> None:
        """Hand over a batch. A permanent failure, or one too many, ends the job with its reason."""
        try:
            await self.hand_over(job)
        except ProviderError as error:
            wait = self.retries.setdefault(job, Retries()).next_wait(error)
            if wait is None:
                await in_database(store.end, job, Job.State.STOPPED, Reason.of("batch_not_begun", detail=error.detail))
            else:
                log.warning("no batch of job %s could be begun (%s); again in %.0f s", job, error.detail, wait)
                self.wait(f"job {job}", wait)
        except AWAY:
            raise
        except Exception as error:
            log.exception("no batch of job %s could be begun", job)
            detail = failures.internal_error(error).detail
            await in_database(store.end, job, Job.State.STOPPED, Reason.of("batch_not_begun", detail=detail))
        else:
            self.retries.pop(job, None)

    async def hand_over(self, job: int) -> None:
        room = await in_database(batch_store.get_room, job)
        handler = await self.handler(job)
        if room == 0 or handler is None:
            return
        batch = await in_database(batch_store.prepare, job, self.owner)
        with tempfile.TemporaryFile() as file:
            async with self.hold_lease():
                try:
                    gathered = await self.gather(batch, handler, file, room)
                    if gathered.settings:
                        await self.submit(batch, gathered.settings, file)
                except AWAY:
                    raise
                except Exception as error:
                    await self.withdraw(batch, f"It was not begun: {error}")
                    raise
        if not gathered.settings:
            await in_database(batch_store.close_batch, batch, Batch.State.ABANDONED, "There was nothing to ask.")
        if gathered.put_back:
            await self.wait_for_others(job, gathered.stop)

    async def handler(self, job: int) -> BatchHandler | None:
        try:
            return cast(BatchHandler, await in_database(make_handler, job))
        except ProviderError as error:
            log.warning("batches of job %s are left to others: %s", job, error.detail)
            self.wait(f"job {job}", inf)
            return None

    async def gather(self, batch: Batch, handler: BatchHandler, file: IO[bytes], room: int | None) -> Addition:
        """Fill the file until it is full or no items are left."""
        all_of_it = Addition()
        while all_of_it.requests < MOST_REQUESTS and file.tell() < MOST_BYTES:
            limit = IN_ONE_GO if room is None else min(IN_ONE_GO, room - all_of_it.items)
            some = await in_database(
                batch_store.fill_batch, batch, handler, self.prices, limit=limit, but=all_of_it.put_back
            )
            file.writelines(some.lines)
            all_of_it.add(some)
            if some.items < limit or some.stop or limit == 0:
                break
        file.seek(0)
        return all_of_it

    async def submit(self, batch: Batch, model: ModelSettings, file: IO[bytes]) -> None:
        client = get_batches(model)
        name = await client.upload(file)
        if not await in_database(batch_store.note_submitting, batch, model, name):
            return
        notes = {"emostudy job": str(batch.job_id), "emostudy batch": str(batch.number)}
        try:
            standing = await client.start(name, notes)
        except ProviderError as error:
            if error.permanent or error.status == "rate_limited":
                await self.clear(client, name)
                raise
            log.warning("whether %s was begun is not known (%s); looking for it", batch, error.detail)
            await in_database(batch_store.release_batch, batch)
        else:
            await in_database(batch_store.store_standing, batch, standing)

    async def withdraw(self, batch: Batch, reason: str) -> None:
        """Undo a batch that the provider never had."""
        await in_database(batch_store.close_rest, batch, NotRun("stopped", reason), self.prices)
        await in_database(batch_store.undo_batch, batch, Batch.State.ABANDONED, error=reason)

    async def wait_for_others(self, job: int, stop: Reason | None) -> None:
        """Wait for calls under way, which may bring the same answers or release money. End the job where there are
        none."""
        if stop and not await in_database(batch_store.is_something_else_left, job):
            await in_database(store.end, job, Job.State.BUDGET, stop)
        self.wait(f"job {job}", LONGEST)

    @asynccontextmanager
    async def hold_lease(self) -> AsyncIterator[None]:
        """Renew the lease of the batches that this process prepares."""

        async def renew() -> None:
            while True:
                await asyncio.sleep(LEASE.total_seconds() / 4)
                with suppress(*AWAY):
                    await in_database(batch_store.keep_lease, self.owner)

        heartbeat = asyncio.create_task(renew())
        try:
            yield
        finally:
            heartbeat.cancel()

    # Looking after

    async def try_to_look_after(self, batch: Batch) -> None:
        """Look after a batch. A failed look is repeated later, but not for longer than `LONGEST_LIFE`."""
        try:
            await self.look_after(batch)
        except Gone as error:
            await self.lose(batch, error)
        except ProviderError as error:
            log.warning("%s: %s", batch, error.detail)
            if error.permanent or age(batch) > LONGEST_LIFE:
                await in_database(
                    batch_store.stop_jobs, batch, Reason.of("batch_broke", number=batch.number, detail=error.detail)
                )
                self.wait(f"batch {batch.pk}", LONGEST)
        except AWAY:
            raise
        except Exception as error:
            log.exception("%s broke", batch)
            await in_database(
                batch_store.stop_jobs, batch, Reason.of("batch_broke", number=batch.number, detail=repr(error))
            )
            self.wait(f"batch {batch.pk}", LONGEST)

    async def look_after(self, batch: Batch) -> None:
        client = self.client(batch)
        if client is None:
            return
        if batch.state in Batch.OURS:
            await self.recover(batch, client)
            return
        standing = await client.state(batch.remote)
        await in_database(batch_store.store_standing, batch, standing)
        if standing.state == "failed" and not standing.files:
            await self.handle_refusal(batch, client, standing)
        elif standing.has_ended:
            await self.collect(batch, client, standing)
        elif standing.state != "cancelling" and not await in_database(batch_store.is_wanted, batch):
            await self.cancel(batch, client)

    async def cancel(self, batch: Batch, client: Batches) -> None:
        """Cancel a batch. Where that fails, the next look may find it ended."""
        try:
            standing = await client.cancel(batch.remote)
        except ProviderError as error:
            log.warning("%s could not be cancelled: %s", batch, error.detail)
        else:
            await in_database(batch_store.store_standing, batch, standing)

    def client(self, batch: Batch) -> Batches | None:
        try:
            return get_batches(batch.settings())
        except ProviderError as error:
            log.warning("%s is left to others: %s", batch, error.detail)
            self.wait(f"batch {batch.pk}", inf)
            return None

    async def recover(self, batch: Batch, client: Batches) -> None:
        """Take over a batch whose process is gone. Nothing is asked again before it is clear whether the provider has
        it."""
        if not await in_database(batch_store.take_over_batch, batch, self.owner):
            return
        if batch.state == Batch.State.SUBMITTING:
            async with self.hold_lease():
                standing = await client.find(batch.input_file)
            if standing:
                await in_database(batch_store.store_standing, batch, standing)
                return
            if age(batch) < SETTLED:
                return
            await self.clear(client, batch.input_file)
        await self.withdraw(batch, "Whoever prepared it was gone before the provider had it.")

    async def handle_refusal(self, batch: Batch, client: Batches, standing: Standing) -> None:
        """Undo a batch that was refused. The next one is smaller where this was too large; else a person has to
        look."""
        alone = await in_database(batch_store.is_alone, batch)
        next_size = (batch.size // 2 if alone else batch.size) if standing.too_much else None
        if not next_size:
            reason = Reason.of("batch_refused", number=batch.number, detail=standing.error)
            await in_database(batch_store.stop_jobs, batch, reason)
        error = NotRun("client_error", standing.error)
        await in_database(batch_store.close_rest, batch, error, self.prices)
        await self.clear(client, batch.input_file)
        state = Batch.State.FAILED
        await in_database(batch_store.undo_batch, batch, state, error=standing.error, next_size=next_size)

    async def collect(self, batch: Batch, client: Batches, standing: Standing) -> None:
        if await in_database(batch_store.has_open_calls, batch):
            for file in standing.files:
                await self.fetch(batch, client, file)
            await in_database(batch_store.close_rest, batch, error_for_rest(standing.state), self.prices)
        await self.clear(client, batch.input_file, *standing.files)
        await in_database(batch_store.end_batch, batch, standing.state)

    async def fetch(self, batch: Batch, client: Batches, file: str) -> None:
        some: list[tuple[str, Reply | ProviderError]] = []
        async with aclosing(client.results(file)) as results:
            async for result in results:
                some.append(result)
                if len(some) == RESULTS_IN_ONE_GO:
                    await in_database(batch_store.close, batch, some, self.prices)
                    some = []
        await in_database(batch_store.close, batch, some, self.prices)

    async def clear(self, client: Batches, *files: str) -> None:
        """Delete files at the provider, so that people's words stay there no longer than necessary."""
        for file in files:
            try:
                await client.delete(file)
            except Gone:
                pass
            except ProviderError as error:
                log.warning("the file %s stays with the provider: %s", file, error.detail)

    async def lose(self, batch: Batch, error: ProviderError) -> None:
        """Fail a batch that the provider no longer knows. Neither its outcome nor its cost can be known."""
        unknown = ProviderError("stopped", f"The provider knows nothing of it any more: {error.detail}")
        await in_database(batch_store.close_rest, batch, unknown, self.prices)
        await in_database(batch_store.fail_batch, batch, unknown)

    async def leave(self) -> None:
        """Cancel the batches of stopped jobs before this process ends, so that they cost nothing more."""
        for batch in await in_database(batch_store.get_batches_under_way, self.job):
            running = batch.state not in (*Batch.OURS, Batch.State.CANCELLING)
            if running and not await in_database(batch_store.is_wanted, batch) and (client := self.client(batch)):
                await self.cancel(batch, client)


def age(batch: Batch) -> timedelta:
    return timezone.now() - (batch.submitted_at or batch.created_at)


def interval(batch: Batch) -> float:
    return min(LONGEST, max(SHORTEST, age(batch).total_seconds() / 10))


def error_for_rest(state: str) -> ProviderError:
    """Return the error for requests that the results do not name."""
    if state == Batch.State.EXPIRED:
        return NotRun("timeout", "The provider did not get to it in time.")
    if state == Batch.State.CANCELLED:
        return NotRun("stopped", "The batch was cancelled before it was its turn.")
    return ProviderError("server_error", "The batch brought nothing about it that can be read.")


@asynccontextmanager
async def run_batcher(job: int | None = None) -> AsyncIterator[None]:
    """Look after batches meanwhile. At the end, cancel those of stopped jobs."""
    batcher = Batcher(job=job)
    task = asyncio.create_task(batcher.run())
    try:
        yield
    finally:
        batcher.stopping.set()
        await asyncio.wait([task], timeout=PATIENCE)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await batcher.leave()
        await in_database(connections.close_all)
