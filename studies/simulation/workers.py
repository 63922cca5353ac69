"""Many things to do, a few at once. Pure."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Thing = TypeVar("Thing")


async def work_through(things: Iterable[Thing], do: Callable[[Thing], Awaitable[None]], *, at_once: int) -> None:
    """Let `at_once` workers take from one iterator. What a worker raises ends all of them, as an ExceptionGroup."""
    waiting = iter(things)

    async def worker() -> None:
        for thing in waiting:
            await do(thing)

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(worker())
