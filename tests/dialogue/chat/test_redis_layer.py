"""The layer by itself; with a real Redis: tests/walks/test_redis.py."""

import asyncio
from contextlib import suppress

import pytest

from dialogue.chat.redis_layer import PatientLock, end_with_caller


async def test_lock_is_forgotten_although_somebody_was_cancelled_while_they_waited_for_it():
    lock = PatientLock()
    await lock.acquire("one")
    waiting = asyncio.create_task(lock.acquire("one"))
    await asyncio.sleep(0)
    waiting.cancel()
    with suppress(asyncio.CancelledError):
        await waiting
    lock.release("one")
    assert (lock.locks, lock.wait_counts) == ({}, {})


async def test_a_wait_that_loses_its_cancellation_ends_with_its_caller():
    asked = 0

    async def wait_on() -> dict[str, str]:
        nonlocal asked
        while True:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                asked += 1
                if asked > 1:
                    raise

    waiting = asyncio.create_task(end_with_caller(wait_on()))
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waiting, 30)
    assert asked == 2
