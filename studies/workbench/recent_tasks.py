"""The latest tasks of a study, for pages and their script."""

from typing import Any

from django.utils.translation import gettext as _

from studies.models import Study, Task
from studies.workbench import tasks
from studies.workbench.task_words import command_name, describe_outcome, describe_work

RECENT = 10


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
        "done": task.done,
        "total": task.total,
        "message": _("Its process has stopped. Start it again: finished parts are not repeated.")
        if silent
        else task.message,
        "started_at": task.started_at,
        "archive": archive_of(task),
    }


def archive_of(task: Task) -> str:
    name = f"{task.study.key}-export.zip"
    return name if task.state == Task.State.DONE and name in tasks.files_of(task) else ""
