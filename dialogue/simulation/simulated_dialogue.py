"""The rules of a conversation with a simulated seeker. Each function is one short transaction.

Screens and ends are those of a person's conversation. There are no frames, pauses and alarms, because no one is in
danger.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from dialogue.chat import state
from dialogue.chat.chat_frames import MAX_CHARACTERS
from dialogue.chat.self_identification import names_itself
from dialogue.judges.prompts import JudgedTurn
from dialogue.models import Conversation, InnerState, Turn
from dialogue.models.conversation import EndReason, Status, TurnState
from dialogue.providers.base import ProviderError, Reply
from dialogue.safety.resources import standard_text
from dialogue.safety.screening import REPLY_LEVEL, level_in_context, screen_message, screen_reply
from dialogue.seekers.reading import Thought

SOURCE = "seeker"  # of the inner states that a simulated seeker had itself
ENDS_IT = 4  # the level of the risk screen at which a role-play ends too


@dataclass
class SimulatedDialogue:
    """A simulated conversation as its seeker knows it.

    `turns`: answered turns; `thoughts`: after each of `turns`; `due`: the message that has no reply yet.
    """

    conversation: Conversation
    turns: list[JudgedTurn]
    thoughts: list[Thought | None]
    due: JudgedTurn | None = None
    last_words: JudgedTurn | None = None
    end_reason: str = ""

    @property
    def opening(self) -> str:
        return self.conversation.opening

    @property
    def seeker_turns(self) -> list[JudgedTurn]:
        return self.turns + ([self.last_words] if self.last_words else [])

    def next_words(self, text: str) -> JudgedTurn:
        """Return the seeker's next message as a turn without a reply."""
        return judged_turn(self.conversation, len(self.turns) + 1, text, "")

    def add_reply(self, reply: str) -> None:
        assert self.due is not None  # noqa: S101 - a reply answers a message
        self.turns.append(replace(self.due, supporter=reply))
        self.thoughts.append(None)
        self.due = None


def load_dialogue(conversation_id: int) -> SimulatedDialogue:
    conversation = Conversation.objects.select_related("supporter").get(pk=conversation_id)
    rows = state.get_past_turns(conversation)
    answered = [row for row in rows if row.state == TurnState.ANSWERED]
    thoughts = thoughts_of(conversation)
    last = rows[-1] if rows and rows[-1].state != TurnState.ANSWERED else None
    words = judged_turn(conversation, last.number, last.text, "") if last else None
    is_due = last is not None and last.state == TurnState.WAITING
    return SimulatedDialogue(
        conversation,
        turns=[judged_turn(conversation, row.number, row.text, row.reply) for row in answered],
        thoughts=[thoughts.get(row.number) for row in answered],
        due=words if is_due else None,
        last_words=None if is_due else words,
        end_reason=conversation.end_reason,
    )


def judged_turn(conversation: Conversation, number: int, seeker: str, supporter: str) -> JudgedTurn:
    return JudgedTurn(number, seeker, supporter, opening=conversation.opening if number == 1 else "")


class ShownReply(NamedTuple):
    """A reply as the seeker reads it, and the end reason if it ends the conversation."""

    text: str
    end_reason: str


def thoughts_of(conversation: Conversation) -> dict[int, Thought]:
    rows = conversation.states.filter(source=SOURCE, emotion_score__isnull=False)
    return {row.turn: Thought(row.cognition, row.emotion, row.goal, round(row.emotion_score)) for row in rows}


@transaction.atomic
def store_opening(dialogue: SimulatedDialogue, reply: Reply) -> str:
    """Store what the supporter said first, and return the end reason, or an empty text.

    It is screened as each reply is. If it may not be shown, the standard text stands in its place and the conversation
    ends.
    """
    conversation = state.lock_conversation(dialogue.conversation.pk)
    is_withheld = screen_reply(reply.text) is not None
    conversation.opening = standard_text(conversation.language) if is_withheld else reply.text[:MAX_CHARACTERS]
    conversation.save(update_fields=["opening"])
    dialogue.conversation.opening = conversation.opening
    if is_withheld and conversation.status != Status.CLOSED:
        state.close(conversation, EndReason.SAFETY)
    return EndReason.SAFETY if is_withheld else ""


@transaction.atomic
def store_message(dialogue: SimulatedDialogue, text: str, *, leaves: str = "") -> str:
    """Store the seeker's message and return the end reason, or an empty text.

    With the last message, or one that ends a role-play for safety, the conversation closes and no reply is due.
    """
    conversation = state.lock_conversation(dialogue.conversation.pk)
    past = state.get_past_turns(conversation)
    turn = new_turn(conversation, len(dialogue.turns) + 1, text)
    turn.risk_level = level_in_context(screen_message(text), [earlier.risk_level for earlier in past])
    reason = EndReason.SAFETY if turn.risk_level >= ENDS_IT else leaves
    turn.state = TurnState.HELD if reason else TurnState.WAITING
    set_start(conversation, turn)
    turn.save(force_insert=True)
    if reason:
        state.close(conversation, EndReason(reason))
    return reason


def new_turn(conversation: Conversation, number: int, text: str) -> Turn:
    return Turn(
        conversation=conversation,
        number=number,
        client_id=f"simulated {number}",
        text=text[:MAX_CHARACTERS],
        created_at=timezone.now(),
    )


def set_start(conversation: Conversation, turn: Turn) -> None:
    if conversation.started_at is None:
        conversation.started_at = turn.created_at
        conversation.save(update_fields=["started_at"])


@transaction.atomic
def store_reply(conversation_id: int, number: int, reply: Reply) -> ShownReply:
    """Store the whole reply and return it as it is shown.

    A reply that may not be shown to a person is not shown to a simulated one either, and ends the conversation where it
    would end a person's.
    """
    conversation = state.lock_conversation(conversation_id)
    waiting = conversation.turns.filter(number=number, state=TurnState.WAITING)
    after = waiting.values_list("risk_level", flat=True).first() or 0
    verdict = screen_reply(reply.text, after=after)
    visible_text = standard_text(conversation.language) if verdict else reply.text
    waiting.update(
        state=TurnState.ANSWERED,
        reply=visible_text,
        reply_original=reply.text if verdict else "",
        masked=bool(verdict),
        names_itself=names_itself(reply.text, conversation.names),
        replied_at=timezone.now(),
        first_token_ms=reply.first_token_ms,
        total_ms=reply.total_ms,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        attempts=1,
        seen=True,
        error="",
    )
    ends = verdict is not None and verdict.level >= REPLY_LEVEL
    if ends and conversation.status != Status.CLOSED:
        state.close(conversation, EndReason.SAFETY)
    return ShownReply(visible_text, EndReason.SAFETY if ends else "")


@transaction.atomic
def store_thought(conversation_id: int, number: int, thought: Thought) -> None:
    """Store the seeker's inner state after the reply of that turn."""
    InnerState.objects.update_or_create(
        conversation_id=conversation_id,
        turn=number,
        source=SOURCE,
        defaults={
            "cognition": thought.cognition,
            "emotion": thought.emotion,
            "goal": thought.goal,
            "emotion_score": thought.emotion_score,
        },
    )


@transaction.atomic
def finish(conversation_id: int, reason: EndReason) -> None:
    conversation = state.lock_conversation(conversation_id)
    if conversation.status != Status.CLOSED:
        state.close(conversation, reason)


@transaction.atomic
def break_off(conversation_id: int, number: int, error: ProviderError) -> None:
    """End the conversation, because the supporter's model will not answer this message."""
    conversation = state.lock_conversation(conversation_id)
    conversation.turns.filter(number=number, state=TurnState.WAITING).update(state=TurnState.FAILED, error=error.status)
    if conversation.status != Status.CLOSED:
        state.close(conversation, EndReason.TECHNICAL)
