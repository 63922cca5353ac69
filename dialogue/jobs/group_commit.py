"""Many small writes as few transactions: what waits while one is under way goes into the next."""

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
    """`rule` in the one thread that speaks with the database; again, and later, while that does not answer.

    The connection stays open for the next rule: to look after each whether it still lives would ask the database once
    more for everything it is asked. One that broke is closed here.
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
    """One transaction stores all that has come together meanwhile, whatever rule it is for.

    Where it fails for several, each is tried alone, so that one that cannot be stored does not take others with it.
    """

    def __init__(self) -> None:
        self.rules: dict[Write, TakeBack | None] = {}
        self.waiting: list[Waiting] = []
        self.task: asyncio.Task[None] | None = None

    def of(self, write: Write, *, take_back: TakeBack | None = None) -> Callable[[Any], Awaitable[Any]]:
        """`write` stores a list of things and returns what came of each, in order. Which rule is named first writes
        first, so that all processes lock rows in the same order. `take_back` is told what came of a thing where whoever
        had it stored was cancelled meanwhile."""
        self.rules[write] = take_back
        return partial(self.stored, write)

    async def stored(self, write: Write, thing: Any) -> Any:
        """Returns, or raises what `write` raised, once the thing is committed."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.waiting.append((write, thing, future))
        if self.task is None:
            self.task = asyncio.create_task(self.drain())
        try:
            return await future
        except asyncio.CancelledError:
            if not future.cancelled() and not future.exception():  # it was stored in the same moment
                self.nobody_waits(write, future.result())
            raise

    def nobody_waits(self, write: Write, result: Any) -> None:
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
            told = await in_database(self.write_all, batch)
        except Exception as error:
            if len(batch) > 1 and not isinstance(error, AWAY):
                for one in batch:
                    await self.commit([one])
                return
            for _, _, future in batch:
                if not future.done():
                    future.set_exception(error)
        else:
            for (write, _, future), result in told:
                if future.done():
                    self.nobody_waits(write, result)
                else:
                    future.set_result(result)

    @transaction.atomic
    def write_all(self, batch: Sequence[Waiting]) -> list[tuple[Waiting, Any]]:
        told: list[tuple[Waiting, Any]] = []
        for rule in self.rules:
            if ours := [one for one in batch if one[0] == rule]:
                told += zip(ours, rule([thing for _, thing, _ in ours]), strict=True)
        return told
