"""The person's pages. One address shows the current step; other addresses lead back to it."""

from collections.abc import Callable
from functools import wraps

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dialogue.input_checks import MOST_TURNS, int_from
from dialogue.models import RiskEvent
from dialogue.safety.resources import get_call_lines, get_listed_country, resources_for
from studies.allocation.places import count_completed
from studies.care import answers
from studies.care.care_page import get_care_page
from studies.care.letters import get_letters
from studies.care.lines_at_hand import get_lines_at_hand
from studies.data import erasure
from studies.design.spec import StudySpec
from studies.models import Participation, Receipt, Stage, Study
from studies.models.participation import AWAITED, Status
from studies.participation import chats, counts, deletion, enrolment, progress, timeouts
from studies.participation.language import CODES, instrument_language, remember_language
from studies.participation.responses import store_reply_rating
from studies.participation.step_kinds import KINDS, Page, Visit
from studies.participation.submissions import NeedsCorrection, accept_once, keep_draft, place_in
from studies.person import stops
from studies.person.broken import guess_country, help_lines
from studies.person.outline import outline
from studies.person.shown_person import hide_models, show_person


def participation_for(request: HttpRequest) -> Participation | None:
    person = enrolment.person_in_session(request.session)
    if person:
        timeouts.time_out_if_absent(person)
    return person


def needs_person(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    @wraps(view)
    def wrapper(request: HttpRequest, *args: str, **named: str) -> HttpResponse:
        person = participation_for(request)
        if person is None:
            return render(request, "studies/no_link.html", status=403)
        return view(request, person, *args, **named)

    return wrapper


LINK_COOKIE = "emostudy_link"  # what the open door left on this device
NOT_OPEN = {Stage.REHEARSAL: "not_yet", Stage.PAUSED: "paused"}


def page_of_shut_study(request: HttpRequest, study: Study) -> HttpResponse:
    """Return the page for people who have not begun, and cannot because the study is not open."""
    spec = study.current().spec()
    context = {**study_context(spec), "resources": resources_for(spec.country)}
    return render(request, f"studies/{NOT_OPEN.get(Stage(study.stage), 'closed')}.html", context, status=403)


def page_instead_of_start(request: HttpRequest, person: Participation) -> HttpResponse:
    """Return the page for people with a link who cannot begin."""
    if not enrolment.admits_new_people(person.study, is_test=person.is_test):
        return page_of_shut_study(request, person.study)
    if enrolment.is_full(person.study, person.track, is_test=person.is_test):
        return page_of_full_study(request, person.study)
    return page_of_stalled_study(request, person)


def page_of_full_study(request: HttpRequest, study: Study) -> HttpResponse:
    """Return the page for people who cannot begin because all places are taken, for now or for good."""
    spec = study.current().spec()
    is_complete = count_completed(study) >= (spec.order.participants or 0)
    context = {**study_context(spec), "is_complete": is_complete, "resources": resources_for(spec.country)}
    return render(request, "studies/full.html", context, status=403)


def page_of_stalled_study(request: HttpRequest, person: Participation) -> HttpResponse:
    """Return the page for people who cannot begin, because the study's present version has too few arms in use."""
    return render(request, "studies/stalled.html", page_context(person))


def to_present_step(_request: HttpRequest) -> HttpResponse:
    return redirect("study")


def confirm_saved(_request: HttpRequest) -> HttpResponse:
    return JsonResponse({"saved": True})


@require_http_methods(["GET", "POST"])
@needs_person
@accept_once(to_present_step)
def study(request: HttpRequest, person: Participation) -> HttpResponse:
    enrolment.start(person)
    if not person.has_started():
        return page_instead_of_start(request, person)
    settle_language(request, person)
    visit = Visit(request, person, progress.current_step(person))
    kind = KINDS[visit.step.kind]
    amendment = stops.amendment_to_ask(visit)
    if amendment and request.method == "POST" and request.POST.get("step") == stops.CONSENT_AGAIN:
        stops.accept_again(request, person, amendment)
        return redirect("study")
    if request.method == "POST":
        if request.POST.get("step") != visit.step.key:
            if not person.is_over():
                messages.info(request, _("That page was already saved. This is where you are now."))
            return redirect("study")
        try:
            accept(visit)
        except chats.PersonGone:
            return redirect("study")
        return redirect("study-care" if visit.shows_danger else "study")
    context = {**page_context(person), **lines_at_hand(visit)}
    if person.is_paused():
        return stops.page_of_paused_person(request, person, context)
    if stops.is_stopped_by_pause(visit):
        return stops.page_of_paused_study(request, person, context)
    if amendment:
        return stops.ask_again(request, person, amendment, context)
    if sign := stops.role_sign_to_ask(person):
        return stops.ask_about_role(request, sign, context)
    try:
        page = kind.show(visit)
    except chats.PersonGone:
        page = None
    return redirect("study") if page is None else show(visit, page)


def accept(visit: Visit) -> None:
    if KINDS[visit.step.kind].accept(visit):
        visit.participation.drafts.filter(step=place_in(visit.request)).delete()
        say_saved(visit)


def say_saved(visit: Visit) -> None:
    """Add "Saved" to the next page, except for the chat and farewell pages, which show this themselves."""
    shows_it = visit.participation.is_over() or progress.current_step(visit.participation).kind == "chat"
    if visit.step.kind != "language" and not shows_it:
        messages.success(visit.request, _("Saved"))


def settle_language(request: HttpRequest, person: Participation) -> None:
    """Set the language of a study with one language; on another device, restore the person's own."""
    languages = person.design().languages
    if not person.language and len(languages) == 1 and not person.is_over():
        person.language = languages[0]
        note(person, language=person.language)
    if person.language:
        remember_language(request, person.language)


def note(person: Participation, **values: object) -> None:
    """Write these fields into the person's row, unless it was erased since it was read."""
    Participation.objects.filter(pk=person.pk, status=person.status).update(**values)


def show(visit: Visit, page: Page) -> HttpResponse:
    person = visit.participation
    far = outline(person, visit.step, visit.spec)
    if not person.is_over():
        note(person, last_seen_at=timezone.now(), percent_shown=far.percent)
    head = {"outline": far, "progress": far, **lines_at_hand(visit)}
    context = {"step": visit.step, **head, **page_context(person), **page.context}
    return render(visit.request, page.template, context)


def lines_at_hand(visit: Visit) -> dict[str, object]:
    return {"lines_at_hand": SimpleLazyObject(lambda: get_lines_at_hand(visit.participation, visit.step))}


def page_context(person: Participation | None) -> dict[str, object]:
    """Return the study's data for the head and the foot of every page."""
    if person is None:
        return {}
    letters = SimpleLazyObject(lambda: get_letters(person))
    head = {"participation": show_person(person), "letters": letters}
    return {**head, **study_context(person.design()), **lines_without_network(country_of(person))}


def study_context(design: StudySpec) -> dict[str, object]:
    spec = hide_models(design)
    return {
        "spec": spec,
        "study_country": spec.country,
        "study_title": spec.title[instrument_language()],
        "contact": spec.contact,
        **lines_without_network(spec.country),
    }


def lines_without_network(country: str) -> dict[str, object]:
    return {"call_lines": get_call_lines(country), "listed_country": get_listed_country(country)}


@require_POST
@needs_person
def draft(request: HttpRequest, person: Participation) -> HttpResponse:
    """Store the answers of the page at hand that are not sent yet; a late draft of an earlier page is ignored.

    `next` is where a button leads that keeps the page and sends nothing, such as to an earlier page of the same step.
    """
    if request.POST.get("step") == progress.current_step(person).key:
        keep_draft(person, place_in(request), request.POST)
    return back(request) if "next" in request.POST else HttpResponse(status=204)


@require_POST
@needs_person
@accept_once(lambda request: back(request))
def language(request: HttpRequest, person: Participation) -> HttpResponse:
    language = request.POST.get("language", "")
    if language in CODES:
        remember_language(request, language)
        if language in person.design().languages:
            chats.switch_language(person, language)
    return back(request)


def back(request: HttpRequest) -> HttpResponse:
    """Redirect to the page that the form stood on."""
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()})
    return HttpResponseRedirect(target) if safe else redirect("study")


@require_safe
def help_page(request: HttpRequest) -> HttpResponse:
    """Show help by country, without script, sign-in or model."""
    person = participation_for(request)
    likely = country_of(person) or guess_country(request)
    own = person.design().country if person else likely
    country = request.GET.get("country") or likely
    return render(request, "studies/help.html", {**help_lines(country, first=own), **page_context(person)})


def country_of(person: Participation | None) -> str:
    if person is None:
        return ""
    return person.country or person.design().country


@require_safe
@needs_person
def pause(request: HttpRequest, person: Participation) -> HttpResponse:
    """Show how to come back, and the lines; to someone in danger the lines first. A part that is over needs no rest."""
    event = answers.get_event(person)
    is_safe = event is not None and event.safe_answer == RiskEvent.SafeAnswer.SAFE
    if person.status in (Status.HELD, Status.STOPPED) or (answers.is_unsafe(event) and not is_safe):
        return render(request, "studies/care/pause.html", {**page_context(person), "care_page": get_care_page(person)})
    if person.is_over():
        return redirect("study")
    context = {
        **page_context(person),
        "step": progress.current_step(person) if person.plan else None,
        "gone_after_days": person.design().gone_after_days if person.status in AWAITED else None,
        "resources": resources_for(country_of(person)),
        "link": get_own_link(request, person),
    }
    return render(request, "studies/pause.html", context)


def get_own_link(request: HttpRequest, person: Participation) -> str:
    """Return the person's personal link where this device has it; the server itself keeps no more than a hash."""
    token = request.COOKIES.get(LINK_COOKIE, "")
    is_theirs = bool(token) and enrolment.person_by_token(token) == person
    return request.build_absolute_uri(f"/j/{token}/") if is_theirs else ""


@require_http_methods(["GET", "POST"])
@needs_person
@accept_once(to_present_step)
def leave(request: HttpRequest, person: Participation) -> HttpResponse:
    """Let the person leave; they choose whether their data are kept or deleted. Without consent nothing is kept."""
    if enrolment.is_forgotten(person):
        return redirect("study")
    declines = not person.is_over() and enrolment.is_unsigned(person)
    if person.is_over() and not deletion.may_delete(person):
        return redirect("my-data")
    if request.method == "GET":
        # The hint is shown once, so that it is not stale on another day.
        hints, _rows = person.drafts.filter(step=request.path).delete()
        context = {
            **page_context(person),
            "lacks_choice": bool(hints),
            "declines": declines,
            "has_open_alarm": counts.open_risks_of(person).exists(),
            **deletion_context(person),
            **({} if declines else lines_at_hand(Visit(request, person, progress.current_step(person)))),
        }
        return render(request, "studies/leave.html", context)
    if declines:
        erasure.forget_unsigned(person)
        return redirect("study")
    if request.POST.get("choice") not in ("keep", "delete"):
        raise NeedsCorrection
    if request.POST["choice"] == "delete" and not deletion.may_delete(person):
        return redirect("my-data")
    if request.POST["choice"] == "keep":
        progress.leave(person)
    else:
        erasure.erase(person, kind=Receipt.Kind.DELETED)
        request.session.flush()
        # The session stays bound, so that a page in their language confirms the erasure.
        enrolment.bind_session(request.session, person)
        remember_language(request, instrument_language())
    response = redirect("study")
    response["Clear-Site-Data"] = '"storage"'  # what was written to a partner and not sent (chat.js, socket.js)
    return response


def deletion_context(person: Participation) -> dict[str, object]:
    """Return until when the person can have their data deleted, whether their part is over, and the control by which
    they choose, or confirm the one thing that they can choose."""
    may_delete, is_over = deletion.may_delete(person), person.is_over()
    return {
        "may_delete": may_delete,
        "deadline": deletion.describe_deadline(person),
        "is_over": is_over,
        "control": "radio" if may_delete and not is_over else "checkbox",
    }


def needs_role(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    @wraps(view)
    def wrapper(request: HttpRequest, person: Participation, *args: str) -> HttpResponse:
        if person.track != Participation.Track.COUNSELLOR:
            return JsonResponse({"error": "only counsellors play a role"}, status=403)
        return view(request, person, *args)

    return wrapper


@require_POST
@needs_person
@needs_role
@accept_once(confirm_saved)
def role_answer(request: HttpRequest, person: Participation) -> HttpResponse:
    """Store whether words in role-play were the role's or the counsellor's own."""
    answer = request.POST.get("answer")
    turn = int_from(request.POST.get("turn"), 1, MOST_TURNS)
    if answer not in ("role", "me") or turn is None:
        return JsonResponse({"error": "answer must be 'role' or 'me', turn a number"}, status=400)
    # The reply may have a sign of its own, which is no one's words
    of_words = {"turn": turn, "source": RiskEvent.Source.MESSAGE, "role_answer": ""}
    signs = RiskEvent.objects.filter(subject=person.code, **of_words).order_by("-pk")
    if talk := request.POST.get("conversation"):
        signs = signs.filter(conversation__code=talk)
    event = signs.first()
    settled = answers.answer_role(event, answer) if event else True
    waits = event is not None and (event.level == 4 or (answer == "me" and event.level == 3))
    return JsonResponse({"next": "/study/" if waits or not settled else ""})


@require_POST
@needs_person
@accept_once(confirm_saved)
def rate_reply(request: HttpRequest, person: Participation) -> HttpResponse:
    """Store the rating under a single reply, sent while the conversation continues."""
    error = store_reply_rating(person, progress.current_step(person), request.POST)
    return JsonResponse({"error": error} if error else {"saved": True}, status=400 if error else 200)


@require_safe
def front(request: HttpRequest) -> HttpResponse:
    """Show people without a link how to use theirs, and researchers where to sign in."""
    return redirect("study") if participation_for(request) else render(request, "studies/front.html")
