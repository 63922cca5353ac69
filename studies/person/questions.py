"""The page on which a person asks the research team something, and sees what they have asked."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from studies.care import questions
from studies.models import Participation
from studies.participation import enrolment, progress
from studies.participation.submissions import accept_once
from studies.person.study import needs_person, page_context


def to_questions(_request: HttpRequest) -> HttpResponse:
    return redirect("study-ask")


@require_http_methods(["GET", "HEAD", "POST"])
@needs_person
@accept_once(to_questions)
def ask(request: HttpRequest, person: Participation) -> HttpResponse:
    """Take a question. Where its words show grave danger, the page with help comes next."""
    if enrolment.is_forgotten(person):
        return redirect("study")
    if request.method != "POST":
        return show(request, person)
    text = request.POST.get("text", "").strip()
    if not text:
        return show(request, person, fault=_("Please write your question first."), status=400)
    if len(text) > questions.LONGEST_TEXT:
        return show(request, person, fault=_("This text is too long. Please shorten it."), status=400)
    step = progress.current_step(person).key if person.plan else ""
    try:
        event = questions.ask(person, text, step=step)
    except questions.TooMany:
        return redirect("study-ask")
    if event:
        return redirect("study-care")
    messages.success(request, _("Your question has been sent. The answer will appear at the top of your pages."))
    return redirect("study")


def show(request: HttpRequest, person: Participation, *, fault: str = "", status: int = 200) -> HttpResponse:
    context = {
        **page_context(person),
        "questions": person.questions.order_by("-asked_at", "-pk"),
        "may_ask": questions.may_ask(person),
        "longest": questions.LONGEST_TEXT,
        "fault": fault,
        "text": request.POST.get("text", ""),
    }
    return render(request, "studies/ask.html", context, status=status)
