"""Start commands from pages, each in a process of its own that outlives the request."""

import os
import subprocess
import sys
import threading
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from studies.models import Study, Task, Webhook
from studies.webhooks.events import announce

TASK_VARIABLE = "EMOSTUDY_TASK"  # tells a command that a page has started it, and as which task
COMMANDS = ("export", "judge", "analyse", "benchmark", "build_profiles", "plan", "check_models", "run_bots")
LOG = "log.txt"
LAST_LINES = 5


def start(study: Study, command: str, arguments: list[str], user: AbstractBaseUser | None) -> tuple[Task, bool]:
    """Start `command` for this study, or return the task that is already running, and whether it is new."""
    task, is_new = get_or_create_task(study, command, arguments, user)
    if is_new:
        transaction.on_commit(lambda: spawn(task))
    return task, is_new


@transaction.atomic
def get_or_create_task(
    study: Study, command: str, arguments: list[str], user: AbstractBaseUser | None = None
) -> tuple[Task, bool]:
    """Return the running task, or create one, and whether it is new. Creating starts no process."""
    Study.objects.select_for_update().get(pk=study.pk)
    if running := running_task(study, command):
        return running, False
    task = Task.objects.create(study=study, command=command, arguments=arguments, started_by=user)
    task.folder = f"tasks/{study.key}/{task.pk}"
    task.save(update_fields=["folder"])
    return task, True


def running_task(study: Study, command: str) -> Task | None:
    running = study.tasks.filter(command=command, state=Task.State.RUNNING)
    return next((task for task in running if not task.is_stale()), None)


def spawn(task: Task) -> None:
    log = folder_of(task) / LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as stream:
        process = subprocess.Popen(  # noqa: S603 - our own command, a number as its argument
            [sys.executable, str(settings.BASE_DIR / "manage.py"), "run_task", str(task.pk)],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that stopping the server leaves it at work
            env={**os.environ, TASK_VARIABLE: str(task.pk)},
        )
    threading.Thread(target=watch, args=(task.pk, process, log), name=f"task {task.pk}", daemon=True).start()


def watch(task_id: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait for a process and mark its task as failed if it ended without a word. What a killed one had printed says
    nothing of its end."""
    was_killed = process.wait() < 0
    try:
        finish(task_id, Task.State.FAILED, "" if was_killed else last_lines(log))
    finally:
        connection.close()


def finish(task_id: int, state: Task.State, message: str = "") -> bool:
    """Set the final state of a task; return False if it had ended already."""
    now = timezone.now()
    running = Task.objects.filter(pk=task_id, state=Task.State.RUNNING)
    with transaction.atomic():
        if not running.update(state=state, message=message, ended_at=now, heard_at=now):
            return False
        task = Task.objects.select_related("study").get(pk=task_id)
        announce(task.study, Webhook.Event.TASK_ENDED, number=task.pk, command=task.command, state=task.state)
    return True


def last_lines(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    return "\n".join([line for line in lines if line.strip()][-LAST_LINES:])


def folder_of(task: Task) -> Path:
    """Return a task's folder. Raises ValueError if its files were removed, as by an erasure."""
    if not task.folder:
        raise ValueError(f"task {task.pk} has no files")
    return settings.VAR / task.folder


def files_of(task: Task) -> dict[str, Path]:
    """Return a task's files by their path below its folder, the only names that a page gives out."""
    if not task.folder:
        return {}
    folder = settings.VAR / task.folder
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path for path in sorted(paths)}


def newest_results(study: Study) -> Task | None:
    """Return the last analysis whose files are still here, also a benchmark that failed in part."""
    analysed = Q(command="analyse", state=Task.State.DONE)
    benchmark = Q(command="benchmark", state__in=(Task.State.DONE, Task.State.FAILED))
    ended = study.tasks.filter(analysed | benchmark).exclude(folder="")
    return next((task for task in ended if (folder_of(task) / "report" / "results.json").exists()), None)
