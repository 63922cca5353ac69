"""Questions of people to the team: the list on the board, and the page on which one is answered."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from studies.care import questions
from studies.models import Study
from studies.workbench.access import navigation, show, study_page


class AnswerForm(forms.Form):
    answer = forms.CharField(
        label=gettext_lazy("Your answer"),
        max_length=questions.LONGEST_TEXT,
        strip=True,
        widget=forms.Textarea(attrs={"rows": 5}),
    )


@require_http_methods(["GET", "POST"])
@study_page
def question(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Show what a person asked, with their earlier questions, and take the answer."""
    question = get_object_or_404(questions.find_questions(study), pk=number)
    form = AnswerForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        if questions.answer(question, form.cleaned_data["answer"], by=request.user):
            messages.success(request, _("Sent. The person sees it on their page."))
        else:
            messages.error(request, _("Someone has answered this question meanwhile. Your answer was not sent."))
        return redirect("research-question", study.key, question.pk)
    context = {
        "question": question,
        "form": form,
        "others": question.participation.questions.exclude(pk=question.pk),
        "zone": study.current().spec().safety.time_zone,
        "navigation": navigation(request, study, here=reverse("research-study", args=[study.key])),
    }
    return show(request, study, "question", context, status=422 if request.method == "POST" else 200)
