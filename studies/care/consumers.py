"""The socket of the safety desk: says that something has changed, never what. The page then fetches itself anew."""

import asyncio
from typing import Any

from channels.auth import get_user
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.db import InterfaceError, OperationalError

from studies.care import desk
from studies.models import Study

EVERY = 2.0  # seconds between looks at the database, which all server processes share


class DeskConsumer(AsyncJsonWebsocketConsumer):
    """The websocket of the desk's page.

    It sends `{"type": "desk", "open", "unacknowledged", "newest_event", "newest_act"}` at first, and at each change.
    """

    watcher: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        user = await get_user(self.scope)
        study = await database_sync_to_async(_find_study)(self.scope["url_route"]["kwargs"]["study_key"])
        if study is None or not (user.is_authenticated and user.is_staff):
            await self.close()
            return
        await self.accept()
        self.watcher = asyncio.create_task(self.watch(study))

    async def disconnect(self, code: int) -> None:
        if self.watcher:
            self.watcher.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any) -> None:
        """Ignore a message from the page, which has nothing to say."""

    async def watch(self, study: Study) -> None:
        """Send the state whenever it differs. While the database is away the page says that it is not up to date."""
        seen: dict[str, Any] | None = None
        while True:
            try:
                state = {"type": "desk", **(await database_sync_to_async(desk.get_state)(study))._asdict()}
            except (OperationalError, InterfaceError):
                state = {"type": "away"}
            if state != seen:
                await self.send_json(state)
                seen = state
            await asyncio.sleep(EVERY)


def _find_study(key: str) -> Study | None:
    return Study.objects.filter(key=key).first()
