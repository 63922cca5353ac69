"""Many small writes as few transactions: what waits while one is under way goes into the next."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from channels.db import database_sync_to_async
from django.db import InterfaceError, OperationalError

AWAY = (OperationalError, InterfaceError)  # the database, for whatever reason

log = logging.getLogger(__name__)

Thing = TypeVar("Thing")
Result = TypeVar("Result")
Waiting = tuple[Thing, "asyncio.Future[Result]"]

TRIES = 6  # while the database does not answer: about 15 s in all


async def in_database(rule: Callable[..., Result], *args: Any, **kwargs: Any) -> Result:
    """`rule` in the one thread that speaks with the database; again, and later, while that does not answer."""
    for attempt in range(1, TRIES):
        try:
            return await database_sync_to_async(rule)(*args, **kwargs)
        except AWAY as error:
            log.warning("the database did not answer (%s); again", error)
            await asyncio.sleep(0.25 * 2**attempt)
    return await database_sync_to_async(rule)(*args, **kwargs)


class GroupCommit(Generic[Thing, Result]):
    """`write` stores a list of things in one transaction and returns what came of each, in order.

    Where it fails for several, each is tried alone, so that one that cannot be stored does not take others with it.
    """

    def __init__(self, write: Callable[[Sequence[Thing]], Sequence[Result]]) -> None:
        self.write = write
        self.waiting: list[Waiting] = []
        self.task: asyncio.Task[None] | None = None

    async def __call__(self, thing: Thing) -> Result:
        """Returns, or raises what `write` raised, once the thing is committed."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self.waiting.append((thing, future))
        if self.task is None:
            self.task = asyncio.create_task(self.drain())
        return await future

    async def drain(self) -> None:
        await asyncio.sleep(0)  # whoever became ready in the same round comes along
        while self.waiting:
            batch, self.waiting = self.waiting, []
            await self.commit(batch)
        self.task = None

    async def commit(self, batch: Sequence[Waiting]) -> None:
        try:
            results = await in_database(self.write, [thing for thing, _ in batch])
        except Exception as error:
            if len(batch) > 1 and not isinstance(error, AWAY):
                for one in batch:
                    await self.commit([one])
                return
            for _, future in batch:
                tell(future, error=error)
        else:
            for (_, future), result in zip(batch, results, strict=True):
                tell(future, result)


def tell(future: "asyncio.Future[Any]", result: Any = None, error: Exception | None = None) -> None:
    """Nobody may be waiting any more."""
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
