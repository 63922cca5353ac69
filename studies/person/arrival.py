"""Arrival by a personal link or through the open door.

Programs that fetch a link for a preview or a virus scan find a page with a button; only the button creates or binds
anything.
"""

import logging
import secrets

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.middleware.csrf import rotate_token
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import translation
from django.views.decorators.http import require_http_methods

from dialogue.languages import Language, get_language
from dialogue.safety.resources import resources_for
from studies.care.opening_requirements import lacks_drill, may_not_start
from studies.design.spec import StudySpec
from studies.models import Participation, Study
from studies.participation import enrolment, timeouts
from studies.participation.language import CODES, instrument_language, remember_language
from studies.payments.payees import PARAMETER, remember_payee
from studies.payments.sealing import ContactKeyError
from studies.person.study import LINK_COOKIE, page_of_full_study, page_of_shut_study, study_context

log = logging.getLogger(__name__)

BROWSER_COOKIE = "emostudy_browser"  # tells one browser from another in studies whose links work in one alone
YEAR = 365 * 24 * 3600  # seconds
TRACKS = (Participation.Track.PARTICIPANT, Participation.Track.COUNSELLOR)


@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Show the start page of a personal link; its button binds this browser to the person and leaves the link's
    address."""
    person = enrolment.person_by_token(token)
    if person is None:
        raise Http404
    choose_language(request, person.design())
    if may_not_start(person):
        return not_yet_page(request, person.study)
    if request.method == "POST":
        response = come_in(request, person)
        response["Referrer-Policy"] = "no-referrer"
        return response
    browser = request.COOKIES.get(BROWSER_COOKIE, "")
    response = (
        start_page(request, person)
        if enrolment.admits_browser(person, browser)
        else other_browser_page(request, person)
    )
    # Hides the token in the address as well. With no-referrer, browsers send the form with `Origin: null`, and Django
    # refuses it.
    response["Referrer-Policy"] = "strict-origin"
    return response


def start_page(request: HttpRequest, person: Participation) -> HttpResponse:
    design = person.design()
    language = (
        get_requested_language(request, design)
        or person.language
        or (design.languages[0] if len(design.languages) == 1 else "")
    )
    with translation.override(CODES.get(language, translation.get_language())):
        if not person.has_started() and not enrolment.admits_new_people(person.study, is_test=person.is_test):
            return page_of_shut_study(request, person.study)
        if not person.has_started() and enrolment.is_full(person.study, person.track, is_test=person.is_test):
            return page_of_full_study(request, person.study)
        bound = enrolment.person_in_session(request.session)
        context = {
            "continues": bound == person or person.has_started(),
            "is_over": person.is_over(),
            "takes_over": bound not in (None, person),
            "other_languages": get_other_languages(request, design),
            **study_context(design),
        }
        return render(request, "studies/start.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def open_door(request: HttpRequest, study_key: str) -> HttpResponse:
    """Enrol a new person without a personal link; people who came before on this device find their link again.

    While the study is in rehearsal, paused or closed, only they can come in.
    """
    study = get_object_or_404(Study, key=study_key)
    if not study.current().spec().open_enrolment:
        raise Http404
    track = request.GET.get("track", Participation.Track.PARTICIPANT)
    if track not in TRACKS:
        raise Http404
    token = request.COOKIES.get(LINK_COOKIE, "")
    choose_language(request, study.current().spec())
    earlier_person = person_on_device(study, track, token)
    wants_new = earlier_person is None or (request.method == "POST" and request.POST.get("act") != "continue")
    if not study.is_open() and (wants_new or not earlier_person.has_started()):
        return page_of_shut_study(request, study)
    if wants_new and lacks_drill(study):
        return not_yet_page(request, study)
    if (wants_new or not earlier_person.has_started()) and enrolment.is_full(study, track):
        return page_of_full_study(request, study)
    if request.method != "POST":
        link = request.build_absolute_uri(f"/j/{token}/") if earlier_person else ""
        spec = study.current().spec()
        switch = {"other_languages": get_other_languages(request, spec)}
        context = {"track": track, "link": link, **switch, **study_context(spec)}
        return render(request, "studies/open.html", context)
    if not wants_new:
        return come_in(request, earlier_person)
    person, token = enrolment.invite(study, track=track)
    take_payee(person, request.GET.get(PARAMETER, ""))
    response = come_in(request, person, then=request.get_full_path())
    # On the person's own device only: the server keeps no more than a hash of it. The page for a pause shows it too.
    set_cookie(response, LINK_COOKIE, token, path="/", seconds=settings.SESSION_COOKIE_AGE)
    return response


def get_requested_language(request: HttpRequest, spec: StudySpec) -> str:
    """Return the language that the address asks for, if the study has it."""
    code = request.GET.get("language", "")
    return code if code in spec.languages else ""


def choose_language(request: HttpRequest, spec: StudySpec) -> None:
    """Show the page in the language that the address asks for; it is kept once the button is pressed."""
    if code := get_requested_language(request, spec):
        translation.activate(CODES[code])


def get_other_languages(request: HttpRequest, spec: StudySpec) -> list[tuple[Language, str]]:
    """Return each other language of the study, with the address that shows this page in it."""
    now = instrument_language()
    languages = []
    for code in spec.languages:
        query = request.GET.copy()
        query["language"] = code
        if code != now:
            languages.append((get_language(code), f"?{query.urlencode()}"))
    return languages


def take_payee(person: Participation, prolific_id: str) -> None:
    """Store the person's id at Prolific. Without a key it is not stored, and the person takes part all the same."""
    try:
        remember_payee(person, prolific_id)
    except ContactKeyError:
        log.error("a Prolific ID was not stored: CONTACT_KEY is not set")


def come_in(request: HttpRequest, person: Participation, *, then: str = "study") -> HttpResponse:
    """Bind the browser to the person and lead them on, unless their link belongs to another browser."""
    browser = request.COOKIES.get(BROWSER_COOKIE) or secrets.token_urlsafe(32)
    if not enrolment.bind_link(person, browser):
        return other_browser_page(request, person)
    bind_browser(request, person)
    response = redirect(then)
    if person.design().one_browser:
        set_cookie(response, BROWSER_COOKIE, browser, path="/", seconds=YEAR)
    return response


def set_cookie(response: HttpResponse, name: str, value: str, *, path: str, seconds: int) -> None:
    secure = settings.SESSION_COOKIE_SECURE
    response.set_cookie(name, value, path=path, max_age=seconds, secure=secure, httponly=True, samesite="Lax")


def not_yet_page(request: HttpRequest, study: Study) -> HttpResponse:
    """Say that the study cannot start yet: its researchers have not shown that someone is on call."""
    return page_before_study(request, "studies/not_yet.html", study.current().spec())


def other_browser_page(request: HttpRequest, person: Participation) -> HttpResponse:
    """Say that the link was started elsewhere, and how to get another."""
    return page_before_study(request, "studies/other_browser.html", person.design())


def page_before_study(request: HttpRequest, template: str, spec: StudySpec) -> HttpResponse:
    return render(request, template, {**study_context(spec), "resources": resources_for(spec.country)}, status=403)


def person_on_device(study: Study, track: str, token: str) -> Participation | None:
    """Return the person who started on this device and has not finished; None if there is none."""
    person = enrolment.person_by_token(token) if token else None
    if person is None or person.study != study or person.track != track:
        return None
    timeouts.time_out_if_absent(person)
    return None if person.is_over() else person


def bind_browser(request: HttpRequest, person: Participation) -> None:
    if enrolment.person_in_session(request.session) != person:
        rotate_token(request)  # a form that is still open in another tab is the other person's
    enrolment.bind_session(request.session, person)
    if language := get_requested_language(request, person.design()) or person.language:
        remember_language(request, language)
