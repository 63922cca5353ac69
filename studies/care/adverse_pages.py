"""Adverse events: list, form, a printable page and a CSV file for an ethics board."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from dialogue.input_checks import LARGEST_KEY, int_from
from dialogue.models import RiskEvent
from studies.care import adverse_events
from studies.care.adverse_events import AdverseEventForm, ChangedMeanwhile
from studies.models import AdverseEvent, Study
from studies.participation import counts
from studies.workbench.access import show, study_page


@require_GET
@study_page
def adverse_list(request: HttpRequest, study: Study) -> HttpResponse:
    rows = [(row, adverse_events.is_overdue(row)) for row in adverse_events.list_adverse_events(study)]
    return show(request, study, "adverse_events", {"rows": rows})


@require_http_methods(["GET", "POST"])
@study_page
def adverse_new(request: HttpRequest, study: Study) -> HttpResponse:
    """Show and store the form for a new adverse event; `?event=` fills in what a sign of danger tells."""
    event = _event_of(request, study)
    form = AdverseEventForm(study, request.POST or None, initial=_initial(event))
    if request.method == "POST" and form.is_valid():
        try:
            row = adverse_events.create_adverse_event(form, by=request.user, event=event, known=_known(request))
        except ChangedMeanwhile:
            form.add_error(
                None, _("A colleague has entered this sign meanwhile. Nothing was stored. Look at theirs first.")
            )
        else:
            messages.success(request, _("Stored. Please report it before the deadline below."))
            return redirect("research-adverse-event", study.key, row.pk)
    entered = list(event.adverse_events.order_by("pk")) if event else []
    context = {"form": form, "event": event, "entered": entered, "known": len(entered)}
    return show(request, study, "adverse_form", context, status=422 if form.errors else 200)


def _known(request: HttpRequest) -> int | None:
    """Return how many changes, or adverse events of a sign, the page showed."""
    return int_from(request.POST.get("known"), 0, LARGEST_KEY)


def _event_of(request: HttpRequest, study: Study) -> RiskEvent | None:
    number = int_from(request.GET.get("event"), 1, LARGEST_KEY)
    return get_object_or_404(counts.risks_of(study), pk=number) if number else None


def _initial(event: RiskEvent | None) -> dict[str, object]:
    return {"subject": event.subject, "occurred_at": event.created_at} if event else {"occurred_at": timezone.now()}


@require_http_methods(["GET", "POST"])
@study_page
def adverse_event(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Show one adverse event to be changed, with what it said before, and store the changes."""
    row = get_object_or_404(study.adverse_events, pk=number)
    form = AdverseEventForm(study, request.POST or None, instance=row)
    if request.method == "POST" and form.is_valid():
        try:
            adverse_events.change_adverse_event(form, by=request.user, known=_known(request))
        except ChangedMeanwhile:
            message = _(
                "A colleague has changed this meanwhile, see “Earlier versions”. Nothing was stored. Your entries are "
                "still here: check them and store them again."
            )
            form.add_error(None, message)
        else:
            messages.success(request, _("Stored."))
            return redirect("research-adverse-event", study.key, row.pk)
    stored = study.adverse_events.get(pk=number)
    context = {
        "form": form,
        "row": stored,
        "is_overdue": adverse_events.is_overdue(stored),
        "event": stored.event,
        "changes": adverse_events.describe_changes(stored),
        "known": len(stored.changes),
    }
    return show(request, study, "adverse_form", context, status=422 if form.errors else 200)


@require_GET
@study_page
def adverse_print(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    row: AdverseEvent = get_object_or_404(study.adverse_events.select_related("study", "created_by"), pk=number)
    return show(request, study, "adverse_print", {"row": row, "contact": study.current().spec().contact})


@require_GET
@study_page
def adverse_csv(request: HttpRequest, study: Study) -> StreamingHttpResponse:
    rows = adverse_events.list_adverse_events(study).select_related("study", "created_by")
    response = StreamingHttpResponse(adverse_events.write_csv(rows.iterator()), content_type="text/csv; charset=utf-8")
    name = f"adverse_events_{study.key}.csv"
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name)
    return response
