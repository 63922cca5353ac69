"""Work that takes a while: export, judges and analysis run in processes of their own, and these pages watch them."""

import mimetypes
from pathlib import Path
from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET, require_POST

from studies import tasks
from studies.models import Study, Task
from studies.views.research import heatmap
from studies.views.research.access import show, study_page
from studies.views.research.overview import demonstrations

RECENT = 10
ELSEWHERE = ("benchmark", "build_profiles")  # have pages of their own that first say what they take
STRATEGIES = [
    ("standard", gettext_lazy("standard: the conversation alone")),
    ("user_aware", gettext_lazy("user-aware: also who the person is")),
    ("state_aware", gettext_lazy("state-aware: also what went on in the person")),
]
# The report is one file that brings its own style and script, and may reach nothing else.
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'unsafe-inline'; frame-ancestors 'self'"
)


class ExportForm(forms.Form):
    include_tests = forms.BooleanField(label=gettext_lazy("Include test data"), required=False)

    def arguments(self) -> list[str]:
        return ["--include-tests"] if self.cleaned_data["include_tests"] else []


class JudgeForm(forms.Form):
    judge = forms.ChoiceField(label=gettext_lazy("Judge"))
    strategies = forms.MultipleChoiceField(
        label=gettext_lazy("What the judge is shown"),
        choices=STRATEGIES,
        initial=[key for key, _label in STRATEGIES],
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(data)
        self.fields["judge"].choices = [(judge.key, judge.name()) for judge in study.current().judges.all()]

    def arguments(self) -> list[str]:
        return [self.cleaned_data["judge"], *self.cleaned_data["strategies"]]


def form_for(study: Study, command: str, data: Any = None) -> ExportForm | JudgeForm:
    if command == "judge":
        return JudgeForm(study, data)
    return ExportForm(data, initial={"include_tests": study.is_demo()})


@require_POST
@study_page
def start(request: HttpRequest, study: Study, command: str) -> HttpResponse:
    """Twice does no harm: what is running already goes on alone."""
    if command not in tasks.COMMANDS or command in ELSEWHERE:
        raise Http404
    form = form_for(study, command, request.POST)
    if not form.is_valid():
        return work_page(request, study, command, form, status=400)
    tasks.start(study, command, form.arguments(), request.user)
    return redirect("research-export" if command == "export" else "research-analysis", study.key)


def work_page(request: HttpRequest, study: Study, command: str, form: forms.Form, *, status: int) -> HttpResponse:
    if command == "export":
        return export_page(request, study, form, status=status)
    return analysis_page(request, study, {command: form}, status=status)


@require_GET
@study_page
def export(request: HttpRequest, study: Study) -> HttpResponse:
    return export_page(request, study, form_for(study, "export"))


def export_page(request: HttpRequest, study: Study, form: forms.Form, *, status: int = 200) -> HttpResponse:
    context = {"form": form, **recent(study, "export")}
    return show(request, study, "export", context, status=status)


@require_GET
@study_page
def analysis(request: HttpRequest, study: Study) -> HttpResponse:
    return analysis_page(request, study, {})


def analysis_page(
    request: HttpRequest, study: Study, forms_sent: dict[str, forms.Form], *, status: int = 200
) -> HttpResponse:
    newest = tasks.newest_results(study)
    files = tasks.files_of(newest) if newest else {}
    context = {
        "judge_form": forms_sent.get("judge") or form_for(study, "judge"),
        "analyse_form": forms_sent.get("analyse") or form_for(study, "analyse"),
        "judges": study.current().judges.all(),
        "newest": newest,
        "results": heatmap.results_of(files["report/results.json"]) if newest else None,
        "files": [name for name in files if name.startswith("report/")],
        "demonstrations": demonstrations(study),
        **recent(study, "judge", "analyse"),
    }
    return show(request, study, "analysis", context, status=status)


def recent(study: Study, *commands: str) -> dict[str, Any]:
    rows = [described(task) for task in study.tasks.filter(command__in=commands)[:RECENT]]
    return {"tasks": rows, "running": any(row["state"] == Task.State.RUNNING for row in rows)}


def described(task: Task) -> dict[str, Any]:
    """A task as the pages show it and as their script is told of it."""
    silent = task.is_silent()
    return {
        "pk": task.pk,
        "command": command_name(task.command),
        "arguments": " ".join(task.arguments),
        "state": Task.State.FAILED if silent else task.state,
        "done": task.done,
        "total": task.total,
        "message": _("Its process has stopped. Start it again: what is done is not done twice.")
        if silent
        else task.message,
        "started_at": task.started_at,
        "archive": archive_of(task),
    }


def command_name(command: str) -> str:
    names = {
        "export": _("Export"),
        "judge": _("Judge"),
        "analyse": _("Analysis"),
        "benchmark": _("Benchmark"),
        "build_profiles": _("Profiles from answers"),
    }
    return names[command]


def archive_of(task: Task) -> str:
    name = f"{task.study.key}-export.zip"
    return name if task.state == Task.State.DONE and name in tasks.files_of(task) else ""


@require_GET
@study_page
def states(request: HttpRequest, study: Study) -> HttpResponse:
    """The latest tasks, for the script of a page that shows them."""
    wanted = ("pk", "state", "done", "total", "message")
    rows = [described(task) for task in study.tasks.select_related("study")[: 2 * RECENT]]
    return JsonResponse({"tasks": [{key: row[key] for key in wanted} for row in rows]})


@require_GET
@study_page
def task_file(request: HttpRequest, study: Study, number: int, name: str) -> HttpResponse:
    files = tasks.files_of(get_object_or_404(study.tasks, pk=number))
    if name not in files:
        raise Http404
    return sent(files[name], {"Content-Disposition": content_disposition_header(True, files[name].name)})


@require_GET
@study_page
@xframe_options_sameorigin
def report(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    files = tasks.files_of(get_object_or_404(study.tasks, pk=number))
    if "report/report.html" not in files:
        raise Http404
    headers = {"Content-Security-Policy": REPORT_POLICY, "Content-Type": "text/html; charset=utf-8"}
    return sent(files["report/report.html"], headers)


def sent(file: Path, headers: dict[str, str]) -> HttpResponse:
    """Read whole: under ASGI Django would do that to a FileResponse too, and warn."""
    guessed = {"Content-Type": mimetypes.guess_type(file.name)[0] or "application/octet-stream"}
    return HttpResponse(file.read_bytes(), headers={**guessed, **headers})
