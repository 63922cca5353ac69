"""Anonymise a finished study: identifiers and free text go, ratings, coded answers, numbers and times stay.

`holdings.py` says what goes from which records (`anonymised`, `blanks`); what needs more than that is here. Country and
language of people stay, so in a small study a reader may still guess who someone is: docs/running.md says so.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from dialogue.models import RiskEvent
from studies.audit.chain import record
from studies.data.erasure import NotFinished, clear_write_ahead_log, delete, get_identifiers, in_parts
from studies.data.exports.removal import plan_removal, remove_exports
from studies.data.holdings import HOLDINGS, Fate, scope_of_study
from studies.instruments.loading import InstrumentError, load
from studies.interviews import attachments
from studies.models import AdverseEvent, Answer, AuditEntry, Participation, Rater, Study
from studies.models.participation import new_code
from studies.payments.ledger import book_owed

CODED = ("single", "checkbox", "country")  # types of items whose text is the key of an option


@dataclass
class AnonymisedRecords:
    """Records that were deleted or cleared, by kind, and files that were removed, still name someone, or could not be
    removed yet."""

    deleted: dict[str, int] = field(default_factory=dict)
    cleared: dict[str, int] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    remaining: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def anonymise(study: Study) -> AnonymisedRecords:
    """Take identifiers and free text out of a study, and remove its exports on this server. Raises NotFinished.

    A second time it takes out what came since, as by an import.
    """
    if not study.is_finished():
        raise NotFinished(study.key)
    with transaction.atomic():
        plan = plan_removal(study, get_identifiers(scope_of_study(study)))
        records = anonymise_rows(study)
    files = remove_exports(plan)
    records.folders, records.remaining, records.failed = files.removed, files.remaining, files.failed
    connection.on_commit(clear_write_ahead_log)
    return records


@transaction.atomic
def anonymise_rows(study: Study) -> AnonymisedRecords:
    fresh = Study.objects.select_for_update().get(pk=study.pk)
    book_owed(fresh)  # the rule needs what goes now
    scope = scope_of_study(fresh)
    holdings = [(each, list(each.find(scope).order_by().values_list("pk", flat=True).distinct())) for each in HOLDINGS]
    records = AnonymisedRecords({"interview_files": sum(map(attachments.remove_files_of, scope.people))})
    for each, numbers in holdings:
        if each.anonymised == Fate.DELETED:
            delete(each.model, numbers)
            records.deleted[each.name] = len(numbers)
        elif each.blanks or each.name in CLEARERS:
            for some in in_parts(numbers):
                rows = each.model._default_manager.filter(pk__in=some)
                if each.blanks:
                    rows.update(**each.blanks)
                if each.name in CLEARERS:
                    CLEARERS[each.name](rows)
            records.cleared[each.name] = len(numbers)
    study.anonymised_at = fresh.anonymised_at = timezone.now()
    fresh.save(update_fields=["anonymised_at"])
    record(fresh.key, AuditEntry.Act.ERASED, AuditEntry.Thing.DATA)
    return records


def clear_answers(answers: QuerySet[Answer]) -> None:
    """Keep coded answers and scores; take out what people wrote."""
    free = Q(pk__in=[])
    for instrument, item in answers.values_list("response__instrument", "item").distinct():
        if not is_coded(instrument, item):
            free |= Q(response__instrument=instrument, item=item)
    Answer.objects.filter(pk__in=list(answers.filter(free).values_list("pk", flat=True))).update(text="")


def is_coded(instrument: str, key: str) -> bool:
    """Return whether the text of an answer is one of a list; of an instrument that is not here, no one knows."""
    try:
        return load(instrument).item(key).type in CODED
    except (InstrumentError, KeyError, OSError):
        return False


def recode_raters(raters: QuerySet[Rater]) -> None:
    """Give raters whom only a file names codes of ours. Those of people change with the people's codes."""
    for rater in raters.filter(participation=None):
        rater.code = new_code()
        rater.save(update_fields=["code"])


def recode_people(people: QuerySet[Participation]) -> None:
    """Give people new codes, which no list has, and end their links."""
    for person in people:
        old, person.code = person.code, new_code()
        person.token_hash = f"anonymous-{person.pk}"
        person.exclusion_reason = person.completion_code = ""
        person.outcome = {"kind": person.outcome["kind"]} if "kind" in person.outcome else {}
        person.last_seen_at = None
        person.save()
        person.raters.update(code=person.code)
        RiskEvent.objects.filter(subject=old).update(subject=person.code)
        AdverseEvent.objects.filter(study=person.study_id, subject=old).update(subject=person.code)


CLEARERS: Mapping[str, Callable[[QuerySet], None]] = {
    "answers": clear_answers,
    "raters": recode_raters,
    "participations": recode_people,
}


def describe_rules() -> Iterator[tuple[str, str]]:
    """Yield each kind of record, and what anonymising does to it."""
    for each in HOLDINGS:
        if each.anonymised == Fate.DELETED:
            yield each.name, "deleted"
        elif each.name == "answers":
            yield each.name, "free text and reasons are cleared; scores and chosen options stay"
        elif each.name in ("raters", "participations"):
            yield each.name, "new codes; links end"
        elif each.blanks:
            yield each.name, f"cleared: {', '.join(each.blanks)}"
