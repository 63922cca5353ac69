"""Write an export folder: all of it, of one moment, counted against the database; or nothing."""

import csv
import hashlib
import json
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Min
from django.utils import timezone

from dialogue.models.conversation import SeekerKind
from studies.data.exports.codebook import FILE as CODEBOOK
from studies.data.exports.codebook import HEADER, build_codebook, questionnaires_in
from studies.data.exports.columns import Filter, Table
from studies.data.exports.designs import FILE as DESIGNS
from studies.data.exports.designs import describe_design
from studies.data.exports.destinations import (
    MANIFEST,
    ExportRefused,
    read_earlier_manifest,
    refuse_other_study,
    refuse_unusable_folder,
)
from studies.data.exports.export_records import recorded_export
from studies.data.exports.masking import read_rows
from studies.data.exports.tables import TABLES
from studies.models import Amendment, Protocol, Study, Unblinding
from studies.models.response import RaterKind
from studies.participation.timeouts import time_out_absent
from studies.participation.unblinding import unblinding_of
from studies.workbench.csv_cells import format_cell

AT_ONCE = 1000  # rows
VARIANT = "~"  # in the code of a judge that was asked in another way: KEY~VARIANT


class ExportIncomplete(Exception):
    """The files do not hold what the database counts."""


@dataclass(frozen=True)
class WrittenFile:
    """The facts of a written file.

    `database_rows` is what the database counts; None for a file that is no table of it.
    """

    rows: int
    database_rows: int | None
    sha256: str = ""


def export(study: Study, out: Path, *, only: Filter, on_file: Callable[[str, int], None]) -> dict[str, Any]:
    """Write the files of CONTRACT.md into `out`, in place of an earlier export of the same study; returns the manifest.

    `on_file(name, rows)` is called for each file once all are written. Raises ExportRefused or ExportIncomplete, and
    then `out` is as it was.
    """
    refuse_foreign(out, study)
    time_out_absent(study)
    out.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        with recorded_export(study, [out], include_tests=only.include_tests):
            manifest = write_export(study, folder, only=only, on_file=on_file)
            put_in_place(folder, out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return manifest


def write_export(
    study: Study, folder: Path, *, only: Filter, on_file: Callable[[str, int], None] = lambda _name, _rows: None
) -> dict[str, Any]:
    """Write an export of this moment into an empty folder; returns the manifest. Raises ExportIncomplete."""
    with snapshot():
        files = write_files(folder, study, only)
        manifest = build_manifest(study, only)
    refuse_incomplete(files)
    manifest["files"] = {name: asdict(written) for name, written in hash_files(folder, files, on_file)}
    write_json(folder / MANIFEST, manifest)
    return manifest


def refuse_foreign(out: Path, study: Study) -> None:
    """Raise ExportRefused if something else than an earlier export of the study is there."""
    refuse_unusable_folder(out)
    if not out.exists() or not any(out.iterdir()):
        return
    earlier = read_earlier_manifest(out)
    if earlier is None:
        raise ExportRefused(f"{out}: is not empty and no earlier export. Name a new folder.")
    refuse_other_study(out, earlier.get("study"), study.key, kind="folder")


@contextmanager
def snapshot() -> Iterator[None]:
    """Let every query see the same moment, without keeping anyone who writes waiting. Nothing may be written in it."""
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        # Not atomic(), which would take the write lock (settings: IMMEDIATE) and stop every conversation.
        with connection.cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            with connection.cursor() as cursor:
                cursor.execute("ROLLBACK")
    else:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield


def write_files(folder: Path, study: Study, only: Filter) -> dict[str, WrittenFile]:
    files = {}
    written = []
    for table in TABLES:
        rows = write_table(folder, table, study, only)
        files[table.file] = WrittenFile(rows, table.count(study, only))
        if (folder / table.file).exists():
            written.append(table)
    entries = [entry.row() for entry in build_codebook(written, questionnaires_in(study, only))]
    write_rows(folder / CODEBOOK, HEADER, entries)
    designs = [describe_design(protocol) for protocol in study.protocols.order_by("version")]
    write_json(folder / DESIGNS, designs)
    return files | {CODEBOOK: WrittenFile(len(entries), None), DESIGNS: WrittenFile(len(designs), None)}


def write_table(folder: Path, table: Table, study: Study, only: Filter) -> int:
    path = folder / table.file
    count = write_rows(path, [column.name for column in table.columns], read_rows(table, study, only))
    if not count and not table.always:
        path.unlink()
    return count


def write_rows(path: Path, header: Iterable[str], rows: Iterable[Iterable[Any]]) -> int:
    count, rows = 0, iter(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        while block := list(islice(rows, AT_ONCE)):
            count += len(block)
            writer.writerows(zip(*map(format_cells, zip(*block, strict=True)), strict=True))
    return count


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def format_cells(column: tuple[Any, ...]) -> Iterator[str]:
    """Return each value of a column as `format_cell` writes it.

    Each different value is written once, for few of a column's differ. A column has one type, so what is equal is
    written alike.
    """
    written = {value: format_cell(value) for value in set(column)}
    return map(written.__getitem__, column)


def refuse_incomplete(files: dict[str, WrittenFile]) -> None:
    wrong = [
        f"{name}: {written.rows} rows, but the database has {written.database_rows}"
        for name, written in files.items()
        if written.database_rows not in (None, written.rows)
    ]
    if wrong:
        raise ExportIncomplete("\n".join(wrong))


def hash_files(
    folder: Path, files: dict[str, WrittenFile], on_file: Callable[[str, int], None]
) -> Iterator[tuple[str, WrittenFile]]:
    for name, written in files.items():
        on_file(name, written.rows)
        if (folder / name).exists():
            yield name, WrittenFile(written.rows, written.database_rows, sha256(folder / name))


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def put_in_place(folder: Path, out: Path) -> None:
    """Put the folder in place of the earlier export.

    What others have put beside it, such as results of `analyse`, stays.
    """
    if not out.exists():
        folder.rename(out)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent)) / out.name
    ours = {MANIFEST, *(read_earlier_manifest(out) or {"files": {}})["files"]}
    out.rename(old)
    folder.rename(out)
    for path in old.iterdir():
        if path.name not in ours:
            path.rename(out / path.name)
    shutil.rmtree(old.parent)


def build_manifest(study: Study, only: Filter) -> dict[str, Any]:
    protocols = list(study.protocols.order_by("version").select_related("amendment").prefetch_related("arms"))
    design = protocols[-1].design
    first_answer_at = only.responses(study).aggregate(first=Min("submitted_at"))["first"]
    return {
        "study": study.key,
        "title": design["title"],
        "languages": design["languages"],
        "protocols": [describe_protocol(protocol) for protocol in protocols],
        "arms": describe_arms(protocols),
        "primary": list(list_contrasts(protocols, first_answer_at)),
        "alt_test_epsilon": asdict(protocols[-1].spec().alt_test),
        "first_answer_at": format_cell(first_answer_at) or None,
        "emostudy": get_product_version(),
        "filters": asdict(only),
        "demonstration": is_demonstration(study, only, protocols),
        "closed_at": format_cell(study.closed_at) or None,
        "unblinded": describe_unblinding(unblinding_of(study)),
        "exported_at": format_cell(timezone.now()),
    }


def describe_unblinding(unblinding: Unblinding | None) -> dict[str, str] | None:
    """Return when and why, but not by whom: exports name no researcher."""
    if unblinding is None:
        return None
    return {"at": format_cell(unblinding.at), "when": unblinding.when, "reason": unblinding.reason}


def describe_protocol(protocol: Protocol) -> dict[str, Any]:
    return {
        "version": protocol.version,
        "hash": protocol.hash(),
        "order_seed": protocol.design["order"]["seed"],
        "opened_at": format_cell(protocol.opened_at) or None,
        "amendment": describe_amendment(getattr(protocol, "amendment", None)),
    }


def describe_amendment(amendment: Amendment | None) -> dict[str, Any] | None:
    """Return its number, when and why, but not by whom: exports name no researcher."""
    if amendment is None:
        return None
    return {
        "number": amendment.number,
        "at": format_cell(amendment.at),
        "reason": amendment.reason,
        "asks_again": amendment.asks_again,
    }


def describe_arms(protocols: list[Protocol]) -> list[dict[str, Any]]:
    """Return the arms of all versions, each as the last version that has it describes it."""
    arms = {arm.key: arm for protocol in protocols for arm in protocol.arms.all()}
    return [
        {"arm": arm.key, "title": arm.title, "model": arm.model, "group": arm.group, "reasoning": arm.reasoning}
        for arm in arms.values()
    ]


def list_contrasts(protocols: list[Protocol], first_answer_at: datetime | None) -> Iterator[dict[str, Any]]:
    """Yield the primary contrasts of any version, each with the first version of those in a row that have it.

    `withdrawn_in` is the version after these; None of what the last one declares.
    """
    for number, protocol in enumerate(protocols):
        before = protocols[number - 1].spec().primary if number else ()
        for contrast in protocol.spec().primary:
            if contrast not in before:
                without = (later.version for later in protocols[number:] if contrast not in later.spec().primary)
                yield asdict(contrast) | {
                    "version": protocol.version,
                    "declared_at": format_cell(protocol.created_at),
                    "before_first_answer": first_answer_at is None or protocol.created_at < first_answer_at,
                    "withdrawn_in": next(without, None),
                }


def get_product_version() -> str:
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def is_demonstration(study: Study, only: Filter, protocols: list[Protocol]) -> bool:
    """Return whether nothing was measured: all arms are scripts, or all judges, or all people are test data.

    Arms and judges that no row of the export is of say nothing about it, unless it has no rows at all.
    """
    runs, responses = only.runs(study), only.responses(study)
    is_empty = not (runs.exists() or responses.exists())
    met = set(runs.exclude(conversation__seeker_kind=SeekerKind.IMPORTED).values_list("protocol", "arm").distinct())
    judged = responses.filter(rater__kind=RaterKind.JUDGE).values_list("rater__code", flat=True).distinct()
    judge_keys = {code.partition(VARIANT)[0] for code in judged}
    arms = [
        arm.is_demonstration()
        for protocol in protocols
        for arm in protocol.arms.all()
        if is_empty or (protocol.pk, arm.key) in met
    ]
    judges = [
        judge.is_demonstration()
        for protocol in protocols
        for judge in protocol.judges.all()
        if is_empty or judge.key in judge_keys
    ]
    people = list(only.participations(study).values_list("is_test", flat=True).distinct())
    return any(kind and all(kind) for kind in (arms, judges, people))
