"""The steps that a sign of danger sets off in a study.

The person waits or is let go kindly, and the one on call is told.
"""

from django.db import transaction
from django.utils import timezone

from dialogue.chat import lifecycle
from dialogue.models import RiskEvent
from studies.care.acts import record_act
from studies.care.alarms import acknowledge, raise_alarm
from studies.models import ArmRun, Participation, SafetyAct
from studies.models.participation import Status
from studies.participation import progress, timeouts
from studies.participation.locking import lock_person
from studies.participation.time_spent import seconds_spent


def handle_risk(event: RiskEvent) -> None:
    """Act on a sign of danger; dialogue calls this inside the transaction that stored the event."""
    run = ArmRun.objects.select_related("participation").filter(conversation=event.conversation).first()
    if run is None:
        return
    event.is_test = run.is_test or run.participation is None  # a simulated seeker is no one
    if run.participation is None:
        event.save(update_fields=["is_test"])
        return
    event.subject, event.is_test = run.participation.code, event.is_test or run.participation.is_test
    event.save(update_fields=["subject", "is_test"])
    if event.source == RiskEvent.Source.MESSAGE:
        react(event, lock_person(run.participation), role_play=event.conversation.role_play)
    elif event.source != RiskEvent.Source.REPLY or event.level >= 3:  # one that is only suspected alarms no one
        raise_alarm(event)


def react(event: RiskEvent, participation: Participation, *, role_play: bool) -> None:
    """Hold or stop a person by the level of the event, and raise an alarm.

    Level 3 waits for a person on call, level 4 ends the study; in role-play only level 4 acts, and waits. Someone whose
    part is over, since the second line answered late, keeps their status.
    """
    if event.level < 3 or (role_play and event.level == 3):
        return
    if not participation.is_over():
        if event.level == 4 and not role_play:
            stop(participation)
        else:
            progress.set_status(participation, Status.HELD)
    raise_alarm(event)


def stop(participation: Participation) -> None:
    participation.active_seconds = seconds_spent(participation)
    participation.save(update_fields=["active_seconds"])
    progress.set_status(participation, Status.STOPPED)


@transaction.atomic
def handle_role_answer(event: RiskEvent, answer: str) -> None:
    """Store a counsellor's word on whether a sentence was the role or themselves; "me" acts as it would for anyone.

    Someone whose part is over keeps their status; the one on call is told all the same.
    """
    if event.role_answer:
        return
    event.role_answer = answer
    event.save(update_fields=["role_answer"])
    if answer == "me" and event.level >= 3:
        participation = lock_person(Participation.objects.get(code=event.subject))
        if not participation.is_over():
            lifecycle.hold_for_role_answer(event.conversation_id)
            progress.set_status(participation, Status.HELD)
        raise_alarm(event)


@transaction.atomic
def release(event: RiskEvent, *, by: object, note: str = "") -> None:
    """Let the study go on where it waited, once a person on call has spoken with them.

    Level 4 has ended and stays so.
    """
    participation = Participation.objects.filter(code=event.subject).first()
    participation = participation and lock_person(participation)
    fresh = RiskEvent.objects.select_for_update().get(pk=event.pk)
    if fresh.released_at:
        return
    fresh.released_at, fresh.released_by, fresh.note = timezone.now(), by, note
    fresh.save(update_fields=["released_at", "released_by", "note"])
    holds = fresh.continued_at is None  # else the person has continued since, and may be held for something newer
    if participation and participation.status == Status.HELD and holds:
        timeouts.restart_timeout(participation)
        progress.set_status(participation, participation.status_under_way())
    if fresh.conversation_id and holds:
        lifecycle.release(fresh.conversation_id)
    acknowledge(fresh, by=by)
    record_act(fresh, SafetyAct.Kind.RELEASED, by=by, text=note)
