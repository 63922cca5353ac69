"""The raw calls behind a conversation: request, answer, tokens, time and cost."""

import json
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from dialogue.input_checks import MOST_TURNS, int_from
from dialogue.models import Call, Conversation
from studies.board.conversations import list_query
from studies.models import Study
from studies.workbench import labels
from studies.workbench.access import show, study_page
from studies.workbench.lists import Choice, make_choices, page_of, paging, query_with
from studies.workbench.model_texts import Text, without_secrets

IN_THE_DRAWER = 100  # more than this are on a page of their own
FIELDS = {"turn": "turn", "purpose": "purpose", "status": "status"}
TEXTS = ("request", "response", "reasoning", "parameters", "error")  # what a list does not read


@dataclass(frozen=True)
class Row:
    call: Call
    purpose: str
    status: str


def row_of(call: Call) -> Row:
    return Row(call, labels.word(labels.PURPOSES, call.purpose), labels.word(labels.CALLS, call.status))


def calls_in_order(talk: Conversation) -> QuerySet[Call]:
    return talk.calls.defer(*TEXTS).order_by(F("turn").asc(nulls_last=True), "created_at", "pk")


def call_rows(talk: Conversation) -> list[Row]:
    """Return a row for each call; empty if there are too many for the conversation's page."""
    first = list(calls_in_order(talk)[: IN_THE_DRAWER + 1])
    return [row_of(call) for call in first] if len(first) <= IN_THE_DRAWER else []


def totals(talk: Conversation) -> dict[str, Any]:
    """Return counts, tokens and cost of the calls. `cost` is None if no price is known."""
    return talk.calls.aggregate(
        number=Count("pk"),
        failed=Count("pk", filter=~Q(status__in=("ok", "started"))),
        sent=Sum("input_tokens"),
        received=Sum("output_tokens"),
        cost=Sum("cost", filter=~Q(status="started")),
    )


def counts_by_turn(talk: Conversation) -> dict[int, int]:
    return dict(talk.calls.filter(turn__isnull=False).order_by().values_list("turn").annotate(Count("pk")))


@require_GET
@study_page
def calls(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    """Show all calls of a conversation, or those of the turn, purpose or status in the address."""
    talk = talk_of(study, code)
    page = page_of(filter_calls(calls_in_order(talk), request), request)
    page.object_list = [row_of(call) for call in page.object_list]
    context = {
        "conversation": talk,
        "page": page,
        "choices": choices(request, talk),
        "is_filtered": any(request.GET.get(name) for name in FIELDS),
        "unfiltered": query_with(request, page=None, **dict.fromkeys(FIELDS)),
        "list_query": list_query(request),
        **paging(page, request),
    }
    return show(request, study, "calls", context)


def talk_of(study: Study, code: str) -> Conversation:
    return get_object_or_404(Conversation, run__study=study, code=code)


def filter_calls(rows: QuerySet[Call], request: HttpRequest) -> QuerySet[Call]:
    filters = {field: request.GET[name] for name, field in FIELDS.items() if request.GET.get(name)}
    if int_from(filters.get("turn", "1"), 1, MOST_TURNS) is None:
        return rows.none()
    return rows.filter(**filters)


def choices(request: HttpRequest, talk: Conversation) -> list[Choice]:
    turns = [(str(turn), str(turn)) for turn in sorted(counts_by_turn(talk))]
    filters = [
        ("turn", _("Turn"), turns),
        ("purpose", _("Purpose"), choices_in_use(talk, "purpose", labels.PURPOSES)),
        ("status", _("Status"), choices_in_use(talk, "status", labels.CALLS)),
    ]
    return make_choices(request, filters)


def choices_in_use(talk: Conversation, field: str, words: labels.Words) -> list[tuple[str, str]]:
    values = talk.calls.order_by(field).values_list(field, flat=True).distinct()
    return [(value, labels.word(words, value)) for value in values]


@require_GET
@study_page
def call(request: HttpRequest, study: Study, code: str, number: int) -> HttpResponse:
    """Show one call on a page of its own, or for the drawer with `?part=yes`."""
    call = get_object_or_404(Call, conversation=talk_of(study, code), pk=number)
    context = {
        "study": study,
        "conversation": call.conversation,
        "row": row_of(call),
        "call": call,
        "messages_sent": [Text(message.get("text", ""), message.get("role", "")) for message in call.request],
        "response": Text(call.response),
        "reasoning": Text(call.reasoning),
        "parameters": json.dumps(without_secrets(call.parameters), ensure_ascii=False, indent=2),
        "list_query": list_query(request),
    }
    if request.GET.get("part"):
        return render(request, "studies/research/call_part.html", context)
    return show(request, study, "call", context)
