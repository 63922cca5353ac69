import time
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import CommandParser

from studies.care import rota
from studies.care.drill_page import THIS_MACHINE
from studies.care.drills import send_drill
from studies.care.sending import Outcome
from studies.management.command import Command as Base
from studies.models import Alarm

LOOK = 1.0  # seconds between two looks whether someone has answered


class Command(Base):
    help = "Sends a drill to the person on call, and can wait until it is acknowledged."

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("--all", action="store_true", help="to every contact, not only to the first one now")
        parser.add_argument(
            "--wait", type=float, default=0, metavar="MINUTES", help="wait so long at most for the acknowledgement"
        )

    def work(self, study: str, all: bool, wait: float, **_options: Any) -> dict[str, Any]:
        study_row = self.study(study)
        if not 0 <= wait <= 24 * 60:
            self.refuse("--wait must be from 0 to 1440 minutes.")
        if not rota.get_contacts(study_row.current().spec()):
            self.refuse(
                f"The study file of {study} names no one on call. Add oncall_email or [[safety.oncall]] to it, and "
                f"load it again."
            )
        self.warn_of_address()
        outcomes = send_drill(study_row, to_all=all)
        for outcome in outcomes:
            self.say(line_of(outcome))
        sent = [outcome.alarm for outcome in outcomes if not outcome.fault]
        contacts = sorted({alarm.contact for alarm in sent})
        answered = self.wait_for(sent, contacts, wait * 60) if wait and sent else set()
        return {
            "study": study,
            "sent": len(sent),
            "failed": len(outcomes) - len(sent),
            "contacts": contacts,
            "acknowledged": sorted(answered),
            "left": len(contacts) - len(answered) if wait else 0,
        }

    def warn_of_address(self) -> None:
        host = urlsplit(settings.BASE_URL).hostname
        if not host:
            self.stderr.write("Warning: BASE_URL is not set, so messages hold no whole link.")
        elif host in THIS_MACHINE:
            self.stderr.write(
                f"Warning: links lead to {settings.BASE_URL}, which opens on this machine only: set BASE_URL."
            )

    def wait_for(self, sent: list[Alarm], contacts: list[str], seconds: float) -> set[str]:
        """Return the contacts who have acknowledged. Either message to a contact counts."""
        give_up = time.monotonic() + seconds
        answered: set[str] = set()
        rows = Alarm.objects.filter(pk__in=[alarm.pk for alarm in sent], acknowledged_at__isnull=False)
        with self.progress(len(contacts), "acknowledged") as progress:
            while True:
                new = set(rows.values_list("contact", flat=True)) - answered
                answered |= new
                progress.step(len(new))
                if len(answered) == len(contacts) or time.monotonic() > give_up:
                    break
                time.sleep(LOOK)
        for contact in contacts:
            self.say(f"{contact}: {'acknowledged' if contact in answered else 'no acknowledgement'}")
        return answered


def line_of(outcome: Outcome) -> str:
    """Return the line about one message: contact, address and answer. Of a webhook it names only the host, because
    the path may be a secret."""
    alarm = outcome.alarm
    place = urlsplit(alarm.address).hostname if alarm.channel == Alarm.Channel.WEBHOOK else alarm.address
    came = f"not sent: {outcome.fault}" if outcome.fault else f"sent, the answer was: {outcome.answer}"
    note = f" ({outcome.note})" if outcome.note else ""
    return f"{alarm.contact}, {alarm.get_channel_display()} to {place}: {came}{note}"
