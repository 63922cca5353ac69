"""Run a process for jobs next to the server while there are jobs; an idle one would take as much memory as
the server."""

import asyncio
import os
import subprocess
import sys

from channels.db import database_sync_to_async
from django.conf import settings

from dialogue.jobs import batch_store
from dialogue.jobs.group_commit import AWAY

LOOK = 2.0  # seconds between two looks
PAUSE = 60.0  # seconds after a runner that could not work
IDLE = 60  # seconds for which a runner waits for another job
POLITE = 10  # it gives way to the server (nice)

Process = subprocess.Popen[bytes]


async def run_where_needed() -> None:
    """Start runners as long as the server runs.

    A killed runner is replaced at once. One that cannot work, as with faults in the price file, says why, and the next
    one starts later.
    """
    while True:
        failed = await is_needed() and await wait_for_exit(start_runner()) > 0
        await asyncio.sleep(PAUSE if failed else LOOK)


async def wait_for_exit(runner: Process) -> int:
    """Wait for a runner and return its exit code; negative if it was killed."""
    while (code := runner.poll()) is None:  # noqa: ASYNC110 - no child watcher under Twisted's loop
        await asyncio.sleep(LOOK)
    return code


async def is_needed() -> bool:
    try:
        return await database_sync_to_async(batch_store.needs_runner)()
    except AWAY:
        return False  # pages report it; here it is enough to check again


def start_runner() -> Process:
    """Start a runner in a process of its own, so that jobs do not delay replies. It ends with this process."""
    runner = subprocess.Popen(  # noqa: S603 - our own command, numbers as its arguments
        [
            *(sys.executable, str(settings.BASE_DIR / "manage.py"), "run_jobs"),
            *("--parent", str(os.getpid()), "--idle", str(IDLE)),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the server
    )
    os.setpriority(os.PRIO_PROCESS, runner.pid, POLITE)
    return runner
