"""Pages that end a study's collection of data and start it again."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from studies.models import Study, Unblinding
from studies.models.participation import Status
from studies.participation import closing
from studies.participation.unblinding import is_kept_blind
from studies.workbench.access import show, study_page_after_timeouts
from studies.workbench.typed_key import TypedKeyForm


class ReopenForm(TypedKeyForm):
    """The form to reopen a study; it asks for a reason only if the reason will be stored."""

    reason = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=Unblinding._meta.get_field("reason").max_length,
        widget=forms.Textarea(attrs={"rows": 2, "class": "short"}),
    )

    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(study, data)
        if not closing.has_opened_results(study):
            del self.fields["reason"]


@require_http_methods(["GET", "POST"])
@study_page_after_timeouts
def close(request: HttpRequest, study: Study) -> HttpResponse:
    if study.is_closed():
        return redirect("research-study", study.key)
    form = TypedKeyForm(study, request.POST or None)
    if request.method == "POST" and form.is_valid():
        closing.close(study, request.user)
        messages.success(request, _("The study is closed. People who have started can still finish."))
        return redirect("research-study", study.key)
    invited = study.participations.real().filter(status=Status.INVITED).count()
    context = {"form": form, "blind": is_kept_blind(study), "under_way": study.under_way(), "invited": invited}
    return show(request, study, "close", context, status=422 if request.method == "POST" else 200)


@require_http_methods(["GET", "POST"])
@study_page_after_timeouts
def reopen(request: HttpRequest, study: Study) -> HttpResponse:
    if not study.is_closed():
        return redirect("research-study", study.key)
    form = ReopenForm(study, request.POST or None)
    if request.method == "POST" and form.is_valid():
        closing.reopen(study, request.user, reason=form.cleaned_data.get("reason", ""))
        messages.success(request, _("The study is open again: new people can start."))
        return redirect("research-study", study.key)
    return show(request, study, "reopen", {"form": form}, status=422 if request.method == "POST" else 200)
