"""Notices between server processes over Redis. Without Redis, the conversations of each process continue."""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from channels_redis.core import ChannelLock, RedisChannelLayer
from redis.asyncio import ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

AWAY = (RedisError, OSError)
PATIENCE = 1.0  # seconds that a conversation waits for Redis
AGAIN = 1.0  # seconds between two looks whether it is back
# A socket that waits for notices asks Redis to wait with it, for five seconds at a time (`brpop_timeout`). redis-py
# gives up after five seconds too, unless told otherwise, and so would close every socket to which nothing happens.
LONGEST_SILENCE = 15.0
CANCELLED_AGAIN = 0.2  # seconds
Message = dict[str, Any]
MISSED = {"type": "conversation.changed", "owner": ""}  # makes a socket look into the database


async def end_with_caller(waiting: Coroutine[Any, Any, Message]) -> Message:
    """Return the message; where the caller is cancelled, cancel the wait until it has ended.

    redis-py 8.1 sometimes loses the cancellation of a task and waits on. A socket that was gone then never ended.
    """
    task = asyncio.ensure_future(waiting)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        while not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):  # it ends within moments, and then the caller does
                await asyncio.wait([task], timeout=CANCELLED_AGAIN)
        if not task.cancelled():
            task.exception()  # no one else will look at it
        raise
    return task.result()


class PatientLock(ChannelLock):
    """A channel lock that is released if a waiting task is cancelled; Channels' own then keeps it for good."""

    async def acquire(self, channel: str) -> bool:
        try:
            return await super().acquire(channel)
        except asyncio.CancelledError:
            self.wait_counts[channel] -= 1
            if self.wait_counts[channel] < 1:
                del self.locks[channel], self.wait_counts[channel]
            raise


class RedisLayer(RedisChannelLayer):
    """A channel layer that survives the loss of Redis.

    Channels' own layer raises when Redis is away, and its user is disconnected. This one drops the notice and says so
    once. When Redis is back, it joins all groups again and lets each socket look for what it missed.
    """

    def __init__(self, **config: Any) -> None:
        super().__init__(**config)
        self.receive_clean_locks = PatientLock()
        self.joined: dict[str, set[str]] = defaultdict(set)  # the channels of this process, by group
        self.is_away = False
        self.watching: asyncio.Task[None] | None = None

    def create_pool(self, index: int) -> ConnectionPool:
        """Return a pool that retries once on a new connection, because an idle one may have broken."""
        host = {"socket_timeout": LONGEST_SILENCE, "retry": Retry(NoBackoff(), 1)} | self.hosts[index]
        return ConnectionPool.from_url(host.pop("address"), **host)

    async def group_add(self, group: str, channel: str) -> None:
        self.joined[group].add(channel)
        await self.attempt(super().group_add, group, channel)

    async def group_discard(self, group: str, channel: str) -> None:
        self.joined[group].discard(channel)
        if not self.joined[group]:
            del self.joined[group]
        await self.attempt(super().group_discard, group, channel)

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        await self.attempt(super().group_send, group, message)

    async def receive(self, channel: str) -> dict[str, Any]:
        while True:
            try:
                return await end_with_caller(super().receive(channel))
            except AWAY:
                await asyncio.wait([self.watch()])

    async def _clean_receive_backup(self, index: int, channel: str) -> None:
        """Clean up in a task of its own, whose error no one would handle."""
        await self.attempt(super()._clean_receive_backup, index, channel)

    async def attempt(self, command: Callable[..., Awaitable[None]], *arguments: Any) -> None:
        if self.is_away:
            return
        try:
            async with asyncio.timeout(PATIENCE):
                await command(*arguments)
        except AWAY:
            self.watch()

    def watch(self) -> asyncio.Task[None]:
        """Return the one task that waits until Redis is back."""
        if self.watching is None or self.watching.done():
            self.watching = asyncio.create_task(self.wait_until_back())
        return self.watching

    async def wait_until_back(self) -> None:
        """Wait until Redis answers. It logs nothing if only a connection broke."""
        since = time.monotonic()
        while not await self.answers():  # noqa: ASYNC110 — Redis sends no notice when it is back
            await asyncio.sleep(AGAIN)
        if self.is_away:
            self.is_away = False
            await self.come_back()
            log.warning("Redis answers again, after %.0f s", time.monotonic() - since)

    async def answers(self) -> bool:
        """Return whether Redis runs a script that writes, like all commands used here."""
        script, key = "return redis.call('SET', ARGV[1], 1, 'EX', 60)", f"{self.prefix}:probe"
        try:
            async with asyncio.timeout(PATIENCE):
                await self.connection(0).eval(script, 0, key)
        except AWAY as error:
            if not self.is_away:
                reason = str(error) or type(error).__name__
                log.warning("Redis does not answer (%s): chats go on within each server process", reason)
            self.is_away = True
            return False
        return True

    async def come_back(self) -> None:
        """Join all groups again and make sockets look for missed messages, because a restart of Redis loses both."""
        await self.connection(0).connection_pool.disconnect()  # open requests would wait for ever
        for group, channels in list(self.joined.items()):
            for channel in tuple(channels):
                await self.attempt(super().group_add, group, channel)
                self.receive_buffer[channel].put_nowait(MISSED)
