import asyncio
import os
import time
from typing import Any

from django.core.management.base import CommandParser
from django.db.models import QuerySet

from dialogue.jobs import batch_store
from dialogue.jobs.batcher import run_batcher
from dialogue.jobs.group_commit import AWAY, in_database
from dialogue.models import Job
from dialogue.providers.prices import PriceFileError
from studies.management.command import Command as Base
from studies.management.jobs import stop_on_signals, worker
from studies.workbench.labels import one_or_more

NOTHING_TO_DO = (
    "Nothing to do: no job is open. judge, simulate, benchmark and build_profiles plan one with --background; one that "
    "was stopped, or has spent its budget, goes on with its own command."
)
LOOK = 1.0  # seconds between two looks whether the parent lives, and whether there is something to do


class Command(Base):
    help = (
        "Works through jobs that no command is looking after: those planned with --background, and those whose "
        "command died. `make run` starts one beside the server. Where CELERY_BROKER_URL is set, it sends the work to "
        "Celery's workers instead."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--concurrency", type=int, default=8, metavar="C", help="calls at once at one endpoint (default 8)"
        )
        parser.add_argument("--until-done", action="store_true", help="end when there is nothing left to do")
        parser.add_argument(
            "--idle", type=float, metavar="SECONDS", help="end when there was nothing to do for so long"
        )
        parser.add_argument("--parent", type=int, metavar="PID", help="end when this process has ended")

    def work(
        self, *, concurrency: int, until_done: bool, idle: float | None, parent: int | None, **_options: Any
    ) -> dict[str, Any]:
        if concurrency < 1:
            self.refuse("--concurrency must be at least 1.")
        if idle is not None and not idle >= 0:  # nan is not either
            self.refuse("--idle must be at least 0 seconds.")
        if until_done and not open_jobs().exists():
            self.say(NOTHING_TO_DO)
        try:
            stopped = asyncio.run(run(concurrency, until_done=until_done, idle=idle, parent=parent))
        except PriceFileError as error:
            self.refuse(str(error))
        if until_done and not stopped:
            self.say_what_is_left()
        return {}

    def say_what_is_left(self) -> None:
        for job in open_jobs():
            number = job.items.unfinished().count()
            wait = one_or_more(number, "item waits", "items wait")
            self.say(f"{job}: {number} {wait} for a worker that can do it. See above why this one cannot.")


def open_jobs() -> QuerySet[Job]:
    return Job.objects.filter(state=Job.State.OPEN).order_by("pk")


async def run(at_once: int, *, until_done: bool, idle: float | None, parent: int | None) -> bool:
    """Run until done or stopped; return whether it was stopped by a signal."""
    runner = worker(at_once=at_once)
    stop_on_signals(runner.stopping)
    watching = [asyncio.create_task(stop_without(parent, runner.stopping))] if parent else []
    if idle is not None:
        watching.append(asyncio.create_task(stop_when_idle(idle, runner.stopping)))
    try:
        async with run_batcher():
            await runner.run(until_done=until_done)
    finally:
        for task in watching:
            task.cancel()
    return bool(runner.stopping.is_set())


async def stop_without(parent: int, stopping: asyncio.Event) -> None:
    while os.getppid() == parent:  # noqa: ASYNC110 - no one tells of a parent's death
        await asyncio.sleep(LOOK)
    stopping.set()


async def stop_when_idle(seconds: float, stopping: asyncio.Event) -> None:
    busy_at = time.monotonic()
    while time.monotonic() - busy_at < seconds:
        await asyncio.sleep(LOOK)
        try:
            if await in_database(batch_store.needs_runner):
                busy_at = time.monotonic()
        except AWAY:  # the runner says so
            continue
    stopping.set()
