"""Events of a study, for the webhooks that asked to be told. They are stored with what happened, and sent later."""

import uuid
from datetime import timedelta
from typing import Any

from django.utils import timezone

from studies.models import Delivery, Participation, Study, Webhook
from studies.models.participation import Status

KEPT = timedelta(days=30)  # of the log
PING = "ping"  # what a new webhook can be sent, to try it


def announce(study: Study, event: Webhook.Event, **data: Any) -> None:
    """Store a delivery for each webhook of the study that wants this event. `data`: JSON, without a word of anyone."""
    for webhook in study.webhooks.filter(stopped_at=None):
        if event in webhook.events:
            create_delivery(webhook, event, data)


def announce_end(person: Participation) -> None:
    """Tell that a person completed the study or ended otherwise. Reviewers count too; `test` marks test data."""
    completed = person.status == Status.COMPLETED
    event = Webhook.Event.PERSON_COMPLETED if completed else Webhook.Event.PERSON_ENDED
    announce(
        person.study, event, person=person.code, track=person.track, status=str(person.status), test=person.is_test
    )


def create_delivery(webhook: Webhook, event: str, data: dict[str, Any]) -> Delivery:
    number, now = uuid.uuid4(), timezone.now()
    body = {
        "id": str(number),
        "event": str(event),
        "study": webhook.study.key,
        "time": now.isoformat(timespec="seconds"),
        "data": data,
    }
    return Delivery.objects.create(webhook=webhook, event=event, id_of_event=number, body=body, created_at=now)


def forget_old_deliveries() -> None:
    """Delete the log of what was sent or given up long ago."""
    over = Delivery.objects.exclude(sent_at=None, given_up_at=None)
    over.filter(created_at__lt=timezone.now() - KEPT).delete()
