"""Watches what an input does: whether it breaks something, and whether a refused one has written something."""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from traceback import format_exc
from typing import Any

from django.db import connection, transaction

from tests.fuzz.amount import REPORT

WRITES = re.compile(r'\s*(?:INSERT INTO|UPDATE|DELETE FROM|INSERT OR IGNORE INTO) "(\w+)"', re.IGNORECASE)
# Written whatever comes of a request: who is signed in, how often someone has tried, when a person was last here, what
# a person wrote on a form that was sent back, so that they need not write it again, and that an account was refused.
BESIDE = frozenset({"django_session", "emostudy_cache", "studies_draft", "studies_auditentry", "studies_auditchain"})
SEEN = frozenset({"last_seen_at", "last_used_at", "active_seconds", "seconds", "awaited_since"})


@dataclass
class Watch:
    """Sends the inputs of one kind. `sent`: how many were accepted and refused; `faults`: what must not happen."""

    kind: str
    sent: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    before: dict[str, str] = field(default_factory=dict)

    def send(self, told: str, act: Callable[[], bool], kept: frozenset[str] = frozenset()) -> bool:
        """Send one input and undo it.

        `act` returns whether it was accepted; what it raises is a fault. `kept`: tables that may change all the same.
        """
        with transaction.atomic():
            with writes() as tables:
                accepted = self.try_out(told, act)
            after = {} if accepted else {table: digest(table) for table in tables - BESIDE - kept}
            transaction.set_rollback(True)
        self.sent["accepted" if accepted else "refused"] += 1
        for table, rows in after.items():
            if rows != self.before.setdefault(table, digest(table)):
                self.faults.append(f"{told}: refused, but {table} has changed")
        return accepted

    def try_out(self, told: str, act: Callable[[], bool]) -> bool:
        try:
            with transaction.atomic():
                return act()
        except Exception:
            self.faults.append(f"{told}: {format_exc()}")
            return True

    def report(self) -> None:
        """Say how many were sent, on paper if someone counts them."""
        line = (
            f"{self.kind}: {self.sent['accepted']} accepted, {self.sent['refused']} refused, {len(self.faults)} faults"
        )
        print(line)
        if file := os.environ.get(REPORT):
            with Path(file).open("a", encoding="utf-8") as report:
                report.write(f"{line}\n")


@contextmanager
def watching(kind: str) -> Iterator[Watch]:
    """Watch inputs of one kind; at the end, there must have been inputs and no faults."""
    watch = Watch(kind)
    yield watch
    watch.report()
    assert watch.sent.total() > 0
    assert watch.faults == [], "\n".join(watch.faults[:5])


@contextmanager
def writes() -> Iterator[set[str]]:
    """Collect the names of all tables that are written to."""
    tables: set[str] = set()

    def note(execute: Any, sql: str, *rest: Any) -> Any:
        if found := WRITES.match(sql):
            tables.add(found[1])
        return execute(sql, *rest)

    with connection.execute_wrapper(note):
        yield tables


def digest(table: str) -> str:
    """Return a hash of all rows of a table, without what every visit writes."""
    with connection.cursor() as cursor:
        columns = [one.name for one in connection.introspection.get_table_description(cursor, table)]
        shown = ", ".join(f'"{name}"' for name in columns if name not in SEEN)
        cursor.execute(f'SELECT {shown} FROM "{table}"')
        rows = sorted(map(repr, cursor.fetchall()))
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()
