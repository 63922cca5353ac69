"""The base of all commands: visible progress, a JSON summary, plain refusals, and exit codes."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection
from django.utils import timezone
from tqdm import tqdm

from studies.audit.commands import run_recorded
from studies.data.exports.columns import Filter, count_tests_left_out
from studies.management.database_faults import find_fault
from studies.models import Protocol, Study, Task
from studies.workbench.labels import one_or_more
from studies.workbench.tasks import TASK_VARIABLE

PART_FAILED = 1
BAD_INPUT = 2
BUDGET_REACHED = 3
TAKE_TESTS = "Add --include-tests to include it."
OF_TESTS = "There is test data: --include-tests plans for bots."
LINES = 10  # how many plain lines a long work prints where there is no terminal


class Progress:
    """The progress of a command: a bar on a terminal, otherwise a few plain lines, and the row of the page that started
    it."""

    def __init__(self, total: int, label: str, *, quiet: bool) -> None:
        self.total, self.label, self.done = total, label, 0
        self.quiet = quiet
        self.bar = tqdm(total=total, desc=label, file=sys.stderr) if sys.stderr.isatty() and not quiet else None
        self.task = os.environ.get(TASK_VARIABLE)
        self.tell()

    def step(self, count: int = 1) -> None:
        before, self.done = self.done, self.done + count
        if self.bar is not None:
            self.bar.update(count)
        elif not self.quiet and self.done * LINES // max(self.total, 1) > before * LINES // max(self.total, 1):
            sys.stderr.write(f"{self.label}: {self.done} of {self.total}\n")
        self.tell()

    def set(self, done: int, total: int, label: str) -> None:
        """Set the progress of work that counts by itself; `label` names what comes next."""
        self.total, self.label = total, label
        if self.bar is not None:
            self.bar.total = total
            self.bar.set_description(label)
        self.step(done - self.done)

    def tell(self) -> None:
        """Store the progress for the page that watches; without such a page no database is needed."""
        if self.task:
            row = Task.objects.filter(pk=self.task)
            row.update(done=self.done, total=self.total, message=self.label, heard_at=timezone.now())

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def add_base_url(parser: CommandParser, *, links: bool) -> None:
    """Add `--base-url`: where people reach the server (`links`), or this machine does.

    With HTTPS a server answers only what has come through its proxy.
    """
    here = f"http://{settings.HOST}:{settings.PORT}"
    address = settings.BASE_URL if links or settings.HTTPS else ""
    meaning = "address with which the links begin" if links else "address at which the bots reach the server"
    parser.add_argument("--base-url", default=address or here, metavar="URL", help=f"{meaning} (%(default)s)")


class Command(BaseCommand):
    """The base class. Subclasses write `add` (their arguments) and `work` (returns the summary), and call `refuse` on
    bad input."""

    requires_migrations_checks = False
    requires_system_checks = ["emostudy"]  # the others load every page; servers and `manage.py check` run them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print a JSON summary as the last line")
        self.add(parser)

    def add(self, parser: CommandParser) -> None: ...

    def work(self, **options: Any) -> dict[str, Any]:
        raise NotImplementedError

    def handle(self, *_args: Any, **options: Any) -> None:
        self.quiet = options["verbosity"] == 0
        try:
            summary = self.run_work(options)
        except CommandError as refusal:
            self.leave_plainly(refusal)
            raise
        if options["json"]:
            self.stdout.write(json.dumps(summary, ensure_ascii=False))
        if summary.get("budget_reached"):
            sys.exit(BUDGET_REACHED)
        if summary.get("failed") or summary.get("left"):
            sys.exit(PART_FAILED)

    def run_work(self, options: dict[str, Any]) -> dict[str, Any]:
        try:
            return run_recorded(type(self).__module__.rpartition(".")[2], self.work, options)
        except DatabaseError:
            if fault := find_fault():
                self.refuse(fault)
            if Study._meta.db_table in connection.introspection.table_names():
                raise
            self.refuse(
                "The database is empty. Start `make run`, or run `manage.py migrate` to create the tables only."
            )

    def leave_plainly(self, refusal: CommandError) -> None:
        """Print the message alone, one fault a line, and exit, if the command runs on a command line."""
        if self._called_from_command_line:
            self.stderr.write(str(refusal))
            sys.exit(refusal.returncode)

    def refuse(self, message: str) -> NoReturn:
        """Say what is wrong with the input and stop; nothing was changed."""
        raise CommandError(message, returncode=BAD_INPUT)

    def refuse_unfinished(self, study: str) -> NoReturn:
        self.refuse(
            f"The study {study!r} is not closed, or people are still taking part. Close it first (close_study)."
        )

    def say(self, message: str) -> None:
        if not self.quiet:
            self.stdout.write(message)

    @contextmanager
    def progress(self, total: int, label: str) -> Iterator[Progress]:
        progress = Progress(total, label, quiet=self.quiet)
        try:
            yield progress
        finally:
            progress.close()

    def hint_at_test_data(self, what: str, *, out: Path) -> None:
        """Hint at left-out test data; refuse if `out` holds no earlier result that should become empty."""
        hint = f"{what} {TAKE_TESTS}"
        if not out.exists():
            self.refuse(hint)
        self.say(hint)

    def study(self, key: str) -> Study:
        if study := Study.objects.filter(key=key).first():
            return study
        keys = ", ".join(Study.objects.values_list("key", flat=True)) or "none; load one with load_study"
        self.refuse(f"There is no study {key!r}. There are: {keys}.")

    def protocol(self, key: str) -> Protocol:
        return self.study(key).current()


def describe_left_out_tests(study: Study, *, include_tests: bool) -> str:
    """Return a sentence about test data that were left out of an empty result; empty if there were none."""
    if not (count := count_tests_left_out(study, Filter(include_tests))):
        return ""
    were = one_or_more(count, "conversation of test data was", "conversations of test data were")
    return f"{count} {were} left out: --include-tests includes them."
