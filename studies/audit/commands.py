"""Write down what commands do."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from studies.access.log_lines import COMMAND_LINES, LoggedCommand
from studies.audit.acting import act_as, actor_of_command, get_actor
from studies.audit.chain import INSTALLATION, record
from studies.audit.changes import notice_changes

Summary = dict[str, Any]


def run_recorded(name: str, work: Callable[..., Summary], options: Summary) -> Summary:
    """Do the work of a command and write it down; one that refuses its input, or only estimates, has done nothing."""
    with act_as(partial(actor_of_command, name, within=get_actor())):
        line = COMMAND_LINES.get(name)
        if line is None or options.get("estimate"):
            return work(**options)
        return run_together(line, work, options) if line.together else run_long(line, work, options)


@transaction.atomic
def run_together(line: LoggedCommand, work: Callable[..., Summary], options: Summary) -> Summary:
    with notice_changes() as changes:
        summary = work(**options)
    if changes.has_any:
        record(study_of(options, summary), *line.logged)
    return summary


def run_long(line: LoggedCommand, work: Callable[..., Summary], options: Summary) -> Summary:
    """Do what takes long, or asks other servers; a part of it may have been done when it fails."""
    try:
        summary = work(**options)
    except CommandError:
        raise
    except BaseException:
        record(study_of(options, {}), *line.logged)
        raise
    record(study_of(options, summary), *line.logged)
    return summary


def study_of(options: Summary, summary: Summary) -> str:
    return str(options.get("study") or summary.get("study") or INSTALLATION)
