"""Time out people who have begun and do not come back.

A study file may set the number of days without a sign of life (`gone_after_days`); each person's own version of the
study decides for them.

No timer does this. Timeouts are applied wherever they matter: on researchers' pages, in exports, when a place in the
design is drawn, and when the person comes back. People who are held, in review or waiting for their interviewer are
never timed out, because they wait for us. Nor are people whom the team has paused.

A sign of life is a page, an answer that they have begun to type, or a message. A message in a conversation that a
browser kept open counts also after the days are over, as long as no one has timed the person out.
"""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from dialogue.chat import lifecycle
from dialogue.models.conversation import EndReason
from studies.allocation.leases import absent_since
from studies.models import Participation, Study
from studies.models.participation import AWAITED, Status
from studies.participation.locking import lock_people, lock_person
from studies.participation.step_kinds import KINDS
from studies.participation.time_spent import seconds_spent
from studies.participation.unblinding import is_blinded
from studies.webhooks.events import announce_end


def time_out_absent(study: Study) -> None:
    """Time out all absent people of a study, but for one that is paused: it is we who are away.

    It makes two queries if no one is due, one without `gone_after_days`.
    """
    if study.is_paused():
        return
    now = timezone.now()
    due = [person.pk for person in get_overdue(study, now) if not waits_for_researchers(person)]
    if due:
        time_out(study, due, now)


def time_out_if_absent(person: Participation) -> None:
    """Time out a person who comes back too late, before the visit counts. It makes no query after a short absence."""
    patience = person.protocol.patience() if person.protocol and person.status in AWAITED else None
    seen = person.last_seen_at or person.started_at
    if patience and seen and seen < timezone.now() - patience:
        time_out_absent(person.study)
        person.refresh_from_db()


def get_overdue(study: Study, now: datetime) -> QuerySet[Participation]:
    limits = study.protocols.values_list("pk", "design__gone_after_days")
    due = [Q(protocol=pk) & absent_since(now - timedelta(days=days)) for pk, days in limits if days]
    if not due:
        return Participation.objects.none()
    return study.participations.filter(Q(*due, _connector=Q.OR), status__in=AWAITED, paused_at=None)


def waits_for_researchers(person: Participation) -> bool:
    step = person.steps()[person.position] if person.position < len(person.plan) else None
    return step is not None and KINDS[step.kind].waits_for_researchers(person)


@transaction.atomic
def time_out(study: Study, due: list[int], now: datetime) -> None:
    """Time out the people whom one statement still finds absent, so that two calls at once end no one twice."""
    lock_people(due)
    get_overdue(study, now).filter(pk__in=due).update(status=Status.TIMED_OUT, ended_at=now)
    for person in Participation.objects.filter(pk__in=due, status=Status.TIMED_OUT, ended_at=now):
        close_open_conversations(person)
        announce_end(person)


def close_open_conversations(person: Participation) -> None:
    """Close the person's conversations and keep their data, as when they leave."""
    for run in person.runs.filter(conversation__isnull=False):
        lifecycle.stop(run.conversation_id, EndReason.WITHDRAWN)
    person.drafts.all().delete()
    person.active_seconds = seconds_spent(person)
    person.save(update_fields=["active_seconds"])


def restart_timeout(person: Participation) -> None:
    """Restart the timeout of a person whom a researcher let continue."""
    person.awaited_since = timezone.now()
    person.save(update_fields=["awaited_since"])


# Letting people back


def get_readmission_obstacle(person: Participation) -> str:
    """Return why someone who has timed out cannot be let back; empty if they can."""
    spec = person.design()
    if person.order and person.order_index is None and spec.has_block_plan(person.track):
        return _("Someone else now has their row of the block plan.")
    if person.study.is_closed() and not person.is_test and not is_blinded(person.study):
        return _(
            "The study is closed and its results by arm have been shown. No one can be let back in, because the "
            "results may have influenced the choice."
        )
    return ""


@transaction.atomic
def readmit(person: Participation) -> bool:
    """Let a timed-out person continue where they were, and return whether this was possible.

    A conversation with messages stays ended, because it may have been read, judged and exported since.
    """
    fresh = lock_person(person)
    if fresh.status != Status.TIMED_OUT or get_readmission_obstacle(fresh):
        return False
    fresh.status, fresh.ended_at, fresh.active_seconds = fresh.status_under_way(), None, 0
    fresh.save(update_fields=["status", "ended_at", "active_seconds"])
    restart_timeout(fresh)
    for run in fresh.runs.filter(conversation__isnull=False):
        lifecycle.reopen_unused(run.conversation_id)
    return True
