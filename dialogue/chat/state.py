"""The state of a conversation: read and changed with its row locked."""

from typing import NamedTuple

from django.db import connection, transaction
from django.utils import timezone

from dialogue.chat import chat_frames
from dialogue.compiled_sql import CompiledQuery
from dialogue.models import Conversation, Turn
from dialogue.models.conversation import EndReason, Status, TurnState

PAST_TURN_FIELDS = ("conversation", "number", "state", "client_id", "text", "seq", "reply", "reply_seq", "risk_level",
                  "help_seq", "owner", "lease_until", "attempts")  # fmt: skip


class ChatRefused(Exception):
    """A message that cannot be taken now; `code` and `detail` are what the person's `error` frame says."""

    def __init__(self, code: chat_frames.ErrorCode, detail: str) -> None:
        super().__init__(detail)
        self.code: chat_frames.ErrorCode = code
        self.detail = detail


class Notice(NamedTuple):
    """Frames that an act from outside has stored, for the sockets of a conversation."""

    conversation: int
    code: str
    frames: tuple[chat_frames.Outgoing, ...]


CONVERSATION = CompiledQuery(Conversation, lambda: Conversation.objects.filter(pk=0).order_by())
LOCKED_CONVERSATION = CompiledQuery(Conversation, lambda: Conversation.objects.select_for_update().filter(pk=0))
PAST_TURNS = CompiledQuery(Turn, lambda: Turn.objects.filter(conversation=0).order_by("number").only(*PAST_TURN_FIELDS))


def lock_conversation(conversation_id: int) -> Conversation:
    """Return the conversation with its row locked until the transaction ends (SQLite: the database is, by
    IMMEDIATE)."""
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("a conversation is locked inside a transaction")
    for conversation in LOCKED_CONVERSATION.rows(conversation_id):
        return conversation
    raise Conversation.DoesNotExist(conversation_id)


def get_past_turns(conversation: Conversation) -> list[Turn]:
    """Return the turns with the fields that the rules and the supporter need, in one query."""
    return PAST_TURNS.rows(conversation.pk)


def refuse_unless_open(conversation: Conversation, last: Turn | None) -> None:
    if is_held(conversation, last):
        raise ChatRefused("held", "The conversation waits. Please look at the help page.")
    if conversation.status == Status.PAUSED:
        raise ChatRefused("paused", "A short rating is due first.")
    if conversation.status == Status.CLOSED:
        raise ChatRefused("closed", "The conversation is over.")
    if conversation.suspended:
        raise ChatRefused("paused", "The study team has paused your part.")
    if last and last.state in (TurnState.WAITING, TurnState.FAILED):
        raise ChatRefused("busy", "The reply to your last message is still due.")


def is_held(conversation: Conversation, last: Turn | None) -> bool:
    if conversation.status == Status.HELD:
        return True
    return conversation.end_reason == EndReason.SAFETY and last is not None and last.state == TurnState.HELD


def must_hold(conversation: Conversation, turn: Turn) -> bool:
    return turn.risk_level >= holding_level(conversation)


def holding_level(conversation: Conversation) -> int:
    """Return the level from which a message holds the conversation."""
    return 4 if conversation.role_play else 3


def hold_or_close(conversation: Conversation, turn: Turn) -> None:
    if turn.risk_level == 4 and not conversation.role_play:
        close(conversation, EndReason.SAFETY)
    else:
        set_status(conversation, Status.HELD)


def set_status(conversation: Conversation, status: Status) -> None:
    conversation.status = status
    conversation.state_seq = conversation.reserve(1)
    conversation.save(update_fields=["status", "state_seq"])


def close(conversation: Conversation, reason: EndReason) -> None:
    conversation.end_reason = reason
    conversation.ended_at = timezone.now()
    conversation.status = Status.CLOSED
    conversation.state_seq = conversation.reserve(1)
    conversation.save(update_fields=["status", "state_seq", "end_reason", "ended_at"])


def is_going_on(conversation: Conversation) -> bool:
    return conversation.status == Status.OPEN and not conversation.suspended


def pause_or_close_when_due(conversation: Conversation, *, answered: int) -> None:
    if answered in conversation.pause_after:
        set_status(conversation, Status.PAUSED)
    elif answered >= conversation.max_turns:
        close(conversation, EndReason.CAP)


def state_frame(conversation: Conversation, last: Turn | None) -> chat_frames.Outgoing:
    """Return the frame that says why nothing can be written now."""
    turn = last.number if last else 0
    if is_held(conversation, last):
        return chat_frames.Held(seq=conversation.state_seq, turn=turn)
    if conversation.status == Status.PAUSED:
        return chat_frames.Pause(seq=conversation.state_seq, turn=turn)
    if conversation.status == Status.CLOSED:
        return chat_frames.Closed(seq=conversation.state_seq)
    if conversation.suspended:
        return team_pause(conversation, turn)
    return chat_frames.Failed(seq=conversation.state_seq, turn=turn)


def team_pause(conversation: Conversation, turn: int) -> chat_frames.Pause:
    return chat_frames.Pause(seq=conversation.state_seq, turn=turn, by="team")


def is_under_way(turn: Turn | None) -> bool:
    if turn is None or turn.state != TurnState.WAITING:
        return False
    return turn.lease_until is not None and turn.lease_until > timezone.now()
