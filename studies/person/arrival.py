"""Arrival by a personal link or through the open door.

Programs that fetch a link for a preview or a virus scan find a page with a button; only the button creates or binds
anything.
"""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.middleware.csrf import rotate_token
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import translation
from django.views.decorators.http import require_http_methods

from dialogue.safety.resources import resources_for
from studies.care.opening import lacks_drill, may_not_begin
from studies.models import Participation, Study
from studies.participation import enrolment, timeouts
from studies.participation.language import CODES, remember_language
from studies.person.study import page_of_closed_study, study_context

LINK_COOKIE = "emostudy_link"
TRACKS = (Participation.Track.PARTICIPANT, Participation.Track.COUNSELLOR)


@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Show the start page of a personal link; its button binds this browser to the person and leaves the link's
    address."""
    person = enrolment.person_by_token(token)
    if person is None:
        raise Http404
    if may_not_begin(person):
        return not_yet_page(request, person.study)
    if request.method == "POST":
        let_in(request, person)
        response = redirect("study")
        response["Referrer-Policy"] = "no-referrer"
        return response
    response = start_page(request, person)
    # Hides the token in the address as well. With no-referrer, browsers send the form with `Origin: null`, and Django
    # refuses it.
    response["Referrer-Policy"] = "strict-origin"
    return response


def start_page(request: HttpRequest, person: Participation) -> HttpResponse:
    design = person.design()
    language = person.language or (design.languages[0] if len(design.languages) == 1 else "")
    with translation.override(CODES.get(language, translation.get_language())):
        if not person.has_begun() and not enrolment.admits_new_people(person.study, is_test=person.is_test):
            return page_of_closed_study(request, person.study)
        bound = enrolment.person_in_session(request.session)
        context = {"continues": bound == person, "takes_over": bound not in (None, person), **study_context(design)}
        return render(request, "studies/start.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def open_door(request: HttpRequest, study_key: str) -> HttpResponse:
    """Enrol a new person in an open study; people who came before on this device find their link again.

    After the study is closed, only they can come in.
    """
    study = get_object_or_404(Study, key=study_key)
    if not study.current().spec().open_enrolment:
        raise Http404
    track = request.GET.get("track", Participation.Track.PARTICIPANT)
    if track not in TRACKS:
        raise Http404
    token = request.COOKIES.get(LINK_COOKIE, "")
    known = person_on_device(study, track, token)
    wants_new = known is None or (request.method == "POST" and request.POST.get("act") != "continue")
    if study.is_closed() and (wants_new or not known.has_begun()):
        return page_of_closed_study(request, study)
    if wants_new and lacks_drill(study):
        return not_yet_page(request, study)
    if request.method != "POST":
        link = request.build_absolute_uri(f"/j/{token}/") if known else ""
        context = {"track": track, "link": link, **study_context(study.current().spec())}
        return render(request, "studies/open.html", context)
    if not wants_new:
        let_in(request, known)
        return redirect("study")
    person, token = enrolment.invite(study, track=track)
    let_in(request, person)
    response = redirect(request.get_full_path())
    # On the person's own device only: the server keeps no more than a hash of it.
    response.set_cookie(
        LINK_COOKIE,
        token,
        path="/open/",
        max_age=settings.SESSION_COOKIE_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


def not_yet_page(request: HttpRequest, study: Study) -> HttpResponse:
    """Say that the study cannot start yet: its researchers have not shown that somebody is on call."""
    spec = study.current().spec()
    context = {**study_context(spec), "resources": resources_for(spec.country)}
    return render(request, "studies/not_yet.html", context, status=403)


def person_on_device(study: Study, track: str, token: str) -> Participation | None:
    """Return the person who started on this device and has not finished; None if there is none."""
    person = enrolment.person_by_token(token) if token else None
    if person is None or person.study != study or person.track != track:
        return None
    timeouts.time_out_if_absent(person)
    return None if person.is_over() else person


def let_in(request: HttpRequest, person: Participation) -> None:
    if enrolment.person_in_session(request.session) != person:
        rotate_token(request)  # a form that is still open in another tab is the other person's
    enrolment.bind_session(request.session, person)
    if person.language:
        remember_language(request, person.language)
