"""Remove every export and result that holds a person who is erased."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q

from studies.data.exports.destinations import MANIFEST, remove_export
from studies.data.exports.word_search import contains_word
from studies.models import ExportRecord, Participation, Study, Task

RESULTS = "results.json"  # what a folder written by `analyse` holds
WRITTEN = "%Y-%m-%d %H:%M UTC"


@dataclass
class RemovedFiles:
    """The files that were removed, and the other files below var/ that still name the person.

    `held`: every export that may have held them, with the time of writing. Paths below var/ are relative to it.
    """

    removed: list[str] = field(default_factory=list)
    remaining: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)


def remove_exports(since: Participation | Study, identifiers: Collection[str]) -> RemovedFiles:
    """Remove every export and result on this server that may hold a person, or anyone of a study; all of them can be
    made anew. What was written before the person came, or the study was made, cannot hold them.

    `identifiers` are the codes of the person and of their conversations, by which files below var/ are found that no
    record names, such as results that were computed from an export. Results beside an export elsewhere are named, not
    removed: `analyse` keeps no record of where it writes.
    """
    files = RemovedFiles()
    codes = [identifier.encode() for identifier in identifiers]
    study = since if isinstance(since, Study) else since.study
    of_study = Task.objects.filter(study=study).exclude(folder="")
    for task in of_study.filter(Q(ended_at=None) | Q(ended_at__gte=since.created_at)):
        files.held.append(f"{task.folder} ({task.started_at:{WRITTEN}})")
        if remove_whole(settings.VAR / task.folder):
            files.removed.append(task.folder)
        task.folder = ""
        task.save(update_fields=["folder"])
    for record in list(find_records(study, since)):
        remove_recorded(record, codes, files)
    for path in find_files(codes):
        folder = folder_of_results(path)
        if folder is None:
            files.remaining.append(name_of(path))
        elif remove_whole(folder):
            files.removed.append(name_of(folder))
    return files


@transaction.atomic
def remove_recorded(record: ExportRecord, codes: Collection[bytes], files: RemovedFiles) -> None:
    """Remove what a record names, and the record. An export that is being written finds it gone, and removes itself."""
    list(ExportRecord.objects.select_for_update().filter(pk=record.pk).values_list("pk"))
    path = Path(record.path)
    files.held.append(f"{name_of(path)} ({record.written_at:{WRITTEN}})")
    nearby = list(find_results(path))
    if remove_export(path):
        files.removed.append(name_of(path))
    left = [folder for folder in nearby if has_name(folder, codes)]
    if not any(folder.is_relative_to(path) for folder in left) and has_name(path, codes):
        left.append(path)
    files.remaining += [name_of(folder) for folder in left if name_of(folder) not in files.remaining]
    record.delete()


def find_records(study: Study, since: Participation | Study) -> Iterator[ExportRecord]:
    """Return the records that may hold the person or the study. For a test person, exports without test data are left
    out."""
    is_test = isinstance(since, Participation) and since.is_test
    for record in study.export_records.filter(written_at__gte=since.created_at):
        if record.include_tests or not is_test:
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


def find_files(codes: Collection[bytes]) -> Iterator[Path]:
    """Return all files below var/ with one of these codes in them, except the database's own."""
    for path in sorted(settings.VAR.rglob("*")):
        if path.is_file() and not path.is_symlink() and not is_of_database(path) and contains_word(path, codes):
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
