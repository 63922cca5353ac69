"""Limits to websockets: how long one stays open, how long its browser may be silent, and how many one visitor has."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Hashable
from typing import Protocol

IDLE = 30 * 60.0  # seconds without a frame from the browser; the page opens a new one when someone comes back to it
TOTAL = 12 * 3600.0  # seconds, after which the page opens a new one and its session is looked at again
OF_CONVERSATION = 6  # sockets; further ones close the oldest, which are other tabs or lines that broke unnoticed
OF_ACCOUNT = 20  # pages of a researcher; further ones are refused
# Close codes, which static/js/socket.js knows too.
RESTING, WORN_OUT, SHUT_OUT, REPLACED = 4000, 4001, 4002, 4003


class Socket(Protocol):
    async def close(self, code: int | None = None) -> None: ...


class OpenSocket:
    """An open socket of a visitor."""

    def __init__(self, visitor: Hashable, socket: Socket, *, may_be_silent: bool) -> None:
        self.visitor, self.socket, self.may_be_silent = visitor, socket, may_be_silent
        self.loop = asyncio.get_running_loop()
        self.opened = self.heard = time.monotonic()
        self.limits = asyncio.create_task(self.close_in_time())

    def hear(self) -> None:
        self.heard = time.monotonic()

    async def close_in_time(self) -> None:
        while (left := self.remaining_seconds()) > 0:  # noqa: ASYNC110 - what is heard only puts the end off
            await asyncio.sleep(left)
        await self.socket.close(WORN_OUT if time.monotonic() - self.opened >= TOTAL else RESTING)

    def remaining_seconds(self) -> float:
        ends = self.opened + TOTAL
        return (ends if self.may_be_silent else min(ends, self.heard + IDLE)) - time.monotonic()


lines: dict[Hashable, list[OpenSocket]] = defaultdict(list)  # of this process, the oldest first


def open_line(visitor: Hashable, socket: Socket, *, may_be_silent: bool = False) -> OpenSocket:
    """Register a socket that was accepted, and close it when its time is over."""
    line = OpenSocket(visitor, socket, may_be_silent=may_be_silent)
    lines[visitor].append(line)
    return line


def forget(line: OpenSocket) -> None:
    line.limits.cancel()
    if line in lines.get(line.visitor, ()):
        lines[line.visitor].remove(line)
    if not lines.get(line.visitor):
        lines.pop(line.visitor, None)


def has_too_many(visitor: Hashable, most: int) -> bool:
    return len(lines.get(visitor, ())) >= most


async def replace_oldest(visitor: Hashable, most: int) -> None:
    """Close a visitor's oldest sockets so that one more does not exceed the most."""
    for line in lines.get(visitor, [])[: -(most - 1)]:
        forget(line)
        await line.socket.close(REPLACED)


def shut_out(visitor: Hashable) -> None:
    """Close a visitor's sockets in this process, from any thread."""
    for line in tuple(lines.get(visitor, ())):
        asyncio.run_coroutine_threadsafe(line.socket.close(SHUT_OUT), line.loop)
