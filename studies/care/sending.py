"""Send the alarms that are due, each once.

A process claims a row by moving `due_at` to the end of a lease, and sends it only if the row still had the time that
was read. If the process dies, another one finds the row when the lease has run out; where there is a single process,
it finds the row when it starts again.
"""

import logging
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db.models import F
from django.utils import timezone

from studies.care import webhooks
from studies.care.acts import record_act
from studies.care.messages import Message, get_message
from studies.models import Alarm, SafetyAct
from studies.webhooks.requests import NotTaken, post, sign
from studies.workbench.delivery_faults import DeliveryFault, name_hook_fault, name_mail_fault

log = logging.getLogger(__name__)

LEASE = timedelta(minutes=3)
WAITS = (15, 60, 120, 300)  # seconds before the next try, the last one from then on
AT_ONCE = 8  # a server that hangs must not hold up the others


@dataclass(frozen=True)
class Outcome:
    """The outcome of one try: what the server answered, or why it did not take the message.

    `note` is a fault that did not keep the message from going out.
    """

    alarm: Alarm
    answer: str = ""
    fault: DeliveryFault | None = None
    note: DeliveryFault | None = None


def send_due(now: datetime | None = None) -> int:
    """Send what is due, also what could not be sent before; return how many messages a server has taken."""
    due = list(Alarm.objects.unsent().filter(due_at__lte=now or timezone.now()).select_related("study", "event"))
    number = 0
    for start in range(0, len(due), AT_ONCE):
        claimed = [alarm for alarm in due[start : start + AT_ONCE] if claim(alarm)]
        for outcome in send_together(claimed):
            record(outcome)
            number += outcome.fault is None
    return number


def claim(alarm: Alarm) -> bool:
    """Take an alarm for this process; False where another one has it."""
    link = alarm.get_token_hash()  # another one than at first where SECRET_KEY has changed
    values = {"due_at": timezone.now() + LEASE, "attempts": F("attempts") + 1, "token_hash": link}
    if not Alarm.objects.unsent().filter(pk=alarm.pk, due_at=alarm.due_at).update(**values):
        return False
    alarm.attempts += 1
    return True


def free_claims() -> None:
    """Make everything unsent due now. Only for a single process, as it starts: whoever claimed it has died."""
    Alarm.objects.unsent().update(due_at=timezone.now())


def send_together(alarms: Iterable[Alarm]) -> list[Outcome]:
    """Try to send some alarms at the same time. The threads use no database."""
    outcomes, messages = [], []
    for alarm in alarms:
        try:
            messages.append((alarm, get_message(alarm, alarm.study.current().spec())))
        except (LookupError, ValueError) as error:  # one that cannot be written must not hold up the others
            outcomes.append(Outcome(alarm, fault=DeliveryFault.of("unwritable", kind=type(error).__name__)))
    if messages:
        with ThreadPoolExecutor(len(messages), thread_name_prefix="alarm") as pool:
            outcomes += pool.map(lambda pair: deliver(*pair), messages)
    return outcomes


def deliver(alarm: Alarm, message: Message) -> Outcome:
    """Hand a message to its mail server or webhook."""
    try:
        if alarm.channel == Alarm.Channel.WEBHOOK:
            return deliver_to_webhook(alarm, message)
        send_mail(alarm, message)
    except NotTaken as error:
        return Outcome(alarm, fault=name_hook_fault(error))
    except (OSError, ValueError) as error:
        return Outcome(alarm, fault=name_mail_fault(error))
    return Outcome(alarm, answer="the mail server has taken it")


def send_mail(alarm: Alarm, message: Message) -> None:
    """Send a mail. A mail that is sent again after a doubtful try has the same identifier, so that programs fold it."""
    sender = settings.DEFAULT_FROM_EMAIL
    headers = {
        "Message-ID": f"<alarm.{alarm.pk}.{alarm.nonce}@{sender.rpartition('@')[2].rstrip('>') or 'localhost'}>",
        "Auto-Submitted": "auto-generated",
        "Importance": "high",
        "X-Priority": "1",
    }
    mail = EmailMessage(message.get_subject(), message.get_text(), sender, [alarm.address], headers=headers)
    with get_connection() as mail.connection:  # closed also where it breaks off in the middle
        mail.send()


def deliver_to_webhook(alarm: Alarm, message: Message) -> Outcome:
    """Send a request, signed where the study names a key. A key that is missing here does not hold up an alarm."""
    body, headers, note = webhooks.get_body(alarm.form, message), webhooks.get_headers(alarm.form, message), None
    if alarm.secret_env:
        try:
            headers |= sign(body, key=webhooks.get_key(alarm.secret_env), timestamp=int(time.time()))
        except NotTaken as error:
            note = name_hook_fault(error)
    return Outcome(alarm, answer=post(alarm.address, body, headers), note=note)


def record(outcome: Outcome) -> None:
    """Store what came of a try, with an act for the first failure and for the success."""
    alarm, now = outcome.alarm, timezone.now()
    row = Alarm.objects.filter(pk=alarm.pk, sent_at=None)
    if fault := outcome.fault:
        log.error("alarm %s: not sent: %s", alarm.pk, fault.in_english())
        wait = WAITS[min(alarm.attempts, len(WAITS)) - 1]
        row.update(fault=fault.as_json(), due_at=now + timedelta(seconds=wait))
        if alarm.event and alarm.attempts == 1:
            record_act(alarm.event, SafetyAct.Kind.FAILED, by_name=alarm.contact, fault=fault)
    elif row.update(sent_at=now, fault=outcome.note.as_json() if outcome.note else {}) and alarm.event:
        record_act(alarm.event, SafetyAct.Kind.ALARMED, by_name=alarm.contact, text=alarm.channel)
