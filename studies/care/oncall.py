"""What a sign of danger sets off in a study: the person waits or is let go kindly, and the one on call is told."""

import logging
import threading
import time

from django.conf import settings
from django.core.mail import send_mail
from django.db import connection, transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from dialogue import chat
from dialogue.models import RiskEvent
from studies.models import ArmRun, Participation
from studies.models.participation import Status
from studies.participation import progress, timeouts
from studies.participation.time_spent import seconds_spent

log = logging.getLogger(__name__)

WAITS = (0, 15, 60, 300, 900, 2700)  # seconds before each try to reach the mail server
sending = threading.Lock()  # so that two alarms at once do not both send what is due


def risk_raised(event: RiskEvent) -> None:
    """Called by dialogue inside the transaction that stored the event."""
    run = ArmRun.objects.select_related("participation").filter(conversation=event.conversation).first()
    if run is None or run.participation is None:
        return
    event.subject = run.participation.code
    event.save(update_fields=["subject"])
    if event.source == RiskEvent.Source.MESSAGE:
        react(event, run.participation, role_play=event.conversation.role_play)
    else:
        alert(event)


def react(event: RiskEvent, participation: Participation, *, role_play: bool) -> None:
    """Level 3 waits for a person on call, level 4 ends the study; in role-play only level 4 acts, and waits."""
    if event.level < 3 or (role_play and event.level == 3):
        return
    if event.level == 4 and not role_play:
        stop(participation)
    else:
        progress.set_status(participation, Status.HELD)
    alert(event)


def stop(participation: Participation) -> None:
    participation.active_seconds = seconds_spent(participation)
    participation.save(update_fields=["active_seconds"])
    progress.set_status(participation, Status.STOPPED)


@transaction.atomic
def said_unsafe(participation: Participation, run: ArmRun | None) -> None:
    """ "I do not feel safe" in a feelings check is treated as level 4 (emotion_checkin.json, want_support)."""
    event = RiskEvent.objects.create(
        conversation=run.conversation if run else None,
        subject=participation.code,
        source=RiskEvent.Source.ANSWER,
        level=4,
        entries=["want_support"],
    )
    stop(participation)
    alert(event)


def has_said_unsafe(participation: Participation) -> bool:
    """Whether that is what was last heard of danger to them, and not something they wrote."""
    last = RiskEvent.objects.filter(subject=participation.code).order_by("-created_at", "-pk").first()
    return last is not None and last.source == RiskEvent.Source.ANSWER


@transaction.atomic
def answered_role(event: RiskEvent, answer: str) -> None:
    """A counsellor's word on whether a sentence was the role or themselves; "me" acts as it would for anybody.

    Whose part is over has nothing left that could wait, and stays so; the one on call is told all the same.
    """
    if event.role_answer:
        return
    event.role_answer = answer
    event.save(update_fields=["role_answer"])
    if answer == "me" and event.level >= 3:
        participation = Participation.objects.get(code=event.subject)
        if not participation.is_over():
            chat.hold_for_role_answer(event.conversation_id)
            progress.set_status(participation, Status.HELD)
        alert(event)


@transaction.atomic
def release(event: RiskEvent, *, by: object, note: str = "") -> None:
    """A person on call has spoken with them: the study goes on where it waited. Level 4 has ended and stays so."""
    fresh = RiskEvent.objects.select_for_update().get(pk=event.pk)
    if fresh.released_at:
        return
    fresh.released_at, fresh.released_by, fresh.note = timezone.now(), by, note
    fresh.save(update_fields=["released_at", "released_by", "note"])
    participation = Participation.objects.filter(code=fresh.subject).first()
    if participation and participation.status == Status.HELD:
        timeouts.await_from_now(participation)
        progress.set_status(participation, Status.ACTIVE)
    if fresh.conversation_id:
        chat.release(fresh.conversation_id)


def alert(event: RiskEvent) -> None:
    """Mail the one on call, once what happened is stored. The row stays due until a server has taken the mail."""
    event.mail_due = True
    event.save(update_fields=["mail_due"])
    transaction.on_commit(mail_in_background)


def mail_in_background() -> None:
    """A slow mail server must not keep a person waiting for the page that shows them help."""
    threading.Thread(target=mail_and_close, name="on-call mail", daemon=True).start()


def mail_and_close() -> None:
    try:
        keep_sending()
    finally:
        connection.close()


def keep_sending() -> None:
    """Until nothing is due, or for about an hour: a mail server that is away for a while must not cost an alarm.

    What is still due then goes out with the next alarm or at the next start, and researchers see that it has not.
    """
    for wait in WAITS:
        time.sleep(wait)
        send_due_mails()
        if not due_mails().exists():
            return


def due_mails() -> QuerySet[RiskEvent]:
    return RiskEvent.objects.filter(mail_due=True, mailed_at=None).order_by("created_at")


def send_due_mails() -> int:
    """Send what is due, also what could not be sent before; returns how many were taken."""
    with sending:
        return sum(send(event) for event in due_mails())


def send(event: RiskEvent) -> bool:
    """True once the mail server has taken it. What stood in its way is kept with the event, for researchers to see."""
    participation = Participation.objects.select_related("study", "protocol").filter(code=event.subject).first()
    recipient = participation.design().oncall_email if participation else ""
    try:
        if not recipient:
            raise ValueError("the study names no oncall_email")
        send_mail(subject(event), body(event, participation), settings.DEFAULT_FROM_EMAIL, [recipient])
    except (OSError, ValueError) as error:  # smtplib's errors are OSErrors
        log.error("risk event %s: mail not sent: %s", event.pk, error)
        RiskEvent.objects.filter(pk=event.pk).update(mail_error=str(error))
        return False
    RiskEvent.objects.filter(pk=event.pk).update(mailed_at=timezone.now(), mail_error="")
    return True


def subject(event: RiskEvent) -> str:
    return f"[emostudy] Level {event.level}: please look now ({event.subject})"


def body(event: RiskEvent, participation: Participation) -> str:
    """No word of the conversation: mail is read in many places."""
    page = reverse("research-risks", args=[participation.study.key])
    if event.source == RiskEvent.Source.ANSWER:
        told = (
            'The person has answered "I do not feel safe" and has been shown where to find help. '
            "Their part has ended.\n"
        )
        todo = "See how they are, and decide"
    else:
        told = "The person has been shown where to find help. No model answered.\n"
        todo = "Read the last messages and decide"
    return (
        f"Study: {participation.study.key}\nPerson: {event.subject}\nLevel: {event.level}\n"
        f"Time (UTC): {event.created_at:%Y-%m-%d %H:%M:%S}\n\n"
        f"{told}{todo} at {page} on your emostudy server.\n"
    )
