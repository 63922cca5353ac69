"""Sends numbers of items to Celery's workers, where there is a broker, and nothing else.

The rows are the truth. A number that is lost, or whose worker died, is sent again; one that comes twice finds its item
taken and does nothing.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Coroutine
from functools import cache
from typing import Any

from celery import Celery
from celery.signals import worker_shutdown, worker_shutting_down
from django.utils import timezone
from kombu.exceptions import OperationalError

from dialogue.jobs import store
from dialogue.jobs.group_commit import AWAY, in_database
from dialogue.jobs.reasons import Reason
from dialogue.jobs.runner import Runner
from dialogue.models import Job

log = logging.getLogger(__name__)

AHEAD = 500  # so many numbers at once are on their way
SWEEP = 1.0  # seconds between two looks for what has to be sent
NOBODY = 30.0  # seconds without a sign of any worker, after which a command gives up
AT_ONCE = 64  # calls at once at one endpoint, by one worker process

app = Celery("emostudy")
app.config_from_object("django.conf:settings", namespace="CELERY")


class Dispatcher:
    """The sender of items until none are left: of all jobs, or only of `job`, which the caller looks after."""

    def __init__(self, job: int | None = None) -> None:
        self.job = job
        self.stopping = asyncio.Event()
        self.heard_at = time.monotonic()
        self.looked_at = timezone.now()
        self.reported_jobs: set[int] = set()  # jobs whose refusal by a worker is in the log

    async def run(self, *, until_done: bool) -> None:
        while not self.stopping.is_set():
            try:
                await self.send()
                if not await in_database(store.is_something_left, self.job) and until_done:
                    break
                if await self.end_if_in_vain():
                    break
            except OperationalError as error:
                log.error("the broker does not answer (%s); jobs wait for it", error)
            except AWAY as error:
                if until_done:
                    raise
                log.error("the database does not answer (%s); jobs wait for it", error)
            await self.pause()
        if self.job is not None:
            await in_database(store.leave, self.job)

    async def send(self) -> None:
        if not await in_database(store.is_something_waiting):
            return
        queued = await asyncio.to_thread(count_queued)
        items = await in_database(store.pick_to_send, limit=max(0, AHEAD - queued), queue_is_empty=not queued)
        try:
            await asyncio.to_thread(send_all, items)
        except OperationalError:
            await in_database(store.unmark_sent, items)
            raise

    async def end_if_in_vain(self) -> bool:
        """Stop the job where no worker can do it, and return True. Without a command that waits for it, the job stays
        open, because workers may come."""
        if self.job is None:
            await self.log_declined()
            return False
        since, self.looked_at = self.looked_at, timezone.now()
        in_vain = await in_database(store.waits_in_vain, self.job, since)
        if in_vain is None:
            self.heard_at = time.monotonic()
        if in_vain is None or time.monotonic() - self.heard_at < NOBODY:
            return False
        await in_database(store.end, self.job, Job.State.STOPPED, reason_of(in_vain))
        return True

    async def log_declined(self) -> None:
        for job, why in (await in_database(store.reasons_declined)).items():
            if job not in self.reported_jobs:
                self.reported_jobs.add(job)
                log.warning("job %s waits for a worker that can do it; one that cannot says: %s", job, why)

    async def pause(self) -> None:
        try:
            await asyncio.wait_for(self.stopping.wait(), SWEEP)
        except TimeoutError:
            return


def reason_of(in_vain: store.InVain) -> Reason:
    if in_vain.why:
        return Reason.of("unfit_workers", detail=in_vain.why)
    return Reason.of("no_worker", queue=app.conf.task_default_queue, seconds=f"{NOBODY:g}")


def count_queued() -> int:
    """Return how many numbers no worker has taken yet. Raises OperationalError."""
    with app.connection_for_write() as connection:
        connection.ensure_connection(max_retries=1)
        queue = app.amqp.queues[app.conf.task_default_queue].bind(connection.default_channel)
        count: int = queue.queue_declare().message_count
        return count


def send_all(items: list[int]) -> None:
    for item in items:
        run_item.delay(item)


@app.task(name="dialogue.run_item", acks_late=True, reject_on_worker_lost=True, ignore_result=True)
def run_item(item: int) -> None:
    get_loop().do(item)


class Loop:
    """The event loop of all threads of a worker, which share connections, limits and transactions."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="jobs", daemon=True).start()
        self.runner = self.wait_for(self.make_runner())

    async def make_runner(self) -> Runner:
        runner = Runner(at_once=AT_ONCE)
        self.heartbeat = asyncio.create_task(runner.keep_leases())
        return runner

    def do(self, item: int) -> None:
        self.wait_for(self.runner.run_one(item))

    def wait_for(self, what: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(what, self.loop).result()

    def stop(self) -> None:
        self.runner.caller.stopping = True

    def leave(self) -> None:
        self.wait_for(self.runner.leave(self.heartbeat))


making = threading.Lock()


def get_loop() -> Loop:
    """Return the loop, which the first item starts: after the worker has forked, never before."""
    with making:
        return make_loop()


@cache
def make_loop() -> Loop:
    return Loop()


@worker_shutting_down.connect
def stop(**_: Any) -> None:
    """End the calls under way and give back the items when a worker is told to stop."""
    if make_loop.cache_info().currsize:
        make_loop().stop()


@worker_shutdown.connect
def leave(**_: Any) -> None:
    if make_loop.cache_info().currsize:
        make_loop().leave()
