"""Keep the days of `[retention]`: announce them 30 days before, and then delete or anonymise.

The days are those of the study's current version. Servers look once an hour, and so does the command
`enforce_retention`. What is done is stored (`RetentionRecord`), and nothing is done twice.

Nothing is removed until its announcement is 30 days old, however long the day is over. The announcement is a mail to
the study's contact; where no mail can be sent, it is the page Lifecycle, from the hour in which a server first looked.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import connection
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from dialogue.languages import get_language
from studies.care.alarms import CONSOLE
from studies.data.anonymising import anonymise
from studies.data.erasure import clear_write_ahead_log, erase_everybody
from studies.design.retention_spec import DELETE, write_day
from studies.design.spec import StudySpec
from studies.models import Payee, RetentionRecord, Study
from studies.selection.mails import is_address
from studies.workbench.delivery_faults import name_mail_fault

log = logging.getLogger(__name__)

BEFORE = timedelta(days=30)
What = RetentionRecord.What


class Step(StrEnum):
    """The next thing to do about a day of retention."""

    ANNOUNCE = "announce"
    ENFORCE = "enforce"
    WAIT = "wait"  # the day is over, but people are under way or the study is not closed


@dataclass(frozen=True)
class Due:
    """A day of one study that needs something to be done."""

    study: Study
    what: RetentionRecord.What
    day: date
    step: Step

    def describe(self) -> str:
        label = What(self.what).label
        if self.step == Step.WAIT:
            return (
                f"{self.study}: {label}, due since {self.day}: waits until the study is closed and no one is under way"
            )
        if self.step == Step.ANNOUNCE:
            return f"{self.study}: {label} after {self.day}: to be announced"
        return f"{self.study}: {label}: due since {self.day}"


def find_due(now: datetime) -> list[Due]:
    """Return all that is to be announced or done, the earliest day first. A study that cannot be read is logged, and
    keeps no other from its days."""
    all_due: list[Due] = []
    for study in Study.objects.order_by("key"):
        try:
            all_due += find_due_of(study, now.date())
        except Exception:
            log.exception("retention of %s: its days cannot be read", study)
    return sorted(all_due, key=lambda due: (due.day, due.study.key, due.what))


def find_due_of(study: Study, today: date) -> Iterator[Due]:
    for what, day in get_days(study.current().spec()):
        record = study.retention_records.filter(what=what, day=day).first()
        if record and record.done_at:
            continue
        if not (record and record.announced_at):
            if day - today <= BEFORE:
                yield Due(study, what, day, Step.ANNOUNCE)
        elif today > get_last_day(day, record, today):
            is_free = what == What.CONTACTS or study.is_finished()
            yield Due(study, what, day, Step.ENFORCE if is_free else Step.WAIT)


def get_last_day(day: date, record: RetentionRecord | None, today: date) -> date:
    """Return the day until which data are kept: the day of the study file, but no less than 30 days after the
    announcement. One that has not been sent counts as sent today."""
    announced = record.announced_at.date() if record and record.announced_at else today
    return max(day, announced + BEFORE)


def get_days(spec: StudySpec) -> Iterator[tuple[RetentionRecord.What, date]]:
    """Yield each retention step with the day after which it happens."""
    if spec.retention is None:
        return
    if contacts := spec.retention.get_day("contacts_until"):
        yield What.CONTACTS, contacts
    if data := spec.retention.get_day("keep_until"):
        yield What.DELETE if spec.retention.then == DELETE else What.ANONYMISE, data


def enforce_retention() -> list[tuple[Due, bool]]:
    """Announce and do all that is due; return it, each with whether it went well."""
    return [(due, try_step(due)) for due in find_due(timezone.now())]


def try_step(due: Due) -> bool:
    """Take a step, and return whether it went well: what fails for one study is tried again within the hour."""
    try:
        return take_step(due)
    except Exception:
        log.exception("retention of %s: %s failed", due.study, due.step)
        return False


def take_step(due: Due) -> bool:
    if due.step == Step.ANNOUNCE:
        return announce(due)
    if due.step == Step.ENFORCE:
        enforce(due)
        return True
    log.warning("%s", due.describe())
    return True


def sends_mail(spec: StudySpec) -> bool:
    """Return whether a mail can announce anything; if not, the page Lifecycle does."""
    return is_address(spec.contact) and settings.EMAIL_BACKEND != CONSOLE


def announce(due: Due) -> bool:
    """Write to the study's contact, once; return False if no mail server took it, and then it is tried again."""
    spec = due.study.current().spec()
    RetentionRecord.objects.get_or_create(study=due.study, what=due.what, day=due.day)
    own = RetentionRecord.objects.filter(study=due.study, what=due.what, day=due.day)
    if not own.filter(announced_at=None).update(announced_at=timezone.now()):
        return True  # another process was faster
    if not sends_mail(spec):
        log.warning("retention of %s: no mail can announce it, so only the page Lifecycle does", due.study)
        return True
    try:
        write_mail(due, spec).send()
    except OSError as error:  # smtplib's errors are OSErrors
        own.update(announced_at=None)
        log.error("retention of %s could not be announced: %s", due.study, name_mail_fault(error).in_english())
        return False
    return True


def write_mail(due: Due, spec: StudySpec) -> EmailMessage:
    """Return the announcement, in the study's first language."""
    language = spec.languages[0]
    with translation.override(get_language(language).django):
        last = get_last_day(due.day, None, timezone.now().date())
        values = {"study": due.study.key, "day": write_day(last)[language]}
        subject = _("Study %(study)s: data will be removed after %(day)s") % values
        text = [
            _(
                "The study “%(study)s” keeps these data until %(day)s. On the next day, the server does this "
                "automatically:"
            )
            % values,
            f"  {What(due.what).label}",
            _("Export before then what your ethics board lets you keep. To keep the data for longer, amend the study.")
            if due.what != What.CONTACTS
            else _("Pay people before then. To keep contact data for longer, amend the study."),
        ]
        if due.what != What.CONTACTS and not due.study.is_finished():
            text.append(_("This waits until the study is closed and no one is taking part."))
    headers = {"Auto-Submitted": "auto-generated"}
    return EmailMessage(subject, "\n\n".join(text) + "\n", settings.DEFAULT_FROM_EMAIL, [spec.contact], headers=headers)


def enforce(due: Due) -> None:
    """Do what is due. Everything in it can be done again, so that a crash in between does no harm."""
    if due.what == What.CONTACTS:
        rows, _deleted = Payee.objects.filter(participation__study=due.study).delete()
        counts = {"payees": rows}
        connection.on_commit(clear_write_ahead_log)
    elif due.what == What.DELETE:
        counts = erase_everybody(due.study).rows
    else:
        records = anonymise(due.study)
        counts = {**records.deleted, **records.cleared}
    record, _created = RetentionRecord.objects.get_or_create(study=due.study, what=due.what, day=due.day)
    record.done_at, record.rows = timezone.now(), {kind: count for kind, count in counts.items() if count}
    record.save(update_fields=["done_at", "rows"])
    log.info("retention of %s: %s", due.study, due.what)
