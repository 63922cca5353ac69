"""Questions to the second line of the risk screen: their rows in the ledger, and what an answer changes."""

import logging
from collections.abc import Sequence
from functools import cache
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from dialogue.chat import chat_frames
from dialogue.chat.assignments import AnsweredInquiry, Assignment, Inquiry, claimed_turn, open_inquiry
from dialogue.chat.signs import help_for, record_risk
from dialogue.chat.state import hold_or_close, lock_conversation, state_frame
from dialogue.models import Call, Conversation, RiskEvent, Turn
from dialogue.models.conversation import EndReason, TurnState
from dialogue.providers.base import ProviderError, Reply
from dialogue.providers.prices import FREE, Price, PriceFileError, Prices, load_prices
from dialogue.safety.screening import screen_message, screen_version
from dialogue.safety.second_line import (
    SCRIPTED,
    SecondLine,
    question_about_reply,
)

log = logging.getLogger(__name__)


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
