"""Conversations for those who rate or code: what was said, and nothing about arms, models, judges or other raters.

These pages are made from values that hold nothing else, so that a template cannot show it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from dialogue.models import Conversation, Turn
from dialogue.models.conversation import TurnState
from studies.models import ArmRun, Study
from studies.participation import counts
from studies.workbench import labels
from studies.workbench.access import show
from studies.workbench.lists import Column, headings, page_of, paging, sort_rows


@dataclass(frozen=True)
class BlindRow:
    code: str
    is_test: bool
    status: str
    turns: int
    started_at: datetime | None


@dataclass(frozen=True)
class BlindTurn:
    """One turn: the message, and the reply as the person saw it; empty if there is none."""

    number: int
    text: str
    reply: str


def columns() -> list[Column]:
    return [
        Column("conversation", _("Conversation")),
        Column("status", _("Status"), "conversation__status"),
        Column("turns", _("Turns"), "turns", number=True),
        Column("started", _("Started (UTC)"), "conversation__started_at"),
    ]


def show_blind_list(request: HttpRequest, study: Study) -> HttpResponse:
    test = request.GET.get("test", "")
    answered = Count("conversation__turns", filter=Q(conversation__turns__state=TurnState.ANSWERED))
    runs = counts.filter_by_test(study.runs.filter(conversation__isnull=False), test).annotate(turns=answered)
    runs = runs.select_related("conversation")
    page = page_of(sort_rows(runs, request, columns(), usual="-conversation__started_at"), request)
    page.object_list = list(blind_rows(page.object_list))
    context = {"test": test, "headings": headings(request, columns()), "page": page, **paging(page, request)}
    return show(request, study, "conversations_blind", context)


def blind_rows(runs: Iterable[ArmRun]) -> Iterator[BlindRow]:
    for run in runs:
        talk: Conversation = run.conversation
        yield BlindRow(talk.code, run.is_test, labels.word(labels.STATES, talk.status), run.turns, talk.started_at)


def show_blind_conversation(request: HttpRequest, study: Study, talk: Conversation) -> HttpResponse:
    context = {
        "code": talk.code,
        "language": talk.language,
        "opening": talk.opening,
        "status": labels.word(labels.STATES, talk.status),
        "turns": [get_words(turn) for turn in talk.turns.order_by("number")],
    }
    return show(request, study, "conversation_blind", context)


def get_words(turn: Turn) -> BlindTurn:
    return BlindTurn(turn.number, turn.text, turn.reply if turn.state == TurnState.ANSWERED else "")
