"""Delete the answers of applicants who cannot take part, as the notice at the screening promises.

It is about studies with manual selection, and about people who were declined or screened out before they agreed to take
part. What is left: a code, a track, a language, how the screening ended, the decision with its reason, and events of
safety, which others acted on. Servers do it once an hour.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from studies.audit.chain import record
from studies.data.erasure import clear_write_ahead_log
from studies.data.exports.removal import plan_removal, remove_exports
from studies.models import AuditEntry, Participation, Protocol, Rater, SelectionScore
from studies.models.participation import Status


def forget_declined() -> int:
    """Delete what is due, and every export on this server that may hold it; return how many people it was of."""
    due = list(find_due(timezone.now()))
    together: dict[tuple[int, bool], list[Participation]] = {}
    for person in due:
        together.setdefault((person.study_id, person.is_test), []).append(person)
    for people in together.values():
        forget(people)
    return len(due)


def find_due(now: datetime) -> QuerySet[Participation]:
    """Return the people whose time is over and of whom something is left. Each keeps the rule of their own version."""
    limits = {protocol.pk: protocol.keeps_declined() for protocol in Protocol.objects.only("design")}
    over = [Q(protocol=pk, ended_at__lt=now - keeps) for pk, keeps in limits.items() if keeps]
    if not over:
        return Participation.objects.none()
    answers = Rater.objects.filter(participation=OuterRef("pk"))
    scores = SelectionScore.objects.filter(participation=OuterRef("pk"))
    people = Participation.objects.filter(Q(*over, _connector=Q.OR), status=Status.SCREENED_OUT, consents=None)
    return people.filter(Exists(answers) | Exists(scores)).select_related("study").order_by("created_at", "pk")


def forget(people: Sequence[Participation]) -> None:
    """Delete the answers of people of one study who are all real or all test people, the earliest first."""
    with transaction.atomic():
        plan = plan_removal(people[0], [person.code for person in people])
        for person in people:
            forget_answers(person)
        for person in people:
            record(person.study.key, AuditEntry.Act.ERASED, AuditEntry.Thing.APPLICANT, person.record_code or "")
    remove_exports(plan)
    connection.on_commit(clear_write_ahead_log)


def forget_answers(person: Participation) -> None:
    Rater.objects.filter(participation=person).delete()
    person.selection_scores.all().delete()
    person.drafts.all().delete()
    person.country = ""
    person.outcome = {"kind": person.outcome.get("kind", "")}
    person.save(update_fields=["country", "outcome"])
