"""The latest tasks of a study, for pages and their script."""

from typing import Any

from django.utils.translation import gettext as _

from studies.models import Study, Task
from studies.workbench import tasks
from studies.workbench.task_words import (
    command_name,
    describe_end,
    describe_outcome,
    describe_progress,
    describe_work,
)

RECENT = 10
ASK_IN_JOBS = ("judge", "benchmark", "build_profiles")


def recent_tasks(study: Study, *commands: str) -> dict[str, Any]:
    rows = [task_row(task) for task in study.tasks.filter(command__in=commands)[:RECENT]]
    return {"tasks": rows, "running": any(row["state"] == Task.State.RUNNING for row in rows)}


def task_row(task: Task) -> dict[str, Any]:
    """Return a task for pages and their script."""
    silent = task.is_stale()
    return {
        "pk": task.pk,
        "command": command_name(task.command),
        "analyses": task.command == "analyse",
        "about": describe_work(task.command, task.arguments),
        "outcome": describe_outcome(task.outcome),
        "state": Task.State.FAILED if silent else task.state,
        "ended_early": ended_early(task),
        "done": task.done,
        "total": task.total,
        "message": describe_state(task, silent=silent),
        "started_at": task.started_at,
        "archive": archive_of(task),
    }


def describe_state(task: Task, *, silent: bool) -> str:
    """Return how far a task is, or why it failed; what its command printed where there are no better words."""
    if silent or (task.state == Task.State.FAILED and not task.message):
        return _("Its process has stopped. Start it again: finished parts are not repeated.")
    if task.command in ASK_IN_JOBS and task.state == Task.State.RUNNING:
        return describe_progress(task)
    if task.command in ASK_IN_JOBS and task.state == Task.State.FAILED and "details" in task.outcome:
        return describe_end(task) or task.message
    return task.message


def ended_early(task: Task) -> bool:
    """Return whether paid work was stopped, or its budget spent, without a failure."""
    return task.state == Task.State.FAILED and bool(task.outcome.get("left")) and not task.outcome["failed"]


def archive_of(task: Task) -> str:
    name = f"{task.study.key}-export.zip"
    return name if task.state == Task.State.DONE and name in tasks.files_of(task) else ""
