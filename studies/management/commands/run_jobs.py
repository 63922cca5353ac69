import asyncio
import os
from typing import Any

from django.core.management.base import CommandParser

from dialogue.jobs.batcher import batching
from dialogue.prices import PriceFileError
from studies.management.command import Command as Base
from studies.management.jobs import stop_on_signals, worker

LOOK_FOR_PARENT = 1.0  # seconds


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
        parser.add_argument("--parent", type=int, metavar="PID", help="end when this process has ended")

    def work(self, *, concurrency: int, until_done: bool, parent: int | None, **_options: Any) -> dict[str, Any]:
        if concurrency < 1:
            self.refuse("--concurrency must be at least 1.")
        try:
            asyncio.run(run(concurrency, until_done=until_done, parent=parent))
        except PriceFileError as error:
            self.refuse(str(error))
        return {}


async def run(at_once: int, *, until_done: bool, parent: int | None) -> None:
    runner = worker(at_once=at_once)
    stop_on_signals(runner.stopping)
    watching = asyncio.create_task(stop_without(parent, runner.stopping)) if parent else None
    try:
        async with batching():
            await runner.run(until_done=until_done)
    finally:
        if watching:
            watching.cancel()


async def stop_without(parent: int, stopping: asyncio.Event) -> None:
    while os.getppid() == parent:  # noqa: ASYNC110 - nobody tells of a parent's death
        await asyncio.sleep(LOOK_FOR_PARENT)
    stopping.set()
