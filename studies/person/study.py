"""The person's pages. One address shows the current step; any other way in leads back to it."""

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

from dialogue.incoming import MOST_TURNS, int_from
from dialogue.models import RiskEvent
from dialogue.safety.resources import resources_for
from studies.care import answers
from studies.care.meeting import get_letters
from studies.data import erasure
from studies.design.spec import StudySpec
from studies.models import Participation, Study
from studies.models.participation import AWAITED
from studies.participation import chats, enrolment, progress, timeouts
from studies.participation.language import CODES, instrument_language, remember
from studies.participation.responses import store_reply_rating
from studies.participation.step_kinds import KINDS, Page, Visit
from studies.participation.submissions import ToMend, keep_draft, once, place_in
from studies.person.broken import help_lines
from studies.person.face import face_of, without_models
from studies.person.outline import outline


def participation_for(request: HttpRequest) -> Participation | None:
    person = enrolment.bound(request.session)
    if person:
        timeouts.end_if_silent(person)
    return person


def needs_person(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    @wraps(view)
    def wrapped(request: HttpRequest, *args: str) -> HttpResponse:
        person = participation_for(request)
        if person is None:
            return render(request, "studies/no_link.html", status=403)
        return view(request, person, *args)

    return wrapped


def closed_page(request: HttpRequest, study: Study) -> HttpResponse:
    """For who comes after the study was closed, or was invited before and has not begun."""
    spec = study.current().spec()
    context = {**surroundings_in(spec), "resources": resources_for(spec.country)}
    return render(request, "studies/closed.html", context, status=403)


def stalled_page(request: HttpRequest, person: Participation) -> HttpResponse:
    """For one who was invited and cannot begin: the study's present version has too few arms in use."""
    return render(request, "studies/stalled.html", surroundings(person))


def to_present_step(_request: HttpRequest) -> HttpResponse:
    return redirect("study")


def saved_before(_request: HttpRequest) -> HttpResponse:
    return JsonResponse({"saved": True})


@require_http_methods(["GET", "POST"])
@needs_person
@once(to_present_step)
def study(request: HttpRequest, person: Participation) -> HttpResponse:
    enrolment.begin(person)
    if not person.has_begun():
        return closed_page(request, person.study) if person.study.is_closed() else stalled_page(request, person)
    settle_language(request, person)
    visit = Visit(request, person, progress.current_step(person))
    kind = KINDS[visit.step.kind]
    if request.method == "POST":
        if request.POST.get("step") != visit.step.key:
            if not person.is_over():
                messages.info(request, _("That page was already saved. This is where you are now."))
            return redirect("study")
        accept(visit)
        return redirect("study")
    page = kind.show(visit)
    return redirect("study") if page is None else show(visit, page)


def accept(visit: Visit) -> None:
    if KINDS[visit.step.kind].accept(visit):
        visit.participation.drafts.filter(step=place_in(visit.request)).delete()
        tell_saved(visit)


def tell_saved(visit: Visit) -> None:
    """On the page that comes next. The chat tells the state of each message itself, and a page of farewell its own."""
    told = visit.participation.is_over() or progress.current_step(visit.participation).kind == "chat"
    if visit.step.kind != "language" and not told:
        messages.success(visit.request, _("Saved"))


def settle_language(request: HttpRequest, person: Participation) -> None:
    """A study in one language needs no choice; and who comes back on another device finds their own language."""
    languages = person.design().languages
    if not person.language and len(languages) == 1 and not person.is_over():
        person.language = languages[0]
        person.save(update_fields=["language"])
    if person.language:
        remember(request, person.language)


def show(visit: Visit, page: Page) -> HttpResponse:
    person = visit.participation
    far = outline(person, visit.step, visit.spec)
    if not person.is_over():
        Participation.objects.filter(pk=person.pk).update(last_seen_at=timezone.now(), percent_shown=far.percent)
    context = {"step": visit.step, "outline": far, "progress": far, **surroundings(person), **page.context}
    return render(visit.request, page.template, context)


def surroundings(person: Participation | None) -> dict[str, object]:
    """What the head and the foot of every page tell of the study."""
    if person is None:
        return {}
    letters = SimpleLazyObject(lambda: get_letters(person))
    return {"participation": face_of(person), "letters": letters, **surroundings_in(person.design())}


def surroundings_in(design: StudySpec) -> dict[str, object]:
    spec = without_models(design)
    return {"spec": spec, "study_title": spec.title[instrument_language()], "contact": spec.contact}


@require_POST
@needs_person
def draft(request: HttpRequest, person: Participation) -> HttpResponse:
    """What is answered and not sent yet, from the page at hand only: a late one of a page that was sent is let go.

    `next` is where a button leads that keeps the page and sends nothing, as to an earlier page of the same step.
    """
    if request.POST.get("step") == progress.current_step(person).key:
        keep_draft(person, place_in(request), request.POST)
    return back(request) if "next" in request.POST else HttpResponse(status=204)


@require_POST
@needs_person
@once(lambda request: back(request))
def language(request: HttpRequest, person: Participation) -> HttpResponse:
    chosen = request.POST.get("language", "")
    if chosen in CODES:
        remember(request, chosen)
        if chosen in person.design().languages:
            chats.speak(person, chosen)
    return back(request)


def back(request: HttpRequest) -> HttpResponse:
    """To the page that the form stood on."""
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()})
    return HttpResponseRedirect(target) if safe else redirect("study")


@require_safe
def help_page(request: HttpRequest) -> HttpResponse:
    """Help by country; needs no script, no sign-in and no model."""
    person = participation_for(request)
    country = request.GET.get("country") or country_of(person)
    own = person.design().country if person else ""
    return render(request, "studies/help.html", {**help_lines(country, first=own), **surroundings(person)})


def country_of(person: Participation | None) -> str:
    if person is None:
        return ""
    return person.country or person.design().country


@require_safe
@needs_person
def pause(request: HttpRequest, person: Participation) -> HttpResponse:
    days = person.design().gone_after_days if person.status in AWAITED else None
    return render(request, "studies/pause.html", {**surroundings(person), "gone_after_days": days})


@require_http_methods(["GET", "POST"])
@needs_person
@once(to_present_step)
def leave(request: HttpRequest, person: Participation) -> HttpResponse:
    """Stop at any time: what was given is kept, or deleted everywhere, as the person says. Of one who has not agreed to
    take part nothing is kept."""
    if enrolment.is_forgotten(person):
        return redirect("study")
    declines = not person.is_over() and enrolment.is_unsigned(person)
    if request.method == "GET":
        # Said once: who comes back another day has not been asked yet.
        asked, _rows = person.drafts.filter(step=request.path).delete()
        context = {**surroundings(person), "asked": bool(asked), "declines": declines}
        return render(request, "studies/leave.html", context)
    if declines:
        erasure.forget_unsigned(person)
        return redirect("study")
    if request.POST.get("choice") not in ("keep", "delete"):
        raise ToMend
    if request.POST["choice"] == "keep":
        progress.leave(person)
    else:
        erasure.erase(person)
        request.session.flush()
        # To be told so, in their language, on a page that can be loaded again.
        enrolment.bind(request.session, person)
        remember(request, instrument_language())
    return redirect("study")


def needs_role(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    @wraps(view)
    def wrapped(request: HttpRequest, person: Participation, *args: str) -> HttpResponse:
        if person.track != Participation.Track.COUNSELLOR:
            return JsonResponse({"error": "only counsellors play a role"}, status=403)
        return view(request, person, *args)

    return wrapped


@require_POST
@needs_person
@needs_role
@once(saved_before)
def role_answer(request: HttpRequest, person: Participation) -> HttpResponse:
    """In role-play: were these words the role's or the counsellor's own?"""
    answer = request.POST.get("answer")
    turn = int_from(request.POST.get("turn"), 1, MOST_TURNS)
    if answer not in ("role", "me") or turn is None:
        return JsonResponse({"error": "answer must be 'role' or 'me', turn a number"}, status=400)
    event = RiskEvent.objects.filter(subject=person.code, turn=turn, role_answer="").first()
    settled = answers.answer_role(event, answer) if event else True
    waits = event is not None and (event.level == 4 or (answer == "me" and event.level == 3))
    return JsonResponse({"next": "/study/" if waits or not settled else ""})


@require_POST
@needs_person
@once(saved_before)
def rate_reply(request: HttpRequest, person: Participation) -> HttpResponse:
    """The rating under a single reply, sent while the conversation goes on."""
    error = store_reply_rating(person, progress.current_step(person), request.POST)
    return JsonResponse({"error": error} if error else {"saved": True}, status=400 if error else 200)


@require_safe
def front(request: HttpRequest) -> HttpResponse:
    """Who comes without a link: people are told to use theirs, researchers where to sign in."""
    return redirect("study") if participation_for(request) else render(request, "studies/front.html")
