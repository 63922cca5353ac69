"""The people whom an alarm reaches, and their order."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from studies.design.safety_rules import DAYS, HOURS
from studies.design.spec import StudySpec
from studies.models.safety import UNNAMED, name_contact


@dataclass(frozen=True)
class Contact:
    """Someone on call. Unlike the study file's own type it checks nothing: an alarm never fails on an odd value."""

    name: str
    email: str = ""
    webhook: str = ""
    form: str = "json"
    secret_env: str = ""
    hours: tuple[str, ...] = ()

    def shown_name(self) -> str:
        return name_contact(self.name)


def get_contacts(spec: StudySpec) -> tuple[Contact, ...]:
    """Return the contacts of a study in the order of its file; without a rota, the study's `oncall_email` alone."""
    names = Contact.__dataclass_fields__
    contacts = tuple(Contact(**{name: getattr(one, name) for name in names}) for one in spec.safety.oncall)
    contacts = contacts or (Contact(UNNAMED, email=spec.oncall_email),)
    return tuple(contact for contact in contacts if contact.email or contact.webhook)


def get_order(spec: StudySpec, now: datetime) -> tuple[Contact, ...]:
    """Return the contacts in the order in which they are alarmed now.

    Those whose hours include `now` come first. The others follow, because an alarm that reaches no one is worse than
    one that wakes someone.
    """
    local = now.astimezone(get_zone(spec.safety.time_zone))
    return tuple(sorted(get_contacts(spec), key=lambda contact: not is_within(contact.hours, local)))


def get_zone(name: str) -> tzinfo:
    """Return a time zone; UTC where this machine does not know the name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def get_next(order: Sequence[Contact], names: Sequence[str]) -> tuple[Contact, bool]:
    """Return the next contact after those named in `names`, and whether the order begins again with them."""
    for contact in order:
        if contact.name not in names:
            return contact, False
    return order[0], True


def is_within(hours: Sequence[str], local: datetime) -> bool:
    """Return whether a local time lies in one of the hours of a week. No hours at all mean always."""
    return not hours or any(includes(text, local) for text in hours)


def includes(text: str, local: datetime) -> bool:
    """Return whether "mon-fri 22:00-06:00" includes a local time. Hours past midnight belong to the day they start."""
    match = HOURS.fullmatch(text)
    if match is None:
        return True  # odd hours keep no one from being alarmed
    first, last, *numbers = match.groups()
    from_hour, from_minute, to_hour, to_minute = map(int, numbers)
    start, end = from_hour * 60 + from_minute, to_hour * 60 + to_minute
    days = get_days(first, last)
    minute = local.hour * 60 + local.minute
    yesterday = (local - timedelta(days=1)).weekday()
    if start < end:
        return local.weekday() in days and start <= minute < end
    return (local.weekday() in days and minute >= start) or (yesterday in days and minute < end)


def get_days(first: str | None, last: str | None) -> set[int]:
    """Return the numbers of the weekdays from one to another, over the weekend too; all without a first one."""
    if first is None:
        return set(range(len(DAYS)))
    start = DAYS.index(first)
    length = (DAYS.index(last or first) - start) % len(DAYS)
    return {(start + number) % len(DAYS) for number in range(length + 1)}
