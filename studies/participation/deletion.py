"""Until when a person can have their data deleted, as the version of the study says with which they began."""

from datetime import date

from django.utils import timezone

from studies.design.retention_spec import write_day
from studies.design.spec import Text
from studies.models import Participation
from studies.participation.enrolment import is_unsigned


def get_deadline(person: Participation) -> date | None:
    """Return the last day (UTC) on which they can have their data deleted; None where the study names none."""
    retention = person.design().retention
    return retention.get_day("delete_until") if retention else None


def may_delete(person: Participation) -> bool:
    """Return whether they still can. People who never signed can at any time."""
    deadline = get_deadline(person)
    return deadline is None or is_unsigned(person) or timezone.now().date() <= deadline


def describe_deadline(person: Participation) -> Text:
    """Return the day as people read it, or what the study says in its own words; empty where it says nothing."""
    deadline = get_deadline(person)
    words: Text = person.design().display.get("withdraw_until") or {}
    return write_day(deadline) if deadline else words
