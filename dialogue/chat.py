"""The rules of a conversation. Each function is one short transaction; none waits for a model or a socket."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.module_loading import import_string

from dialogue import chat_frames
from dialogue.compiled_sql import CompiledQuery
from dialogue.models import Call, Conversation, RiskEvent, Supporter, Turn
from dialogue.models.conversation import EndReason, Status, TurnState
from dialogue.pacing import Pacing
from dialogue.prices import FREE, Price, PriceFileError, Prices, load_prices
from dialogue.providers.base import TOO_LONG, Message, ModelSettings, ProviderError, Reply
from dialogue.providers.registry import answering_kind
from dialogue.redaction import mask_identity
from dialogue.safety.resources import standard_text
from dialogue.safety.screening import CLASSIFIER, REPLY_LEVEL, Verdict, level_in_context, screen_message, screen_version
from dialogue.safety.second_line import (
    ENTRY,
    SCRIPTED,
    Answer,
    EarlierTurn,
    Finding,
    Question,
    SecondLine,
    question_about,
    question_about_reply,
)
from dialogue.self_identification import names_itself
from dialogue.supporters import messages_for

log = logging.getLogger(__name__)

BLOCK = 16_384  # frame numbers for one reply: three attempts of two minutes, 80 ms apart, are 4500
LEASE = timedelta(seconds=30)
PAST_TURN_FIELDS = ("conversation", "number", "state", "client_id", "text", "seq", "reply", "reply_seq", "risk_level",
                  "help_seq", "owner", "lease_until", "attempts")  # fmt: skip


class ChatRefused(Exception):
    """A message that cannot be taken now; `code` and `detail` are what the person's `error` frame says."""

    def __init__(self, code: chat_frames.ErrorCode, detail: str) -> None:
        super().__init__(detail)
        self.code: chat_frames.ErrorCode = code
        self.detail = detail


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


class Notice(NamedTuple):
    """Frames that an act from outside has stored, for the sockets of a conversation."""

    conversation: int
    code: str
    frames: tuple[chat_frames.Outgoing, ...]


@dataclass(frozen=True)
class TakenTurn:
    turn: int
    frames: tuple[chat_frames.Outgoing, ...] = ()
    assignment: Assignment | None = None


CONVERSATION = CompiledQuery(Conversation, lambda: Conversation.objects.filter(pk=0).order_by())
LOCKED_CONVERSATION = CompiledQuery(Conversation, lambda: Conversation.objects.select_for_update().filter(pk=0))
SHOWN_TURNS = CompiledQuery(
    Turn,
    lambda: Turn.objects.filter(conversation=0).order_by("number").only(*PAST_TURN_FIELDS, "created_at", "replied_at"),
)
PAST_TURNS = CompiledQuery(Turn, lambda: Turn.objects.filter(conversation=0).order_by("number").only(*PAST_TURN_FIELDS))
SUPPORTER = CompiledQuery(Supporter, lambda: Supporter.objects.filter(pk=0))


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
        return take_held(conversation, turn, verdict)
    return take_open(conversation, turn, past, verdict, owner=owner)


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


def refuse_bad_text(text: str) -> None:
    if not text.strip():
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


def must_hold(conversation: Conversation, turn: Turn) -> bool:
    return turn.risk_level >= holding_level(conversation)


def holding_level(conversation: Conversation) -> int:
    """Return the level from which a message holds the conversation."""
    return 4 if conversation.role_play else 3


def take_open(
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


def take_held(conversation: Conversation, turn: Turn, verdict: Verdict) -> TakenTurn:
    """Store a message that asks no model. Level 3 waits for a person on call; level 4 ends the conversation, but in
    role-play it waits as well."""
    turn.seq = number_turn(conversation, turn, 2)
    turn.state = TurnState.HELD
    turn.save(force_insert=True)
    hold_or_close(conversation, turn)
    record_risk(conversation, turn, level=turn.risk_level, verdict=verdict)
    return TakenTurn(turn.number, (*help_for(turn), state_frame(conversation, turn)))


def hold_or_close(conversation: Conversation, turn: Turn) -> None:
    if turn.risk_level == 4 and not conversation.role_play:
        close(conversation, EndReason.SAFETY)
    else:
        set_status(conversation, Status.HELD)


def number_turn(conversation: Conversation, turn: Turn, count: int) -> int:
    if conversation.started_at is not None:
        return conversation.reserve(count)
    conversation.started_at = turn.created_at
    return conversation.reserve(count, started_at=turn.created_at)


def help_for(turn: Turn) -> tuple[chat_frames.Outgoing, ...]:
    if not turn.risk_level:
        return ()
    return (chat_frames.Help(seq=help_seq(turn), turn=turn.number, level=turn.risk_level),)


def is_left_to_role(conversation: Conversation, level: int, entries: Sequence[str]) -> bool:
    """Return whether a sign in role-play is kept without a question: of level 2, and found by the classifier alone.

    The lines of a difficult seeker are often dark, and a question after each breaks the role.
    """
    return conversation.role_play and level == 2 and list(entries) == [CLASSIFIER]


def help_seq(turn: Turn) -> int:
    """Return the number of the help shown for a message: the one after the message's own, so it need not be stored; but
    where the second line asked for it, one of those that the reply had claimed."""
    return turn.help_seq or turn.seq + 1


def record_risk(
    conversation: Conversation,
    turn: Turn,
    *,
    level: int,
    verdict: Verdict,
    source: str = RiskEvent.Source.MESSAGE,
    first_level: int | None = None,
    second: Finding | None = None,
) -> RiskEvent:
    """Store a sign of danger, or raise the one that the first line has stored for the same message."""
    event = RiskEvent(conversation=conversation, turn=turn.number, source=source)
    if second is not None and source == RiskEvent.Source.MESSAGE:
        same = RiskEvent.objects.filter(conversation=conversation, turn=turn.number, source=source)
        event = same.first() or event
    event.level = level
    event.entries = list(verdict.entries)
    event.categories = list(verdict.categories)
    event.screen = screen_version()
    event.first_level = level if first_level is None else first_level
    if second is not None:
        event.second_level, event.second_screen = second.level, second.screen
        if second.level > event.first_level:
            event.entries.append(ENTRY)
            event.categories = sorted({*event.categories, *second.categories})
    # A reply is withheld for what a pattern found in it, or the second line.
    is_sure = second is None if source == RiskEvent.Source.REPLY else verdict.pattern_level >= 3
    event.suspected = level >= 3 and not is_sure
    event.save()
    import_string(settings.RISK_HANDLER)(event)
    return event


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


@transaction.atomic
def inquire_about_reply(assignment: Assignment, reply: Reply) -> Inquiry | None:
    """Open the row of the ledger for the question whether a whole reply may be shown; None without a second line."""
    if assignment.second_line is None:
        return None
    question = question_about_reply(assignment.second_line, assignment.message, reply.text, assignment.language)
    return open_inquiry(assignment, question)


def close_inquiries(answers: Sequence[AnsweredInquiry]) -> None:
    """Store what came of the questions to the second line, with what they cost."""
    for one in answers:
        values = Call.closing(one.answer.outcome, one.answer.status)
        price = second_line_price(one.inquiry.question.line)
        if price is not None:
            values["cost"] = price.cost(values["input_tokens"], values["output_tokens"], values["cached_tokens"])
            values["prices"] = price.version
        Call.objects.filter(pk=one.inquiry.call).update(**values)


def second_line_price(line: SecondLine) -> Price | None:
    if line.kind == SCRIPTED:
        return FREE
    prices = get_lab_prices(settings.PRICES)
    return prices.price_of(line.model, line.base_url, timezone.now().date()) if prices else None


@cache
def get_lab_prices(path: str) -> Prices | None:
    """Return the lab's prices. A faulty file costs the ledger its costs, and no one their conversation."""
    try:
        return load_prices(path)
    except PriceFileError as error:
        log.error("calls of the second line have no cost: %s", error)
        return None


def levels_of(assignment: Assignment, answers: Sequence[AnsweredInquiry]) -> dict[str, Any]:
    """Return the fields of the turn that keep both lines' levels of its message."""
    for one in answers:
        finding = one.answer.finding
        if one.inquiry.question.about == "message" and finding is not None:
            return {
                "first_level": assignment.level,
                "screen": screen_version(),
                "second_level": finding.level,
                "second_screen": finding.screen,
            }
    return {}


def note_second_level(assignment: Assignment, levels: dict[str, Any]) -> None:
    """Store the second line's level on the event that the first line created for the same message."""
    if levels and assignment.level >= 2:
        same = RiskEvent.objects.filter(
            conversation=assignment.conversation, turn=assignment.turn, source=RiskEvent.Source.MESSAGE
        )
        same.update(second_level=levels["second_level"], second_screen=levels["second_screen"])


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


def renew_lease(assignment: Assignment) -> bool:
    """Renew the lease of a reply. Return False where another process has it, or it is no longer needed."""
    return claimed_turn(assignment).update(lease_until=timezone.now() + LEASE) == 1


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


def is_going_on(conversation: Conversation) -> bool:
    return conversation.status == Status.OPEN and not conversation.suspended


def answered_turn(assignment: Assignment) -> Turn:
    return Turn(number=assignment.turn, state=TurnState.ANSWERED)


def pause_or_close_when_due(conversation: Conversation, *, answered: int) -> None:
    if answered in conversation.pause_after:
        set_status(conversation, Status.PAUSED)
    elif answered >= conversation.max_turns:
        close(conversation, EndReason.CAP)


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
def raise_level(assignment: Assignment, answered: AnsweredInquiry, *, help_seq: int) -> list[chat_frames.Outgoing]:
    """Show help for a message in which the second line found more than the first, and not so much that it holds the
    conversation. `help_seq` is one of the numbers that the reply has claimed."""
    conversation = lock_conversation(assignment.conversation)
    close_inquiries([answered])
    turn = claimed_turn(assignment).first()
    if turn is None:
        return []
    raise_turn(turn, assignment, answered, help_seq=help_seq)
    turn.save()
    if turn.risk_level >= 2:
        record_second_line(conversation, turn, answered)
    return list(help_for(turn))


def raise_turn(turn: Turn, assignment: Assignment, answered: AnsweredInquiry, *, help_seq: int) -> None:
    levels = levels_of(assignment, [answered])
    for name, value in levels.items():
        setattr(turn, name, value)
    turn.risk_level, turn.help_seq = max(turn.risk_level, levels["second_level"]), help_seq


def record_second_line(conversation: Conversation, turn: Turn, answered: AnsweredInquiry) -> None:
    verdict = screen_message(turn.text)  # the same as when the message came
    record_risk(
        conversation,
        turn,
        level=turn.risk_level,
        verdict=verdict,
        first_level=turn.first_level,
        second=answered.answer.finding,
    )


@transaction.atomic
def hold_message(
    assignment: Assignment, outcome: Reply | ProviderError, answered: AnsweredInquiry, *, help_seq: int
) -> list[chat_frames.Outgoing]:
    """Hold the conversation for what the second line found in the message, as if the first line had: the reply is given
    up, however far it had come, and the person sees the same frames."""
    conversation = lock_conversation(assignment.conversation)
    Call.close(assignment.call, outcome, status="stopped")
    close_inquiries([answered])
    turn = Turn.objects.filter(conversation=conversation, number=assignment.turn, owner=assignment.owner).first()
    if turn is None:
        return []
    raise_turn(turn, assignment, answered, help_seq=help_seq)
    waits = turn.state == TurnState.WAITING
    if waits:
        turn.state, turn.owner, turn.lease_until = TurnState.HELD, "", None
    turn.save()
    if waits:
        hold_or_close(conversation, turn)
    elif conversation.end_reason not in (EndReason.FINISHED, EndReason.EARLY):
        return []  # it was ended from outside meanwhile
    record_second_line(conversation, turn, answered)
    return [*help_for(turn), state_frame(conversation, turn)] if waits else list(help_for(turn))


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


def still_needs_help(conversation: Conversation, turn: Turn) -> bool:
    """Return whether help is shown again to one who comes back: not where a counsellor has said whose words they were,
    or was not asked."""
    if not turn.risk_level:
        return False
    signs = RiskEvent.objects.filter(conversation=turn.conversation_id, turn=turn.number)
    return not any(sign.role_answer or is_left_to_role(conversation, turn.risk_level, sign.entries) for sign in signs)


def needs_help(conversation: Conversation) -> bool:
    """Return whether help belongs on the page that follows the last turn: its message was of level 2 or more, or its
    reply was withheld. In role-play the counsellor is asked whose words they were, and gets it if they say "me"."""
    last = conversation.turns.order_by("-number").first()
    if last is None:
        return False
    signs = RiskEvent.objects.filter(conversation=conversation, turn=last.number)
    if conversation.role_play:
        return signs.filter(role_answer="me").exists()
    return last.risk_level >= 2 or signs.filter(source=RiskEvent.Source.REPLY).exists()


def mark_seen(conversation_id: int, seq: int) -> None:
    Turn.objects.filter(conversation=conversation_id, state=TurnState.ANSWERED, reply_seq__lte=seq, seen=False).update(
        seen=True
    )


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
    if conversation.turns.exists():
        conversation.earlier_languages = [*conversation.earlier_languages, conversation.language]
    else:
        conversation.opening, conversation.opening_request = opening, opening_request
    conversation.language, conversation.supporter = language, supporter
    conversation.profile, conversation.characters_per_second = profile, characters_per_second
    conversation.save(
        update_fields=[
            *("language", "earlier_languages", "supporter", "profile", "characters_per_second"),
            *("opening", "opening_request"),
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


def is_under_way(turn: Turn | None) -> bool:
    if turn is None or turn.state != TurnState.WAITING:
        return False
    return turn.lease_until is not None and turn.lease_until > timezone.now()


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
