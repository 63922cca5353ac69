"""The page that plans precision: the width of an interval now, and with more participants or second ratings."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from studies.analysis.notes import Note, read_notes
from studies.analysis.planning import OF, agreement_rank
from studies.analysis.pooling import ALL_ITEMS
from studies.board.planner_chart import chart
from studies.models import Study, Task
from studies.workbench import labels, tasks
from studies.workbench.access import show, study_page
from studies.workbench.asking_first import start_work
from studies.workbench.rating_tables import item_name, title_of
from studies.workbench.recent_tasks import recent_tasks
from studies.workbench.result_notes import join_notes, word_notes

FILE = "plan.json"
Agreement = Mapping[str, Any]  # a row of agreement.csv


class PrecisionForm(forms.Form):
    of = forms.ChoiceField(label=gettext_lazy("Which interval"))
    include_tests = forms.BooleanField(label=gettext_lazy("Include test data"), required=False)

    def __init__(self, rows: Sequence[Agreement], data: Any = None, *, initial: Mapping[str, Any]) -> None:
        super().__init__(data, initial=initial)
        self.rows = {value_of(row): row for row in rows}
        parts = [parts_of(row) for row in self.rows.values()]
        # Where all intervals are of the same people, moment and instrument, a menu need not say so in each line.
        told = [place for place, part in enumerate(zip(*parts, strict=True)) if place < 2 or len(set(part)) > 1]
        texts = [join_parts(row[place] for place in told) for row in parts]
        self.fields["of"].choices = list(zip(self.rows, texts, strict=True))

    def arguments(self) -> list[str]:
        """Return the arguments of the command."""
        row = self.rows[self.cleaned_data["of"]]
        tests = ["--include-tests"] if self.cleaned_data["include_tests"] else []
        return [*(f"--{name}={row[name]}" for name in OF), *tests]


@require_http_methods(["GET", "POST"])
@study_page
def precision(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the newest plan and start a new one. A plan already running continues alone."""
    results, newest = tasks.newest_results(study), newest_plan(study)
    plan = read_plan(newest) if newest else None
    rows = agreements(results) if results else []
    initial = {"of": value_of(plan["of"]) if plan else "", "include_tests": includes_tests(study, newest or results)}
    form = PrecisionForm(rows, request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        return start_work(request, study, "plan", form.arguments(), back="research-precision")
    context = {
        "form": form,
        "agreements": rows,
        "has_results": results is not None,
        "newest": newest,
        **(plan_context(plan) if plan else {}),
        **recent_tasks(study, "plan"),
    }
    return show(request, study, "planner_precision", context, status=422 if request.method == "POST" else 200)


def newest_plan(study: Study) -> Task | None:
    plans = study.tasks.filter(command="plan", state=Task.State.DONE).exclude(folder="")
    return next((task for task in plans if (tasks.folder_of(task) / FILE).exists()), None)


def read_plan(task: Task) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads((tasks.folder_of(task) / FILE).read_text(encoding="utf-8"))
    return plan


def includes_tests(study: Study, before: Task | None) -> bool:
    return "--include-tests" in before.arguments if before else study.is_demo()


def agreements(results: Task) -> list[Agreement]:
    """Return the agreements by `agreement_rank`, without single raters and rows without an interval."""
    file = tasks.folder_of(results) / "report" / "results.json"
    table = json.loads(file.read_text(encoding="utf-8"))["tables"]["agreement"]
    rows = [row for row in table if row["item"] != ALL_ITEMS]
    usable = [row for row in rows if ":" not in row["human"] and row["pearson_low"] is not None]
    return sorted(usable, key=agreement_rank)


def value_of(row: Agreement) -> str:
    return " · ".join(row[name] for name in OF)


def words_of(row: Agreement) -> str:
    return join_parts(parts_of(row))


def parts_of(row: Agreement) -> tuple[str, ...]:
    """Return what an interval is about in words: item, judge with its strategy, people, moment, instrument."""
    judge = f"{row['judge']} {labels.strategy_name(row['strategy'])}".strip()
    people, moment = str(labels.word(labels.RATERS, row["human"])), str(labels.word(labels.MOMENTS, row["moment"]))
    return item_name(row["instrument"], row["item"]), judge, people, moment, title_of(row["instrument"])


def join_parts(parts: Iterable[str]) -> str:
    return " · ".join(filter(None, parts))


def plan_context(plan: dict[str, Any]) -> dict[str, Any]:
    return {
        "plan": plan,
        "words": words_of(plan["of"]),
        "method": join_notes([Note.from_json(plan["now"]["method_code"])]),
        "notes": word_notes(read_notes(plan)),
        "chart": chart(plan["participants"], "half_width"),
        "parts": [part_of(f"chart-{number}", each) for number, each in enumerate(plan["plans"], 1)],
    }


def part_of(key: str, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells of one reliability: a row for each number of participants, a column for each share. `key`: for
    ids."""
    cells = plan["cells"]
    shares = list(dict.fromkeys(cell["second"] for cell in cells))
    rows = [cells[first : first + len(shares)] for first in range(0, len(cells), len(shares))]
    ten = {name: None if value is None else 100 * value for name, value in plan["per_ten"].items()}
    return {
        "key": key,
        "reliability": plan["reliability"],
        "shares": [100 * share for share in shares],
        "rows": [(100 * row[0]["more"], row) for row in rows],
        "ten": ten,
        "chart": chart(cells),
    }
