"""Pages of long work: export, judges and analysis run in processes of their own, and these pages watch them."""

import mimetypes
from pathlib import Path
from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.utils.http import content_disposition_header
from django.utils.translation import gettext_lazy
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET, require_POST

from dialogue.judges.strategies import get_strategies
from dialogue.languages import LANGUAGES
from studies.analysis.language import report_file
from studies.analysis.reporting.policy import policy
from studies.board import live
from studies.board.live_unblinding import still_blinded
from studies.models import Study, Task
from studies.models.response import RaterKind
from studies.participation.language import instrument_language
from studies.participation.unblinding import is_blinded, unblinding_of
from studies.workbench import tasks
from studies.workbench.access import show, study_page, study_page_after_timeouts
from studies.workbench.asking_first import ask_first, start_work
from studies.workbench.paid_work import PAID
from studies.workbench.probe_words import strategy_choices
from studies.workbench.recent_tasks import RECENT, recent_tasks, task_row

REPORTS = {language.code: report_file(language) for language in LANGUAGES}
REPORT = "report/"  # below a task's folder: what names the arms beside their results
# These have pages that first say what they take.
ELSEWHERE = ("benchmark", "build_profiles", "plan", "check_models", "run_bots")


class ExportForm(forms.Form):
    include_tests = forms.BooleanField(label=gettext_lazy("Include test data"), required=False)

    def arguments(self) -> list[str]:
        return ["--include-tests"] if self.cleaned_data["include_tests"] else []


class JudgeForm(forms.Form):
    judge = forms.ChoiceField(label=gettext_lazy("Judge"))
    strategies = forms.MultipleChoiceField(
        label=gettext_lazy("What the judge is shown"),
        choices=strategy_choices,
        initial=lambda: list(get_strategies()),
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(data)
        self.fields["judge"].choices = [(judge.key, judge.name()) for judge in study.current().judges.all()]

    def arguments(self) -> list[str]:
        return [self.cleaned_data["judge"], *self.cleaned_data["strategies"]]


def form_for(study: Study, command: str, data: Any = None, *, again: Task | None = None) -> ExportForm | JudgeForm:
    """Return the form of a command; `again`: an earlier task whose choices it repeats."""
    if command == "judge":
        return JudgeForm(study, data)
    before = again.arguments if again and again.command == command else None
    tests = study.is_demo() if before is None else "--include-tests" in before
    return ExportForm(data, initial={"include_tests": tests})


@require_POST
@study_page
def start(request: HttpRequest, study: Study, command: str) -> HttpResponse:
    """Start a task. A task already running continues alone."""
    if command not in tasks.COMMANDS or command in ELSEWHERE:
        raise Http404
    form = form_for(study, command, request.POST)
    if not form.is_valid():
        return work_page(request, study, command, form, status=400)
    if command in PAID:
        return ask_first(study, command, form.arguments(), back="research-analysis")
    back = "research-export" if command == "export" else "research-analysis"
    return start_work(request, study, command, form.arguments(), back=back)


def work_page(request: HttpRequest, study: Study, command: str, form: forms.Form, *, status: int) -> HttpResponse:
    if command == "export":
        return export_page(request, study, form, status=status)
    return analysis_page(request, study, {command: form}, status=status)


@require_GET
@study_page_after_timeouts
def export(request: HttpRequest, study: Study) -> HttpResponse:
    return export_page(request, study, form_for(study, "export"))


def export_page(request: HttpRequest, study: Study, form: forms.Form, *, status: int = 200) -> HttpResponse:
    context = {"form": form, **recent_tasks(study, "export")}
    return show(request, study, "export", context, status=status)


@require_GET
@study_page_after_timeouts
def analysis(request: HttpRequest, study: Study) -> HttpResponse:
    return analysis_page(request, study, {})


def analysis_page(
    request: HttpRequest, study: Study, forms_sent: dict[str, forms.Form], *, status: int = 200
) -> HttpResponse:
    newest, blinded = tasks.newest_results(study), is_blinded(study)
    work = recent_tasks(study, "judge", "analyse")
    context = {
        "judge_form": forms_sent.get("judge") or form_for(study, "judge"),
        "analyse_form": forms_sent.get("analyse") or form_for(study, "analyse", again=newest),
        "judges": study.current().judges.all(),
        "newest": newest,
        "removed": newest is None and study.tasks.filter(command="analyse", state=Task.State.DONE).exists(),
        "judged": newest is None and study.raters.filter(kind=RaterKind.JUDGE, responses__isnull=False).exists(),
        "results": results_of(newest, study, blinded=blinded) if newest else None,
        "blinded": blinded,
        "unblinding": unblinding_of(study),
        "completion": live.completion(study),
        "files": [] if blinded or newest is None else [name for name in tasks.files_of(newest) if is_of_report(name)],
        "analysing": [row for row in work["tasks"] if row["state"] == Task.State.RUNNING and row["analyses"]],
        "demonstrations": study.current().demonstrations(),
        **work,
    }
    return show(request, study, "analysis", context, status=status)


def results_of(task: Task, study: Study, *, blinded: bool) -> live.Results:
    file = tasks.folder_of(task) / REPORT / "results.json"
    return live.results_of(file, blinded=blinded, study_key=study.key)


def is_of_report(name: str) -> bool:
    return name.startswith(REPORT)


@require_GET
@study_page
def states(request: HttpRequest, study: Study) -> HttpResponse:
    """Return the latest tasks for the script of a page that shows them."""
    keys = ("pk", "state", "done", "total", "message")
    rows = [task_row(task) for task in study.tasks.select_related("study")[: 2 * RECENT]]
    return JsonResponse({"tasks": [{key: row[key] for key in keys} for row in rows]})


@require_GET
@study_page_after_timeouts
def task_file(request: HttpRequest, study: Study, number: int, name: str) -> HttpResponse:
    files = tasks.files_of(get_object_or_404(study.tasks, pk=number))
    if name not in files:
        raise Http404
    if is_of_report(name) and is_blinded(study):
        return still_blinded(request, study)
    return file_response(files[name], {"Content-Disposition": content_disposition_header(True, files[name].name)})


@require_GET
@study_page_after_timeouts
@xframe_options_sameorigin
def report(request: HttpRequest, study: Study, number: int, name: str = "") -> HttpResponse:
    """Show a report in the reader's language; the two languages link to each other by name."""
    files = tasks.files_of(get_object_or_404(study.tasks, pk=number))
    path = REPORT + (name or REPORTS[instrument_language()])
    if path not in files or name not in ("", *REPORTS.values()):
        raise Http404
    if is_blinded(study):
        return still_blinded(request, study)
    headers = {
        "Content-Security-Policy": f"{policy()}; frame-ancestors 'self'",
        "Content-Type": "text/html; charset=utf-8",
    }
    return file_response(files[path], headers)


def file_response(file: Path, headers: dict[str, str]) -> HttpResponse:
    """Return a file, read whole: under ASGI Django would do the same to a FileResponse and warn."""
    guessed = {"Content-Type": mimetypes.guess_type(file.name)[0] or "application/octet-stream"}
    return HttpResponse(file.read_bytes(), headers={**guessed, **headers})
