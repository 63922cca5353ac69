"""Store what came of a reply: shown, withheld, failed and tried again, or given up."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from dialogue.chat import chat_frames
from dialogue.chat.assignments import AnsweredInquiry, Assignment, claim_reply, claimed_turn
from dialogue.chat.history import format_minute
from dialogue.chat.inquiries import close_inquiries, levels_of, note_second_level
from dialogue.chat.self_identification import names_itself
from dialogue.chat.signs import record_risk
from dialogue.chat.state import close, is_going_on, lock_conversation, pause_or_close_when_due, state_frame, team_pause
from dialogue.models import Call, Conversation, RiskEvent, Turn
from dialogue.models.conversation import EndReason, Status, TurnState
from dialogue.providers.base import TOO_LONG, ProviderError, Reply
from dialogue.safety.resources import standard_text
from dialogue.safety.screening import REPLY_LEVEL, Verdict
from dialogue.safety.second_line import (
    Finding,
)


@transaction.atomic
def record_reply(
    assignment: Assignment, reply: Reply, *, seq: int, answers: Sequence[AnsweredInquiry] = ()
) -> list[chat_frames.Outgoing]:
    """Store a whole reply, pause or close the conversation where that is due, and return the frames to send.
    `answers`: those of the second line that are to be stored with it."""
    conversation = lock_conversation(assignment.conversation)
    Call.close(assignment.call, reply)
    visible_text, now = assignment.pacing.visible_text(reply.text), timezone.now()
    if not store_reply(assignment, reply, visible_text=visible_text, seq=seq, now=now, answers=answers):
        return []
    if conversation.status == Status.OPEN:
        pause_or_close_when_due(conversation, answered=assignment.answered + 1)
    answer = chat_frames.StoredReply(seq=seq, turn=assignment.turn, text=visible_text, sent_at=format_minute(now))
    return [answer] if is_going_on(conversation) else [answer, state_frame(conversation, answered_turn(assignment))]


def answered_turn(assignment: Assignment) -> Turn:
    return Turn(number=assignment.turn, state=TurnState.ANSWERED)


def store_reply(
    assignment: Assignment,
    reply: Reply,
    *,
    visible_text: str,
    seq: int,
    now: datetime,
    answers: Sequence[AnsweredInquiry] = (),
) -> bool:
    """Store a reply on its turn. Return False where the turn is no longer this runner's: then only the ledger
    changes."""
    masked = visible_text != reply.text
    levels = levels_of(assignment, answers)
    close_inquiries(answers)
    note_second_level(assignment, levels)
    stored = claimed_turn(assignment).update(
        state=TurnState.ANSWERED,
        reply=visible_text,
        reply_seq=seq,
        masked=masked,
        reply_original=reply.text if masked else "",
        names_itself=names_itself(reply.text, assignment.pacing.names),
        replied_at=now,
        first_token_ms=reply.first_token_ms,
        total_ms=reply.total_ms,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        error="",
        owner="",
        lease_until=None,
        **levels,
    )
    return stored == 1


@transaction.atomic
def withhold_reply(
    assignment: Assignment, reply: Reply, *, sign: Verdict | Finding, seq: int, answers: Sequence[AnsweredInquiry] = ()
) -> list[chat_frames.Outgoing]:
    """Show the standard text in the place of a reply that must not be shown; the original stays for the researcher.

    What a pattern or the second line found ends the conversation. What the classifier or a soft pattern alone suspects
    does not, for both take some kind replies for harmful ones.
    """
    conversation = lock_conversation(assignment.conversation)
    Call.close(assignment.call, reply, status="stopped")
    standard, now = standard_text(conversation.language), timezone.now()
    if not store_reply(assignment, reply, visible_text=standard, seq=seq, now=now, answers=answers):
        return []
    turn = answered_turn(assignment)
    help_frame = chat_frames.Help(seq=conversation.reserve(1), turn=turn.number, level=sign.level)
    if sign.level >= REPLY_LEVEL:
        close(conversation, EndReason.SAFETY)
    elif conversation.status == Status.OPEN:
        pause_or_close_when_due(conversation, answered=assignment.answered + 1)
    if isinstance(sign, Finding):
        second, first = sign, Verdict(0)
    else:
        second, first = None, sign
    record_risk(
        conversation,
        turn,
        level=sign.level,
        verdict=first,
        source=RiskEvent.Source.REPLY,
        first_level=first.level,
        second=second,
    )
    answer = chat_frames.StoredReply(seq=seq, turn=turn.number, text=standard, sent_at=format_minute(now))
    frames: list[chat_frames.Outgoing] = [answer, help_frame]
    return frames if is_going_on(conversation) else [*frames, state_frame(conversation, turn)]


@transaction.atomic
def record_failure(assignment: Assignment, error: ProviderError, *, seq: int) -> Assignment | None:
    """Close the attempt's ledger row and open the next attempt; None where the turn is no longer ours. `seq` is the
    first frame number that this attempt has left over."""
    conversation = lock_conversation(assignment.conversation)
    Call.close(assignment.call, error)
    turn = claimed_turn(assignment).first()
    if turn is None:
        return None
    turn.error = error.status
    turn.save(update_fields=["error"])
    return claim_reply(conversation, turn, owner=assignment.owner, numbers=range(seq, assignment.end))


@transaction.atomic
def give_up_without_second_line(
    assignment: Assignment, outcome: Reply | ProviderError, answers: Sequence[AnsweredInquiry]
) -> list[chat_frames.Outgoing]:
    """Fail a turn whose second line has not answered, where the study shows no reply without it: the person can ask
    again."""
    conversation = lock_conversation(assignment.conversation)
    Call.close(assignment.call, outcome, status="stopped")
    failed = fail_turn(assignment, "second_line", answers)
    return [failed_frame(conversation, assignment)] if failed else []


def fail_turn(assignment: Assignment, error: str, answers: Sequence[AnsweredInquiry]) -> bool:
    """Mark the turn as failed. Return False where it is no longer this runner's."""
    levels = levels_of(assignment, answers)
    close_inquiries(answers)
    note_second_level(assignment, levels)
    values = {"state": TurnState.FAILED, "error": error, "owner": "", "lease_until": None}
    return claimed_turn(assignment).update(**values, **levels) == 1


def failed_frame(conversation: Conversation, assignment: Assignment) -> chat_frames.Outgoing:
    conversation.state_seq = conversation.reserve(1)
    conversation.save(update_fields=["state_seq"])
    if conversation.suspended:
        return team_pause(conversation, assignment.turn)
    return chat_frames.Failed(seq=conversation.state_seq, turn=assignment.turn)


@transaction.atomic
def give_up(
    assignment: Assignment, error: ProviderError, *, answers: Sequence[AnsweredInquiry] = ()
) -> list[chat_frames.Outgoing]:
    """Fail a turn for which no reply could be had: a stated outcome that the person can act on, never a dead input box.

    Where what was said so far is too long for this partner, to ask again is useless, and the conversation ends.
    """
    conversation = lock_conversation(assignment.conversation)
    Call.close(assignment.call, error)
    if not fail_turn(assignment, error.status, answers):
        return []
    if error.status == TOO_LONG and assignment.answered and conversation.status == Status.OPEN:
        close(conversation, EndReason.TECHNICAL)
        return [state_frame(conversation, None)]
    return [failed_frame(conversation, assignment)]
