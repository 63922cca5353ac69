"""Pairs side by side: plans, how far they are, and who was preferred so far."""

from collections.abc import Iterator, Sequence
from typing import Any

from django import forms
from django.db.models import Count, F, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dialogue.templatetags.languages import comma, in_brackets
from studies.instruments.loading import load
from studies.models import PairPlan, Study
from studies.models.response import RaterKind
from studies.participation.language import instrument_language
from studies.second_raters import comparisons
from studies.second_raters.plan_forms import MOST, Figure, PlanForm, PlanRow, new_plan_page, seed_field
from studies.workbench.access import show, study_page

USUAL = "pairwise_support"
BETWEEN = [
    (comparisons.ARMS, gettext_lazy("arms, with the same kind of seeker")),
    (comparisons.SEEKERS, gettext_lazy("kinds of seekers, with the same arm")),
]
LEVELS = [
    (comparisons.CONVERSATION, gettext_lazy("whole conversations")),
    (comparisons.REPLY, gettext_lazy("single replies at the same turn")),
]


class PairPlanForm(PlanForm):
    name = forms.CharField(label=gettext_lazy("Name, for researchers only"), max_length=100)
    instrument = forms.ChoiceField(label=gettext_lazy("Questions"))
    between = forms.ChoiceField(label=gettext_lazy("What is compared"), choices=BETWEEN, initial=comparisons.ARMS)
    level = forms.ChoiceField(
        label=gettext_lazy("Unit of comparison"), choices=LEVELS, initial=comparisons.CONVERSATION
    )
    count = forms.IntegerField(
        label=gettext_lazy("Maximum number of pairs"), min_value=1, max_value=MOST, initial=comparisons.COUNT
    )
    each = forms.IntegerField(label=gettext_lazy("Reviewers for each pair"), min_value=1, max_value=MOST, initial=1)
    seed = seed_field()
    test_data = forms.BooleanField(label=gettext_lazy("Test data, for bots as reviewers"), required=False)

    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(study, data)
        language = instrument_language()
        self.fields["instrument"].initial = USUAL
        self.fields["instrument"].choices = [
            (name, f"{load(name).title[language]}{in_brackets(name)}") for name in comparisons.pairwise_instruments()
        ]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not self.errors:
            if refusal := comparisons.refusal(self.drawing(), cleaned["instrument"], cleaned["each"]):
                self.add_error(None, refusal)
            if self.study.pair_plans.filter(name=cleaned["name"]).exists():
                self.add_error("name", _("There is already a plan with this name."))
        return cleaned

    def drawing(self) -> comparisons.Drawing:
        return comparisons.Drawing(
            **{name: self.cleaned_data[name] for name in comparisons.Drawing.__dataclass_fields__}
        )

    def draw(self) -> list[comparisons.DrawnPair]:
        return self.drawing().pairs(self.study)

    def preview(self, drawn: Sequence[comparisons.DrawnPair]) -> dict[str, Any]:
        return {
            "pairs": len(drawn),
            "verdicts": len(drawn) * self.cleaned_data["each"],
            "matched": sum(pair.is_matched() for pair in drawn),
            "contests": comparisons.count_meetings(drawn),
        }

    def make(self) -> PairPlan:
        values = {name: self.cleaned_data[name] for name in ("name", "instrument", "each")}
        return comparisons.make_plan(self.study, drawing=self.drawing(), **values)


@require_GET
@study_page
def plans(request: HttpRequest, study: Study) -> HttpResponse:
    rows = [row_of(plan, study) for plan in with_progress(study.pair_plans.all())]
    return show(request, study, "pairs", {"rows": rows})


def row_of(plan: PairPlan, study: Study) -> PlanRow:
    """Return the row of a plan with its progress."""
    return PlanRow(
        name=plan.name,
        url=reverse("research-pair-plan", args=[study.key, plan.pk]),
        instruments=plan.instrument,
        drawn=plan.drawn,
        wanted=plan.wanted,
        done=plan.done,
        is_open=plan.is_open,
        is_test=bool(plan.source.get("test_data")),
    )


def with_progress(plans: QuerySet[PairPlan]) -> QuerySet[PairPlan]:
    by_people = ~Q(pairs__comparisons__rater__kind=RaterKind.JUDGE)
    done = by_people & Q(pairs__comparisons__done_at__isnull=False)
    not_done = {"pairs__comparisons__done_at": None, "pairs__comparisons__declined_at": None}
    begun = by_people & Q(pairs__comparisons__isnull=False, **not_done)
    return plans.annotate(
        drawn=Count("pairs", distinct=True),
        wanted=F("drawn") * F("verdicts_each"),
        done=Count("pairs__comparisons", filter=done, distinct=True),
        begun=Count("pairs__comparisons", filter=begun, distinct=True),
    )


@require_http_methods(["GET", "POST"])
@study_page
def new_plan(request: HttpRequest, study: Study) -> HttpResponse:
    return new_plan_page(request, study, PairPlanForm, template="pairs_new", plan_page="research-pair-plan")


@require_GET
@study_page
def plan(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    plan = get_object_or_404(with_progress(study.pair_plans.all()), pk=number)
    context = {
        "plan": plan,
        "figures": [
            Figure(_("Comparisons done"), plan.done, _("of %(wanted)s") % {"wanted": plan.wanted}),
            Figure(_("Under way"), plan.begun),
            Figure(_("Pairs"), plan.drawn),
        ],
        "facts": list(facts_of(plan)),
        "contests": sorted(comparisons.contests_of(plan).items()),
        "tallies": [(question_text(plan, tally.question), tally) for tally in comparisons.tallies(plan)],
    }
    return show(request, study, "pair_plan", context)


def facts_of(plan: PairPlan) -> Iterator[tuple[str, object]]:
    """Yield label and value of the facts about a plan. The drawing of an imported plan is not known."""
    yield _("Questions"), plan.instrument or "–"
    if between := dict(BETWEEN).get(plan.source.get("between")):
        yield _("What is compared"), f"{between}{comma()}{dict(LEVELS).get(plan.source.get('level'), '')}"
        yield _("Reviewers for each pair"), plan.verdicts_each
        yield _("Random seed"), plan.seed


def question_text(plan: PairPlan, question: str) -> str:
    """Return the question as it was put to people, or its key if the question is not of our instruments."""
    if plan.instrument not in comparisons.pairwise_instruments():
        return question
    texts = {item.key: item.text[instrument_language()] for item in load(plan.instrument).items}
    return texts.get(question, question)


@require_POST
@study_page
def set_open(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Open or close a plan. A closed plan gives nothing out, but what was begun may be finished."""
    plan = get_object_or_404(study.pair_plans, pk=number)
    PairPlan.objects.filter(pk=plan.pk).update(is_open=request.POST.get("open") == "yes")
    return redirect("research-pair-plan", study.key, number)
