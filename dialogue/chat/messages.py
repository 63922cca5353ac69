"""Take a person's message: store it once, screen it, and claim its reply."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from unicodedata import category

from django.db import transaction
from django.utils import timezone

from dialogue.chat import chat_frames
from dialogue.chat.assignments import BLOCK, LEASE, Assignment, open_call, with_inquiry
from dialogue.chat.signs import help_for, is_left_to_role, record_risk
from dialogue.chat.state import (
    ChatRefused,
    get_past_turns,
    hold_or_close,
    lock_conversation,
    must_hold,
    refuse_unless_open,
    state_frame,
)
from dialogue.models import Conversation, Turn
from dialogue.models.conversation import TurnState
from dialogue.safety.screening import Verdict, level_in_context, screen_message


@dataclass(frozen=True)
class TakenTurn:
    turn: int
    frames: tuple[chat_frames.Outgoing, ...] = ()
    assignment: Assignment | None = None


@transaction.atomic
def take_seeker_turn(
    conversation_id: int, *, client_id: str, text: str, owner: str, timing: chat_frames.Timing | None = None
) -> TakenTurn:
    """Store a message once, screen it, and where a reply may follow, claim that reply for `owner`."""
    conversation = lock_conversation(conversation_id)
    past = get_past_turns(conversation)
    if existing := next((turn for turn in past if turn.client_id == client_id), None):
        return TakenTurn(turn=existing.number)
    refuse_unless_open(conversation, past[-1] if past else None)
    refuse_bad_text(text)
    turn = new_turn(conversation, past, client_id=client_id, text=text, timing=timing)
    verdict = screen_message(text)
    turn.risk_level = level_in_context(verdict, [earlier.risk_level for earlier in past])
    if must_hold(conversation, turn):
        return store_and_hold(conversation, turn, verdict)
    return store_and_claim(conversation, turn, past, verdict, owner=owner)


def refuse_bad_text(text: str) -> None:
    if all(character.isspace() or category(character) == "Cf" for character in text):  # such as zero-width spaces
        raise ChatRefused("empty", "The message is empty.")
    if len(text) > chat_frames.MAX_CHARACTERS:
        raise ChatRefused("too_long", f"The message is longer than {chat_frames.MAX_CHARACTERS} characters.")


def new_turn(
    conversation: Conversation, past: Sequence[Turn], *, client_id: str, text: str, timing: chat_frames.Timing | None
) -> Turn:
    return Turn(
        conversation=conversation,
        number=past[-1].number + 1 if past else 1,
        client_id=client_id,
        text=text,
        created_at=timezone.now(),
        **(asdict(timing) if timing and conversation.timings else {}),
    )


def store_and_claim(
    conversation: Conversation, turn: Turn, past: Sequence[Turn], verdict: Verdict, *, owner: str
) -> TakenTurn:
    """Store a message that a reply may follow. It, its help and the attempt at a reply take their numbers in one
    write."""
    frame_count = 1 + bool(turn.risk_level)
    turn.seq = number_turn(conversation, turn, frame_count + BLOCK)
    turn.claim(owner, timezone.now() + LEASE)
    turn.save(force_insert=True)
    if turn.risk_level >= 2:
        record_risk(conversation, turn, level=turn.risk_level, verdict=verdict)
    first = turn.seq + frame_count
    assignment = open_call(conversation, turn, past, range(first, first + BLOCK))
    help_frames = () if is_left_to_role(conversation, turn.risk_level, verdict.entries) else help_for(turn)
    return TakenTurn(turn.number, help_frames, with_inquiry(assignment, conversation, turn, past))


def store_and_hold(conversation: Conversation, turn: Turn, verdict: Verdict) -> TakenTurn:
    """Store a message that asks no model. Level 3 waits for a person on call; level 4 ends the conversation, but in
    role-play it waits as well."""
    turn.seq = number_turn(conversation, turn, 2)
    turn.state = TurnState.HELD
    turn.save(force_insert=True)
    hold_or_close(conversation, turn)
    record_risk(conversation, turn, level=turn.risk_level, verdict=verdict)
    return TakenTurn(turn.number, (*help_for(turn), state_frame(conversation, turn)))


def number_turn(conversation: Conversation, turn: Turn, count: int) -> int:
    if conversation.started_at is not None:
        return conversation.reserve(count)
    conversation.started_at = turn.created_at
    return conversation.reserve(count, started_at=turn.created_at)
