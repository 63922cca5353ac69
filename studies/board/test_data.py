"""The page that throws away a study's test data."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from studies.data.test_data import remove_test_data
from studies.models import Study
from studies.workbench.access import show, study_page
from studies.workbench.typed_key import TypedKeyForm


@require_http_methods(["GET", "POST"])
@study_page
def throw_away(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask for the study's key, then remove all test data."""
    people = study.participations.test_data()
    if not people.exists():
        return redirect("research-study", study.key)
    form = TypedKeyForm(study, request.POST or None)
    if request.method == "POST" and form.is_valid():
        number = remove_test_data(study).people
        message = ngettext("Removed: %(number)d test person.", "Removed: %(number)d test people.", number)
        messages.success(request, message % {"number": number})
        return redirect("research-study", study.key)
    context = {"form": form, "people": people.count(), "under_way": people.under_way().count()}
    return show(request, study, "test_data", context, status=422 if request.method == "POST" else 200)
