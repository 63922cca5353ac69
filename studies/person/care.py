"""The buttons of a person in danger. Each works without JavaScript, and no answer is lost on a page that is old."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from dialogue.models import RiskEvent
from studies.care import answers
from studies.care.care_page import get_care_page
from studies.care.letters import mark_read
from studies.models import Participation
from studies.models.participation import Status
from studies.participation import enrolment
from studies.participation.submissions import accept_once
from studies.person.study import back, needs_person, page_context, participation_for

SafeAnswer = RiskEvent.SafeAnswer


def to_care(_request: HttpRequest) -> HttpResponse:
    return redirect("study-care")


@require_http_methods(["GET", "HEAD"])
@needs_person
def care(request: HttpRequest, person: Participation) -> HttpResponse:
    """Show the page that meets the person: their study's own page while their part goes on, waits, or has ended for
    safety."""
    if person.status in (Status.HELD, Status.STOPPED):
        return redirect("study")
    if not answers.is_unsafe(answers.get_event(person)):
        return redirect("help" if person.is_over() else "study")
    return render(request, "studies/care/care.html", {**page_context(person), "care_page": get_care_page(person)})


@require_POST
def unsafe(request: HttpRequest) -> HttpResponse:
    """Take "I do not feel safe". Where no one is known, nothing can be stored, and the list of help is shown."""
    person = participation_for(request)
    if person is None or enrolment.is_forgotten(person):
        return redirect("help")
    return take_unsafe(request, person)


@accept_once(to_care)
def take_unsafe(_request: HttpRequest, person: Participation) -> HttpResponse:
    answers.record_unsafe(person)
    return redirect("study-care")


@require_POST
@needs_person
@accept_once(to_care)
def safe(request: HttpRequest, person: Participation) -> HttpResponse:
    """Take the answer to "Are you safe right now?".

    The form says which sign it is about. On an older page, "Yes, I am safe" is not taken; the others count for the
    newest sign.
    """
    event, answer = answers.get_event(person), request.POST.get("answer", "")
    if event is None or answer not in SafeAnswer.values:
        return redirect("study-care")
    if answer != SafeAnswer.SAFE or is_about(request, event):
        answers.answer_safe(person, event, answer)
    return redirect("study-care")


@require_POST
@needs_person
@accept_once(to_care)
def check(request: HttpRequest, person: Participation) -> HttpResponse:
    """Take the answer to the short check: continue, or not sure, which counts as not safe."""
    event = answers.get_event(person)
    if event is None or not is_about(request, event):
        return redirect("study-care")
    if request.POST.get("answer") == "yes":
        answers.pass_check(person, event)
    else:
        answers.answer_safe(person, event, SafeAnswer.NO)
    return redirect("study")


@require_POST
@needs_person
@accept_once(to_care)
def where(request: HttpRequest, person: Participation) -> HttpResponse:
    """Take where the person is, if the study offers that and they are not safe."""
    event, place = answers.get_event(person), request.POST.get("where", "").strip()
    is_asked = event is not None and event.safe_answer == SafeAnswer.NO and person.design().safety.ask_where
    if event is not None and is_asked and place:
        answers.store_place(event, place)
    return redirect("study-care")


@require_POST
@needs_person
def letter_read(request: HttpRequest, person: Participation) -> HttpResponse:
    """Take "I have read it" under a letter of the team."""
    mark_read(person, request.POST.get("letter", ""))
    return back(request)


@require_POST
@needs_person
@accept_once(to_care)
def role(request: HttpRequest, person: Participation) -> HttpResponse:
    """Take a counsellor's word on the page that asks about one of their signs: the role, or themselves."""
    answer, signs = request.POST.get("answer", ""), RiskEvent.objects.filter(subject=person.code)
    event = next((sign for sign in signs if is_about(request, sign)), None)
    if event is not None and answer in ("role", "me"):
        answers.answer_role(event, answer)
    return redirect("study")


def is_about(request: HttpRequest, event: RiskEvent) -> bool:
    return request.POST.get("event") == str(event.pk)
