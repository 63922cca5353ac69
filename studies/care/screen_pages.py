"""The independent review of messages that the screen held or let pass, and what follows for its recall."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from dialogue.input_checks import LARGEST_KEY, int_from
from studies.care import screen_reviews
from studies.models import Study
from studies.workbench.access import show, study_page

ANSWERS = {"grave": True, "not_grave": False}


@require_http_methods(["GET", "POST"])
@study_page
def screen_review(request: HttpRequest, study: Study) -> HttpResponse:
    """Show one message at a time, with those before it; the answer brings the next one."""
    if request.method == "POST":
        number = int_from(request.POST.get("message"), 1, LARGEST_KEY)
        turn = get_object_or_404(screen_reviews.get_messages_of(study), pk=number or 0)
        answer = request.POST.get("answer", "")
        if answer in ANSWERS:
            screen_reviews.store_review(turn, grave=ANSWERS[answer], by=request.user)
        else:
            messages.error(request, _("Please choose one of the two answers."))
        return redirect("research-screen-review", study.key)
    turn = screen_reviews.get_next_message(study, user=request.user)
    before = turn.conversation.turns.filter(number__lt=turn.number).order_by("-number")[:3][::-1] if turn else []
    context = {"turn": turn, "before": before, "quality": screen_reviews.get_screen_quality(study)}
    return show(request, study, "screen_review", context)
