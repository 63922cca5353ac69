"""Refuse websockets of the researchers' pages to accounts without the act."""

from channels.auth import get_user
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from studies.access.access import Access, Viewer
from studies.access.table import SOCKETS, Act
from studies.models import Study


async def find_study_for(consumer: AsyncWebsocketConsumer) -> Study | None:
    """Return the study in a socket's address, if whoever opens it may do what the table says; else None."""
    session = consumer.scope["session"]
    if not await database_sync_to_async(session.exists)(session.session_key):
        return None  # signed out meanwhile, perhaps from another browser
    user = await get_user(consumer.scope)
    key = consumer.scope["url_route"]["kwargs"]["study_key"]
    return await database_sync_to_async(_find_study)(user, key, SOCKETS[type(consumer).__name__])


def _find_study(user: Viewer, key: str, act: Act) -> Study | None:
    study = Study.objects.filter(key=key).first()
    return study if study and Access(user, study).may(act) else None
