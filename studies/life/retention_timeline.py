"""The days of a study's retention, as its page Lifecycle tells them: what is removed when, and how far it has come."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.utils.translation import gettext as _

from studies.data.retention_schedule import BEFORE, Step, find_due_of, get_days, get_last_day, sends_mail
from studies.models import RetentionRecord, Study
from studies.selection.mails import is_address

SOON = timedelta(days=60)  # within which the page that closes a study tells what will be removed


@dataclass(frozen=True)
class RetentionDay:
    """A day of retention as the page shows it: what is done after it, and whether that is done or waits."""

    what: str
    day: date
    state: str


def list_days(study: Study, now: datetime) -> list[RetentionDay]:
    """Return the days of the current version and those on which something was done, the earliest first."""
    records = {(each.what, each.day): each for each in study.retention_records.all()}
    steps = {(due.what, due.day): due.step for due in find_due_of(study, now.date())}
    past = {place for place, record in records.items() if record.done_at}
    places = sorted({*get_days(study.current().spec()), *past}, key=lambda place: (place[1], place[0]))
    return [
        RetentionDay(
            RetentionRecord.What(what).label,
            day,
            describe(study, day, steps.get((what, day)), records.get((what, day)), now.date()),
        )
        for what, day in places
    ]


def list_soon(study: Study, now: datetime) -> list[RetentionDay]:
    """Return the data that go within 60 days once the study is closed, each with its last day."""
    records = {(each.what, each.day): each for each in study.retention_records.all()}
    last_days = [
        (get_last_day(day, records.get((what, day)), now.date()), what, records.get((what, day)))
        for what, day in get_days(study.current().spec())
    ]
    return [
        RetentionDay(RetentionRecord.What(what).label, max(last, now.date()), "")
        for last, what, record in sorted(last_days, key=lambda each: (each[0], each[1]))
        if last - now.date() <= SOON and not (record and record.done_at)
    ]


def describe(study: Study, day: date, step: Step | None, record: RetentionRecord | None, today: date) -> str:
    """Return the state of a retention day as text."""
    if record and record.done_at:
        return _("Done on %(day)s.") % {"day": f"{record.done_at:%Y-%m-%d}"}
    if step == Step.ENFORCE:
        return _("Due. The server does it within the hour.")
    if step != Step.WAIT:
        return describe_announcement(study, day, record, today) + describe_delay(day, record, today)
    if not study.is_closed():
        return _("Overdue. It waits, because the study is not closed.")
    return _("Overdue. It waits, because people are still taking part.")


def describe_announcement(study: Study, day: date, record: RetentionRecord | None, today: date) -> str:
    spec = study.current().spec()
    if not is_address(spec.contact):
        return _("No mail announces it, because the study's contact is not a mail address.")
    if not sends_mail(spec):
        return _("No mail announces it, because this server sends no mail (EMAIL_URL).")
    if record and record.announced_at:
        return _("Announced by mail on %(day)s.") % {"day": f"{record.announced_at:%Y-%m-%d}"}
    return _("A mail to the study's contact announces it on %(day)s.") % {"day": max(day - BEFORE, today).isoformat()}


def describe_delay(day: date, record: RetentionRecord | None, today: date) -> str:
    """Return the sentence about a later removal, because the announcement is late; empty without a delay."""
    last = get_last_day(day, record, today)
    if last == day:
        return ""
    message = _("Nothing is removed sooner than 30 days after the announcement, so it is kept until %(day)s.")
    return f" {message}" % {"day": last.isoformat()}
