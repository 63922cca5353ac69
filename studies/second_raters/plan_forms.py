"""Common parts of the pages about reviews and about pairs: what they show of a plan, and the form that makes one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from studies.models import PairPlan, ReviewPlan, Study
from studies.second_raters.reviews import PlanRefused
from studies.workbench.access import show

Plan = ReviewPlan | PairPlan
MOST = 100_000  # of whatever a plan counts
LARGEST_SEED = 2**63 - 1  # what its column holds


@dataclass(frozen=True)
class PlanRow:
    """A plan in the list of plans."""

    name: str
    url: str
    instruments: str  # the scales, or the questions
    drawn: int
    wanted: int
    done: int
    is_open: bool
    is_test: bool


@dataclass(frozen=True)
class Figure:
    """A number at the head of a plan's page; one with an address that is not 0 wants to be looked at."""

    label: str
    value: int
    note: str = ""
    url: str = ""


def seed_field() -> forms.IntegerField:
    label = gettext_lazy("Random seed")
    return forms.IntegerField(label=label, min_value=-LARGEST_SEED, max_value=LARGEST_SEED, initial=1)


class PlanForm(forms.Form):
    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(data)
        self.study = study

    def draw(self) -> Sequence[Any]:
        """Return the conversations or pairs of a valid form; empty if nothing matches."""
        raise NotImplementedError

    def preview(self, drawn: Sequence[Any]) -> dict[str, Any]:
        """Return the figures of the plan that would be created."""
        raise NotImplementedError

    def make(self) -> Plan:
        """Create the plan. Raises PlanRefused."""
        raise NotImplementedError

    def create_plan(self) -> Plan | None:
        """Create the plan and return it; None if it is refused, and the form then says why."""
        try:
            return self.make()
        except PlanRefused as refusal:
            self.add_error(None, str(refusal))
            return None


def new_plan_page(
    request: HttpRequest, study: Study, form_class: type[PlanForm], *, template: str, plan_page: str
) -> HttpResponse:
    """Show the form of a new plan and what the plan would be; with its second button it is made."""
    if request.method == "GET":
        return show(request, study, template, {"form": form_class(study)})
    form = form_class(study, request.POST)
    drawn = form.draw() if form.is_valid() else []
    if drawn and "confirm" in request.POST and (plan := form.create_plan()):
        messages.success(request, _("The plan is ready and open."))
        return redirect(plan_page, study.key, plan.pk)
    if form.errors:
        return show(request, study, template, {"form": form}, status=422)
    return show(request, study, template, {"form": form, "preview": form.preview(drawn)})
