"""The layer by itself; with a real Redis: tests/walks/test_redis.py."""

import asyncio
from contextlib import suppress

from dialogue.redis_layer import PatientLock


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
