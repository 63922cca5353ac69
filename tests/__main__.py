"""The whole suite: on SQLite and the in-process channel layer, in a browser, and with real servers and workers. Tests
with a database or sockets run once more on PostgreSQL and Redis, where they are named or answer on their standard
ports. Says what was left out.

    python -m tests [--all] [what pytest takes]

Long tests have fewer examples, unless `--all` is given. Four runs go side by side, for those with servers mostly wait;
with arguments one goes after the other.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import psycopg
import redis

from tests.amounts import IN_FULL
from tests.lanes import SERVERS, SLOW

POSTGRES = "postgresql://postgres@127.0.0.1:5432/postgres"
REDIS = "redis://127.0.0.1:6379/0"
# Servers and commands of tests start some thousand times: each would compile five hundred modules where Python may not
# keep what it compiled.
UNSET = ("DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL", "SECRET_KEY", "DEBUG", "REPLAY", "PYTHONDONTWRITEBYTECODE")
SECONDS = 3  # to connect
AT_ONCE = 4  # runs: servers and browsers mostly wait
NO_TESTS = 5  # pytest's exit code where it was to run none: no failure where another run has some
IN_PROCESS = "not browser and not servers"
WITH_DATABASE = "django_db and not browser"
IN_SHORT = "both_databases"


@dataclass(frozen=True)
class Run:
    """Once through pytest."""

    name: str
    arguments: Sequence[str]
    environ: Mapping[str, str] = field(default_factory=dict)


def main(arguments: Sequence[str]) -> int:
    """Run the tests; return the exit code of the first run that failed."""
    if "--all" in arguments:
        os.environ[IN_FULL] = "1"
        arguments = [one for one in arguments if one != "--all"]
    postgres = address("TEST_DATABASE_URL", POSTGRES, to_postgres)
    redis_url = address("TEST_REDIS_URL", REDIS, to_redis)
    with tempfile.TemporaryDirectory(prefix="emostudy-test.") as folder, keys(redis_url) as prefix:
        with_redis = {"REDIS_URL": redis_url, "REDIS_PREFIX": prefix} if redis_url else {}
        which = WITH_DATABASE if arguments or os.environ.get(IN_FULL) else IN_SHORT
        # Nothing of a test needs to outlive a loss of power.
        faster = {"PGOPTIONS": "-c synchronous_commit=off"}
        again = Run("postgres", ["-m", which, *arguments], {"DATABASE_URL": postgres, **faster, **with_redis})
        more = [again] if postgres else []
        if arguments:
            code = run_in_turn([Run("sqlite", arguments), *more], Path(folder))
        else:
            # The longest come first, so that no processor is left alone with one of them.
            others = [
                Run("browser", ["-m", "browser", "tests/browser"]),
                Run("walks", ["-m", "servers", *paths(place for place in SERVERS if place != "faults")]),
                Run("slow", ["-m", f"slow and {IN_PROCESS}", *paths(SLOW)]),
                Run("faults", ["-m", "servers", "tests/faults"]),
                *more,
            ]
            code = run_side_by_side(Run("sqlite", ["-m", f"not slow and {IN_PROCESS}"]), others, Path(folder))
    for name, url, rest in (("PostgreSQL", postgres, "the database tests"), ("Redis", redis_url, "sockets")):
        if not url:
            print(f"*** SKIPPED: no {name} answered on its standard port, so {rest} ran without it alone. ***")
    return code


def paths(places: Iterable[str]) -> list[str]:
    """Return the files and folders that pytest is to look into, so that it need not read all tests."""
    return [f"tests/{place}" for place in places]


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


def run_side_by_side(shown: Run, others: Sequence[Run], folder: Path) -> int:
    """Show one run as it goes, and what the others print when all is over."""
    print(f"Meanwhile, shown at the end: {', '.join(run.name for run in others)}.", flush=True)
    with ExitStack() as stack, ThreadPoolExecutor(AT_ONCE - 1) as threads:
        files = [stack.enter_context((folder / f"{run.name}.txt").open("w+")) for run in others]
        codes = [threads.submit(run_in_turn, [run], folder, file) for run, file in zip(others, files, strict=True)]
        code = run_in_turn([shown], folder)
        code = next(filter(None, (code, *(one.result() for one in codes))), 0)
        for file in files:
            file.seek(0)
            print(file.read(), flush=True)
    return code


def run_in_turn(runs: Sequence[Run], folder: Path, out: IO[str] | None = None) -> int:
    codes = []
    for run in runs:
        print(f"--- {run.name}", file=out, flush=True)
        code, seconds = run_tests(run, folder / run.name, out)
        codes.append(code)
        outcome = "passed" if code in (0, NO_TESTS) else "FAILED"
        print(f"\n{run.name}: {outcome}, {seconds / 60:.1f} minutes of a processor", flush=True)
    return next((code for code in codes if code not in (0, NO_TESTS)), min(codes))


def run_tests(run: Run, folder: Path, out: IO[str] | None) -> tuple[int, float]:
    """Run pytest with a folder of its own for what it writes; return its exit code and the processor's seconds."""
    folder.mkdir()
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    # Mixed models of small matrices take a hundred times as long where many threads share them.
    own = {"VAR_DIR": str(folder), "OPENBLAS_NUM_THREADS": "1", **run.environ}
    command = [sys.executable, "-m", "pytest", *run.arguments]
    with subprocess.Popen(command, env=kept | own, stdout=out, stderr=out) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
