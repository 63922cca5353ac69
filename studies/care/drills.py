"""Drills: alarms without an event, which show that the people on call can be reached and answer."""

from django.utils import timezone

from studies.models import Alarm


def acknowledge(alarm: Alarm) -> None:
    """Acknowledge a drill, once."""
    now = timezone.now()
    row = Alarm.objects.filter(pk=alarm.pk, event=None, acknowledged_at=None)
    row.update(acknowledged_at=now, acknowledged_by_name=alarm.contact)
