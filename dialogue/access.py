"""Access to conversations: a browser may open those granted to its session, and no others."""

from collections.abc import Mapping, MutableMapping
from typing import Any

from dialogue.models import Conversation

KEY = "conversations"


def grant(session: MutableMapping[str, Any], conversation: Conversation) -> None:
    codes = session.get(KEY, [])
    if conversation.code not in codes:
        session[KEY] = [*codes, conversation.code]


def conversation_for(scope: Mapping[str, Any], code: str) -> Conversation | None:
    session = scope.get("session")
    if session is None or code not in session.get(KEY, []):
        return None
    return Conversation.objects.filter(code=code).first()
