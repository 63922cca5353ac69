"""Pages of second raters: plans, how far they are, who works how, and where reviewers differ."""

from collections.abc import Iterator, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dialogue.templatetags.languages import in_brackets, listed
from studies.models import ArmRun, ReviewPlan, Study
from studies.participation.judge_gap import rating_judges
from studies.second_raters import review_work, reviews
from studies.second_raters.disagreements import Disagreement, adjudicate, disagreements
from studies.second_raters.plan_forms import MOST, Figure, PlanForm, PlanRow, new_plan_page, seed_field
from studies.second_raters.reviews import PlanOptions, Source
from studies.workbench import labels
from studies.workbench.access import show, study_page

KINDS = [
    ("all", gettext_lazy("all matching conversations")),
    ("sample", gettext_lazy("a random sample")),
    ("strata", gettext_lazy("the same number from each arm, mixed")),
    ("arm", gettext_lazy("the same number from each arm, one arm after another")),
    ("far", gettext_lazy("those with the largest judge gap")),
]
USUAL = "emoharbor_10"
FIELDS = {"source": "kind"}  # what a fault is called → the form's field, where it has another name


class ReviewPlanForm(PlanForm):
    name = forms.CharField(label=gettext_lazy("Name, for researchers only"), max_length=100)
    instruments = forms.MultipleChoiceField(
        label=gettext_lazy("Rating scales"), widget=forms.CheckboxSelectMultiple, initial=[USUAL]
    )
    kind = forms.ChoiceField(label=gettext_lazy("Conversations"), choices=KINDS, initial="sample")
    size = forms.IntegerField(
        label=gettext_lazy("Maximum number"), min_value=1, max_value=MOST, required=False, initial=20
    )
    judge = forms.ChoiceField(label=gettext_lazy("Judge (for the largest judge gap)"), required=False)
    seeker_kinds = forms.MultipleChoiceField(
        label=gettext_lazy("Only these seekers (none ticked: all)"),
        choices=list(labels.SEEKERS.items()),
        widget=forms.CheckboxSelectMultiple,
        required=False,
    )
    is_test = forms.BooleanField(label=gettext_lazy("Test data, for bots as reviewers"), required=False)
    ratings_each = forms.IntegerField(
        label=gettext_lazy("Ratings of each conversation in the overlap"), min_value=1, max_value=MOST, initial=2
    )
    overlap = forms.IntegerField(
        label=gettext_lazy("Share in the overlap, in percent"), min_value=0, max_value=100, initial=100
    )
    calibration = forms.BooleanField(
        label=gettext_lazy("Examples with known scores come first"), required=False, initial=True
    )
    repeat_every = forms.IntegerField(
        label=gettext_lazy("Repeat an earlier conversation after this many (0: never)"),
        min_value=0,
        max_value=MOST,
        initial=0,
    )
    seed = seed_field()

    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(study, data)
        self.fields["instruments"].choices = [(name, name) for name in reviews.rating_scales()]
        judges = rating_judges(study).values_list("code", "strategy")
        self.fields["judge"].choices = [("", "–"), *((f"{code} {how}", f"{code} {how}") for code, how in judges)]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not self.errors:
            for about, text in reviews.faults(self.study, self.get_options()).items():
                self.add_error(FIELDS.get(about, about), text)
        return cleaned

    def get_options(self) -> PlanOptions:
        data = self.cleaned_data
        judge, _space, strategy = data["judge"].partition(" ")
        source = Source(
            kind=data["kind"],
            size=None if data["kind"] == "all" else data["size"],
            judge=judge,
            strategy=strategy,
            seeker_kinds=tuple(data["seeker_kinds"]),
            is_test=data["is_test"],
        )
        return PlanOptions(
            name=data["name"],
            instruments=data["instruments"],
            source=source,
            ratings_each=data["ratings_each"],
            overlap=data["overlap"] / 100,
            calibration=data["calibration"],
            repeat_every=data["repeat_every"],
            seed=data["seed"],
        )

    def draw(self) -> list[ArmRun]:
        options = self.get_options()
        return reviews.draw(self.study, options.source, seed=options.seed)

    def preview(self, drawn: Sequence[ArmRun]) -> dict[str, Any]:
        return {"conversations": len(drawn), "ratings": sum(reviews.places(len(drawn), self.get_options()))}

    def make(self) -> ReviewPlan:
        return reviews.make_plan(self.study, self.get_options())


class DecisionForm(forms.Form):
    score = forms.TypedChoiceField(label=gettext_lazy("Decided score"), coerce=float, widget=forms.RadioSelect)
    reason = forms.CharField(
        label=gettext_lazy("Why"), max_length=2000, widget=forms.Textarea(attrs={"rows": 3}), strip=True
    )

    def __init__(self, case: Disagreement, data: Any = None) -> None:
        decided = case.decided
        initial = {"score": f"{decided.score:g}", "reason": decided.reason} if decided else {}
        super().__init__(data, initial=initial)
        item = case.get_item()
        steps = range(item.minimum or 0, (item.maximum or 0) + 1)
        self.fields["score"].choices = [(str(step), step) for step in steps]


@require_GET
@study_page
def plans(request: HttpRequest, study: Study) -> HttpResponse:
    return show(request, study, "reviews", {"rows": [row_of(plan, study) for plan in study.review_plans.all()]})


def row_of(plan: ReviewPlan, study: Study) -> PlanRow:
    far = review_work.progress_of(plan)
    return PlanRow(
        name=plan.name,
        url=reverse("research-review-plan", args=[study.key, plan.pk]),
        instruments=", ".join(plan.instruments),
        drawn=far.conversations,
        wanted=far.wanted,
        done=far.done,
        is_open=plan.is_open,
        is_test=bool(plan.source.get("is_test")),
    )


@require_http_methods(["GET", "POST"])
@study_page
def new_plan(request: HttpRequest, study: Study) -> HttpResponse:
    return new_plan_page(request, study, ReviewPlanForm, template="review_new", plan_page="research-review-plan")


@require_GET
@study_page
def plan(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    plan = get_object_or_404(study.review_plans, pk=number)
    context = {
        "plan": plan,
        "figures": list(figures_of(plan, study)),
        "facts": facts_of(plan),
        "work": review_work.work_of(plan),
    }
    return show(request, study, "review_plan", context)


def figures_of(plan: ReviewPlan, study: Study) -> Iterator[Figure]:
    far = review_work.progress_of(plan)
    share = _("of %(wanted)s, %(percent)s %%") % {"wanted": far.wanted, "percent": far.percent()}
    yield Figure(_("Ratings done"), far.done, share)
    yield Figure(_("Under way"), far.begun)
    yield Figure(_("Conversations complete"), far.complete, _("of %(all)s") % {"all": far.conversations})
    differing = reverse("research-disagreements", args=[study.key, plan.pk])
    yield Figure(_("Items on which reviewers differ"), len(disagreements(plan)), url=differing)


def facts_of(plan: ReviewPlan) -> list[tuple[str, object]]:
    source = plan.source
    kind = dict(KINDS).get(source.get("kind"), "")
    judge = in_brackets(f"{source['judge']} {source['strategy']}") if source.get("judge") else ""
    return [
        (_("Status"), _("open") if plan.is_open else _("closed")),
        (_("Rating scales"), listed(plan.instruments)),
        (_("Conversations"), f"{kind}{judge}"),
        (_("Ratings of each conversation in the overlap"), plan.ratings_each),
        (_("Random seed"), plan.seed),
    ]


@require_POST
@study_page
def set_open(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Open or close a plan. A closed plan gives nothing out, but what was begun may be finished."""
    plan = get_object_or_404(study.review_plans, pk=number)
    ReviewPlan.objects.filter(pk=plan.pk).update(is_open=request.POST.get("open") == "yes")
    return redirect("research-review-plan", study.key, number)


@require_GET
@study_page
def differing(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    plan = get_object_or_404(study.review_plans, pk=number)
    return show(request, study, "disagreements", {"plan": plan, "cases": disagreements(plan)})


@require_http_methods(["GET", "POST"])
@study_page
def case(request: HttpRequest, study: Study, number: int, code: str, instrument: str, item: str) -> HttpResponse:
    """Show one item on which reviewers differ, with what was said, and store what is decided."""
    plan = get_object_or_404(study.review_plans, pk=number)
    differing = case_of(plan, code, instrument, item)
    form = DecisionForm(differing, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        adjudicate(differing, by=request.user, **form.cleaned_data)
        messages.success(request, _("Your decision is saved. The ratings themselves do not change."))
        return redirect("research-disagreements", study.key, number)
    context = {
        "plan": plan,
        "case": differing,
        "asked": differing.get_item(),
        "form": form,
        "conversation": differing.run.conversation,
        "turns": differing.run.conversation.turns.order_by("number"),
    }
    return show(request, study, "disagreement", context, status=422 if form.is_bound else 200)


def case_of(plan: ReviewPlan, code: str, instrument: str, item: str) -> Disagreement:
    for one in disagreements(plan):
        if (one.run.conversation.code, one.instrument, one.item) == (code, instrument, item):
            return one
    raise Http404
