"""The runner beside the server: when another one follows."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from studies.management import runner_process


class EnoughError(Exception):
    """Ends what would run for as long as the server."""


def ended(does: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", does])
    process.wait()
    return process


@pytest.mark.parametrize(
    ("does", "waits"),
    [("exit(2)", runner_process.PAUSE), ("exit(0)", runner_process.LOOK), ("import os; os.kill(os.getpid(), 9)", 2.0)],
)
async def test_runner_that_could_not_work_is_followed_later(
    does: str, waits: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = ended(does)
    waited: list[float] = []

    async def needed() -> bool:
        return True

    async def sleep(seconds: float) -> Any:
        waited.append(seconds)
        raise EnoughError

    monkeypatch.setattr(runner_process, "is_needed", needed)
    monkeypatch.setattr(runner_process, "start_runner", lambda: process)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    with pytest.raises(EnoughError):
        await runner_process.run_where_needed()
    assert waited == [waits]
