"""Combines many small writes into few transactions: what waits while one is under way goes into the next."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import count
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.db import InterfaceError, OperationalError, close_old_connections, transaction

AWAY = (OperationalError, InterfaceError)  # the database, for whatever reason

log = logging.getLogger(__name__)

Result = TypeVar("Result")
Write = Callable[[Sequence[Any]], Sequence[Any]]
TakeBack = Callable[[Any], None]
Waiting = tuple[Write, Any, "asyncio.Future[Any]"]

TRIES = 6  # while the database does not answer: about 15 s in all


async def in_database(rule: Callable[..., Result], *args: Any, **kwargs: Any) -> Result:
    """Run `rule` in the one thread that uses the database, and again while the database does not answer.

    The connection stays open for the next rule, because a check after each rule would double the statements. A broken
    connection is closed here.
    """
    for attempt in count(1):
        try:
            return await sync_to_async(rule)(*args, **kwargs)
        except AWAY as error:
            await sync_to_async(close_old_connections)()
            if attempt == TRIES:
                raise
            log.warning("the database did not answer (%s); again", error)
            await asyncio.sleep(0.25 * 2**attempt)
    raise AssertionError("the loop above has no end")


class GroupCommit:
    """Stores everything that waits in one transaction, for all rules.

    Where that fails, each thing is tried alone, so that one fault does not take others with it.
    """

    def __init__(self) -> None:
        self.rules: dict[Write, TakeBack | None] = {}
        self.waiting: list[Waiting] = []
        self.task: asyncio.Task[None] | None = None

    def writer_for(self, write: Write, *, take_back: TakeBack | None = None) -> Callable[[Any], Awaitable[Any]]:
        """Return a function that stores one thing with `write`, which stores a list and returns its results in order.

        The rule that is named first writes first, so that all processes lock rows in the same order. `take_back` gets
        the result of a thing whose caller was cancelled meanwhile.
        """
        self.rules[write] = take_back
        return partial(self.store, write)

    async def store(self, write: Write, thing: Any) -> Any:
        """Store a thing, and return its result once it is committed. Raises what `write` raised."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.waiting.append((write, thing, future))
        if self.task is None:
            self.task = asyncio.create_task(self.drain())
        try:
            return await future
        except asyncio.CancelledError:
            if not future.cancelled() and not future.exception():  # it was stored in the same moment
                self.give_back(write, future.result())
            raise

    def give_back(self, write: Write, result: Any) -> None:
        if take_back := self.rules[write]:
            take_back(result)

    async def drain(self) -> None:
        await asyncio.sleep(0)  # whoever became ready in the same round comes along
        while self.waiting:
            batch, self.waiting = self.waiting, []
            await self.commit(batch)
        self.task = None

    async def commit(self, batch: Sequence[Waiting]) -> None:
        try:
            results = await in_database(self.write_all, batch)
        except Exception as error:
            if len(batch) > 1 and not isinstance(error, AWAY):
                for one in batch:
                    await self.commit([one])
                return
            for _, _, future in batch:
                if not future.done():
                    future.set_exception(error)
        else:
            for (write, _, future), result in results:
                if future.done():
                    self.give_back(write, result)
                else:
                    future.set_result(result)

    @transaction.atomic
    def write_all(self, batch: Sequence[Waiting]) -> list[tuple[Waiting, Any]]:
        results: list[tuple[Waiting, Any]] = []
        for rule in self.rules:
            if ours := [one for one in batch if one[0] == rule]:
                results += zip(ours, rule([thing for _, thing, _ in ours]), strict=True)
        return results
