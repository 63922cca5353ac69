"""Remove a person's data everywhere it went, by the table of `holdings.py`.

What is left is a code, a track, that they withdrew and a receipt, to be counted, and what they were paid; of one who
never agreed to take part also how far they came. Signs of danger that still wait for the one on call stay without
words, whoever erases: the person is in danger still. The audit log, the payment ledger and adverse events keep their
record code, which then leads to no one.
"""

import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction
from django.db.models import Model, QuerySet
from django.utils import timezone

from dialogue.models import Conversation, RiskEvent
from studies.audit.acting import get_actor
from studies.audit.chain import record
from studies.care.acts import record_act
from studies.care.answers import PERSON
from studies.care.sign_words import CODES, DELETED
from studies.data.exports.removal import find_held, plan_removal, remove_exports
from studies.data.holdings import HOLDINGS, Fate, Holding, Scope, scope_of, scope_of_imported, scope_of_study
from studies.interviews import attachments
from studies.models import AdverseEvent, AuditEntry, ExportRemoval, Participation, Receipt, SafetyAct, Study
from studies.models.participation import Status
from studies.participation.counts import open_risks_of
from studies.participation.locking import lock_person
from studies.payments.ledger import book_owed

AT_ONCE = 500  # rows
OF_SAFETY = ("alarms", "safety_acts", "risk_events")  # which others acted on

logger = logging.getLogger(__name__)


class NotFinished(Exception):
    """The study is not closed, or people are under way."""


@dataclass
class RemovedRecords:
    """The rows, files and folders that were removed, and the other files below var/ that still name the person.

    `exports`: every export that may have held the person, with the time of writing, also where it is not here any more:
    someone may have copied it. `failed`: what should go and could not be removed yet, with the reason. `receipt`: the
    code of the receipt; empty without one.
    """

    rows: dict[str, int] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    remaining: list[str] = field(default_factory=list)
    exports: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    receipt: str = ""


def erase(participation: Participation, *, kind: Receipt.Kind = Receipt.Kind.ERASED) -> RemovedRecords:
    """Remove a person from the database, its write-ahead log, and every export and result on this server. `kind`: of
    the receipt, which says whether they did it themselves or the team did."""
    with transaction.atomic():
        plan = plan_removal(participation, get_identifiers(scope_of(participation)))
        removed = erase_rows(participation, by_person=kind == Receipt.Kind.DELETED)
        removed.receipt = give_receipt(participation, removed, kind, find_held(plan))
    erase_exports(removed, plan)
    connection.on_commit(clear_write_ahead_log)
    return removed


def erase_imported(study: Study, name: str) -> RemovedRecords:
    """Remove a person whom only imported files name, as the seeker of conversations or as a rater.

    Exports since the study was made may hold them, and go.
    """
    scope = scope_of_imported(study, name)
    with transaction.atomic():
        plan = plan_removal(study, [name, *get_identifiers(scope)])
        removed = RemovedRecords(remove_rows(scope))
        if not any(removed.rows.values()):
            plan.delete()
            return removed
        record(study.key, AuditEntry.Act.ERASED, AuditEntry.Thing.DATA)
    erase_exports(removed, plan)
    connection.on_commit(clear_write_ahead_log)
    return removed


def erase_everybody(study: Study) -> RemovedRecords:
    """Remove all people of a study as `erase` does, also those of imported files. Codes and payments stay.

    Raises NotFinished.
    """
    if not study.is_finished():
        raise NotFinished(study.key)
    with transaction.atomic():
        plan = plan_removal(study, get_identifiers(scope_of_study(study)))
        removed = erase_rows_of_everybody(study)
    erase_exports(removed, plan)
    connection.on_commit(clear_write_ahead_log)
    return removed


@transaction.atomic
def erase_rows_of_everybody(study: Study) -> RemovedRecords:
    fresh = Study.objects.select_for_update().get(pk=study.pk)
    book_owed(fresh)
    people = list(fresh.participations.exclude(record_code=None))
    kept = [sign for person in people for sign in keep_waiting_signs(person, by_person=False)]
    removed = RemovedRecords(remove_rows(scope_of_study(fresh), kept_signs=kept))
    for person in people:
        cut_links(person)
    record(fresh.key, AuditEntry.Act.ERASED, AuditEntry.Thing.DATA)
    return removed


def erase_exports(removed: RemovedRecords, plan: ExportRemoval) -> None:
    files = remove_exports(plan)
    removed.folders, removed.remaining, removed.exports = files.removed, files.remaining, files.held
    removed.failed = files.failed


def give_receipt(person: Participation, removed: RemovedRecords, kind: Receipt.Kind, exports: list[str]) -> str:
    """Return the code of the receipt, which names the exports that may have held the person; a second erasure that
    found nothing gives no second one."""
    rows = {kind: count for kind, count in removed.rows.items() if count}
    earlier = person.receipts.exclude(kind=Receipt.Kind.KEPT).last()
    if earlier and not rows:
        return earlier.code
    values = {"kind": kind, "rows": rows, "exports": exports}
    return Receipt.objects.create(participation=person, **values).code


def get_identifiers(scope: Scope) -> list[str]:
    """Return the codes by which files name people: their own, and those of their conversations."""
    return [*scope.codes, *Conversation.objects.filter(run__in=scope.runs).values_list("code", flat=True)]


def clear_write_ahead_log() -> None:
    """Move all of SQLite's write-ahead log into its file, where erased rows are zeros, and make the log empty.

    PostgreSQL has nothing of the kind that we could do: docs/running.md says how long its files keep what was erased.
    """
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # waits for those who read, as long as for a lock
        if cursor.fetchone()[0]:
            logger.warning("Someone was reading: SQLite's log keeps what was erased until the next erasure or restart.")


@transaction.atomic
def erase_rows(participation: Participation, *, by_person: bool = False) -> RemovedRecords:
    person = lock_person(participation)
    if not person.is_over() and person.consents.exists():  # they leave with it, and their time counts
        person.status = Status.WITHDRAWN
        person.save(update_fields=["status"])
    book_owed(person.study)  # the rule needs what is erased now
    kept = keep_waiting_signs(person, by_person=by_person)
    removed = RemovedRecords(remove_rows(scope_of(person), kept_signs=kept))
    cut_links(person)
    return removed


def keep_waiting_signs(person: Participation, *, by_person: bool) -> list[int]:
    """Take all words out of the signs of danger that wait for the one on call, and return the keys of these signs.

    Whoever is erased in danger is in danger still, so the alarm goes on until someone acknowledges it. Test people are
    in none.
    """
    signs = [] if person.is_test else list(open_risks_of(person))
    for sign in [] if person.is_erased() else signs:
        sign.acts.exclude(kind__in=CODES).update(text="")
        sign.conversation, sign.turn, sign.note = None, None, ""
        sign.save(update_fields=["conversation", "turn", "note"])
        if by_person:
            record_act(sign, SafetyAct.Kind.ANSWERED, by_name=PERSON, text=DELETED)
        else:
            record_act(sign, SafetyAct.Kind.ERASED, by_name=get_actor().name)
    return [sign.pk for sign in signs]


def cut_links(person: Participation) -> None:
    """Leave nothing that leads from what is kept to the person, and write the erasure down."""
    record_code = person.record_code or ""
    unlink_ledger(person)
    forget_in_adverse_events(person)
    blank_row(person)
    record(person.study.key, AuditEntry.Act.ERASED, AuditEntry.Thing.PERSON, record_code)


def unlink_ledger(person: Participation) -> None:
    """Keep amounts and the record code, but neither the person nor a word."""
    person.ledger.update(participation=None, reason="")


def forget_in_adverse_events(person: Participation) -> None:
    """Keep that something happened, how severe it was and the record code, but neither the person nor a word."""
    AdverseEvent.objects.filter(study=person.study, subject=person.code).update(
        subject="", event=None, description="", action="", changes=[]
    )


def forget_unsigned(participation: Participation) -> None:
    """Delete what was given by someone who leaves without having agreed to take part.

    What is left is counted: a code, a track, how far they came and when, and events of safety, which others acted on.
    """
    with transaction.atomic():
        plan = plan_removal(participation, get_identifiers(scope_of(participation)))
        removed = forget_rows(participation)
        if removed is None:
            plan.delete()
            return
        removed.receipt = give_receipt(participation, removed, Receipt.Kind.DELETED, find_held(plan))
    erase_exports(removed, plan)
    connection.on_commit(clear_write_ahead_log)


@transaction.atomic
def forget_rows(participation: Participation) -> RemovedRecords | None:
    person = lock_person(participation)
    if person.is_over() or person.consents.exists():
        return None
    RiskEvent.objects.filter(subject=person.code).update(conversation=None)  # it would go with its conversation
    removed = RemovedRecords(remove_rows(scope_of(person), keep=OF_SAFETY))
    clear_row(person)
    person.ended_at = timezone.now()
    person.save()
    return removed


@transaction.atomic
def remove_rows(scope: Scope, *, keep: Collection[str] = (), kept_signs: Collection[int] = ()) -> dict[str, int]:
    """Delete all that `holdings.py` says is deleted; return how many rows of each kind, and files of interviews.

    `keep`: kinds of record that stay. `kept_signs`: signs of danger that stay, with their alarms and acts.
    """
    deleted = [each for each in HOLDINGS if each.erased == Fate.DELETED and each.name not in keep]
    # All are found before any is deleted: one kind leads to another.
    holdings = [
        (each, list(find_removable(each, scope, kept_signs).order_by().values_list("pk", flat=True).distinct()))
        for each in deleted
    ]
    rows = {each.name: len(numbers) for each, numbers in holdings}
    rows["interview_files"] = sum(map(attachments.remove_files_of, scope.people))
    for each, numbers in holdings:
        delete(each.model, numbers)
    return rows


def find_removable(holding: Holding, scope: Scope, kept_signs: Collection[int]) -> QuerySet[Any]:
    found = holding.find(scope)
    if holding.name not in OF_SAFETY:
        return found
    return found.exclude(**{"pk__in" if holding.model is RiskEvent else "event__in": kept_signs})


def delete(model: type[Model], numbers: list[Any]) -> None:
    for some in in_parts(numbers):
        model._default_manager.filter(pk__in=some).delete()


def in_parts(numbers: list[Any]) -> Iterator[list[Any]]:
    return (numbers[start : start + AT_ONCE] for start in range(0, len(numbers), AT_ONCE))


def blank_row(person: Participation) -> None:
    """Clear an erased person's row, also how far they came, their record code and their link."""
    clear_row(person)
    person.plan, person.position = [], 0
    person.record_code = None
    person.token_hash, person.browser_hash = f"erased-{person.pk}", ""
    person.save()


def clear_row(person: Participation) -> None:
    """Clear a withdrawn person's row of all but how far they came and their link."""
    person.status = Status.WITHDRAWN
    person.language = person.country = person.completion_code = person.exclusion_reason = ""
    person.order, person.cards, person.outcome = [], [], {}
    person.quiz_attempts = person.percent_shown = 0
    person.order_index = person.last_seen_at = person.awaited_since = None
