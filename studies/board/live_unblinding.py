"""The page on which a researcher confirms that they want to see the results by arm."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from studies.models import Study, Unblinding
from studies.participation.unblinding import is_blinded, unblind
from studies.workbench.access import show, study_page_after_timeouts
from studies.workbench.typed_key import TypedKeyForm

WHEN = (
    (Unblinding.When.OVER, gettext_lazy("Data collection is finished")),
    (Unblinding.When.EARLIER, gettext_lazy("Data collection continues, but the results by arm are needed now")),
)


class UnblindForm(TypedKeyForm):
    when = forms.ChoiceField(label=gettext_lazy("When"), choices=WHEN, widget=forms.RadioSelect)
    reason = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=Unblinding._meta.get_field("reason").max_length,
        widget=forms.Textarea(attrs={"rows": 2, "class": "short"}),
    )


@require_http_methods(["GET", "POST"])
@study_page_after_timeouts
def unblinding(request: HttpRequest, study: Study) -> HttpResponse:
    if not is_blinded(study):
        return redirect("research-analysis", study.key)
    form = UnblindForm(study, request.POST or None)
    if request.method == "POST" and form.is_valid():
        unblind(study, request.user, when=form.cleaned_data["when"], reason=form.cleaned_data["reason"])
        messages.success(request, _("The results by arm are now shown. The log keeps who unblinded, when and why."))
        return redirect("research-analysis", study.key)
    context = {"form": form, "under_way": study.under_way()}
    return show(request, study, "live_unblinding", context, status=422 if request.method == "POST" else 200)


def still_blinded(request: HttpRequest, study: Study) -> HttpResponse:
    """Return the page that replaces a report or one of its files while the study is blind."""
    return show(request, study, "live_blinded", {}, status=403)
