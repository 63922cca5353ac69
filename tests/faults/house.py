"""A server with its database, and what befalls both: killed, restarted, locked, away."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import ExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.faults.database import Database, Postgres, SQLite
from tests.faults.schedule import Backend
from tests.server import Server, serving

PATIENCE = 120.0  # seconds until a server can be started again


class House:
    def __init__(self, server: Server, database: Database) -> None:
        self.server, self.database = server, database
        self.deaths: list[datetime] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.one_at_a_time = asyncio.Lock()

    @property
    def port(self) -> int:
        port = urlsplit(self.server.base_url).port
        assert port is not None
        return port

    def soon(self, work: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.create_task(work))

    async def quiet(self) -> None:
        """When everything that was begun has come to its end. Raises what went wrong in it."""
        await asyncio.gather(*self.tasks)

    async def die(self, *, after: float, politely: bool) -> None:
        await asyncio.sleep(after)
        async with self.one_at_a_time:
            await asyncio.to_thread(self.server.stop if politely else self.server.kill9)
            self.deaths.append(datetime.now(UTC))
            await self.revive()

    async def revive(self) -> None:
        """As a service manager would: again and again."""
        give_up = time.monotonic() + PATIENCE
        while True:
            try:
                return await asyncio.to_thread(self.server.start)
            except RuntimeError:
                await asyncio.to_thread(self.server.kill9)  # it may have been on its way still
                if time.monotonic() > give_up:
                    raise

    async def lock(self, seconds: float) -> None:
        async with self.one_at_a_time:
            await asyncio.to_thread(self.database.hold_lock, seconds)

    async def go_away(self, seconds: float) -> None:
        async with self.one_at_a_time:
            await asyncio.to_thread(self.database.go_away, seconds)


@asynccontextmanager
async def housed(folder: Path, backend: Backend, name: str) -> AsyncIterator[House]:
    """`name` is that of the database, where it needs one."""
    with ExitStack() as stack:
        database: Database = SQLite(folder / "var" / "emostudy.sqlite3")
        if backend == "postgres":
            database = await asyncio.to_thread(stack.enter_context, Postgres.made(name))
        server = await asyncio.to_thread(stack.enter_context, serving(folder, **database.environment))
        house = House(server, database)
        try:
            yield house
        finally:
            await house.quiet()
            await asyncio.to_thread(stack.close)
