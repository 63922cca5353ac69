"""The whole suite: on SQLite and the in-process channel layer, and in a browser; then its database and socket tests
once more on PostgreSQL and Redis, where they are named or answer on their standard ports. Says what was left out.

    python -m tests [what pytest takes]

Two processes go side by side, for one alone waits half of its time; with arguments one after the other.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import psycopg
import redis

POSTGRES = "postgresql://postgres@127.0.0.1:5432/postgres"
REDIS = "redis://127.0.0.1:6379/0"
UNSET = ("DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL", "SECRET_KEY", "DEBUG", "REPLAY")
SECONDS = 3  # to connect
NO_TESTS = 5  # pytest's exit code where it was to run none: no failure where another run has some
ON_SQLITE, IN_BROWSER, WITH_DATABASE = "not browser", "browser", "django_db and not browser"


@dataclass(frozen=True)
class Run:
    """Once through pytest."""

    name: str
    arguments: Sequence[str]
    environ: Mapping[str, str] = field(default_factory=dict)


def main(arguments: Sequence[str]) -> int:
    """The exit code: that of the first run that failed."""
    postgres = address("TEST_DATABASE_URL", POSTGRES, to_postgres)
    redis_url = address("TEST_REDIS_URL", REDIS, to_redis)
    with tempfile.TemporaryDirectory(prefix="emostudy-test.") as folder, keys(redis_url) as prefix:
        with_redis = {"REDIS_URL": redis_url, "REDIS_PREFIX": prefix} if redis_url else {}
        again = Run("postgres", ["-m", WITH_DATABASE, *arguments], {"DATABASE_URL": postgres, **with_redis})
        more = [again] if postgres else []
        if arguments:
            code = in_turn([Run("sqlite", arguments), *more], Path(folder))
        else:
            browser = [Run("browser", ["-m", IN_BROWSER]), *more]
            code = side_by_side([Run("sqlite", ["-m", ON_SQLITE])], browser, Path(folder))
    for name, url, rest in (("PostgreSQL", postgres, "the database tests"), ("Redis", redis_url, "sockets")):
        if not url:
            print(f"*** SKIPPED: no {name} answered on its standard port, so {rest} ran without it alone. ***")
    return code


def address(variable: str, usual: str, connect: Callable[[str], None]) -> str:
    """Of a server; empty where none is named and none answers."""
    named = os.environ.get(variable, "")
    try:
        connect(named or usual)
    except (psycopg.Error, redis.RedisError, ValueError) as error:
        return sys.exit(f"{variable} does not answer: {error}") if named else ""
    return named or usual


def to_postgres(url: str) -> None:
    psycopg.connect(url, connect_timeout=SECONDS).close()


def to_redis(url: str) -> None:
    redis.from_url(url, socket_connect_timeout=SECONDS).ping()


@contextmanager
def keys(url: str) -> Iterator[str]:
    """The beginning of the names of all keys in Redis; they go with us."""
    prefix = f"test_emostudy_{os.getpid()}"
    try:
        yield prefix
    finally:
        server = redis.from_url(url) if url else None
        for key in server.scan_iter(f"{prefix}*") if server else ():
            server.delete(key)


# Running


def side_by_side(shown: Sequence[Run], others: Sequence[Run], folder: Path) -> int:
    """What `others` print is told when all is over."""
    told = folder / "others.txt"
    with told.open("w") as out, ThreadPoolExecutor() as threads:
        print(f"Meanwhile, told at the end: {', then '.join(run.name for run in others)}.", flush=True)
        code_of_others = threads.submit(in_turn, others, folder, out)
        code = in_turn(shown, folder)
        code = code or code_of_others.result()
    print(told.read_text(), flush=True)
    return code


def in_turn(runs: Sequence[Run], folder: Path, out: IO[str] | None = None) -> int:
    codes = []
    for run in runs:
        print(f"--- {run.name}", file=out, flush=True)
        codes.append(ended(run, folder / run.name, out))
    return next((code for code in codes if code not in (0, NO_TESTS)), min(codes))


def ended(run: Run, folder: Path, out: IO[str] | None) -> int:
    """With a folder of its own for what it writes."""
    folder.mkdir()
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    # Mixed models of small matrices take a hundred times as long where many threads share them.
    own = {"VAR_DIR": str(folder), "OPENBLAS_NUM_THREADS": "1", **run.environ}
    command = [sys.executable, "-m", "pytest", *run.arguments]
    return subprocess.run(command, env=kept | own, stdout=out, stderr=out, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
