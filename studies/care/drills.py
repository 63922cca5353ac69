"""Drills: alarms without an event, which show that the people on call can be reached and answer."""

from django.conf import settings
from django.utils import timezone

from studies.care import rota, sending
from studies.care.alarms import CONSOLE, create_alarm, get_channels
from studies.care.sending import Outcome
from studies.models import Alarm, Study
from studies.workbench.delivery_faults import DeliveryFault


def send_drill(study: Study, *, to_all: bool = False) -> list[Outcome]:
    """Send a drill to the contact who is first now, or to all; return what came back. Nothing is sent again later."""
    now = timezone.now()
    order = rota.get_order(study.current().spec(), now)
    contacts = order if to_all else order[:1]
    drills = [
        create_alarm(study, contact, channel, now=now, attempts=1)
        for contact in contacts
        for channel in get_channels(contact)
    ]
    without_mail = settings.EMAIL_BACKEND == CONSOLE
    unsent = [one for one in drills if without_mail and one.channel == Alarm.Channel.EMAIL]
    outcomes = [Outcome(one, fault=DeliveryFault.of("no_mail")) for one in unsent]
    outcomes += sending.send_together([one for one in drills if one not in unsent])
    for outcome in outcomes:
        sending.record(outcome)
    return outcomes


def acknowledge(alarm: Alarm) -> None:
    """Acknowledge a drill, once."""
    now = timezone.now()
    row = Alarm.objects.filter(pk=alarm.pk, event=None, acknowledged_at=None)
    row.update(acknowledged_at=now, acknowledged_by_name=alarm.contact)
