"""All studies, and one study at a glance."""

import csv
import io
from collections.abc import Sequence

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST

from studies.care.opening import lacks_drill
from studies.models import Participation, Protocol, Study
from studies.models.participation import Status
from studies.participation import counts
from studies.participation.enrolment import invite, lacks_arms
from studies.participation.unblinding import is_blinded
from studies.workbench.access import researchers_only, show, study_page, study_page_after_timeouts, title_of

MOST_LINKS = 500


class InviteForm(forms.Form):
    count = forms.IntegerField(label=_("How many"), min_value=1, max_value=MOST_LINKS, initial=1)
    track = forms.ChoiceField(label=_("Track"), choices=Participation.Track.choices)
    test = forms.BooleanField(label=_("For trying out (test data)"), required=False)


@require_GET
@researchers_only
def studies(request: HttpRequest) -> HttpResponse:
    people = Participation.objects.people()
    completed, test_data = people.filter(status=Status.COMPLETED), Participation.objects.test_data()
    rows = Study.objects.order_by("key").annotate(
        people=Count("participations", filter=Q(participations__in=people)),
        tests=Count("participations", filter=Q(participations__in=test_data)),
        completed=Count("participations", filter=Q(participations__in=completed)),
    )
    newest = {protocol.study_id: protocol for protocol in Protocol.objects.order_by("version")}
    shown = [(study, title_of(newest[study.pk])) for study in rows]
    return render(request, "studies/research/studies.html", {"studies": shown})


@require_GET
@study_page_after_timeouts
def study(request: HttpRequest, study: Study) -> HttpResponse:
    return overview(request, study, InviteForm())


def overview(request: HttpRequest, study: Study, form: InviteForm, *, status: int = 200) -> HttpResponse:
    test = request.GET.get("test", counts.default_data(study))
    statuses = counts.by_status(study, test=test)
    people = sum(each.people for each in statuses)
    completed = next(each.people for each in statuses if each.status == Status.COMPLETED)
    context = {
        "test": test,
        "statuses": statuses,
        "people": people,
        "completed": completed,
        "completed_percent": round(100 * completed / people) if people else 0,
        "steps": counts.by_step(study, test=test),
        "arms": counts.by_arm(study, test=test),
        "demonstrations": study.current().demonstrations(),
        "stuck": counts.stuck(study, test=test),
        "others": counts.others(study),
        "lacks_arms": tracks_without_arms(study),
        "lacks_drill": lacks_drill(study),
        "test_people": study.participations.test_data().count(),
        "form": form,
        "blinded": study.is_closed() and is_blinded(study),
    }
    return show(request, study, "overview", context, status=status)


def tracks_without_arms(study: Study) -> list[Promise | str]:
    """Return the tracks whose new people cannot begin."""
    spec = study.current().spec()
    return [track.label for track in Participation.Track if lacks_arms(spec, track)]


@require_POST
@study_page
def invitations(request: HttpRequest, study: Study) -> HttpResponse:
    """Create links and show them in this response only, because only their hashes are stored."""
    if study.is_closed():
        messages.error(request, _("The study is closed, so no links were made."))
        return redirect("research-study", study.key)
    form = InviteForm(request.POST)
    if not form.is_valid():
        return overview(request, study, form, status=400)
    is_real = not form.cleaned_data["test"] and form.cleaned_data["track"] != Participation.Track.REVIEWER
    if is_real and lacks_drill(study):
        messages.error(request, _("No links were made, because nobody on call has acknowledged a drill yet."))
        return redirect("research-study", study.key)
    links = new_links(request, study, form)
    if request.POST.get("as") == "csv":
        return as_csv(study, links)
    return show(request, study, "links", {"links": links})


@transaction.atomic
def new_links(request: HttpRequest, study: Study, form: InviteForm) -> list[tuple[str, str, str]]:
    track = form.cleaned_data["track"]
    is_test = form.cleaned_data["test"]
    made = [invite(study, track=track, is_test=is_test) for _number in range(form.cleaned_data["count"])]
    return [(person.code, track, request.build_absolute_uri(reverse("join", args=[key]))) for person, key in made]


def as_csv(study: Study, links: Sequence[tuple[str, str, str]]) -> HttpResponse:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("code", "track", "url"), *links])
    headers = {"Content-Disposition": f'attachment; filename="{study.key}-links.csv"'}
    return HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8", headers=headers)
