"""Claim a reply for one process, with its row in the ledger and all that it needs to fetch the reply."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from dialogue.chat.pacing import Pacing
from dialogue.chat.state import get_past_turns, holding_level, lock_conversation, must_hold
from dialogue.chat.supporters import messages_for
from dialogue.compiled_sql import CompiledQuery
from dialogue.deidentification.redaction import mask_identity
from dialogue.models import Call, Conversation, Supporter, Turn
from dialogue.models.conversation import Status, TurnState
from dialogue.providers.base import Message, ModelSettings
from dialogue.providers.registry import answering_kind
from dialogue.safety.second_line import (
    Answer,
    EarlierTurn,
    Question,
    SecondLine,
    question_about,
)

BLOCK = 16_384  # frame numbers for one reply: three attempts of two minutes, 80 ms apart, are 4500
LEASE = timedelta(seconds=30)


@dataclass(frozen=True)
class Inquiry:
    """A question to the second line of the risk screen, and its row in the ledger."""

    call: int
    question: Question


@dataclass(frozen=True)
class AnsweredInquiry:
    """An inquiry with its answer, to be stored."""

    inquiry: Inquiry
    answer: Answer


@dataclass(frozen=True)
class Assignment:
    """All that a runner needs to fetch one reply without looking into the database again."""

    conversation: int
    code: str
    turn: int
    answered: int  # turns before this one that have a whole reply
    attempt: int
    call: int
    seq: int  # the first of the frame numbers that are this attempt's own
    end: int  # what comes after the last one
    owner: str
    messages: tuple[Message, ...]
    settings: ModelSettings
    language: str
    unpaced: bool
    pacing: Pacing
    level: int  # of the message that is answered
    holds_from: int  # the level from which a message holds its conversation
    second_line: SecondLine | None = None
    inquiry: Inquiry | None = None  # about the message, where the second line is still to be asked

    @property
    def message(self) -> str:
        return self.messages[-1].text


SUPPORTER = CompiledQuery(Supporter, lambda: Supporter.objects.filter(pk=0))


def claim_reply(conversation: Conversation, turn: Turn, *, owner: str, numbers: range | None = None) -> Assignment:
    """Claim the reply of a waiting turn: from here on only `owner` may store it. `numbers`: what is left of the frame
    numbers of the attempt before, beside which the second line is asked already; a new block would tell how often this
    partner fails."""
    turn.claim(owner, timezone.now() + LEASE)
    turn.save(update_fields=["owner", "lease_until", "attempts"])
    past = [earlier for earlier in get_past_turns(conversation) if earlier.number < turn.number]
    if numbers is not None:
        return open_call(conversation, turn, past, numbers)
    first = conversation.reserve(BLOCK)
    assignment = open_call(conversation, turn, past, range(first, first + BLOCK))
    return with_inquiry(assignment, conversation, turn, past)


def open_call(conversation: Conversation, turn: Turn, past: Sequence[Turn], numbers: range) -> Assignment:
    """Open the ledger's row for this attempt."""
    if conversation.supporter_id is None:
        raise ValueError(f"conversation {conversation.code} has no supporter to answer it")
    supporter = conversation.supporter = SUPPORTER.rows(conversation.supporter_id)[0]
    messages = tuple(messages_for(conversation, past, turn.text))
    call = Call.objects.create(
        purpose=Call.Purpose.REPLY,
        conversation=conversation,
        turn=turn.number,
        attempt=turn.attempts,
        kind=answering_kind(supporter.kind),
        provider=supporter.provider,
        model=supporter.model,
        parameters={**supporter.settings().parameters(), **supporter.extra},
        request=[{"role": message.role, "text": message.text} for message in messages],
    )
    return Assignment(
        conversation=conversation.pk,
        code=conversation.code,
        turn=turn.number,
        answered=sum(earlier.state == TurnState.ANSWERED for earlier in past),
        attempt=turn.attempts,
        call=call.pk,
        seq=numbers.start,
        end=numbers.stop,
        owner=turn.owner,
        messages=messages,
        settings=supporter.settings(),
        language=conversation.language,
        unpaced=conversation.unpaced,
        pacing=pacing_of(conversation),
        level=turn.risk_level,
        holds_from=holding_level(conversation),
        second_line=SecondLine.from_json(conversation.second_line),
    )


def with_inquiry(assignment: Assignment, conversation: Conversation, turn: Turn, past: Sequence[Turn]) -> Assignment:
    """Return the assignment with a question to the second line and its row in the ledger, where one is to be asked.

    None is where it has answered already, or where a person on call has released the message that held the
    conversation.
    """
    line = assignment.second_line
    if line is None or turn.second_level is not None or must_hold(conversation, turn):
        return assignment
    mask = mask_identity if conversation.redacts else str
    earlier = [EarlierTurn(mask(one.text), one.reply, one.risk_level) for one in past]
    question = question_about(line, mask(turn.text), earlier, conversation.language)
    return replace(assignment, inquiry=open_inquiry(assignment, question))


def open_inquiry(assignment: Assignment, question: Question) -> Inquiry:
    """Open the row of the ledger for a question to the second line, before it is asked."""
    line = question.line
    call = Call.objects.create(
        purpose=Call.Purpose.SAFETY,
        conversation_id=assignment.conversation,
        turn=assignment.turn,
        attempt=assignment.attempt,
        kind=answering_kind(line.kind),
        provider=line.provider,
        model=line.model,
        parameters={"about": question.about, "seconds": line.seconds},
        prompt_version=question.version()[:64],
        request=[{"role": message.role, "text": message.text} for message in question.messages()],
    )
    return Inquiry(call.pk, question)


def pacing_of(conversation: Conversation) -> Pacing:
    paced = not conversation.unpaced
    return Pacing(
        floor=(conversation.first_piece_ms or 0) / 1000 if paced else 0.0,
        rate=conversation.characters_per_second if paced else None,
        mask=conversation.mask_names,
        names=tuple(conversation.names),
    )


@transaction.atomic
def claim_due_reply(conversation_id: int, *, owner: str, single_process: bool) -> Assignment | None:
    """Claim a due reply whose fetching process has died: this one before a restart, or another.

    Where there is one process only, whoever owned it before is dead, so no one waits for a lease to run out.
    """
    conversation = lock_conversation(conversation_id)
    last = conversation.last_turn()
    if last is None or conversation.status != Status.OPEN:
        return None
    alive = last.owner == owner or not single_process
    if not last.claimable(now=timezone.now(), alive=alive):
        return None
    return claim_reply(conversation, last, owner=owner)


@transaction.atomic
def retry(conversation_id: int, *, owner: str) -> Assignment | None:
    """Ask again for a reply that failed; nothing where none did."""
    conversation = lock_conversation(conversation_id)
    last = conversation.last_turn()
    if last is None or last.state != TurnState.FAILED or conversation.status != Status.OPEN or conversation.suspended:
        return None
    last.state, last.error = TurnState.WAITING, ""
    last.save(update_fields=["state", "error"])
    return claim_reply(conversation, last, owner=owner)


def claimed_turn(assignment: Assignment) -> QuerySet[Turn]:
    """Return a query for the turn that finds it as long as its reply is still this runner's to store."""
    return Turn.objects.filter(
        conversation=assignment.conversation, number=assignment.turn, owner=assignment.owner, state=TurnState.WAITING
    )


@transaction.atomic
def renew_lease(assignment: Assignment) -> bool:
    """Renew the lease of a reply. Return False where another process has it, or it is no longer needed."""
    return claimed_turn(assignment).update(lease_until=timezone.now() + LEASE) == 1
