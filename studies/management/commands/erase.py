from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from studies.data.erasure import erase
from studies.data.test_data import remove_test_data
from studies.management.command import Command as Base

ELSEWHERE = (
    "emostudy looks under var/, and in its exports elsewhere and results of `analyse` beside them. Delete other "
    "results and copies yourself."
)


class Command(Base):
    help = (
        "Removes a person's data everywhere it went on this server, at once, and says what it removed. With "
        "--test-data, all bots and tries of a study; a version that only they have met can then change again."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("participant", metavar="PARTICIPANT", nargs="?", help="the person's code")
        parser.add_argument("--test-data", action="store_true", help="all test data of the study, in place of a person")

    def work(self, study: str, participant: str | None, test_data: bool, **_options: Any) -> dict[str, Any]:
        if bool(participant) == test_data:
            self.refuse("Name a person's code, or give --test-data.")
        return self.erase_test_data(study) if test_data else self.erase_person(study, participant)

    def erase_test_data(self, study: str) -> dict[str, Any]:
        found = self.study(study)
        with self.progress(0, "test data") as progress:
            removed = remove_test_data(found, lambda done, total: progress.set(done, total, "test data"))
        if not removed.people:
            self.say(f"{study} has no test data.")
            return {"study": study, "people": 0}
        self.say(f"test people: {removed.people} removed")
        for kind, count in removed.rows.items():
            if count:
                self.say(f"{kind.replace('_', ' ')}: {count} removed")
        for folder in removed.files.removed:
            self.say(f"files removed: {folder}")
        for path in removed.files.remaining:
            self.say(f"still names somebody of the test data: {path}")
        return {"study": study, "people": removed.people, "rows": dict(removed.rows), **asdict(removed.files)}

    def erase_person(self, study: str, participant: str | None) -> dict[str, Any]:
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
