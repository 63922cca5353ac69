"""A record of the places where exports lie, so that erasing a person finds them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from studies.audit.chain import record
from studies.data.exports.destinations import ExportRefused, remove_export
from studies.models import AuditEntry, ExportRecord, Study


@contextmanager
def recorded_export(study: Study, paths: Iterable[Path], *, include_tests: bool) -> Iterator[None]:
    """Write files or folders with people's data in the block; their record is there before they are.

    An erasure removes what records name, and the records. Where one comes while the block reads and writes, the record
    is gone at its end: then what was written goes too. Raises ExportRefused.
    """
    places = [path.resolve() for path in paths]
    create_records(study, places, include_tests=include_tests)
    try:
        yield
    except BaseException:
        forget_unwritten(study, places)
        raise
    if not confirm_records(study, places):
        for place in places:
            remove_export(place)
        raise ExportRefused(
            "Someone's data were deleted while this was written, so it has been removed again. Please run it once more."
        )


@transaction.atomic
def create_records(study: Study, places: Sequence[Path], *, include_tests: bool) -> None:
    """Create a record for each place; what is written anew has one record."""
    now = timezone.now()
    ExportRecord.objects.bulk_create(
        [ExportRecord(study=study, path=str(place), include_tests=include_tests, written_at=now) for place in places],
        update_conflicts=True,
        unique_fields=["study", "path"],
        update_fields=["include_tests", "written_at"],
    )


@transaction.atomic
def confirm_records(study: Study, places: Sequence[Path]) -> bool:
    """Return whether everything that was written still has its record, and then write the export into the audit log."""
    records = ExportRecord.objects.select_for_update().filter(study=study)
    record_paths = set(records.filter(path__in=map(str, places)).values_list("path", flat=True))
    written = [place for place in places if place.exists()]
    if not record_paths.issuperset(map(str, written)):
        return False
    forget_unwritten(study, places)
    if written:
        record(study.key, AuditEntry.Act.EXPORTED, AuditEntry.Thing.DATA)
    return True


def forget_unwritten(study: Study, places: Sequence[Path]) -> None:
    """Delete the records of places at which nothing lies."""
    missing = [str(place) for place in places if not place.exists()]
    ExportRecord.objects.filter(study=study, path__in=missing).delete()
