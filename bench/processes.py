"""Starting a server of our own, watching what it costs, and ending it with its children."""

import os
import socket
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

import psutil

PATIENCE = 90.0  # seconds until a server must answer


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def family(pid: int) -> list[psutil.Process]:
    """The process and all that it started."""
    try:
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def cpu_seconds(pid: int | None) -> float | None:
    if pid is None:
        return None
    times = [process.cpu_times() for process in family(pid)]
    return sum(one.user + one.system for one in times)


def memory_mb(pid: int) -> float:
    """Resident memory of the whole family."""
    total = 0
    for process in family(pid):
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total / 1e6


class PeakMemory(threading.Thread):
    """The highest resident memory of a process family, by four looks a second."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.mb, self.stopped = pid, 0.0, threading.Event()

    def run(self) -> None:
        while not self.stopped.wait(0.25):
            self.mb = max(self.mb, memory_mb(self.pid))


class Server:
    """A process of ours; its output goes to `log`."""

    def __init__(self, command: list[str], *, cwd: Path, env: dict[str, str], log: Path) -> None:
        self.log = log
        with log.open("ab") as output:
            self.process = subprocess.Popen(command, cwd=cwd, env=env, stdout=output, stderr=output)
        self.pid = self.process.pid

    def wait_for(self, url: str) -> None:
        give_up = time.monotonic() + PATIENCE
        while not answers(url):
            if self.process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError(f"{url} does not answer:\n{self.log.read_text()[-2000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        members = family(self.pid)
        for process in members:
            if process.is_running():
                process.terminate()
        for process in psutil.wait_procs(members, timeout=5)[1]:
            process.kill()
        self.process.wait()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def clean_environment() -> dict[str, str]:
    """Ours without what would make a system under test talk to anything but itself."""
    foreign = (
        "DATABASE_URL",
        "REDIS_URL",
        "CELERY_BROKER_URL",
        "EMAIL_URL",
        "DJANGO_SETTINGS_MODULE",
        "DEBUG",
        "VAR_DIR",
    )
    return {name: value for name, value in os.environ.items() if name.removesuffix("_FILE") not in foreign}
