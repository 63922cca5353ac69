from typing import Any

from studies.care import alarms, sending
from studies.management.command import Command as Base
from studies.models import Alarm


class Command(Base):
    help = (
        "Sends the alarms that are due, and alerts the next contact where no one has acknowledged. A running "
        "server does this by itself, so you rarely need this command."
    )

    def work(self, **_options: Any) -> dict[str, Any]:
        climbed = alarms.climb_overdue()
        sent = sending.send_due()
        left = Alarm.objects.unsent().count()
        self.say(f"{climbed} passed to the next contact, {sent} sent, {left} not sent yet.")
        return {"climbed": climbed, "sent": sent, "left": left}
