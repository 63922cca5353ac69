"""A runner of jobs beside the server, while there are jobs: an idle one would hold as much memory as the server."""

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
    """For as long as the server runs. A runner that was killed is followed by another at once; one that could not
    work, as with faults in the price file, tells why, and the next one comes later."""
    while True:
        failed = await is_needed() and await ended(begin()) > 0
        await asyncio.sleep(PAUSE if failed else LOOK)


async def ended(runner: Process) -> int:
    """Its exit code; negative where it was killed."""
    while (code := runner.poll()) is None:  # noqa: ASYNC110 - no child watcher under Twisted's loop
        await asyncio.sleep(LOOK)
    return code


async def is_needed() -> bool:
    try:
        return await database_sync_to_async(batch_store.needs_runner)()
    except AWAY:
        return False  # whoever is served meanwhile is told so; here it is enough to look again


def begin() -> Process:
    """A process of its own: what jobs compute must not hold up a reply. It ends when this one does."""
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
