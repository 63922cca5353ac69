"""Access to conversations: a browser may open those granted to its session, and no others."""

from collections.abc import Mapping, MutableMapping
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet

from dialogue.chat import replies, sockets
from dialogue.compiled_sql import CompiledQuery
from dialogue.models import Conversation

KEY = "access"  # to which conversations, and by which of their access numbers
GRANTED = CompiledQuery(Conversation, lambda: Conversation.objects.filter(code="").filter(access_number=0).order_by())


def grant(session: MutableMapping[str, Any], conversation: Conversation) -> None:
    granted = session.get(KEY, {})
    if granted.get(conversation.code) != conversation.access_number:
        session[KEY] = {**granted, conversation.code: conversation.access_number}


def conversation_for(scope: Mapping[str, Any], code: str) -> Conversation | None:
    session = scope.get("session")
    number = None if session is None else session.get(KEY, {}).get(code)
    return None if number is None else GRANTED.first(code, number)


def revoke(conversations: QuerySet[Conversation]) -> None:
    """Shut out all browsers, and close their sockets in every server process. `grant` lets one in again."""
    conversation_keys = list(conversations.values_list("pk", "code"))
    conversations.update(access_number=F("access_number") + 1)
    transaction.on_commit(lambda: close_sockets(conversation_keys))


def close_sockets(conversations: list[tuple[int, str]]) -> None:
    for pk, code in conversations:
        if settings.SINGLE_PROCESS:
            sockets.shut_out(pk)
        else:
            async_to_sync(get_channel_layer().group_send)(replies.channel_group(code), {"type": "conversation.revoked"})
