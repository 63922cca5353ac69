"""Pages of benchmark runs: what one would take, how far it is, what came of it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dialogue.jobs.estimate import Estimate
from dialogue.jobs.failures import commonest_details
from dialogue.judges.strategies.standard import Standard
from dialogue.providers.prices import format_amount
from dialogue.templatetags.languages import colon, listed
from studies.analysis.notes import Note
from studies.design.spec import ArmSpec
from studies.models import Study
from studies.participation.language import instrument_language
from studies.simulation import charts as charts
from studies.simulation import estimate_words, progress
from studies.simulation.benchmark import Estimating, Wish
from studies.simulation.choice import FittingProfiles, Unfit, refuse_unreachable
from studies.simulation.outcomes import CONDITIONS, SIMULATED, Costs, Leaderboard, Outcomes, Standing, outcomes_of
from studies.simulation.progress import Tally
from studies.simulation.setup import MOST_REPLICATES, MOST_TURNS
from studies.workbench import labels, tasks
from studies.workbench.access import show, study_page
from studies.workbench.asking_first import ask_first
from studies.workbench.job_words import CALLS, describe_stop, explain_failure
from studies.workbench.probe_words import strategy_choices
from studies.workbench.recent_tasks import recent_tasks
from studies.workbench.result_notes import names_of, word_notes

MOST_CALLS = 500
TESTS = {"wilcoxon_p", "rank_biserial", "d_z"}  # columns that are not shown
MEASURES = ("seconds", "input_tokens", "output_tokens", "cost")


class RunForm(forms.Form):
    arms = forms.MultipleChoiceField(label=gettext_lazy("Arms"), widget=forms.CheckboxSelectMultiple)
    conditions = forms.MultipleChoiceField(
        label=gettext_lazy("Seekers"),
        choices=[
            ("average", gettext_lazy("average: as their profile says")),
            ("worst_case", gettext_lazy("worst case: the same people, but hard to help")),
        ],
        initial=list(CONDITIONS),
        widget=forms.CheckboxSelectMultiple,
    )
    replicates = forms.IntegerField(
        label=gettext_lazy("Conversations per arm and profile"),
        min_value=1,
        max_value=MOST_REPLICATES,
        initial=1,
    )
    max_turns = forms.IntegerField(label=gettext_lazy("Maximum turns"), min_value=1, max_value=MOST_TURNS, initial=15)
    review = forms.BooleanField(
        label=gettext_lazy("Check the simulated seekers for faults with their own model"), required=False
    )
    judges = forms.MultipleChoiceField(
        label=gettext_lazy("Judges"), required=False, widget=forms.CheckboxSelectMultiple
    )
    strategies = forms.MultipleChoiceField(
        label=gettext_lazy("What the judges are shown"),
        choices=strategy_choices,
        initial=[Standard.name],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    concurrency = forms.IntegerField(
        label=gettext_lazy("Calls at the same time"), min_value=1, max_value=MOST_CALLS, initial=8
    )
    budget = forms.DecimalField(
        label=gettext_lazy("Budget, in the currency of the price table (empty: no limit)"),
        required=False,
        min_value=0,
        max_digits=12,
        decimal_places=6,
    )

    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(data)
        spec = study.current().spec()
        self.fields["arms"].choices = [(arm.key, get_arm_name(arm)) for arm in spec.arms]
        self.fields["arms"].initial = [arm.key for arm in spec.arms]
        self.fields["judges"].choices = [(judge.key, get_arm_name(judge)) for judge in spec.judges]
        self.fields["judges"].initial = [judge.key for judge in spec.judges]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean()
        if cleaned.get("judges") and not cleaned.get("strategies"):
            self.add_error("strategies", _("Choose what the judges are shown."))
        return cleaned

    def wish(self) -> Wish:
        of_command = ("profiles", "ablations")  # options of the command alone
        fields = [name for name in Wish.__dataclass_fields__ if name not in of_command]
        return Wish(**{name: self.cleaned_data[name] for name in fields})

    def arguments(self) -> list[str]:
        """Return the arguments of the command that holds this run."""
        data = self.cleaned_data
        arguments = ["--arms", ",".join(data["arms"]), "--conditions", *data["conditions"]]
        for name in ("replicates", "max_turns", "concurrency"):
            arguments += [f"--{name.replace('_', '-')}", str(data[name])]
        if data["judges"]:
            arguments += ["--judge", *data["judges"], "--strategy", *data["strategies"]]
        arguments += ["--review"] if data["review"] else []
        return arguments + (["--budget", str(data["budget"])] if data["budget"] is not None else [])


def get_arm_name(arm: ArmSpec) -> str:
    title = arm.title.get(instrument_language()) or next(iter(arm.title.values()), "")
    return f"{arm.key}{colon()}{title}"


# Asking for a run


@require_http_methods(["GET", "POST"])
@study_page
def new_run(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the form of a new run and what the run would take; the button that this brings starts just that one."""
    if study.current().spec().seeker is None:
        return redirect("research-benchmark", study.key)
    if request.method == "GET":
        return show(request, study, "benchmark_new", {"form": RunForm(study)})
    form = RunForm(study, request.POST)
    if form.is_valid() and request.POST.get("confirm") == fingerprint(form):
        return start_benchmark(request, study, form.arguments())
    estimate = get_estimate(study, form) if form.is_valid() else None
    if estimate is None:
        return show(request, study, "benchmark_new", {"form": form}, status=422)
    return show(request, study, "benchmark_new", {"form": form, **preview(*estimate, form)})


def get_estimate(study: Study, form: RunForm) -> tuple[Estimate, FittingProfiles] | None:
    """Return the estimate and the profiles that it is of; None if it cannot be had, and the form then says why."""
    try:
        run, fitting = form.wish().of(study)
        for name, model in run.models().items():
            refuse_unreachable(name, model)
    except Unfit as refusal:
        form.add_error(None, str(refusal))
        return None
    estimate = Estimating(run).run()
    unpriced = estimate_words.cost(estimate).unpriced
    if unpriced and budgets_of(form):
        form.add_error(
            "budget",
            _("The price table has no price for %(models)s, so the cost cannot be known.")
            % {"models": listed(unpriced)},
        )
        return None
    return estimate, fitting


def preview(estimate: Estimate, fitting: FittingProfiles, form: RunForm) -> dict[str, Any]:
    cost, budgets = estimate_words.cost(estimate), budgets_of(form)
    of_evaluator = estimate_words.evaluator_cost(estimate)
    return {
        "estimate": estimate,
        "facts": facts_of(estimate),
        "cost": cost,
        "amount": format_amount(cost.amount),
        "of_evaluator": of_evaluator and {"cost": of_evaluator, "amount": format_amount(of_evaluator.amount)},
        "mild": fitting.mild,
        "budgets": [(name, format_amount(amount)) for name, amount in budgets.items()],
        "too_dear": any(cost.amount > amount for amount in budgets.values()),
        "turns": [(labels.word(labels.CONDITIONS, turns.condition), turns) for turns in estimate.turns],
        "answers": [(labels.word(labels.PURPOSES, each.purpose), each) for each in estimate.answers()],
        "confirm": fingerprint(form),
    }


def budgets_of(form: RunForm) -> dict[str, Decimal]:
    """Return the budgets that are set, by name: of the run, and of a day."""
    budgets = {_("Budget of this run"): form.cleaned_data["budget"], _("Daily budget"): settings.DAILY_BUDGET}
    return {name: amount for name, amount in budgets.items() if amount is not None}


def facts_of(estimate: Estimate) -> list[tuple[str, str]]:
    numbers = {
        _("Conversations"): estimate.conversations,
        _("already held"): estimate.held_before,
        _("Questionnaires for judges"): estimate.judgements,
        _("Calls"): estimate.calls,
        _("Input tokens"): estimate.input_tokens,
        _("Output tokens"): estimate.output_tokens,
    }
    return [(what, f"{number:,}") for what, number in numbers.items()]


def fingerprint(form: RunForm) -> str:
    """Return a text of the run's arguments, so that what is started must be what was estimated."""
    return " ".join(form.arguments())


def start_benchmark(request: HttpRequest, study: Study, arguments: list[str]) -> HttpResponse:
    task, is_new = tasks.start(study, "benchmark", arguments, request.user)
    if is_new:
        messages.success(request, _("The run has started."))
    elif task.arguments == arguments:
        messages.info(request, _("This task is already in progress. Nothing new was started."))
    else:
        messages.error(request, _("Another run is in progress. Wait until it ends, or stop it."))
    return redirect("research-benchmark", study.key)


# Stopping, and going on


@require_POST
@study_page
def stop(request: HttpRequest, study: Study) -> HttpResponse:
    if progress.stop(study, request.user):
        messages.success(request, _("Stopped. What was under way ends and is kept, and answers that arrived are paid."))
    back = "research-judges" if request.POST.get("back") == "judges" else "research-benchmark"
    return redirect(back, study.key)


@require_POST
@study_page
def go_on(request: HttpRequest, study: Study) -> HttpResponse:
    """Continue a run or a series of judges: one still ending its last items as it is, else by starting it again for the
    rest."""
    stopped = progress.get_stopped_job(study)
    if stopped is None:
        return redirect("research-benchmark", study.key)
    task = progress.find_series(study, stopped)
    if task and not tasks.running_task(study, task.command):
        return ask_first(study, task.command, progress.get_remaining_arguments(task), back="research-benchmark")
    progress.reopen(study, progress.jobs_of(study, stopped.kind).filter(pk=stopped.pk))
    messages.success(request, _("The run continues."))
    return redirect("research-benchmark", study.key)


# How far it is


class FailureCount(NamedTuple):
    """The number of items that failed for a reason; `detail`: of most of them, and what to do; empty where neither is
    known."""

    reason: str
    number: int
    detail: str


@dataclass(frozen=True)
class Cell:
    """The conversations of an arm in a condition."""

    tally: Tally
    failed: Sequence[FailureCount]
    url: str


@dataclass(frozen=True)
class Line:
    arm: str
    cells: Sequence[Cell | None]


def matrix(study: Study) -> list[Line]:
    """Return a line for each of the study's arms, and for those that were in it once."""
    tallies = progress.conversations(study)
    if not tallies:
        return []
    arms = dict.fromkeys([arm.key for arm in study.current().spec().arms] + sorted(arm for arm, _ in tallies))
    return [
        Line(arm, [cell(study, arm, condition, tallies.get((arm, condition))) for condition in CONDITIONS])
        for arm in arms
    ]


def cell(study: Study, arm: str, condition: str, tally: Tally | None) -> Cell | None:
    return Cell(tally, reasons(tally), get_list_link(study, arm, condition)) if tally else None


def reasons(tally: Tally) -> list[FailureCount]:
    numbers = Counter(reason for reason, _detail in tally.failed.elements())
    details = commonest_details(tally.failed)
    return [
        FailureCount(labels.word(CALLS, reason), number, explain_failure(reason, details.get(reason, "")))
        for reason, number in numbers.most_common()
    ]


def get_list_link(study: Study, arm: str, condition: str) -> str:
    query = urlencode({"arm": arm, "condition": condition, "kind": SIMULATED})
    return f"{reverse('research-conversations', args=[study.key])}?{query}"


def judging(study: Study) -> list[tuple[str, Tally, list[FailureCount]]]:
    return [(labels.job_name(title), tally, reasons(tally)) for title, tally in progress.judgements(study).items()]


# The page


@require_GET
@study_page
def benchmark(request: HttpRequest, study: Study) -> HttpResponse:
    newest = tasks.newest_results(study)
    outcomes = outcomes_of(tasks.folder_of(newest) / "report" / "results.json") if newest else None
    jobs = progress.under_way(study)
    ended = None if jobs else progress.get_stopped_job(study)
    context = {
        "has_seeker": study.current().spec().seeker is not None,
        "conditions": [labels.word(labels.CONDITIONS, condition) for condition in CONDITIONS],
        "lines": matrix(study),
        "judging": judging(study),
        "jobs": [labels.job_name(job.title) for job in jobs],
        "ended": ended,
        "ended_name": labels.job_name(ended.title) if ended else "",
        "why_ended": describe_stop(ended) if ended else "",
        "newest": newest,
        "outcomes": outcomes,
        "demonstrations": study.current().demonstrations(),
        **(figures(study, outcomes) if outcomes else {}),
        **recent_tasks(study, "benchmark"),
    }
    return show(request, study, "benchmark", context)


def figures(study: Study, outcomes: Outcomes) -> dict[str, Any]:
    return {
        "boards": [board_part(study, board) for board in outcomes.leaderboards],
        "open_charts": charts.small_charts(outcomes.open, highest=1, unit="%"),
        "emotion_charts": charts.small_charts(outcomes.emotion, highest=100, unit=""),
        "stays": [(stay, labels.word(labels.CONDITIONS, stay.condition)) for stay in outcomes.stays],
        "open_rows": list(course_rows(outcomes.open)),
        "emotion_rows": list(course_rows(outcomes.emotion)),
        "costs": [(each.arm, cost_cells(each)) for each in outcomes.costs],
    }


def board_part(study: Study, board: Leaderboard) -> dict[str, Any]:
    urls = {
        standing.arm: [get_list_link(study, standing.arm, condition) for condition in CONDITIONS]
        for standing in board.standings
    }
    return {
        "board": board,
        "raters": labels.raters_name(board.raters),
        "plot": charts.dot_plot(board),
        "rows": [(standing, *urls[standing.arm]) for standing in board.standings],
        "notes": sorted(word_notes({note for standing in board.standings for note in notes_of(standing)})),
    }


def notes_of(standing: Standing) -> list[Note]:
    """Return the notes on what is shown; those on the tests alone stand in the report."""
    return [note for note in standing.notes if not (note.columns and set(names_of(note)) <= TESTS)]


def course_rows(courses: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, str, Any]]:
    for arm, each in courses.items():
        for course in each:
            for point in course.points:
                yield arm, labels.word(labels.CONDITIONS, course.condition), point


def cost_cells(costs: Costs) -> list[Any]:
    return [group.get(measure) for group in (costs.whole, costs.replies) for measure in MEASURES]
