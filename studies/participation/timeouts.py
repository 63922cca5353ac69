"""Who has begun and does not come back. A study file may say after how many days without a sign of life a person counts
as gone (`gone_after_days`); each person's own version of the study decides for them, as of everything in the design.

Nothing watches the clock: it is looked at wherever it matters who is gone, that is by researchers' pages, by exports,
when a place in the design is drawn, and when the person comes back. A person who is held or in review waits for us and
not we for them, nor does one who waits for their interviewer; they are never gone.

A sign of life is a page of theirs, an answer that they have begun to type, a message. One that comes in a conversation
which a browser has kept open counts also after the days are over, as long as nobody has looked.
"""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from dialogue import chat
from dialogue.models import Turn
from dialogue.models.conversation import EndReason
from studies.models import Draft, Interview, Participation, Study
from studies.models.participation import AWAITED, Status
from studies.participation.step_kinds import KINDS
from studies.participation.time_spent import seconds_spent
from studies.participation.unblinding import is_blinded


def end_for_the_silent(study: Study) -> None:
    """Two queries where nobody is due, one in a study that has no such days."""
    now = timezone.now()
    due = [person.pk for person in silent(study, now) if not waits_for_us(person)]
    if due:
        time_out(study, due, now)


def end_if_silent(person: Participation) -> None:
    """For one who comes back, before they are seen to have. No query unless it is long since they were here."""
    patience = person.protocol.patience() if person.protocol and person.status in AWAITED else None
    seen = person.last_seen_at or person.started_at
    if patience and seen and seen < timezone.now() - patience:
        end_for_the_silent(person.study)
        person.refresh_from_db()


def silent(study: Study, now: datetime) -> QuerySet[Participation]:
    limits = study.protocols.values_list("pk", "design__gone_after_days")
    due = [Q(protocol=pk) & silent_since(now - timedelta(days=days)) for pk, days in limits if days]
    if not due:
        return Participation.objects.none()
    return study.participations.filter(Q(*due, _connector=Q.OR), status__in=AWAITED)


def silent_since(moment: datetime) -> Q:
    turns = Turn.objects.filter(conversation__run__participation=OuterRef("pk"), created_at__gte=moment)
    drafts = Draft.objects.filter(participation=OuterRef("pk"), saved_at__gte=moment)
    interview = Interview.objects.filter(participation=OuterRef("pk"), ended_at__gte=moment)
    seen = Q(last_seen_at=None) | Q(last_seen_at__lt=moment)
    awaited = Q(awaited_since=None) | Q(awaited_since__lt=moment)
    heard = Q(Exists(turns)) | Q(Exists(drafts)) | Q(Exists(interview))
    return Q(started_at__lt=moment) & seen & awaited & ~heard


def waits_for_us(person: Participation) -> bool:
    step = person.steps()[person.position] if person.position < len(person.plan) else None
    return step is not None and KINDS[step.kind].waits_for_us(person)


@transaction.atomic
def time_out(study: Study, due: list[int], now: datetime) -> None:
    """Only whom the one statement finds still silent; two at once end nobody twice."""
    silent(study, now).filter(pk__in=due).update(status=Status.TIMED_OUT, ended_at=now)
    for person in Participation.objects.filter(pk__in=due, status=Status.TIMED_OUT, ended_at=now):
        close_what_is_open(person)


def close_what_is_open(person: Participation) -> None:
    """As where a person leaves and what they gave is kept."""
    for run in person.runs.filter(conversation__isnull=False):
        chat.stop(run.conversation_id, EndReason.WITHDRAWN)
    person.drafts.all().delete()
    person.active_seconds = seconds_spent(person)
    person.save(update_fields=["active_seconds"])


def await_from_now(person: Participation) -> None:
    """A researcher has let them go on: what was before is not held against them."""
    person.awaited_since = timezone.now()
    person.save(update_fields=["awaited_since"])


# Back again


def hindrance(person: Participation) -> str:
    """Why somebody who has timed out cannot be let back; empty where they can."""
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
def let_back(person: Participation) -> bool:
    """They go on after what they had done. A conversation in which something was said stays ended: it may have been
    read, judged and exported since. False where nothing was changed."""
    fresh = Participation.objects.select_for_update(of=("self",)).select_related("study").get(pk=person.pk)
    if fresh.status != Status.TIMED_OUT or hindrance(fresh):
        return False
    fresh.status, fresh.ended_at, fresh.active_seconds = fresh.status_under_way(), None, 0
    fresh.save(update_fields=["status", "ended_at", "active_seconds"])
    await_from_now(fresh)
    for run in fresh.runs.filter(conversation__isnull=False):
        chat.reopen_unused(run.conversation_id)
    return True
