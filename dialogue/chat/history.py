"""Frames for a browser that reconnects, and which replies it has shown."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import transaction

from dialogue.chat import chat_frames
from dialogue.chat.signs import help_for, still_needs_help
from dialogue.chat.state import CONVERSATION, PAST_TURN_FIELDS, state_frame
from dialogue.compiled_sql import CompiledQuery
from dialogue.models import Conversation, Turn
from dialogue.models.conversation import Status, TurnState

SHOWN_TURNS = CompiledQuery(
    Turn,
    lambda: Turn.objects.filter(conversation=0).order_by("number").only(*PAST_TURN_FIELDS, "created_at", "replied_at"),
)


@dataclass(frozen=True)
class MissedFrames:
    frames: list[chat_frames.Outgoing]
    is_reply_due: bool


def get_missed_frames(conversation_id: int, after: int) -> MissedFrames:
    """Return the frames with numbers above `after`, in order, for a browser that reconnects."""
    conversation = CONVERSATION.first(conversation_id)
    if conversation is None:
        raise Conversation.DoesNotExist(conversation_id)
    turns = SHOWN_TURNS.rows(conversation_id)
    last = turns[-1] if turns else None
    missed = [frame for turn in turns for frame in frames_of(conversation, turn, turn is last) if frame.seq > after]
    is_reply_due = last is not None and last.state == TurnState.WAITING
    rests = conversation.suspended and not is_reply_due
    stands = conversation.status != Status.OPEN or rests or (last is not None and last.state == TurnState.FAILED)
    if stands and conversation.state_seq > after:
        missed.append(state_frame(conversation, last))
    return MissedFrames(missed, is_reply_due)


def frames_of(conversation: Conversation, turn: Turn, is_last: bool) -> Iterator[chat_frames.Numbered]:
    yield chat_frames.StoredMessage(
        seq=turn.seq, turn=turn.number, id=turn.client_id, text=turn.text, sent_at=format_minute(turn.created_at)
    )
    if is_last and still_needs_help(conversation, turn):
        yield from help_for(turn)
    if turn.state == TurnState.ANSWERED:
        yield chat_frames.StoredReply(
            seq=turn.reply_seq, turn=turn.number, text=turn.reply, sent_at=format_minute(turn.replied_at)
        )


def format_minute(moment: datetime | None) -> str | None:
    """Return a time to the minute, for the page: seconds would reveal how fast a partner answers."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:00Z") if moment else None


@transaction.atomic
def mark_seen(conversation_id: int, seq: int) -> None:
    Turn.objects.filter(conversation=conversation_id, state=TurnState.ANSWERED, reply_seq__lte=seq, seen=False).update(
        seen=True
    )
