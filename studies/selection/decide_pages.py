"""Admit or decline many applicants at once, after a page that says what will happen; the file of those decided on."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_POST

from studies.models import SelectionDecision, Study
from studies.selection.applicants import Applicant, list_applicants
from studies.selection.decisions import decide_many
from studies.selection.pages import decisions_in, query_applicants
from studies.workbench.access import show, study_page
from studies.workbench.csv_cells import format_cell

ADMIT, DECLINE = "admit", "decline"
HEADER = ("participant", "track", "language", "decision", "reason", "decided_at", "decided_by", "mailed_at")


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Why, for the records of the study"),
        max_length=500,
        strip=True,
        widget=forms.Textarea(attrs={"rows": 2, "class": "short"}),
    )


@dataclass(frozen=True)
class Ask:
    """A request to admit or to decline these applicants."""

    act: str
    applicants: Sequence[Applicant]

    @property
    def admits(self) -> bool:
        return self.act == ADMIT

    def codes(self) -> str:
        return " ".join(applicant.code for applicant in self.applicants)

    def in_doubt(self) -> list[Applicant]:
        """Return those who would be admitted although the screening asked for a person's decision."""
        return [applicant for applicant in self.applicants if self.admits and not applicant.is_eligible]


@require_POST
@study_page
def decide(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask for a reason and confirmation, then decide on all that were ticked and still wait."""
    ask = Ask(request.POST.get("act", ""), get_ticked_applicants(request, study))
    if not ask.applicants or ask.act not in (ADMIT, DECLINE):
        messages.info(
            request,
            _("Nothing has changed: you chose no one, or the people you chose are no longer waiting. Reload the page."),
        )
        return redirect("research-applicants", study.key)
    form = ReasonForm(request.POST if "confirm" in request.POST else None)
    if not form.is_valid():
        context = {"ask": ask, "form": form, "keep_days": keep_days(study)}
        return show(request, study, "applicants_decide", context, status=422 if form.errors else 200)
    carry_out(request, ask, form.cleaned_data["reason"])
    return redirect("research-applicants", study.key)


def keep_days(study: Study) -> int:
    return study.current().spec().keep_declined_days


def get_ticked_applicants(request: HttpRequest, study: Study) -> list[Applicant]:
    """Return those who were ticked, or all that the address's filters show; on confirmation those of the page."""
    if request.POST.get("all") == "yes":
        return query_applicants(request, study)
    codes = {*request.POST.getlist("code"), *request.POST.get("codes", "").split()}
    return [applicant for applicant in list_applicants(study) if applicant.code in codes]


def carry_out(request: HttpRequest, ask: Ask, reason: str) -> None:
    people = [applicant.person for applicant in ask.applicants]
    count = decide_many(people, admits=ask.admits, by=request.user, reason=reason)
    messages.success(request, sentence_of(ask.act, count))


def sentence_of(act: str, count: int) -> str:
    if act == ADMIT:
        sentence = ngettext("%(count)s person can continue.", "%(count)s people can continue.", count)
    else:
        sentence = ngettext("%(count)s person was declined.", "%(count)s people were declined.", count)
    return sentence % {"count": count}


@require_GET
@study_page
def decided_file(request: HttpRequest, study: Study) -> HttpResponse:
    """Return everyone on whom was decided, so that researchers can write to them."""
    text = StringIO()
    csv.writer(text).writerows([HEADER, *(map(format_cell, row) for row in decided_rows(request, study))])
    headers = {"Content-Disposition": f'attachment; filename="{study.key}-selection.csv"'}
    return HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8", headers=headers)


def decided_rows(request: HttpRequest, study: Study) -> Iterator[tuple[Any, ...]]:
    for decision in decisions_in(request, study).select_related("participation").order_by("decided_at", "pk"):
        yield row_of(decision)


def row_of(decision: SelectionDecision) -> tuple[Any, ...]:
    person = decision.participation
    word = "admitted" if decision.admitted else "declined"
    who = (person.code, person.track, person.language)
    return *who, word, decision.reason, decision.decided_at, decision.by_name, decision.mailed_at or ""
