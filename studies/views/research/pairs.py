"""Pairs side by side: plans, how far they are, and who was preferred so far."""

from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Count, F, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from studies.language import instrument_language
from studies.models import PairPlan, Study
from studies.models.response import RaterKind
from studies.questionnaires.loading import load
from studies.second_raters import pairs
from studies.second_raters.reviews import PlanRefused
from studies.views.research.access import show, study_page
from studies.views.research.plans import Figure, PlanRow

USUAL = "pairwise_support"
BETWEEN = [
    (pairs.ARMS, gettext_lazy("arms, with seekers of one kind")),
    (pairs.SEEKERS, gettext_lazy("kinds of seekers, with the same arm")),
]
LEVELS = [
    (pairs.CONVERSATION, gettext_lazy("whole conversations")),
    (pairs.REPLY, gettext_lazy("single replies of the same turn")),
]


class PlanForm(forms.Form):
    name = forms.CharField(label=gettext_lazy("Name, for researchers only"), max_length=100)
    instrument = forms.ChoiceField(label=gettext_lazy("Questions"))
    between = forms.ChoiceField(label=gettext_lazy("What is compared"), choices=BETWEEN, initial=pairs.ARMS)
    level = forms.ChoiceField(label=gettext_lazy("By"), choices=LEVELS, initial=pairs.CONVERSATION)
    count = forms.IntegerField(label=gettext_lazy("How many pairs at most"), min_value=1, initial=pairs.COUNT)
    each = forms.IntegerField(label=gettext_lazy("Reviewers for each pair"), min_value=1, initial=1)
    seed = forms.IntegerField(label=gettext_lazy("Seed of the draw"), initial=1)
    test_data = forms.BooleanField(label=gettext_lazy("Test data, for artificial reviewers"), required=False)

    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(data)
        self.study = study
        language = instrument_language()
        self.fields["instrument"].initial = USUAL
        self.fields["instrument"].choices = [
            (name, f"{load(name).title[language]} ({name})") for name in pairs.pairwise_instruments()
        ]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not self.errors:
            if refusal := pairs.refusal(self.drawing(), cleaned["instrument"], cleaned["each"]):
                self.add_error(None, refusal)
            if self.study.pair_plans.filter(name=cleaned["name"]).exists():
                self.add_error("name", _("There is a plan of this name already."))
        return cleaned

    def drawing(self) -> pairs.Drawing:
        return pairs.Drawing(**{name: self.cleaned_data[name] for name in pairs.Drawing.__dataclass_fields__})


@require_GET
@study_page
def plans(request: HttpRequest, study: Study) -> HttpResponse:
    rows = [row_of(found, study) for found in with_progress(study.pair_plans.all())]
    return show(request, study, "pairs", {"rows": rows})


def row_of(plan: PairPlan, study: Study) -> PlanRow:
    """Of one with its progress."""
    return PlanRow(
        name=plan.name,
        url=reverse("research-pair-plan", args=[study.key, plan.pk]),
        asked=plan.instrument,
        drawn=plan.drawn,
        wanted=plan.wanted,
        done=plan.done,
        is_open=plan.is_open,
        is_test=bool(plan.source.get("test_data")),
    )


def with_progress(plans: QuerySet[PairPlan]) -> QuerySet[PairPlan]:
    by_people = ~Q(pairs__comparisons__rater__kind=RaterKind.JUDGE)
    done = by_people & Q(pairs__comparisons__done_at__isnull=False)
    begun = by_people & Q(pairs__comparisons__isnull=False, pairs__comparisons__done_at=None)
    return plans.annotate(
        drawn=Count("pairs", distinct=True),
        wanted=F("drawn") * F("verdicts_each"),
        done=Count("pairs__comparisons", filter=done, distinct=True),
        begun=Count("pairs__comparisons", filter=begun, distinct=True),
    )


@require_http_methods(["GET", "POST"])
@study_page
def new_plan(request: HttpRequest, study: Study) -> HttpResponse:
    """Sent once it shows what the plan would be; with its second button it is made."""
    if request.method == "GET":
        return show(request, study, "pairs_new", {"form": PlanForm(study)})
    form = PlanForm(study, request.POST)
    drawn = form.drawing().pairs(study) if form.is_valid() else []
    if drawn and "confirm" in request.POST and (plan := made(study, form)):
        messages.success(request, _("The plan is made, and open."))
        return redirect("research-pair-plan", study.key, plan.pk)
    if form.errors:
        return show(request, study, "pairs_new", {"form": form}, status=422)
    preview = {
        "pairs": len(drawn),
        "verdicts": len(drawn) * form.cleaned_data["each"],
        "matched": sum(pair.is_matched() for pair in drawn),
        "contests": pairs.met(drawn),
    }
    return show(request, study, "pairs_new", {"form": form, "preview": preview})


def made(study: Study, form: PlanForm) -> PairPlan | None:
    """None where it is refused; the form then says why."""
    given = {name: form.cleaned_data[name] for name in ("name", "instrument", "each")}
    try:
        return pairs.make_plan(study, drawing=form.drawing(), **given)
    except PlanRefused as refusal:
        form.add_error(None, str(refusal))
        return None


@require_GET
@study_page
def plan(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    found = get_object_or_404(with_progress(study.pair_plans.all()), pk=number)
    context = {
        "plan": found,
        "figures": [
            Figure(_("Comparisons done"), found.done, _("of %(wanted)s") % {"wanted": found.wanted}),
            Figure(_("Under way"), found.begun),
            Figure(_("Pairs"), found.drawn),
        ],
        "facts": list(facts_of(found)),
        "contests": sorted(pairs.contests_of(found).items()),
        "tallies": [(question_text(found, tally.question), tally) for tally in pairs.tallies(found)],
    }
    return show(request, study, "pair_plan", context)


def facts_of(plan: PairPlan) -> Iterator[tuple[str, object]]:
    """How an imported plan was drawn is not known."""
    yield _("Questions"), plan.instrument or "–"
    if between := dict(BETWEEN).get(plan.source.get("between")):
        yield _("What is compared"), f"{between}, {dict(LEVELS).get(plan.source.get('level'), '')}"
        yield _("Reviewers for each pair"), plan.verdicts_each
        yield _("Seed of the draw"), plan.seed


def question_text(plan: PairPlan, question: str) -> str:
    """As it was put to people; the key alone where the question is not of our instruments."""
    if plan.instrument not in pairs.pairwise_instruments():
        return question
    texts = {item.key: item.text[instrument_language()] for item in load(plan.instrument).items}
    return texts.get(question, question)


@require_POST
@study_page
def set_open(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """A closed plan gives nothing out any more; what was begun may be finished."""
    found = get_object_or_404(study.pair_plans, pk=number)
    PairPlan.objects.filter(pk=found.pk).update(is_open=request.POST.get("open") == "yes")
    return redirect("research-pair-plan", study.key, number)
