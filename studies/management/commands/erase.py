from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from studies.data.erasure import erase
from studies.management.command import Command as Base

ELSEWHERE = (
    "emostudy looks under var/, and in its exports elsewhere and results of `analyse` beside them. Delete other "
    "results and copies yourself."
)


class Command(Base):
    help = "Removes a person's data everywhere it went on this server, at once, and says what it removed."

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("participant", metavar="PARTICIPANT", help="the person's code")

    def work(self, study: str, participant: str, **_options: Any) -> dict[str, Any]:
        person = self.study(study).participations.filter(code=participant).first()
        if person is None:
            self.refuse(f"There is no person with the code {participant!r} in the study {study!r}.")
        removed = erase(person)
        for kind, count in removed.rows.items():
            if count:
                self.say(f"{kind.replace('_', ' ')}: {count} removed")
        for folder in removed.folders:
            self.say(f"files removed: {folder}")
        for path in removed.remaining:
            self.say(f"still names {participant}, delete it unless it must stay: {path}")
        self.say(f"{participant}: only the code, the track and the withdrawal are kept.")
        self.say(ELSEWHERE)
        return {"study": study, "participant": participant, **asdict(removed)}
