"""What was said, and how it was rated."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from dialogue.models import Turn
from dialogue.models.conversation import EndReason, TurnState
from dialogue.models.conversation import Status as ConversationStatus
from studies import counts
from studies.language import instrument_language
from studies.models import Answer, ArmRun, Flag, Study
from studies.role_play import flags
from studies.views.research.access import show, study_page
from studies.views.research.overview import demonstrations
from studies.views.research.tables import Column, filtered, headings, page_of, paging, sorted_rows


def columns() -> list[Column]:
    return [
        Column("conversation", _("Conversation")),
        Column("person", _("Person"), "participation__code"),
        Column("arm", _("Arm"), "arm"),
        Column("position", _("Position"), "position", number=True),
        Column("status", _("Status"), "conversation__status"),
        Column("reason", _("Ended by"), "conversation__end_reason"),
        Column("turns", _("Turns"), "turns", number=True),
        Column("failed", _("Failed"), "failed", number=True),
        Column("risk", _("Risks"), "risky", number=True),
        Column("started", _("Started (UTC)"), "conversation__started_at"),
        Column("test", _("Data"), "is_test"),
    ]


@require_GET
@study_page
def conversations(request: HttpRequest, study: Study) -> HttpResponse:
    rows = counts.only(study.runs.filter(conversation__isnull=False), request.GET.get("test", ""))
    rows = filtered(rows, request, {"arm": "arm", "status": "conversation__status"})
    rows = with_counts(rows).select_related("conversation", "participation")
    page = page_of(sorted_rows(rows, request, columns(), usual="-conversation__started_at"), request)
    context = {
        "test": request.GET.get("test", ""),
        "headings": headings(request, columns()),
        "page": page,
        "arms": study.runs.order_by("arm").values_list("arm", flat=True).distinct(),
        "statuses": ConversationStatus.choices,
        "demonstrations": demonstrations(study),
        **paging(page, request),
    }
    return show(request, study, "conversations", context)


def with_counts(rows: QuerySet) -> QuerySet:
    turn = "conversation__turns"
    return rows.annotate(
        turns=Count(turn, filter=Q(conversation__turns__state=TurnState.ANSWERED)),
        failed=Count(turn, filter=Q(conversation__turns__state=TurnState.FAILED)),
        risky=Count(turn, filter=Q(conversation__turns__risk_level__gte=2)),
    )


@require_GET
@study_page
def conversation(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    runs = study.runs.select_related("conversation", "participation", "conversation__supporter", "protocol")
    run = get_object_or_404(runs, conversation__code=code)
    context = {
        "run": run,
        "conversation": run.conversation,
        "turns": with_flags(run),
        "tables": rating_tables(run),
        "calls": run.conversation.calls.order_by("turn", "attempt", "pk"),
        "risks": run.conversation.risks.all(),
        "demonstrations": demonstrations(study),
        "reason": EndReason(run.conversation.end_reason).label if run.conversation.end_reason else "",
    }
    return show(request, study, "conversation", context)


class Marked(NamedTuple):
    flag: Flag
    words: str  # of its reason


def with_flags(run: ArmRun) -> list[tuple[Turn, list[Marked]]]:
    """Each turn with the marks on its reply, those taken back among them."""
    marks: dict[int, list[Marked]] = {}
    for flag in run.flags.order_by("pk"):
        marks.setdefault(flag.turn, []).append(Marked(flag, flags.words_of(flag, instrument_language())))
    return [(turn, marks.get(turn.number, [])) for turn in run.conversation.turns.order_by("number")]


@dataclass(frozen=True)
class RatingTable:
    """One instrument at one moment: `rows` are (item, what each of `raters` gave, empty where they gave nothing)."""

    instrument: str
    moment: str
    turn: int
    raters: Sequence[str]
    rows: Sequence[tuple[str, Sequence["Given"]]]


@dataclass(frozen=True)
class Given:
    """What one rater gave, and why where they said so."""

    score: str = ""
    reason: str = ""


def rating_tables(run: ArmRun) -> list[RatingTable]:
    """Of all raters, people and judges alike, in the order in which the first of each came."""
    answers = (
        Answer.objects.filter(response__run=run, response__is_rating=True)
        .select_related("response__rater")
        .order_by("response__turn", "response__submitted_at", "pk")
    )
    by_place: dict[tuple[str, str, int], list[Answer]] = {}
    for answer in answers:
        response = answer.response
        by_place.setdefault((response.instrument, response.moment, response.turn), []).append(answer)
    return [RatingTable(*place, *grid(answers)) for place, answers in by_place.items()]


def grid(answers: Iterable[Answer]) -> tuple[list[str], list[tuple[str, list[Given]]]]:
    scores = {(answer.item, rater_name(answer)): Given(given(answer), answer.reason) for answer in answers}
    items = dict.fromkeys(item for item, _rater in scores)
    raters = list(dict.fromkeys(rater for _item, rater in scores))
    return raters, [(item, [scores.get((item, rater), Given()) for rater in raters]) for item in items]


def given(answer: Answer) -> str:
    """The score; or the words of a comment, or why there is neither."""
    return f"{answer.value:g}" if answer.value is not None else answer.text or answer.missing_reason


def rater_name(answer: Answer) -> str:
    response = answer.response
    replicate = f" #{response.replicate}" if response.replicate > 1 else ""
    return f"{response.rater}{replicate}"
