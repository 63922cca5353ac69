"""All studies, and one study at a glance."""

import csv
import io
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import resolve, reverse
from django.utils import timezone
from django.utils.functional import Promise, SimpleLazyObject
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST

from studies.access.access import Access, drafts_of, may_found_studies, studies_of
from studies.allocation.places import count_completed, count_places_taken, places_of
from studies.board.arms import get_arms
from studies.board.funnel import get_funnel
from studies.board.money import get_money
from studies.board.presence import get_presence
from studies.board.waiting import get_waiting
from studies.care.opening_requirements import lacks_drill
from studies.care.questions import find_open
from studies.models import Participation, Protocol, Study
from studies.models.participation import Status
from studies.participation import counts
from studies.participation.enrolment import admits_new_people, invite, lacks_arms
from studies.participation.unblinding import is_blinded
from studies.workbench.access import researchers_only, show, study_page, study_page_after_timeouts, title_of
from studies.workbench.new_links import Link, redirect_to_links

MOST_LINKS = 500
MOST_QUESTIONS = 20  # on the board at once, the oldest


class InviteForm(forms.Form):
    count = forms.IntegerField(label=_("How many"), min_value=1, max_value=MOST_LINKS, initial=1)
    track = forms.ChoiceField(label=_("Track"), choices=Participation.Track.choices)
    test = forms.BooleanField(label=_("Test links: what is done with them is test data"), required=False)

    @classmethod
    def for_study(cls, study: Study) -> "InviteForm":
        """Return the form as it begins: for test links where only these can be made."""
        return cls(initial={"test": not admits_new_people(study, is_test=False)})


@require_GET
@researchers_only
def studies(request: HttpRequest) -> HttpResponse:
    people = Participation.objects.people()
    completed, test_data = people.filter(status=Status.COMPLETED), Participation.objects.test_data()
    own = studies_of(request.user)
    rows = own.order_by("key").annotate(
        people=Count("participations", filter=Q(participations__in=people)),
        tests=Count("participations", filter=Q(participations__in=test_data)),
        completed=Count("participations", filter=Q(participations__in=completed)),
    )
    protocols = Protocol.objects.filter(study__in=own).order_by("version")
    newest = {protocol.study_id: protocol for protocol in protocols}
    titles = [(study, title_of(newest[study.pk])) for study in rows]
    drafts = drafts_of(request.user).filter(study=None).count()
    context = {"studies": titles, "may_found": may_found_studies(request.user), "drafts": drafts}
    return render(request, "studies/research/studies.html", context)


@require_GET
@study_page_after_timeouts
def study(request: HttpRequest, study: Study) -> HttpResponse:
    return overview(request, study, InviteForm.for_study(study))


def overview(request: HttpRequest, study: Study, form: InviteForm, *, status: int = 200) -> HttpResponse:
    test = request.GET.get("test", counts.default_data(study))
    board = board_context(study, test, request.access)
    context = {
        "test": test,
        **board,
        "open_address": get_open_address(request, board["protocol"]),
        "money": SimpleLazyObject(lambda: get_money(study)),
        "others": counts.count_others(study),
        "lacks_arms": tracks_without_arms(study),
        "lacks_drill": lacks_drill(study),
        "test_people": study.participations.test_data().count(),
        "form": form,
        "blinded": study.is_closed() and is_blinded(study),
    }
    return show(request, study, "overview", context, status=status)


def get_open_address(request: HttpRequest, protocol: Protocol) -> str:
    """Return the address at which anyone may join now; empty where only people with a link of their own may."""
    study = protocol.study
    is_open = study.is_open() and protocol.spec().open_enrolment
    return request.build_absolute_uri(reverse("open", args=[study.key])) if is_open else ""


def board_context(study: Study, test: str, access: Access) -> dict[str, Any]:
    """Return the parts of the board that the page renews by itself."""
    stuck = counts.count_waiting(study, test=test)
    statuses = counts.count_by_status(study, test=test)
    people = sum(each.people for each in statuses)
    completed = next(each.people for each in statuses if each.status == Status.COMPLETED)
    protocol = study.current()
    arms = get_arms(study, protocol, test=test)
    return {
        "protocol": protocol,
        "waiting": [one for one in get_waiting(study, stuck, arms, test=test) if may_open(one.url, access)],
        "people": people,
        "completed": completed,
        "places": get_places(study, test=test),
        "completed_percent": round(100 * completed / people) if people else 0,
        "statuses": statuses,
        "stuck": stuck,
        "questions": find_open(study, test=test)[:MOST_QUESTIONS],
        "funnel": get_funnel(study, test=test),
        "presence": get_presence(study, test=test),
        "arms": arms,
        "demonstrations": protocol.demonstrations(),
        "zone": protocol.spec().safety.time_zone,
        "now": timezone.now(),
    }


def get_places(study: Study, *, test: str) -> dict[str, int] | None:
    """Return the participants who are wanted, who completed, and who have a place; None for test data, and where there
    is no limit."""
    limit = places_of(study, Participation.Track.PARTICIPANT) if test == "no" else None
    if limit is None:
        return None
    return {"wanted": limit, "completed": count_completed(study), "taken": count_places_taken(study)}


def may_open(url: str, access: Access) -> bool:
    """Return whether they may open this page of the study, or this part of the board."""
    path = urlsplit(url).path
    return not path or access.may_look_at(resolve(path).view_name)


def tracks_without_arms(study: Study) -> list[Promise | str]:
    """Return the tracks whose new people cannot begin."""
    spec = study.current().spec()
    return [track.label for track in Participation.Track if lacks_arms(spec, track)]


@require_POST
@study_page
def invitations(request: HttpRequest, study: Study) -> HttpResponse:
    """Create links and lead to the page that shows them for a few minutes; only their hashes are stored."""
    form = InviteForm(request.POST)
    if not form.is_valid():
        return overview(request, study, form, status=400)
    if not admits_new_people(study, is_test=form.cleaned_data["test"]):
        messages.error(request, _("The study is not open, so no links for real people were made."))
        return redirect("research-study", study.key)
    is_real = not form.cleaned_data["test"] and form.cleaned_data["track"] != Participation.Track.REVIEWER
    if is_real and lacks_drill(study):
        messages.error(request, _("No links were made, because no one on call has acknowledged a drill yet."))
        return redirect("research-study", study.key)
    links = new_links(request, study, form)
    if request.POST.get("as") == "csv":
        return as_csv(study, links)
    back = reverse("research-study", args=[study.key])
    return redirect_to_links(request, study, links, is_test=form.cleaned_data["test"], back=back)


@transaction.atomic
def new_links(request: HttpRequest, study: Study, form: InviteForm) -> list[Link]:
    track = form.cleaned_data["track"]
    is_test = form.cleaned_data["test"]
    pairs = [invite(study, track=track, is_test=is_test) for _number in range(form.cleaned_data["count"])]
    return [(person.code, track, request.build_absolute_uri(reverse("join", args=[key]))) for person, key in pairs]


def as_csv(study: Study, links: Sequence[Link]) -> HttpResponse:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("code", "track", "url"), *links])
    headers = {"Content-Disposition": f'attachment; filename="{study.key}-links.csv"'}
    return HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8", headers=headers)
