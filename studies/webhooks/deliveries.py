"""Send the deliveries that are due, each once, and again later where no one took it.

A process claims a row by moving `due_at` to the end of a lease, as with alarms (studies.care.sending). The sending has
a thread of its own: a receiver that hangs must not hold up an alarm.
"""

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import orjson
from django.db import close_old_connections
from django.db.models import F, QuerySet
from django.utils import timezone

from studies.models import Delivery
from studies.webhooks.requests import NotTaken, post, sign

log = logging.getLogger(__name__)

LEASE = timedelta(minutes=3)
# Before the next try. After the last one, a day and a half after the event, a delivery is given up.
WAITS = (*(timedelta(minutes=n) for n in (1, 5, 30)), *(timedelta(hours=n) for n in (2, 8, 24)))
AT_ONCE = 8

_starting = threading.Lock()
_thread: threading.Thread | None = None


def send_in_background() -> None:
    """Send what is due in a thread of its own, unless one is sending already."""
    global _thread
    with _starting:
        if (_thread is None or not _thread.is_alive()) and get_due(timezone.now()).exists():
            _thread = threading.Thread(target=send_and_close, name="webhooks", daemon=True)
            _thread.start()


def send_and_close() -> None:
    close_old_connections()
    try:
        send_due()
    except Exception:
        log.exception("webhooks: this round failed, the next one follows")
    finally:
        close_old_connections()


def get_due(now: datetime) -> "QuerySet[Delivery]":
    return Delivery.objects.unsent().filter(due_at__lte=now, webhook__stopped_at=None)


def send_due(now: datetime | None = None) -> int:
    """Send what is due; return how many requests a receiver has taken."""
    waiting = list(get_due(now or timezone.now()).select_related("webhook__study").order_by("due_at", "pk"))
    number = 0
    for start in range(0, len(waiting), AT_ONCE):
        claimed = [delivery for delivery in waiting[start : start + AT_ONCE] if claim(delivery)]
        if claimed:
            with ThreadPoolExecutor(len(claimed), thread_name_prefix="webhook") as pool:  # they use no database
                outcomes = list(pool.map(deliver, claimed))
            number += sum(record(delivery, outcome) for delivery, outcome in zip(claimed, outcomes, strict=True))
    return number


def claim(delivery: Delivery) -> bool:
    """Take a delivery for this process; False where another one has it."""
    values = {"due_at": timezone.now() + LEASE, "attempts": F("attempts") + 1}
    if not Delivery.objects.unsent().filter(pk=delivery.pk, due_at=delivery.due_at).update(**values):
        return False
    delivery.attempts += 1
    return True


def deliver(delivery: Delivery) -> str | NotTaken:
    """Send one request; return the status that came back, or why it was not taken."""
    webhook, body = delivery.webhook, orjson.dumps(delivery.body)
    headers = {
        "Content-Type": "application/json",
        "X-Emostudy-Event": delivery.event,
        "X-Emostudy-Delivery": str(delivery.id_of_event),
        **sign(body, key=webhook.get_key(), timestamp=int(time.time())),
    }
    try:
        return post(webhook.address, body, headers)
    except NotTaken as error:
        return error


def record(delivery: Delivery, outcome: str | NotTaken) -> bool:
    """Store what came of a try; return whether the receiver took it."""
    row, now = Delivery.objects.filter(pk=delivery.pk), timezone.now()
    if isinstance(outcome, str):
        row.update(answer=outcome, fault={}, sent_at=now)
        return True
    row.update(answer=str(outcome), fault=outcome.as_json())
    if delivery.attempts > len(WAITS):
        row.update(given_up_at=now)
        log.warning("webhook of %s: %s given up: %s", delivery.webhook.study.key, delivery.event, outcome)
    else:
        row.update(due_at=now + WAITS[delivery.attempts - 1])
    return False
