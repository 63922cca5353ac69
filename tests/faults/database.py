"""The server's database from outside: to look into it, to hold its lock, to send it away."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

import psycopg
from psycopg import sql

POSTGRES = os.environ.get("TEST_DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres")

Row = dict[str, Any]


class Database(Protocol):
    environment: dict[str, str]  # for the server's process

    def rows(self, query: str, *parameters: Any) -> list[Row]:
        """Parameters stand as `?`."""
        ...

    def hold_lock(self, seconds: float) -> None:
        """No one else writes meanwhile. Returns when it is over."""
        ...

    def go_away(self, seconds: float) -> None: ...


class SQLite:
    environment: dict[str, str] = {}

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self, query: str, *parameters: Any) -> list[Row]:
        with closing(sqlite3.connect(self.path, timeout=30)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query, parameters)]

    def hold_lock(self, seconds: float) -> None:
        with closing(sqlite3.connect(self.path, timeout=30, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            time.sleep(seconds)
            connection.execute("ROLLBACK")

    def go_away(self, seconds: float) -> None:
        raise NotImplementedError("a file does not go away")


class Postgres:
    """A database of its own, that `made` drops again."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.url = psycopg.conninfo.make_conninfo(POSTGRES, dbname=name)
        self.environment = {"DATABASE_URL": POSTGRES.rpartition("/")[0] + f"/{name}"}

    @classmethod
    @contextmanager
    def made(cls, name: str) -> Iterator["Postgres"]:
        administer("CREATE DATABASE {}", name)
        try:
            yield cls(name)
        finally:
            administer("DROP DATABASE {} WITH (FORCE)", name)

    def rows(self, query: str, *parameters: Any) -> list[Row]:
        with psycopg.connect(self.url, row_factory=psycopg.rows.dict_row) as connection:
            return connection.execute(query.replace("?", "%s"), parameters).fetchall()

    def hold_lock(self, seconds: float) -> None:
        with psycopg.connect(self.url) as connection:
            connection.execute("LOCK TABLE dialogue_turn IN ACCESS EXCLUSIVE MODE")
            time.sleep(seconds)

    def go_away(self, seconds: float) -> None:
        administer("ALTER DATABASE {} ALLOW_CONNECTIONS false", self.name)
        try:
            administer("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = {}", self.name)
            time.sleep(seconds)
        finally:
            administer("ALTER DATABASE {} ALLOW_CONNECTIONS true", self.name)


def administer(command: str, name: str) -> None:
    """From the database beside it; `{}` stands for the name, as a name or, after `=`, as a text."""
    word = sql.Literal(name) if "= {}" in command else sql.Identifier(name)
    with psycopg.connect(POSTGRES, autocommit=True, connect_timeout=5) as connection:
        connection.execute(sql.SQL(command).format(word))


def postgres_answers() -> bool:
    try:
        psycopg.connect(POSTGRES, connect_timeout=3).close()
    except psycopg.OperationalError:
        return False
    return True
