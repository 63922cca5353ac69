"""Mails to a study's contact when a model has stopped answering people, so that no one has to watch the Board."""

import logging
import time
from collections.abc import Collection
from datetime import timedelta
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.cache import cache
from django.core.mail import EmailMessage
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from dialogue.languages import get_language
from dialogue.models import Turn
from dialogue.models.conversation import TurnState
from studies.board.arms import Failure, get_failures
from studies.care.alarms import CONSOLE
from studies.models import Stage, Study
from studies.selection.mails import is_address
from studies.workbench.delivery_faults import name_mail_fault

log = logging.getLogger(__name__)

MESSAGES = 3  # of people that one arm leaves without a reply, and answers none since: fewer may be one person's
PAUSE = 60.0  # seconds between two looks
QUIET = 3600  # seconds in which a study gets no second mail
RECENT = timedelta(hours=1)


class FailureWatch:
    """A watch that the clock calls: it writes at most one mail a study and hour."""

    def __init__(self) -> None:
        self.looked_at = -PAUSE

    def look(self) -> None:
        if settings.EMAIL_BACKEND == CONSOLE or time.monotonic() - self.looked_at < PAUSE:
            return
        self.looked_at = time.monotonic()
        failed = Turn.objects.filter(state=TurnState.FAILED, created_at__gte=timezone.now() - RECENT)
        for study in Study.objects.filter(stage=Stage.OPEN, runs__conversation__turns__in=failed).distinct():
            failures = [each for each in get_failures(study, "no").values() if each.messages >= MESSAGES]
            if failures and cache.add(f"model-fails:{study.pk}", True, QUIET):
                send_mail(study, failures)


def send_mail(study: Study, failures: Collection[Failure]) -> None:
    """Write to the contact. The mail names no arm, since whoever reads it may be blind to them, and no words."""
    if not is_address(contact := study.current().spec().contact):
        return
    try:
        write_mail(study, contact, failures).send()
    except OSError as error:  # smtplib's errors are OSErrors
        why = name_mail_fault(error).in_english()
        log.error("study %s: its contact could not be told of a model that fails: %s", study.key, why)
        cache.delete(f"model-fails:{study.pk}")


def write_mail(study: Study, contact: str, failures: Collection[Failure]) -> EmailMessage:
    """Return the mail, in the study's first language and time zone."""
    spec = study.current().spec()
    zone = ZoneInfo(spec.safety.time_zone)
    since = min(each.since for each in failures).astimezone(zone)
    values = {
        "study": study.key,
        "number": sum(each.messages for each in failures),
        "since": f"{since:%Y-%m-%d %H:%M} ({spec.safety.time_zone})",
    }
    with translation.override(get_language(spec.languages[0]).django):
        subject = _("Study %(study)s: a model does not answer") % values
        text = [
            _("Since %(since)s, %(number)s messages of people have had no reply, and their model has answered no one.")
            % values,
            _("They read that the reply could not be had, and can ask again. The Board says what the server answered:"),
            f"{settings.BASE_URL}{reverse('research-study', args=[study.key])}",
            _("You get this mail at most once an hour."),
        ]
    headers = {"Auto-Submitted": "auto-generated"}
    return EmailMessage(subject, "\n\n".join(text) + "\n", settings.DEFAULT_FROM_EMAIL, [contact], headers=headers)
