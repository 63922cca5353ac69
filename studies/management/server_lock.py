"""Locks that decide which processes may serve a database.

Without Redis it is a single process: two of them would fetch the same replies, and neither would tell the other what it
stored. With Redis, all processes with the same signing key may serve.

The locks belong to an open file or a connection, so they end with the process, however it ends.
"""

import fcntl
import hashlib
import logging
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

from django.conf import settings
from django.db import connection

from studies.management.database_faults import describe

log = logging.getLogger(__name__)

ANOTHER = (
    "emostudy is already running on this database. Use that server, or stop it before you start another. To run "
    "several side by side, give all of them the same REDIS_URL."
)
OTHER_KEY = (
    "emostudy: SECRET_KEY: another server process on this database has another key; "
    "give all of them the same SECRET_KEY"
)
PATIENCE = 5  # seconds for a process that was killed to let go
LOOK = 10.0  # seconds between two looks whether PostgreSQL still knows of us
# Names of advisory locks in PostgreSQL: any two numbers that nothing else in this database uses.
SERVERS, SIGNING_KEYS = 0x656D6F73, 0x656D6F74


def lock_database() -> Any:
    """Take the locks and return what holds them. If another process has them, exit with the reason."""
    if connection.vendor == "sqlite":
        return lock_file(Path(f"{settings.DATABASES['default']['NAME']}.lock"))
    return PostgresLock()


def fingerprint() -> int:
    """Return a number that differs between signing keys and does not reveal the key."""
    digest = hashlib.sha256(b"emostudy server lock" + settings.SECRET_KEY.encode()).digest()
    return int.from_bytes(digest[:4], "big", signed=True)


def refuse(reason: str) -> NoReturn:
    sys.exit(reason)


def lock_file(path: Path) -> int:
    """Lock a file next to the SQLite database and return its descriptor. It holds the fingerprint of the
    first process."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return join_others(descriptor)
    os.truncate(descriptor, 0)
    os.pwrite(descriptor, str(fingerprint()).encode(), 0)
    if not settings.SINGLE_PROCESS:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def join_others(descriptor: int) -> int:
    if settings.SINGLE_PROCESS:
        refuse(ANOTHER)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        refuse(ANOTHER)
    if os.pread(descriptor, 20, 0) != str(fingerprint()).encode():
        refuse(OTHER_KEY)
    return descriptor


class PostgresLock:
    """Advisory locks of a connection that stays open. A thread takes them again after a restart of PostgreSQL."""

    def __init__(self) -> None:
        try:
            self.connection = self.connect()
        except connection.Database.OperationalError as error:
            refuse(describe(error))
        if reason := self.take(patience=PATIENCE):
            refuse(reason)
        threading.Thread(target=self.keep, name="server-lock", daemon=True).start()

    def connect(self) -> Any:
        parameters = connection.get_connection_params()
        # A machine without power closes no connection, so PostgreSQL checks after half a minute whether it is there.
        alive = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
        parameters["options"] = f"{parameters.get('options', '')} {alive}".strip()
        return connection.Database.connect(**parameters, autocommit=True)

    def take(self, *, patience: float) -> str:
        """Take the locks; return why they cannot be had, or an empty text."""
        kind = "" if settings.SINGLE_PROCESS else "_shared"
        give_up = time.monotonic() + patience
        while not self.ask(f"SELECT pg_try_advisory_lock{kind}(%s, 0)", SERVERS):
            if time.monotonic() > give_up:
                return ANOTHER
            time.sleep(0.2)
        self.ask("SELECT pg_advisory_lock_shared(%s, %s)", SIGNING_KEYS, fingerprint())
        others = (
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objsubid = 2"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            " AND objid::bigint <> (%s::bigint & 4294967295)"
        )
        return OTHER_KEY if self.ask(others, SIGNING_KEYS, fingerprint()) else ""

    def ask(self, query: str, *parameters: int) -> Any:
        return self.connection.execute(query, parameters).fetchone()[0]

    def keep(self) -> None:
        while True:
            time.sleep(LOOK)
            try:
                self.ask("SELECT 1")
            except connection.Database.Error:
                self.take_again()

    def take_again(self) -> None:
        try:
            self.connection = self.connect()
            reason = self.take(patience=PATIENCE)
        except connection.Database.Error:
            return  # the next check is in ten seconds
        if reason:
            log.error("another server has begun while the database was away: %s", reason)
