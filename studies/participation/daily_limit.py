"""The most conversations that a person begins on one day, where the study sets a limit."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.utils import timezone

from studies.models import Participation


def find_next_day(person: Participation) -> date | None:
    """Return the day on which the person can begin their next conversation; None where they can do so now.

    Days are those of the study's time zone. Test people and bots go on at once.
    """
    design = person.design()
    limit = design.chat.conversations_per_day
    if limit is None or person.is_test:
        return None
    zone = ZoneInfo(design.safety.time_zone)
    today = timezone.now().astimezone(zone).date()
    begun = person.runs.filter(conversation__started_at__gte=datetime.combine(today, time.min, zone)).count()
    return today + timedelta(days=1) if begun >= limit else None
