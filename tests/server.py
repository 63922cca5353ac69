"""The real thing for tests: `manage.py start` as a process of its own, with its own database, that can be killed."""

import atexit
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import aiohttp

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 120.0  # seconds until it can serve
# What would make the server under test talk to anything but itself.
NOT_INHERITED = (
    *("DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL", "EMAIL_URL", "DJANGO_SETTINGS_MODULE", "DEBUG", "CONTACT_KEY"),
)

COPYING = threading.Lock()  # servers of several threads wait for the first one
LOAD_OPEN = """
from django.core.management import call_command
from studies.models import Study
call_command("load_study", {path!r})
Study.objects.update(stage="open")
"""


@dataclass
class Server:
    base_url: str
    env: dict[str, str]
    folder: Path
    log: Path
    with_jobs: bool = False  # a runner of jobs beside it
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def database(self) -> Path:
        return self.folder / "emostudy.sqlite3"

    def start(self) -> None:
        command = ["manage.py", "start", *([] if self.with_jobs else ["--without-jobs"])]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, *command], cwd=ROOT, env=self.env, stdout=log, stderr=subprocess.STDOUT
            )
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        give_up = time.monotonic() + PATIENCE
        while not self.is_ready():
            assert self.process is not None
            if self.process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError(f"the server did not start:\n{self.log.read_text()[-4000:]}")
            time.sleep(0.1)

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.base_url}/readyz", timeout=5) as response:
                return response.status == 200
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def kill9(self) -> None:
        """As when the power goes: no handler runs."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self.process is None:
            return
        self.process.send_signal(how)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def manage(self, *arguments: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        """A command beside the running server, on the same database; its exit code is the caller's to look at."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT, env=self.env, capture_output=True, text=True, timeout=timeout, check=False
        )  # fmt: skip

    def load_open(self, study: Path) -> None:
        """Load a study that real people can enter at once: the checks before an opening have tests of their own."""
        done = self.manage("shell", "-c", LOAD_OPEN.format(path=str(study)))
        assert done.returncode == 0, done.stderr[-3000:]


@contextmanager
def serving(tmp_path: Path, *, with_jobs: bool = False, from_empty: bool = False, **env: str) -> Iterator[Server]:
    """A server on a free port with the demo study loaded; everything it writes is under `tmp_path`."""
    port = free_port()
    folder = tmp_path / "var"
    variables = environment(folder, port, **env)
    if not (from_empty or "DATABASE_URL" in env or folder.exists()):
        with COPYING:
            shutil.copytree(started_folder(), folder)
    server = Server(f"http://127.0.0.1:{port}", variables, folder, tmp_path / "server.log", with_jobs)
    try:
        server.start()
        yield server
    finally:
        server.stop()


def environment(folder: Path, port: int, **env: str) -> dict[str, str]:
    """Return the environment of a server that writes into `folder` alone."""
    kept = {name: value for name, value in os.environ.items() if name.removesuffix("_FILE") not in NOT_INHERITED}
    return kept | {"VAR_DIR": str(folder), "HOST": "127.0.0.1", "PORT": str(port)} | env


@cache
def started_folder() -> Path:
    """Return what a server wrote when it first started: to make tables and to load the demonstration takes ten seconds
    of a processor. Tests of a first start ask for it with `from_empty`."""
    place = Path(tempfile.mkdtemp(prefix="emostudy-started."))
    atexit.register(shutil.rmtree, place)
    with serving(place, from_empty=True):
        pass
    return place / "var"


async def come_in(browser: aiohttp.ClientSession, door: str) -> str:
    """Open a person's link or the open door, press its button, and return the page that follows."""
    async with browser.get(door) as page:
        text = await page.text()
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', text)
        assert token, text
    async with browser.post(door, data={"csrfmiddlewaretoken": token[1], "act": "start"}) as page:
        assert page.status == 200, await page.text()
        return await page.text()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
