"""The socket of the safety desk: says that something has changed, never what. The page then fetches itself anew."""

import asyncio
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.contrib.auth import SESSION_KEY
from django.db import InterfaceError, OperationalError

from dialogue.chat import sockets
from studies.access.sockets import find_study_for
from studies.care import desk
from studies.models import Study

EVERY = 2.0  # seconds between looks at the database, which all server processes share


class DeskConsumer(AsyncJsonWebsocketConsumer):
    """The websocket of the desk's page.

    It sends `{"type": "desk", "open", "unacknowledged", "newest_event", "newest_act"}` at first, and at each change.
    """

    watcher: asyncio.Task[None] | None = None
    line: sockets.OpenSocket | None = None

    async def connect(self) -> None:
        study = await find_study_for(self)
        if study is None:
            await self.close()
            return
        account = ("account", self.scope["session"][SESSION_KEY])
        if sockets.has_too_many(account, sockets.OF_ACCOUNT):
            await self.close()
            return
        await self.accept()
        self.line = sockets.open_line(account, self, may_be_silent=True)
        self.watcher = asyncio.create_task(self.watch(study))

    async def disconnect(self, code: int) -> None:
        if self.line:
            sockets.forget(self.line)
        if self.watcher:
            self.watcher.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any) -> None:
        """Ignore a message from the page, which has nothing to say."""

    async def watch(self, study: Study) -> None:
        """Send the state whenever it differs, until the role is taken away. While the database is away the page says
        that it is not up to date."""
        seen: dict[str, Any] | None = None
        while True:
            try:
                if await find_study_for(self) is None:
                    await self.close()
                    return
                state = await database_sync_to_async(self.read_state)(study)
            except (OperationalError, InterfaceError):
                state = {"type": "away"}
            if state != seen:
                await self.send_json(state)
                seen = state
            await asyncio.sleep(EVERY)

    def read_state(self, study: Study) -> dict[str, Any]:
        """Return the state that the page gets; it is sent again whenever it differs."""
        return {"type": "desk", **desk.get_state(study)._asdict()}
