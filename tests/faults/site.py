"""A database with jobs in it, and two processes that work on them: runners on SQLite, Celery's on PostgreSQL."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

import kombu
import redis
from kombu.exceptions import OperationalError

from tests.faults.database import Database, Postgres, SQLite, postgres_answers
from tests.faults.schedule import Backend
from tests.server import NOT_INHERITED, ROOT

Broker = Literal["redis", "rabbitmq"]
REDIS = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/0")
RABBITMQ = os.environ.get("TEST_AMQP_URL", "amqp://guest:guest@127.0.0.1:5672//")
URLS: dict[Broker, str] = {"redis": REDIS, "rabbitmq": RABBITMQ}
AT_WORK = {"sqlite": 8, "postgres": 16}  # calls at once, by one worker
LAST_SECONDS = 20  # for a worker that is told to go

Process = subprocess.Popen[bytes]


class Site:
    def __init__(self, backend: Backend, folder: Path, database: Database, name: str, broker: Broker) -> None:
        self.backend, self.folder, self.database = backend, folder, database
        carries = {"CELERY_BROKER_URL": URLS[broker], "CELERY_QUEUE": name, "REDIS_PREFIX": name}
        kept = {name: value for name, value in os.environ.items() if name.removesuffix("_FILE") not in NOT_INHERITED}
        given = {"VAR_DIR": str(folder / "var"), **database.environment}
        self.env = kept | given | (carries if backend == "postgres" else {})

    def run(self, code: str) -> None:
        """In one process of the application."""
        told = subprocess.run(
            [sys.executable, "manage.py", "shell", "-c", code], cwd=ROOT, env=self.env, capture_output=True, text=True
        )
        if told.returncode:
            raise RuntimeError(told.stderr)

    def commands(self) -> list[list[str]]:
        """The two workers; and with Celery, who sends them their work."""
        runner = ["manage.py", "run_jobs", "--until-done", "--concurrency", str(AT_WORK[self.backend])]
        return [*self.celery(), runner] if self.backend == "postgres" else [runner, runner]

    def celery(self) -> list[list[str]]:
        """Its two workers, where the work goes over a broker."""
        if self.backend == "sqlite":
            return []
        celery = ["-m", "celery", "-A", "emostudy.celery", "worker", "--pool", "threads"]
        told = ["-c", str(AT_WORK[self.backend]), "-l", "WARNING"]
        return [[*celery, *told, "-n", name] for name in ("one@%h", "two@%h")]

    @contextmanager
    def working(self, commands: Sequence[Sequence[str]]) -> Iterator[list[Process]]:
        processes = [self.start_process(*command) for command in commands]
        try:
            yield processes
        finally:
            end(processes)

    def start_process(self, *command: str) -> Process:
        with (self.folder / "workers.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *command], cwd=ROOT, env=self.env, stdout=log, stderr=subprocess.STDOUT
            )

    def said(self) -> str:
        return (self.folder / "workers.log").read_text(encoding="utf-8")


@contextmanager
def site_on(backend: Backend, folder: Path, name: str, broker: Broker = "redis") -> Iterator[Site]:
    """`name`: of what it has of its own in PostgreSQL and at the broker."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        database: Database = SQLite(folder / "var" / "emostudy.sqlite3")
        if backend == "postgres":
            database = stack.enter_context(Postgres.made(name))
            stack.callback(FORGET[broker], name)
        yield Site(backend, folder, database, name, broker)


def ended(worker: Process, patience: float) -> bool:
    """One that was told to stay until nothing is left to be done; `patience` in seconds."""
    try:
        return worker.wait(patience) == 0
    except subprocess.TimeoutExpired:
        return False


def end(workers: Sequence[Process]) -> None:
    for worker in workers:
        if worker.poll() is None:
            worker.send_signal(signal.SIGTERM)
    for worker in workers:
        try:
            worker.wait(LAST_SECONDS)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


def forget_keys(prefix: str) -> None:
    server = redis.from_url(REDIS)
    for key in server.scan_iter(f"{prefix}*"):
        server.delete(key)


def forget_queue(name: str) -> None:
    with kombu.Connection(RABBITMQ) as connection:
        connection.default_channel.queue_delete(name)
        connection.default_channel.exchange_delete(name)


FORGET = {"redis": forget_keys, "rabbitmq": forget_queue}


def is_there(backend: Backend, broker: Broker = "redis") -> bool:
    """What it needs, where the tests look for it."""
    return backend == "sqlite" or (postgres_answers() and ANSWERS[broker]())


def redis_answers() -> bool:
    try:
        return bool(redis.from_url(REDIS, socket_connect_timeout=3).ping())
    except redis.RedisError:
        return False


def rabbitmq_answers() -> bool:
    with kombu.Connection(RABBITMQ, connect_timeout=3) as connection:
        try:
            connection.ensure_connection(max_retries=1)
        except OperationalError:
            return False
        return True


ANSWERS = {"redis": redis_answers, "rabbitmq": rabbitmq_answers}
