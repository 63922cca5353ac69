"""Check whether the database answers, while someone waits for a page."""

import asyncio
import logging

from django.db import connection

log = logging.getLogger(__name__)

PATIENCE = 2.0  # seconds for a connection and one question
AGAIN = 1.0  # seconds between two looks whether it is back


class DatabaseHealth:
    def __init__(self) -> None:
        self.is_away = False
        self.looking: asyncio.Task[bool] | None = None
        self.waiting: asyncio.Task[None] | None = None  # until it is back

    async def answers(self) -> bool:
        """Return whether the database answers; simultaneous calls share one check."""
        if self.looking is None or self.looking.done():
            self.looking = asyncio.create_task(self.look())
        return await asyncio.shield(self.looking)

    async def look(self) -> bool:
        if connection.vendor != "postgresql":
            return True  # a file beside us does not go away
        self.is_away = not await self.connects()
        if self.is_away and (self.waiting is None or self.waiting.done()):
            log.error("the database does not answer: pages say so until it does")
            self.waiting = asyncio.create_task(self.wait_until_back())
        return not self.is_away

    async def connects(self) -> bool:
        """Return whether a separate connection works; those of the pool may be busy or hang."""
        psycopg = connection.Database
        parameters = connection.get_connection_params()
        del parameters["cursor_factory"]  # Django's own, for threads
        try:
            async with asyncio.timeout(PATIENCE):
                async with await psycopg.AsyncConnection.connect(**parameters, autocommit=True) as own:
                    await own.execute("SELECT 1")
        except (psycopg.Error, OSError):
            return False
        return True

    async def wait_until_back(self) -> None:
        while self.is_away:
            await asyncio.sleep(AGAIN)
            self.is_away = not await self.connects()
        log.warning("the database answers again")
