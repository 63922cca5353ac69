"""Remove every export and result that holds a person who is erased.

What is to be removed is stored together with the erasure (`plan_removal`), and then removed; where the process ended in
between, or something could not be removed, servers try again once an hour.
"""

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from shutil import rmtree

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from studies.data.exports.destinations import MANIFEST, remove_export
from studies.data.exports.word_search import contains_word
from studies.models import ExportRecord, ExportRemoval, Participation, Study, Task

RESULTS = "results.json"  # what a folder written by `analyse` holds
WRITTEN = "%Y-%m-%d %H:%M UTC"
UNDER_WAY = timedelta(minutes=10)  # for so long, whoever planned a removal may still be at it

log = logging.getLogger(__name__)


@dataclass
class RemovedFiles:
    """The files that were removed, and the other files below var/ that still name the person.

    `held`: every export that may have held them, with the time of writing. `failed`: what should go and could not be
    removed, each with the reason. Paths below var/ are relative to it.
    """

    removed: list[str] = field(default_factory=list)
    remaining: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def remove(self, path: Path, remove: Callable[[Path], bool]) -> bool:
        """Remove a file or folder; return False where that failed, which is noted."""
        try:
            if remove(path):
                self.removed.append(name_of(path))
        except OSError as error:
            self.note_failed(path, error)
            return False
        return True

    def note_failed(self, path: Path, error: OSError) -> None:
        """Add what could not be removed or read, once: a folder is come upon again with each of its files."""
        failed = f"{name_of(path)} ({error.strerror})"
        if failed not in self.failed:
            self.failed.append(failed)


def plan_removal(since: Participation | Study, codes: Collection[str]) -> ExportRemoval:
    """Store what is to be removed, in the transaction of the erasure.

    What was written before the person came, or the study was made, cannot hold them. `codes` are those of the people
    and of their conversations, by which files below var/ are found that no record names, such as results that were
    computed from an export.
    """
    study = since if isinstance(since, Study) else since.study
    is_test = isinstance(since, Participation) and since.is_test
    return ExportRemoval.objects.create(study=study, since=since.created_at, of_tests=is_test, codes=list(codes))


def remove_exports(removal: ExportRemoval) -> RemovedFiles:
    """Remove every export and result on this server that may hold the people; all of them can be made anew.

    Results beside an export elsewhere are named, not removed: `analyse` keeps no record of where it writes. The plan
    goes when nothing failed.
    """
    files = RemovedFiles(held=find_held(removal))
    codes = [code.encode() for code in removal.codes]
    for task in find_tasks(removal):
        if files.remove(settings.VAR / task.folder, remove_whole):
            task.folder = ""
            task.save(update_fields=["folder"])
    for record in list(find_records(removal)):
        remove_recorded(record, codes, files)
    for path in find_files(codes, files):
        folder = folder_of_results(path)
        if folder is None:
            files.remaining.append(name_of(path))
        else:
            files.remove(folder, remove_whole)
    settle(removal, files)
    return files


def settle(removal: ExportRemoval, files: RemovedFiles) -> None:
    """Forget the plan, or store what failed."""
    if not files.failed:
        removal.delete()
        return
    removal.failed = files.failed
    removal.save(update_fields=["failed"])
    for failed in removal.failed:
        log.error(
            "study %s: someone was erased, and what may hold them could not be removed: %s", removal.study, failed
        )


def finish_removals() -> int:
    """Do what is left of earlier erasures; return how many were finished."""
    due = list(ExportRemoval.objects.filter(made_at__lte=timezone.now() - UNDER_WAY).select_related("study"))
    return sum(not remove_exports(removal).failed for removal in due)


@transaction.atomic
def remove_recorded(record: ExportRecord, codes: Collection[bytes], files: RemovedFiles) -> None:
    """Remove what a record names, and the record. An export that is being written finds it gone, and removes itself."""
    list(ExportRecord.objects.select_for_update().filter(pk=record.pk).values_list("pk"))
    path = Path(record.path)
    nearby = list(find_results(path))
    if not files.remove(path, remove_export):
        return
    left = [folder for folder in nearby if has_name(folder, codes)]
    if not any(folder.is_relative_to(path) for folder in left) and has_name(path, codes):
        left.append(path)
    files.remaining += [name_of(folder) for folder in left if name_of(folder) not in files.remaining]
    record.delete()


def find_held(removal: ExportRemoval) -> list[str]:
    """Return every export that may hold the people, with the time of writing."""
    of_tasks = [f"{task.folder} ({task.started_at:{WRITTEN}})" for task in find_tasks(removal)]
    return of_tasks + [f"{name_of(Path(one.path))} ({one.written_at:{WRITTEN}})" for one in find_records(removal)]


def find_tasks(removal: ExportRemoval) -> QuerySet[Task]:
    of_study = Task.objects.filter(study=removal.study).exclude(folder="")
    return of_study.filter(Q(ended_at=None) | Q(ended_at__gte=removal.since))


def find_records(removal: ExportRemoval) -> Iterator[ExportRecord]:
    """Return the records that may hold the people. For test people, exports without test data are left out."""
    for record in removal.study.export_records.filter(written_at__gte=removal.since):
        if record.include_tests or not removal.of_tests:
            yield record


def remove_whole(path: Path) -> bool:
    if not path.exists():
        return False
    rmtree(path)
    return True


def find_results(export: Path) -> Iterator[Path]:
    """Return folders that `analyse` wrote in an export or beside it, outside var/."""
    if export.is_relative_to(settings.VAR):
        return
    for folder in (export, export.parent):
        with suppress(OSError):
            yield from sorted(path.parent for path in folder.glob(f"*/{RESULTS}"))


def has_name(folder: Path, codes: Collection[bytes]) -> bool:
    """Return whether the name is there; true if the file cannot be read."""
    try:
        return any(path.is_file() and contains_word(path, codes) for path in sorted(folder.rglob("*")))
    except OSError:
        return True


def find_files(codes: Collection[bytes], files: RemovedFiles) -> Iterator[Path]:
    """Return all files below var/ with one of these codes in them, except the database's own. What cannot be read is
    noted as failed."""
    for path in sorted(settings.VAR.rglob("*")):
        try:
            holds = path.is_file() and not path.is_symlink() and not is_of_database(path) and contains_word(path, codes)
        except FileNotFoundError:  # it has just gone, with its folder say
            continue
        except OSError as error:
            files.note_failed(path, error)
            continue
        if holds:
            yield path


def is_of_database(path: Path) -> bool:
    """Return whether it is the SQLite file, its write-ahead log or its index."""
    if connection.vendor != "sqlite":
        return False
    return str(path.resolve()).startswith(str(Path(connection.settings_dict["NAME"]).resolve()))


def folder_of_results(path: Path) -> Path | None:
    """Return the folder of results or of an export that a file lies in; None for other files."""
    inside = [folder for folder in path.parents if folder.is_relative_to(settings.VAR) and folder != settings.VAR]
    return next((folder for folder in inside if any((folder / name).exists() for name in (RESULTS, MANIFEST))), None)


def name_of(path: Path) -> str:
    return str(path.relative_to(settings.VAR)) if path.is_relative_to(settings.VAR) else str(path)
