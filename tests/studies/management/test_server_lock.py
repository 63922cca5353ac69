"""Who may serve a database beside a server that is there already."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from studies.management.server_lock import ANOTHER, SERVERS
from tests.faults.database import Postgres, postgres_answers
from tests.faults.site import REDIS, redis_answers
from tests.server import ROOT, Server, free_port, serving

DATABASES = ["sqlite", "postgres"]
needs_redis = pytest.mark.skipif(not redis_answers(), reason="no Redis answered: servers were not run side by side")


@contextmanager
def environment(kind: str) -> Iterator[dict[str, str]]:
    """Where the database is."""
    if kind == "sqlite":
        yield {}
    elif not postgres_answers():
        pytest.skip("no PostgreSQL answered: only those of SQLite were refused")
    else:
        with Postgres.made(f"test_emostudy_lock_{os.getpid()}") as database:
            yield database.environment


def refusal(server: Server, **env: str) -> str:
    """What a second server says that does not start."""
    told = subprocess.run(
        [sys.executable, "manage.py", "start", "--without-jobs"],
        cwd=ROOT,
        env={**server.env, "PORT": str(free_port()), **env},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert told.returncode == 1
    assert told.stdout == ""
    return told.stderr


def start_beside(server: Server, **env: str) -> None:
    """A second server, which starts."""
    port = free_port()
    other = Server(
        f"http://127.0.0.1:{port}", {**server.env, "PORT": str(port), **env}, server.folder, server.folder / "other.log"
    )
    try:
        other.start()
    finally:
        other.stop()


@pytest.mark.parametrize("kind", DATABASES)
def test_second_server_without_redis_is_refused_and_a_killed_one_is_followed_at_once(kind: str, tmp_path: Path) -> None:
    with environment(kind) as where, serving(tmp_path, **where) as server:
        elsewhere = {"VAR_DIR": str(tmp_path / "other")} if where else {}
        assert refusal(server, **elsewhere) == f"{ANOTHER}\n"
        assert ANOTHER.startswith("emostudy is already running on this database")
        assert server.manage("invite", "demo", "--count", "1").returncode == 0
        for _ in range(2):
            server.kill9()
            server.start()


@pytest.mark.skipif(not postgres_answers(), reason="no PostgreSQL answered: it was not restarted under a server")
def test_lock_is_taken_again_when_postgresql_was_restarted(tmp_path: Path) -> None:
    held = (
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = ? AND granted"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    with Postgres.made(f"test_emostudy_lock_{os.getpid()}") as database, serving(tmp_path, **database.environment):
        (before,) = database.rows(held, SERVERS)
        database.go_away(2)
        give_up = time.monotonic() + 60
        while not (after := database.rows(held, SERVERS)):
            assert time.monotonic() < give_up
            time.sleep(0.5)
    assert after != [before]


@needs_redis
@pytest.mark.parametrize("kind", DATABASES)
def test_servers_with_redis_need_one_key(kind: str, tmp_path: Path) -> None:
    key = "a key that all servers have in common, long enough for anyone to be content"
    redis = {"REDIS_URL": REDIS, "REDIS_PREFIX": f"test_emostudy_lock_{os.getpid()}", "SECRET_KEY": key}
    with environment(kind) as where, serving(tmp_path, **redis, **where) as server:
        start_beside(server)
        assert refusal(server, SECRET_KEY=key.replace("common", "part")) == (
            "emostudy: SECRET_KEY: another server process on this database has another key; "
            "give all of them the same SECRET_KEY\n"
        )
        assert refusal(server, REDIS_URL="") == f"{ANOTHER}\n"
