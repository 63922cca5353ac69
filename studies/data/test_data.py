"""Throw away the test data of a study: bots, and test links.

Nothing is left of them, so a version that only they have met can change again, and earlier ones go.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.db import connection, transaction

from studies.data.erasure import clear_write_ahead_log, erase_rows, get_identifiers
from studies.data.exports.removal import RemovedFiles, plan_removal, remove_exports
from studies.data.holdings import scope_of
from studies.models import AdverseEvent, ExportRemoval, Participation, Stage, Study

OnProgress = Callable[[int, int], None]  # people done, of how many


@dataclass
class RemovedTestData:
    """The numbers of rows that were removed, by kind; folders that were removed, and files that still name someone."""

    people: int = 0
    rows: Counter[str] = field(default_factory=Counter)
    files: RemovedFiles = field(default_factory=RemovedFiles)


def remove_test_data(study: Study, on_progress: OnProgress = lambda _done, _total: None) -> RemovedTestData:
    """Remove each test person with all that an erasure removes, and their rows; then exports and results with them."""
    people = list(study.participations.test_data().order_by("pk"))
    removed = RemovedTestData(len(people))
    plan = plan_test_removal(people)
    for number, person in enumerate(people):
        on_progress(number, len(people))
        removed.rows.update(remove_person(person))
    if study.stage == Stage.REHEARSAL:
        drop_earlier_versions(study)
    if plan:
        on_progress(len(people), len(people))
        removed.files = remove_exports(plan)
        connection.on_commit(clear_write_ahead_log)
    return removed


def plan_test_removal(people: Sequence[Participation]) -> ExportRemoval | None:
    """Store which exports are to go. A plan that is left behind by a crash takes out no more than these would."""
    if not people:
        return None
    codes = [code for person in people for code in get_identifiers(scope_of(person))]
    return plan_removal(min(people, key=lambda one: one.created_at), codes)


@transaction.atomic
def drop_earlier_versions(study: Study) -> None:
    """Drop the versions that only a rehearsal has met, so that what is opened is version 1 where nothing else stays."""
    current = study.current()
    study.protocols.filter(participations=None, runs=None, opened_at=None).exclude(pk=current.pk).delete()
    if study.protocols.count() == 1:
        study.protocols.update(version=1)


@transaction.atomic
def remove_person(person: Participation) -> dict[str, int]:
    """Remove one test person at once; return how many rows of each kind went."""
    AdverseEvent.objects.filter(study=person.study, subject=person.code).delete()
    rows = erase_rows(person).rows
    Participation.objects.get(pk=person.pk).delete()
    return rows
