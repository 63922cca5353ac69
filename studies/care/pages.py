"""Signs of danger: what still waits for a person on call, and whether they were told."""

from django.contrib import messages
from django.db.models import BooleanField, Case, Value, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from studies.care import oncall
from studies.models import Study
from studies.participation import counts
from studies.workbench.access import show, study_page
from studies.workbench.tables import page_of, paging


@require_GET
@study_page
def risks(request: HttpRequest, study: Study) -> HttpResponse:
    waiting = When(level__gte=3, released_at=None, then=Value(True))
    test = request.GET.get("test", "")
    rows = (
        counts.risks_of(study, test=test)
        .select_related("conversation", "released_by")
        .prefetch_related("alarms")
        .annotate(waits=Case(waiting, default=Value(False), output_field=BooleanField()))
        .order_by("-waits", "-created_at", "-pk")
    )
    page = page_of(rows, request)
    context = {"test": test, "page": page, "risks": page, **paging(page, request)}
    return show(request, study, "risks", context)


@require_POST
@study_page
def release(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """What had been released stays as it was: `oncall.release` acts once."""
    event = get_object_or_404(counts.risks_of(study), pk=number)
    oncall.release(event, by=request.user, note=request.POST.get("note", "").strip())
    messages.success(request, _("Released. If the person was waiting, they can continue now."))
    return redirect("research-risks", study.key)
