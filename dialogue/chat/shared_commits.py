"""Runs the rules of chats in the database's thread, and lets those that wait there share a transaction.

SQLite commits one transaction at a time, and waits for the disk at each: two a turn were most of the waiting of many
chats at once. PostgreSQL keeps the rows of a transaction locked until its end, so there each rule has its own.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from django.db import DatabaseError, connection, transaction

log = logging.getLogger(__name__)

Result = TypeVar("Result")
Rule = Callable[[], Any]
Outcome = tuple[Any, Exception | None]
Waiting = tuple[Rule, "asyncio.Future[Any]"]


class SharedCommits:
    """The rules that wait in one event loop."""

    def __init__(self) -> None:
        self.waiting: list[Waiting] = []
        self.task: asyncio.Task[None] | None = None

    async def run(self, rule: Rule) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.waiting.append((rule, future))
        if self.task is None:
            self.task = asyncio.create_task(self.drain())
        return await future

    async def drain(self) -> None:
        try:
            while self.waiting:
                batch, self.waiting = self.waiting, []
                await self.commit(batch)
        finally:
            self.task = None

    async def commit(self, batch: Sequence[Waiting]) -> None:
        try:
            outcomes = await database_sync_to_async(run_together)([rule for rule, _ in batch])
        except Exception as error:
            outcomes = [(None, error)] * len(batch)
        for (_, future), (result, error) in zip(batch, outcomes, strict=True):
            if future.done():  # whoever waited was cancelled
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)


_of_loops: "WeakKeyDictionary[asyncio.AbstractEventLoop, SharedCommits]" = WeakKeyDictionary()


async def run_rule(rule: Callable[..., Result], *args: Any, **kwargs: Any) -> Result:
    """Run a rule, which is a transaction, in the database's thread. Return its result once it is committed, or raise
    what it raised."""
    call = partial(rule, *args, **kwargs)
    if connection.vendor != "sqlite":
        return await database_sync_to_async(call)()
    shared = _of_loops.setdefault(asyncio.get_running_loop(), SharedCommits())
    result: Result = await shared.run(call)
    return result


def run_together(rules: Sequence[Rule]) -> list[Outcome]:
    """Run the rules in one transaction, in which a rule that fails is rolled back alone. Where the transaction cannot
    be committed, run each rule in its own."""
    if len(rules) > 1:
        try:
            with transaction.atomic():
                return [run_one(rule) for rule in rules]
        except DatabaseError as error:
            log.warning("%d rules could not be stored together (%s); each alone", len(rules), error)
    return [run_one(rule) for rule in rules]


def run_one(rule: Rule) -> Outcome:
    try:
        return rule(), None
    except Exception as error:
        return None, error
