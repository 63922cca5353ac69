"""Pause, hold, continue and end a conversation, for the person, the team or a timeout."""

from django.db import transaction

from dialogue.chat import chat_frames
from dialogue.chat.state import (
    ChatRefused,
    Notice,
    close,
    is_under_way,
    lock_conversation,
    refuse_unless_open,
    set_status,
    state_frame,
)
from dialogue.models import Conversation, Supporter, Turn
from dialogue.models.conversation import EndReason, Status, TurnState


@transaction.atomic
def end(conversation_id: int, *, early: bool) -> chat_frames.Outgoing:
    """End the conversation for the person: as finished once it has its minimum of turns, before that only where they
    ask for an early stop."""
    conversation = lock_conversation(conversation_id)
    last = conversation.last_turn()
    if conversation.status != Status.OPEN or conversation.suspended:
        refuse_unless_open(conversation, last)
    reached = conversation.answered_turns() >= conversation.min_turns
    if not reached and not early:
        raise ChatRefused(
            "busy", f"The conversation can be ended after {conversation.min_turns} turns, or stopped early."
        )
    close(conversation, EndReason.FINISHED if reached else EndReason.EARLY)
    Turn.objects.filter(conversation=conversation, state=TurnState.WAITING).update(state=TurnState.FAILED)
    return state_frame(conversation, last)


def resume(conversation_id: int) -> None:
    """Continue after the rating that was due is stored, or end the conversation where it has reached its last turn.

    Called inside the transaction that stores the rating.
    """
    conversation = lock_conversation(conversation_id)
    if conversation.status != Status.PAUSED:
        return
    if conversation.answered_turns() >= conversation.max_turns:
        close(conversation, EndReason.CAP)
    else:
        conversation.status = Status.OPEN
        conversation.save(update_fields=["status"])


@transaction.atomic
def change_language(
    conversation_id: int,
    *,
    language: str,
    supporter: Supporter,
    profile: str,
    characters_per_second: float | None,
    opening: str = "",
    opening_request: str = "",
) -> None:
    """Change the language of a conversation from the next message on; the partner stays the same.

    What was said stays as it is, and a reply that is under way comes in the language in which it was asked for. The
    opening changes its language as long as nothing has been said after it.
    """
    conversation = lock_conversation(conversation_id)
    if conversation.status == Status.CLOSED or conversation.language == language:
        return
    if last := conversation.last_turn():
        conversation.earlier_languages = [*conversation.earlier_languages, conversation.language]
        conversation.switched_after = [*conversation.switched_after, last.number]
    else:
        conversation.opening, conversation.opening_request = opening, opening_request
    conversation.language, conversation.supporter = language, supporter
    conversation.profile, conversation.characters_per_second = profile, characters_per_second
    conversation.save(
        update_fields=[
            *("language", "earlier_languages", "switched_after", "supporter", "profile"),
            *("characters_per_second", "opening", "opening_request"),
        ]
    )


def release(conversation_id: int) -> None:
    """Let a held conversation continue for a person on call: the message that held it is answered after all."""
    conversation = lock_conversation(conversation_id)
    if conversation.status != Status.HELD:
        return
    conversation.turns.filter(state=TurnState.HELD).update(state=TurnState.WAITING, owner="", lease_until=None)
    conversation.status = Status.OPEN
    conversation.save(update_fields=["status"])


@transaction.atomic
def suspend(conversation_id: int) -> Notice:
    """Take no more messages until `unsuspend`; a reply that is under way still comes."""
    conversation = lock_conversation(conversation_id)
    conversation.suspended, conversation.state_seq = True, conversation.reserve(1)
    conversation.save(update_fields=["suspended", "state_seq"])
    last = conversation.last_turn()
    tells = conversation.status == Status.OPEN and not is_under_way(last)
    frames = (state_frame(conversation, last),) if tells else ()
    return Notice(conversation.pk, conversation.code, frames)


def unsuspend(conversation_id: int) -> None:
    """Take messages again."""
    Conversation.objects.filter(pk=conversation_id).update(suspended=False)


def is_reply_under_way(conversation_id: int) -> bool:
    """Return whether a process is fetching a reply, with the conversation locked until the transaction ends."""
    return is_under_way(lock_conversation(conversation_id).last_turn())


def stop(conversation_id: int, reason: EndReason) -> Notice:
    """End a conversation from outside, whatever its state. One that has ended keeps its reason."""
    conversation = lock_conversation(conversation_id)
    if conversation.status == Status.CLOSED:
        return Notice(conversation.pk, conversation.code, ())
    close(conversation, reason)
    conversation.turns.filter(state=TurnState.WAITING).update(state=TurnState.FAILED)
    return Notice(conversation.pk, conversation.code, (state_frame(conversation, None),))


def reopen_unused(conversation_id: int) -> None:
    """Reopen a conversation that a timeout stopped before its first message."""
    conversation = lock_conversation(conversation_id)
    if conversation.end_reason == EndReason.WITHDRAWN and not conversation.turns.exists():
        conversation.status, conversation.end_reason, conversation.ended_at = Status.OPEN, "", None
        conversation.save(update_fields=["status", "end_reason", "ended_at"])


def hold_for_role_answer(conversation_id: int) -> None:
    """Hold a role-play after its counsellor said that the words were their own."""
    conversation = lock_conversation(conversation_id)
    if conversation.status in (Status.OPEN, Status.PAUSED):
        set_status(conversation, Status.HELD)
