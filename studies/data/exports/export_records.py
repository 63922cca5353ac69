"""A record of the places where exports lie, so that erasing a person finds them."""

from collections.abc import Iterable
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from studies.audit.chain import record
from studies.models import AuditEntry, ExportRecord, Study


@transaction.atomic
def record_export(study: Study, paths: Iterable[Path], *, include_tests: bool) -> None:
    """Remember files or folders with people's data that were just written, and write it down in the audit log. What was
    written anew has one record."""
    now = timezone.now()
    ExportRecord.objects.bulk_create(
        [
            ExportRecord(study=study, path=str(path.resolve()), include_tests=include_tests, written_at=now)
            for path in paths
        ],
        update_conflicts=True,
        unique_fields=["study", "path"],
        update_fields=["include_tests", "written_at"],
    )
    record(study.key, AuditEntry.Act.EXPORTED, AuditEntry.Thing.DATA)
