import shutil
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.utils import timezone

from dialogue.jobs.failures import commonest_details
from dialogue.models import JobItem
from studies import analysis
from studies.management.command import BUDGET_REACHED, PART_FAILED, describe_left_out_tests
from studies.management.jobs import describe_failures
from studies.models import Task
from studies.simulation.progress import end_stopped_jobs
from studies.workbench.paid_work import command_lines, outcome_of, parse_summary
from studies.workbench.tasks import finish, folder_of

HEARTBEAT = 30.0  # seconds; well below the time after which a page takes the process for dead


class Command(BaseCommand):
    help = "Does what a researcher's page asked for. Pages start it; you need not."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("task", type=int, metavar="NUMBER")

    def handle(self, *_args: Any, task: int, **_options: Any) -> None:
        row = Task.objects.select_related("study").filter(pk=task).first()
        if row is None:
            raise CommandError(f"There is no task {task}.", returncode=2)
        try:
            with heartbeat(row):
                WORK[row.command](row)
        except BaseException as error:
            finish(row.pk, Task.State.FAILED, "\n".join([describe_error(error), *failure_lines(row)]))
            raise
        finish(row.pk, Task.State.DONE)


@contextmanager
def heartbeat(task: Task) -> Iterator[None]:
    """Show that this process lives, also during a part without progress."""
    over = threading.Event()

    def beat() -> None:
        try:
            while not over.wait(HEARTBEAT):
                Task.objects.filter(pk=task.pk).update(heard_at=timezone.now())
                stop_if_asked(task)
        finally:
            connection.close()

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def stop_if_asked(task: Task) -> bool:
    """Stop the task's jobs if someone has asked for that; return whether someone has."""
    fresh = Task.objects.select_related("study").get(pk=task.pk)
    end_stopped_jobs(fresh)
    return bool(fresh.stop_asked_by)


def export(task: Task) -> None:
    folder = folder_of(task) / "export"
    call_command("export", task.study.key, "--out", str(folder), *task.arguments)
    shutil.make_archive(str(folder_of(task) / f"{task.study.key}-export"), "zip", folder)


def ask_models(task: Task, *more: str) -> None:
    """Run each command of a paid task, also after one of them failed in part, and store the outcome.

    `more`: further arguments of each command.
    """
    summaries, codes = [], {}
    for name, line in command_lines(task.study.key, task.command, task.arguments).items():
        if stop_if_asked(task):
            codes[name] = PART_FAILED
            continue
        Task.objects.filter(pk=task.pk).update(message=name)
        summary, codes[name] = run([*line, *more])
        summaries.append(summary)
        Task.objects.filter(pk=task.pk).update(outcome=outcome_of(summaries))
    if failed := [name for name, code in codes.items() if code]:
        raise CommandError(why_left(max(codes.values()), failed))


def why_left(code: int, failed: list[str]) -> str:
    if code == BUDGET_REACHED:
        return "The budget is spent. What has been done is kept."
    return f"It was stopped, or a part failed: {', '.join(failed)}. Start it again: what is done is not done twice."


def run(line: list[str]) -> tuple[dict[str, Any], int]:
    """Return the summary of a command and its exit code; its output goes into the log too."""
    out, code = StringIO(), 0
    try:
        call_command(*line, "--json", stdout=out)
    except SystemExit as stop:  # how our commands say that a part failed
        code = int(stop.code or 0)
    finally:
        sys.stdout.write(out.getvalue())
    return parse_summary(out.getvalue()), code


def analyse(task: Task) -> None:
    folder = folder_of(task) / "export"
    call_command("export", task.study.key, "--out", str(folder), *task.arguments)
    row = Task.objects.filter(pk=task.pk)

    def tell(done: int, total: int, what: str) -> None:
        row.update(done=done, total=total, message=what, heard_at=timezone.now())

    try:
        analysis.analyse(folder, folder_of(task) / "report", on_progress=tell)
    except analysis.AnalysisError as error:
        hint = describe_left_out_tests(task.study, include_tests="--include-tests" in task.arguments)
        raise analysis.AnalysisError(f"{error}\n{hint}".rstrip()) from error


def benchmark(task: Task) -> None:
    ask_models(task, "--out", str(folder_of(task)))


def plan(task: Task) -> None:
    call_command("plan", "precision", task.study.key, "--out", str(folder_of(task) / "plan.json"), *task.arguments)


def check_models(task: Task) -> None:
    """Store the answer of each model. Models that do not answer are an outcome, not a failure of the task."""
    summary, _code = run(["check_models", task.study.key, *task.arguments])
    outcome = {name: summary[name] for name in ("version", "currency", "models")}
    Task.objects.filter(pk=task.pk).update(outcome=outcome)


def run_bots(task: Task) -> None:
    """Let bots walk the study through this server; the lines of those who could not go on are the task's message."""
    summary, _code = run(["run_bots", task.study.key, *task.arguments])
    outcome = {"completed": summary["completed"] + summary["finished_before"], "failed": len(summary["failed"])}
    Task.objects.filter(pk=task.pk).update(outcome=outcome)
    if summary["failed"]:
        raise CommandError("\n".join(summary["failed"]))


def describe_error(error: BaseException) -> str:
    """Return one or a few plain lines for the page; the log has the whole error."""
    if isinstance(error, CommandError | analysis.AnalysisError):
        return str(error)
    if isinstance(error, SystemExit):
        return "A part failed. Start it again: what is done is not done twice."
    return traceback.format_exception_only(error)[-1].strip()


def failure_lines(task: Task) -> list[str]:
    """Return a line for each way in which items of its jobs failed."""
    items = JobItem.objects.filter(job__scope=task.study.key, job__created_at__gte=task.started_at)
    failed = Counter(items.exclude(failure="").values_list("failure", "detail"))
    numbers = Counter(failure for failure, _detail in failed.elements())
    return [f"{number} {what}." for what, number in describe_failures(numbers, commonest_details(failed)).items()]


WORK: dict[str, Callable[[Task], None]] = {
    "export": export,
    "judge": ask_models,
    "analyse": analyse,
    "benchmark": benchmark,
    "build_profiles": ask_models,
    "plan": plan,
    "check_models": check_models,
    "run_bots": run_bots,
}
