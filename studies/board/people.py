"""The people of a study, their progress, and what a researcher may do for them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods

from dialogue.models import RiskEvent
from dialogue.models.conversation import Status as ConversationStatus
from dialogue.templatetags.languages import listed
from studies.access.access import Access
from studies.access.table import Act
from studies.board.conversations import words_of
from studies.data import erasure
from studies.design.spec import MANUAL
from studies.instruments.loading import load
from studies.models import ArmRun, BoardAct, Consent, Draw, Participation, Response, Study
from studies.models.participation import Status
from studies.participation import board_acts, counts, timeouts
from studies.participation.consent import form_of
from studies.participation.language import instrument_language
from studies.participation.responses import answers_with_declined
from studies.participation.step_kinds import describe
from studies.selection import decisions
from studies.workbench import labels
from studies.workbench.access import show, study_page, study_page_after_timeouts
from studies.workbench.lists import (
    Choice,
    Column,
    filter_rows,
    headings,
    make_choices,
    page_of,
    paging,
    query_with,
    sort_rows,
)
from studies.workbench.rating_tables import title_of

FIELDS = {"status": "status", "track": "track"}
FILTERS = (*FIELDS, "test")
# The sign beside a status; those that are not here have ended without being completed.
SHAPES = {
    Status.INVITED: "waiting",
    Status.APPLIED: "going",
    Status.ACTIVE: "going",
    Status.COMPLETED: "done",
    Status.IN_REVIEW: "attention",
    Status.HELD: "attention",
}


def columns() -> list[Column]:
    return [
        Column("code", _("Code"), "code"),
        Column("track", _("Track"), "track"),
        Column("language", _("Language"), "language"),
        Column("status", _("Status"), "status"),
        Column("step", _("Step"), "position"),
        Column("arms", _("Arms done"), "arms_done", number=True),
        Column("seen", _("Last seen (UTC)"), "last_seen_at"),
        Column("test", _("Data"), "is_test"),
    ]


@require_GET
@study_page_after_timeouts
def people(request: HttpRequest, study: Study) -> HttpResponse:
    rows = counts.filter_by_test(study.participations.all(), request.GET.get("test", ""))
    rows = filter_rows(rows, request, FIELDS)
    closed = Q(runs__conversation__status=ConversationStatus.CLOSED)
    rows = rows.annotate(arms_done=Count("runs", filter=closed))
    page = page_of(sort_rows(rows, request, columns(), usual="-created_at"), request)
    context = {
        "test": request.GET.get("test", ""),
        "headings": headings(request, columns()),
        "page": page,
        "people": [row_of(person) for person in page],
        "choices": choices(request),
        "is_filtered": any(request.GET.get(name) for name in FIELDS) or request.GET.get("test") in ("yes", "no"),
        "unfiltered": query_with(request, page=None, **dict.fromkeys(FILTERS)),
        **paging(page, request),
    }
    return show(request, study, "people", context)


def choices(request: HttpRequest) -> list[Choice]:
    statuses = [(status.value, counts.status_label(status)) for status in Status]
    return make_choices(
        request, [("status", _("Status"), statuses), ("track", _("Track"), Participation.Track.choices)]
    )


@dataclass(frozen=True)
class PersonRow:
    """A row of the list. `shape` is the CSS modifier of the status's sign."""

    person: Participation
    status: str
    shape: str
    step: str


def row_of(person: Participation) -> PersonRow:
    if person.is_paused():
        return PersonRow(person, _("Paused by the team"), "attention", step_of(person))
    return PersonRow(person, counts.status_label(person.status), SHAPES.get(person.status, "stopped"), step_of(person))


def step_of(person: Participation) -> str:
    """Return the step at which the person is; empty before the first visit and after the end."""
    if not person.plan or person.is_over():
        return ""
    return describe(person.steps()[min(person.position, len(person.plan) - 1)])


@dataclass(frozen=True)
class Moment:
    at: datetime
    what: str


@require_GET
@study_page_after_timeouts
def person(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    person = person_for(study, code)
    return show(request, study, "person", person_context(person, with_safety=may_see_safety(request.access, person)))


def person_for(study: Study, code: str) -> Participation:
    return get_object_or_404(study.participations.select_related("protocol"), code=code)


def may_see_safety(access: Access, person: Participation) -> bool:
    """Return whether a researcher may read the person's answers about safety: where researchers select, the safety
    officers alone, because the others score."""
    return access.may(Act.SEE_ALL_SAFETY if person.design().selection == MANUAL else Act.SEE_SAFETY)


def person_context(person: Participation, *, with_safety: bool) -> dict[str, object]:
    return {
        "person": person,
        "country": labels.country_name(person.country),
        "row": row_of(person),
        "waits": person.status == Status.IN_REVIEW,
        "pause": board_acts.get_pause(person),
        "may_pause": board_acts.may_pause(person),
        "may_end": board_acts.may_end(person),
        "has_link": board_acts.may_have_link(person),
        **timeout_context(person),
        "outcome": labels.word(labels.OUTCOMES, person.outcome.get("kind", "")),
        "reasons": reasons_of(person, "reasons", with_safety=with_safety),
        "flags": reasons_of(person, "flags", with_safety=with_safety),
        "timeline": timeline(person),
        "consents": list(consents_of(person)),
        "runs": list(runs_of(person)),
        "safety": safety_answers(person) if with_safety else [],
    }


def reasons_of(person: Participation, kind: str, *, with_safety: bool) -> list[tuple[str, str]]:
    """Return the reasons or flags of the screening, each in words and as the screening file names it; without safety
    one sentence for all that would tell an answer about it."""
    keys = person.outcome.get(kind, ())
    hidden = set() if with_safety else {rule["reason"] for rule in grave_rules(load("screening").raw["rules"])}
    shown = [(labels.word(labels.REASONS, key), key) for key in keys if key not in hidden]
    return [*shown, (_("Safety answers: for the person on call only"), "")] if len(shown) < len(keys) else shown


def consents_of(person: Participation) -> Iterator[tuple[Consent, list[tuple[str, str, bool]]]]:
    """Yield each signed consent with its boxes: the key, the sentence and whether it was ticked. The sentence is in the
    page's language if the study has it; a box that the form lacks stays a key."""
    design, page = person.design(), instrument_language()
    for consent in person.consents.order_by("signed_at"):
        language = page if page in design.languages else consent.language
        texts = form_of(design, language=language, track=person.track).box_texts() if design.consent else {}
        yield consent, [(key, texts.get(key, key), ticked) for key, ticked in consent.boxes.items()]


def timeout_context(person: Participation) -> dict[str, object]:
    if person.status != Status.TIMED_OUT:
        return {}
    return {"timed_out": True, "hindrance": timeouts.get_readmission_obstacle(person)}


def runs_of(person: Participation) -> Iterator[tuple[ArmRun, Mapping[str, str]]]:
    """Yield each run with the words for its conversation, if it has begun."""
    for run in person.runs.select_related("conversation").order_by("position"):
        yield run, words_of(run) if run.conversation else {}


def timeline(person: Participation) -> list[Moment]:
    fixed = [
        (person.created_at, _("Invited")),
        (person.started_at, _("First visit")),
        (person.awaited_since, _("Could continue from here")),
        (person.ended_at, _("Ended: %(status)s") % {"status": counts.status_label(person.status)}),
    ]
    moments = [Moment(at, what) for at, what in fixed if at]
    moments += [
        Moment(consent.signed_at, _("Consent %(version)s") % {"version": consent.version})
        for consent in person.consents.all()
    ]
    moments += [Moment(draw.drawn_at, draw_label(draw)) for draw in Draw.objects.filter(participation=person)]
    moments += [Moment(response.submitted_at, response_label(response)) for response in responses_of(person)]
    moments += [moment for run in person.runs.select_related("conversation") for moment in moments_of_run(run)]
    moments += [Moment(act.at, board_act_label(act)) for act in person.board_acts.all()]
    moments += [
        Moment(risk.created_at, _("Safety event, level %(level)s") % {"level": risk.level})
        for risk in RiskEvent.objects.filter(subject=person.code)
    ]
    return sorted(moments, key=lambda moment: moment.at)


def board_act_label(act: BoardAct) -> str:
    return _("%(act)s by %(name)s: %(reason)s") % {
        "act": act.get_kind_display(),
        "name": act.by_name,
        "reason": act.reason,
    }


def responses_of(person: Participation) -> list[Response]:
    return list(Response.objects.filter(rater__participation=person).select_related("run"))


def draw_label(draw: Draw) -> str:
    """Return the text about a draw, with the factors by which the arms could not be balanced."""
    # In their usual order: databases keep that of a JSON object, or do not.
    factors = [factor for factor in labels.STRATA if factor in draw.strata]
    unknown = [labels.word(labels.STRATA, factor) for factor in factors if draw.strata[factor]["level"] is None]
    if not unknown:
        return _("Arms drawn")
    return _("Arms drawn. Not balanced by these factors, because they were unknown: %(factors)s") % {
        "factors": listed(unknown)
    }


def response_label(response: Response) -> str:
    moment = labels.word(labels.MOMENTS, response.moment)
    what = title_of(response.instrument)
    if moment:
        what = _("%(what)s (%(when)s)") % {"what": what, "when": moment}
    if response.turn:
        what = _("%(what)s, turn %(turn)s") % {"what": what, "turn": response.turn}
    return _("Conversation %(run)s: %(what)s") % {"run": response.run.position, "what": what} if response.run else what


def moments_of_run(run: ArmRun) -> list[Moment]:
    conversation = run.conversation
    if conversation is None:
        return []
    times = [
        (conversation.started_at, _("Conversation %(run)s starts") % {"run": run.position}),
        (
            conversation.ended_at,
            _("Conversation %(run)s ends (%(reason)s)")
            % {"run": run.position, "reason": labels.word(labels.ENDS, conversation.end_reason)},
        ),
    ]
    return [Moment(at, what) for at, what in times if at]


def safety_answers(person: Participation) -> list[tuple[str, str]]:
    """Return the answers to the screening's questions about safety, and what the person wrote in it, as question and
    answer in the page's language. In a text they may have said more about the same."""
    screening = load("screening")
    answers = answers_with_declined(person, "screening")
    language = instrument_language()
    texts = [item.key for item in screening.items if item.type == "text"]
    keys = dict.fromkeys([*safety_questions(screening.raw["rules"]), *texts])
    items = [screening.item(key) for key in keys if key in answers]
    return [(item.text[language], item.words_of(answers[item.key], language)) for item in items]


def safety_questions(rules: list[dict]) -> list[str]:
    """Return the questions whose answer can end in care or in a review, with help shown."""
    grave = [rule["if"]["q"] for rule in grave_rules(rules)]
    return list(
        dict.fromkeys(key for question in grave for key in ([question] if isinstance(question, str) else question))
    )


def grave_rules(rules: list[dict]) -> list[dict]:
    return [
        rule
        for rule in rules
        if rule["outcome"] in ("exclude_with_care", "review_by_person") and "crisis_resources" in rule.get("show", ())
    ]


def decision_page(
    act: Callable[[Participation, Any], None], template: str, message: Promise
) -> Callable[[HttpRequest, Study, str], HttpResponse]:
    """Return a page that asks for confirmation and then calls `act`. It changes nothing if the person no
    longer waits."""

    @require_http_methods(["GET", "POST"])
    @study_page
    def view(request: HttpRequest, study: Study, code: str) -> HttpResponse:
        person = person_for(study, code)
        if person.status != Status.IN_REVIEW:
            messages.info(request, _("%(code)s is no longer waiting for a review.") % {"code": code})
        elif request.method == "GET":
            return show(request, study, template, {"person": person})
        else:
            act(person, request.user)
            messages.success(request, message % {"code": code})
        return redirect("research-person", study.key, code)

    return view


admit = decision_page(decisions.admit, "admit", gettext_lazy("%(code)s can continue."))
decline = decision_page(
    decisions.decline, "decline", gettext_lazy("%(code)s now sees a thank-you page that shows where to find help.")
)


@require_http_methods(["GET", "POST"])
@study_page
def let_back(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    """Ask, then let a timed-out person continue. The person's page says why it is impossible."""
    person = person_for(study, code)
    if request.method == "GET" and person.status == Status.TIMED_OUT and not timeouts.get_readmission_obstacle(person):
        return show(request, study, "let_back", {"person": person})
    if request.method == "POST" and timeouts.readmit(person):
        messages.success(request, _("%(code)s can continue.") % {"code": code})
    return redirect("research-person", study.key, code)


@require_http_methods(["GET", "POST"])
@study_page
def erase(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    """Ask for the code, then erase the person and show what was removed."""
    person = person_for(study, code)
    context = {"person": person, "open_signs": counts.open_risks_of(person).count()}
    if request.method == "GET":
        return show(request, study, "erase", context)
    if request.POST.get("code", "").strip() != person.code:
        return show(request, study, "erase", {**context, "wrong": True}, status=400)
    removed = erasure.erase(person)
    rows = [(labels.word(labels.HOLDINGS, kind), number) for kind, number in removed.rows.items() if number]
    return show(request, study, "erased", {**context, "removed": removed, "rows": rows})
