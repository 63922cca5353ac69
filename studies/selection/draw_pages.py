"""Draw among the applicants: the form, the proposal with its strata, and the decision."""

import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from studies.models import Participation, SelectionDraw, Study
from studies.selection import strata
from studies.selection.applicants import Applicant, list_applicants
from studies.selection.decide_pages import ADMIT, DECLINE, keep_days, sentence_of
from studies.selection.decisions import decide_many
from studies.selection.draw import Candidate, Rule, draw
from studies.workbench.access import show, study_page

LARGEST_SEED = 2**31 - 1
MOST = 100_000  # people to draw
EQUAL, PROPORTIONAL = "equal", "proportional"
WAIT = "wait"
BOTH = "both"
AMONG = [*Participation.Track.choices[:2], (BOTH, gettext_lazy("Participants and counsellors"))]


def new_seed() -> int:
    return secrets.randbelow(10**6)


class DrawForm(forms.Form):
    size = forms.IntegerField(label=gettext_lazy("How many to draw"), min_value=1, max_value=MOST)
    track = forms.ChoiceField(label=gettext_lazy("Among"), choices=AMONG)
    strata = forms.MultipleChoiceField(
        label=gettext_lazy("Within strata of"), required=False, widget=forms.CheckboxSelectMultiple
    )
    shares = forms.ChoiceField(
        label=gettext_lazy("Places of each stratum"),
        choices=[
            (EQUAL, gettext_lazy("equal, as far as there are applicants")),
            (PROPORTIONAL, gettext_lazy("in proportion to its applicants")),
        ],
    )
    minimum = forms.FloatField(label=gettext_lazy("Minimum mean score (optional)"), required=False, min_value=0)
    seed = forms.IntegerField(label=gettext_lazy("Random seed"), min_value=0, max_value=LARGEST_SEED, initial=new_seed)
    others = forms.ChoiceField(
        label=gettext_lazy("Those who are not drawn"),
        choices=[(WAIT, gettext_lazy("keep waiting")), (DECLINE, gettext_lazy("are declined"))],
    )
    test_data = forms.BooleanField(label=gettext_lazy("Test data, for bots as applicants"), required=False)

    def __init__(self, data: Any = None) -> None:
        super().__init__(data)
        self.fields["strata"].choices = [(name, kind.label) for name, kind in strata.KINDS.items()]

    def rule(self) -> Rule:
        data = self.cleaned_data
        return Rule(data["size"], data["seed"], data["shares"] == PROPORTIONAL, data["minimum"])

    def pool(self, study: Study) -> list[Applicant]:
        """Return those who can be drawn: of others, the screening asked for a person's decision."""
        applicants = list_applicants(study, "yes" if self.cleaned_data["test_data"] else "no")
        track = self.cleaned_data["track"]
        return [one for one in applicants if one.is_eligible and track in (BOTH, one.person.track)]


@dataclass(frozen=True)
class Place:
    """A stratum on the page: its words, its applicants, those with the minimum score, and those drawn."""

    words: str
    applicants: int
    able: int
    drawn: int


@dataclass(frozen=True)
class Proposal:
    pool: Sequence[Applicant]
    drawn: Sequence[Candidate]
    kinds: Sequence[str]
    rule: Rule

    def codes(self) -> str:
        return " ".join(one.code for one in self.drawn)

    def people(self) -> list[tuple[str, str]]:
        """Return the code of each person drawn, with what every scorer may see of their stratum."""
        by_code = sorted(self.drawn, key=lambda one: one.code)  # the order of the strata would tell what is hidden
        return [(one.code, strata.describe_stratum(one.stratum, self.kinds, blind=False)) for one in by_code]

    def places(self) -> list[Place]:
        candidates = [strata.candidate_of(one, self.kinds) for one in self.pool]
        here = Counter(one.stratum for one in candidates)
        able = Counter(one.stratum for one in candidates if self.rule.admits(one))
        drawn = Counter(one.stratum for one in self.drawn)
        return [
            Place(strata.describe_stratum(one, self.kinds), here[one], able[one], drawn[one]) for one in sorted(here)
        ]

    def split(self) -> tuple[list[Participation], list[Participation]]:
        """Return the people who are drawn, and the others."""
        codes = {one.code for one in self.drawn}
        drawn = [one.person for one in self.pool if one.code in codes]
        return drawn, [one.person for one in self.pool if one.code not in codes]

    @property
    def uses_blind(self) -> bool:
        return any(strata.KINDS[kind].is_blind for kind in self.kinds)

    @property
    def left(self) -> int:
        return len(self.pool) - len(self.drawn)


def propose(study: Study, form: DrawForm) -> Proposal:
    pool, kinds = form.pool(study), form.cleaned_data["strata"]
    drawn = draw([strata.candidate_of(one, kinds) for one in pool], form.rule())
    return Proposal(pool, drawn, kinds, form.rule())


@require_http_methods(["GET", "POST"])
@study_page
def draw_some(request: HttpRequest, study: Study) -> HttpResponse:
    """Show whom a draw would choose; carry it out if it is confirmed and the applicants are still the same."""
    form = DrawForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return draw_page(request, study, {"form": form}, status=422 if form.errors else 200)
    proposal = propose(study, form)
    if "confirm" in request.POST and proposal.drawn:
        if request.POST.get("codes") == proposal.codes():
            carry_out(request, study, form, proposal)
            return redirect("research-applicants", study.key)
        messages.info(request, _("The applicants or their scores have changed. This is the draw among them now."))
    declines = form.cleaned_data["others"] == DECLINE
    context = {"form": form, "proposal": proposal, "declines": declines, "keep_days": keep_days(study)}
    return draw_page(request, study, context)


def draw_page(request: HttpRequest, study: Study, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    earlier = study.selection_draws.all()
    return show(request, study, "applicants_draw", {**context, "earlier": earlier}, status=status)


def carry_out(request: HttpRequest, study: Study, form: DrawForm, proposal: Proposal) -> None:
    declines = form.cleaned_data["others"] == DECLINE
    admitted, declined = store_draw(study, form.cleaned_data, proposal, request.user, declines=declines)
    messages.success(request, sentence_of(ADMIT, admitted))
    if declines:
        messages.success(request, sentence_of(DECLINE, declined))


@transaction.atomic
def store_draw(
    study: Study, settings: dict[str, Any], proposal: Proposal, by: AbstractBaseUser | Any, *, declines: bool
) -> tuple[int, int]:
    """Store the draw and decide on its applicants; return how many were admitted and declined."""
    draw = SelectionDraw.objects.create(
        study=study, rule=settings, applicants=len(proposal.pool), by=by, by_name=by.get_username()
    )
    drawn, others = proposal.split()
    reason = f"seed {proposal.rule.seed}"
    admitted = decide_many(drawn, admits=True, by=by, reason=f"drawn, {reason}", draw=draw)
    rest = others if declines else []
    return admitted, decide_many(rest, admits=False, by=by, reason=f"not drawn, {reason}", draw=draw)
