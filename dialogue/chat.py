"""The rules of a conversation. Each function is one short transaction; none waits for a model or a socket."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from dialogue import frames
from dialogue.models import Call, Conversation, RiskEvent, Turn
from dialogue.models.conversation import EndReason, Status, TurnState
from dialogue.providers.base import Message, ModelSettings, ProviderError, Reply
from dialogue.safety.resources import standard_text
from dialogue.safety.screen import level_in_context, screen_message
from dialogue.supporters import messages_for

BLOCK = 8192  # frame numbers for one attempt at a reply: 40 ms apart for two minutes is 3000
LEASE = timedelta(seconds=30)


class ChatRefused(Exception):
    """A message that cannot be taken now; `code` and `detail` are what the person's `error` frame says."""

    def __init__(self, code: frames.ErrorCode, detail: str) -> None:
        super().__init__(detail)
        self.code: frames.ErrorCode = code
        self.detail = detail


@dataclass(frozen=True)
class Assignment:
    """All that a runner needs to fetch one reply without looking into the database again."""

    conversation: int
    code: str
    turn: int
    attempt: int
    call: int
    seq: int  # the first of BLOCK frame numbers that are this attempt's own
    owner: str
    messages: tuple[Message, ...]
    settings: ModelSettings
    language: str
    unpaced: bool


@dataclass(frozen=True)
class Taken:
    turn: int
    shown: tuple[frames.Outgoing, ...] = ()
    assignment: Assignment | None = None


def locked(conversation_id: int) -> Conversation:
    """The conversation with its row locked until the transaction ends (SQLite: the database is, by IMMEDIATE)."""
    return Conversation.objects.select_for_update(of=("self",)).select_related("supporter").get(pk=conversation_id)


@transaction.atomic
def take_seeker_turn(conversation_id: int, *, client_id: str, text: str, owner: str) -> Taken:
    """Store a message once, screen it, and where a reply may follow, claim that reply for `owner`."""
    conversation = locked(conversation_id)
    if known := conversation.turns.filter(client_id=client_id).first():
        return Taken(turn=known.number)
    last = conversation.last_turn()
    refuse_unless_open(conversation, last)
    refuse_bad_text(text)
    turn = add_turn(conversation, last, client_id=client_id, text=text)
    shown = screen(conversation, turn)
    if turn.state == TurnState.HELD:
        return Taken(turn=turn.number, shown=shown)
    return Taken(turn=turn.number, shown=shown, assignment=assign(conversation, turn, owner=owner))


def refuse_unless_open(conversation: Conversation, last: Turn | None) -> None:
    if is_held(conversation, last):
        raise ChatRefused("held", "The conversation waits. Please look at the help page.")
    if conversation.status == Status.PAUSED:
        raise ChatRefused("paused", "A short rating is due first.")
    if conversation.status == Status.CLOSED:
        raise ChatRefused("closed", "The conversation is over.")
    if last and last.state in (TurnState.WAITING, TurnState.FAILED):
        raise ChatRefused("busy", "The reply to your last message is still due.")


def is_held(conversation: Conversation, last: Turn | None) -> bool:
    if conversation.status == Status.HELD:
        return True
    return conversation.end_reason == EndReason.SAFETY and last is not None and last.state == TurnState.HELD


def refuse_bad_text(text: str) -> None:
    if not text.strip():
        raise ChatRefused("empty", "The message is empty.")
    if len(text) > frames.MAX_CHARACTERS:
        raise ChatRefused("too_long", f"The message is longer than {frames.MAX_CHARACTERS} characters.")


def add_turn(conversation: Conversation, last: Turn | None, *, client_id: str, text: str) -> Turn:
    now = timezone.now()
    if conversation.started_at is None:
        conversation.started_at = now
        conversation.save(update_fields=["started_at"])
    return Turn.objects.create(
        conversation=conversation,
        number=last.number + 1 if last else 1,
        client_id=client_id,
        text=text,
        seq=conversation.reserve(1),
        created_at=now,
    )


def screen(conversation: Conversation, turn: Turn) -> tuple[frames.Outgoing, ...]:
    """Look for signs of danger before any model does (crisis_lexicon.json); returns what the person is shown."""
    verdict = screen_message(turn.text)
    earlier = conversation.turns.filter(number__lt=turn.number).order_by("number").values_list("risk_level", flat=True)
    turn.risk_level = level_in_context(verdict, list(earlier))
    if turn.risk_level == 0:
        return ()
    help_frame = frames.Help(seq=help_seq(turn), turn=turn.number, level=turn.risk_level)
    conversation.reserve(1)
    if turn.risk_level == 4 or (turn.risk_level == 3 and not conversation.role_play):
        hold(conversation, turn)
    turn.save(update_fields=["risk_level", "state"])
    if turn.risk_level >= 2:
        record_risk(conversation, turn, level=turn.risk_level, entries=verdict.entries)
    return (help_frame, state_frame(conversation, turn)) if turn.state == TurnState.HELD else (help_frame,)


def help_seq(turn: Turn) -> int:
    """The number of the help shown for a message: always the one after the message's own, so it need not be stored."""
    return turn.seq + 1


def hold(conversation: Conversation, turn: Turn) -> None:
    """No model is asked. Level 3 waits for a person on call; level 4 ends it, but in role-play it waits as well."""
    turn.state = TurnState.HELD
    if turn.risk_level == 4 and not conversation.role_play:
        close(conversation, EndReason.SAFETY)
    else:
        set_status(conversation, Status.HELD)


def record_risk(
    conversation: Conversation,
    turn: Turn,
    *,
    level: int,
    entries: Sequence[str],
    source: str = RiskEvent.Source.MESSAGE,
) -> RiskEvent:
    event = RiskEvent.objects.create(
        conversation=conversation, turn=turn.number, source=source, level=level, entries=list(entries)
    )
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


def assign(conversation: Conversation, turn: Turn, *, owner: str) -> Assignment:
    """Claim the reply of a waiting turn: from here on only `owner` may store it."""
    if conversation.supporter is None:
        raise ValueError(f"conversation {conversation.code} has no supporter to answer it")
    turn.owner, turn.lease_until = owner, timezone.now() + LEASE
    turn.attempts += 1
    turn.save(update_fields=["owner", "lease_until", "attempts"])
    messages = tuple(messages_for(conversation, turn))
    supporter = conversation.supporter
    call = Call.objects.create(
        purpose=Call.Purpose.REPLY,
        conversation=conversation,
        turn=turn.number,
        attempt=turn.attempts,
        kind=supporter.kind,
        provider=supporter.provider,
        model=supporter.model,
        parameters={"temperature": supporter.temperature, "max_tokens": supporter.max_tokens, **supporter.extra},
        request=[asdict(message) for message in messages],
    )
    return Assignment(
        conversation=conversation.pk,
        code=conversation.code,
        turn=turn.number,
        attempt=turn.attempts,
        call=call.pk,
        seq=conversation.reserve(BLOCK),
        owner=owner,
        messages=messages,
        settings=supporter.settings(),
        language=conversation.language,
        unpaced=conversation.unpaced,
    )


@transaction.atomic
def claim_due_reply(conversation_id: int, *, owner: str, single_process: bool) -> Assignment | None:
    """The reply that is due and that nobody alive is fetching: after a restart, or from another process that died.

    Where there is one process only, whoever owned it before is dead, so nobody waits for a lease to run out.
    """
    conversation = locked(conversation_id)
    last = conversation.last_turn()
    if last is None or conversation.status != Status.OPEN:
        return None
    alive = last.owner == owner or not single_process
    if not last.claimable(now=timezone.now(), alive=alive):
        return None
    return assign(conversation, last, owner=owner)


@transaction.atomic
def retry(conversation_id: int, *, owner: str) -> Assignment | None:
    """Ask again for a reply that failed; nothing where none did."""
    conversation = locked(conversation_id)
    last = conversation.last_turn()
    if last is None or last.state != TurnState.FAILED or conversation.status != Status.OPEN:
        return None
    last.state, last.error = TurnState.WAITING, ""
    last.save(update_fields=["state", "error"])
    return assign(conversation, last, owner=owner)


def owned(assignment: Assignment) -> Turn | None:
    return Turn.objects.filter(
        conversation=assignment.conversation, number=assignment.turn, owner=assignment.owner, state=TurnState.WAITING
    ).first()


def renew_lease(assignment: Assignment) -> bool:
    """Say that the reply is still being fetched; False where it has become another's or is no longer wanted."""
    turns = Turn.objects.filter(
        conversation=assignment.conversation, number=assignment.turn, owner=assignment.owner, state=TurnState.WAITING
    )
    return turns.update(lease_until=timezone.now() + LEASE) == 1


@transaction.atomic
def record_reply(assignment: Assignment, reply: Reply, *, seq: int) -> list[frames.Outgoing]:
    """Store the whole reply; then a rating may be due or the last turn reached. Returns the frames that tell it."""
    conversation = locked(assignment.conversation)
    Call.close(assignment.call, reply)
    turn = owned(assignment)
    if turn is None:
        return []
    store_reply(turn, reply, shown=reply.text, seq=seq)
    if conversation.status == Status.OPEN:
        pause_or_close_when_due(conversation)
    answer = frames.StoredReply(seq=seq, turn=turn.number, text=turn.reply)
    return [answer] if conversation.status == Status.OPEN else [answer, state_frame(conversation, turn)]


def pause_or_close_when_due(conversation: Conversation) -> None:
    count = conversation.answered_turns()
    if count in conversation.pause_after:
        set_status(conversation, Status.PAUSED)
    elif count >= conversation.max_turns:
        close(conversation, EndReason.CAP)


def store_reply(turn: Turn, reply: Reply, *, shown: str, seq: int) -> None:
    turn.state = TurnState.ANSWERED
    turn.reply, turn.reply_seq = shown, seq
    turn.masked = shown != reply.text
    turn.reply_original = reply.text if turn.masked else ""
    turn.replied_at = timezone.now()
    turn.first_token_ms, turn.total_ms = reply.first_token_ms, reply.total_ms
    turn.input_tokens, turn.output_tokens = reply.input_tokens, reply.output_tokens
    turn.error, turn.owner, turn.lease_until = "", "", None
    turn.save()


@transaction.atomic
def withhold_reply(
    assignment: Assignment, reply: Reply, *, entries: Sequence[str], level: int, seq: int
) -> list[frames.Outgoing]:
    """A reply that must not be shown: the standard text stands in its place, the original stays for the researcher."""
    conversation = locked(assignment.conversation)
    Call.close(assignment.call, reply, status="stopped")
    turn = owned(assignment)
    if turn is None:
        return []
    store_reply(turn, reply, shown=standard_text(conversation.language), seq=seq)
    shown = frames.Help(seq=conversation.reserve(1), turn=turn.number, level=level)
    close(conversation, EndReason.SAFETY)
    record_risk(conversation, turn, level=level, entries=entries, source=RiskEvent.Source.REPLY)
    answer = frames.StoredReply(seq=seq, turn=turn.number, text=turn.reply)
    return [answer, shown, state_frame(conversation, turn)]


@transaction.atomic
def record_failure(assignment: Assignment, error: ProviderError) -> Assignment | None:
    """Close the attempt's ledger row and open the next attempt; None where the turn is no longer ours."""
    Call.close(assignment.call, error)
    turn = owned(assignment)
    if turn is None:
        return None
    turn.error = error.status
    turn.save(update_fields=["error"])
    return assign(locked(assignment.conversation), turn, owner=assignment.owner)


@transaction.atomic
def give_up(assignment: Assignment, error: ProviderError) -> list[frames.Outgoing]:
    """No reply could be had: a stated outcome that the person can act on, never a dead input box."""
    conversation = locked(assignment.conversation)
    Call.close(assignment.call, error)
    turn = owned(assignment)
    if turn is None:
        return []
    turn.state, turn.error, turn.owner, turn.lease_until = TurnState.FAILED, error.status, "", None
    turn.save(update_fields=["state", "error", "owner", "lease_until"])
    conversation.state_seq = conversation.reserve(1)
    conversation.save(update_fields=["state_seq"])
    return [frames.Failed(seq=conversation.state_seq, turn=turn.number)]


def state_frame(conversation: Conversation, last: Turn | None) -> frames.Outgoing:
    """The frame that tells why nothing can be written now."""
    turn = last.number if last else 0
    if is_held(conversation, last):
        return frames.Held(seq=conversation.state_seq, turn=turn)
    if conversation.status == Status.PAUSED:
        return frames.Pause(seq=conversation.state_seq, turn=turn)
    if conversation.status == Status.CLOSED:
        return frames.Closed(seq=conversation.state_seq)
    return frames.Failed(seq=conversation.state_seq, turn=turn)


def frames_after(conversation_id: int, after: int) -> list[frames.Outgoing]:
    """What a browser that has shown everything up to `after` has missed, in order."""
    conversation = Conversation.objects.get(pk=conversation_id)
    turns = list(conversation.turns.order_by("number"))
    missed: list[frames.Outgoing] = []
    for turn in turns:
        if turn.seq > after:
            missed.append(frames.StoredMessage(seq=turn.seq, turn=turn.number, id=turn.client_id, text=turn.text))
        if turn is turns[-1] and help_seq(turn) > after and still_needs_help(turn):
            missed.append(frames.Help(seq=help_seq(turn), turn=turn.number, level=turn.risk_level))
        if turn.state == TurnState.ANSWERED and turn.reply_seq > after:
            missed.append(frames.StoredReply(seq=turn.reply_seq, turn=turn.number, text=turn.reply))
    last = turns[-1] if turns else None
    stands = conversation.status != Status.OPEN or (last is not None and last.state == TurnState.FAILED)
    if stands and conversation.state_seq > after:
        missed.append(state_frame(conversation, last))
    return missed


def still_needs_help(turn: Turn) -> bool:
    """Whether help is shown again to one who comes back: not where a counsellor has said that it was the role."""
    if not turn.risk_level:
        return False
    return (
        not RiskEvent.objects.filter(conversation=turn.conversation_id, turn=turn.number)
        .exclude(role_answer="")
        .exists()
    )


def mark_seen(conversation_id: int, seq: int) -> None:
    Turn.objects.filter(conversation=conversation_id, state=TurnState.ANSWERED, reply_seq__lte=seq, seen=False).update(
        seen=True
    )


@transaction.atomic
def end(conversation_id: int, *, early: bool) -> frames.Outgoing:
    """The person ends it: from the minimum on as finished, before it only as an early stop that is said to be one."""
    conversation = locked(conversation_id)
    last = conversation.last_turn()
    if conversation.status != Status.OPEN:
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
    """The rating that was due is stored: the conversation goes on, or ends where it has reached its last turn.

    Called inside the transaction that stores the rating.
    """
    conversation = locked(conversation_id)
    if conversation.status != Status.PAUSED:
        return
    if conversation.answered_turns() >= conversation.max_turns:
        close(conversation, EndReason.CAP)
    else:
        conversation.status = Status.OPEN
        conversation.save(update_fields=["status"])


def release(conversation_id: int) -> None:
    """A person on call lets a held conversation go on: the message that held it is answered after all."""
    conversation = locked(conversation_id)
    if conversation.status != Status.HELD:
        return
    conversation.turns.filter(state=TurnState.HELD).update(state=TurnState.WAITING, owner="", lease_until=None)
    conversation.status = Status.OPEN
    conversation.save(update_fields=["status"])


def stop(conversation_id: int, reason: EndReason) -> None:
    """End it from outside, whatever its state; a conversation that has ended keeps its reason."""
    conversation = locked(conversation_id)
    if conversation.status != Status.CLOSED:
        close(conversation, reason)
        conversation.turns.filter(state=TurnState.WAITING).update(state=TurnState.FAILED)


def hold_for_role_answer(conversation_id: int) -> None:
    """In role-play the counsellor said that the words were their own: they are treated as anybody's."""
    conversation = locked(conversation_id)
    if conversation.status in (Status.OPEN, Status.PAUSED):
        set_status(conversation, Status.HELD)
