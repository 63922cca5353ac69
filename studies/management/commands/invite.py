import csv
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from studies.care.opening_requirements import get_advice, lacks_drill
from studies.data.exports.lines import open_private
from studies.management.command import Command as Base
from studies.management.command import add_base_url
from studies.models import Participation, Stage
from studies.participation.enrolment import admits_new_people, invite

NOT_OPEN = {
    Stage.REHEARSAL: "it is in rehearsal, so only test links (--test) can be made. open_study opens it.",
    Stage.PAUSED: "it is paused: no one could start with a new link. open_study ends the pause.",
    Stage.CLOSED: "it is closed: no one could start with a new link. open_study opens it again.",
    Stage.ARCHIVED: "it is archived: no one could start with a new link.",
}


class Command(Base):
    help = "Makes personal links and shows them once: only a hash of each is stored."

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("--count", type=int, required=True, metavar="N")
        parser.add_argument("--track", choices=Participation.Track.values, default="participant")
        parser.add_argument("--test", action="store_true", help="test links: what is done with them is test data")
        parser.add_argument(
            "--csv", type=Path, metavar="FILE", help="write code,track,url into this new file instead of printing"
        )
        add_base_url(parser, links=True)

    def work(self, study: str, count: int, track: str, test: bool, base_url: str, **options: Any) -> dict[str, Any]:
        study_row = self.study(study)
        if not admits_new_people(study_row, is_test=test):
            self.refuse(f"{study}: {NOT_OPEN[Stage(study_row.stage)]}")
        if not test and track != Participation.Track.REVIEWER and lacks_drill(study_row):
            self.refuse(get_advice(study_row))
        if count < 1:
            self.refuse("--count must be at least 1.")
        path: Path | None = options["csv"]
        if path and not path.parent.is_dir():
            self.refuse(f"{path.parent}: no such folder, so {path} cannot be written.")
        with transaction.atomic():
            invitations = [invite(study_row, track=track, is_test=test) for _ in range(count)]
            rows = [(person.code, track, f"{base_url.rstrip('/')}/j/{token}/") for person, token in invitations]
            self.hand_out(rows, path)
        return {"study": study, "track": track, "count": count, "test": test}

    def hand_out(self, rows: list[tuple[str, str, str]], path: Path | None) -> None:
        """Write the links before the transaction ends, because links that no one could read must not exist."""
        if path is None:
            self.stdout.write("\n".join(" ".join(row) for row in rows))
            return
        try:
            with open_private(path) as file:
                csv.writer(file).writerows([("code", "track", "url"), *rows])
        except FileExistsError:
            self.refuse(f"{path}: already exists, and its links cannot be shown again. Choose another file.")
        except OSError as error:
            path.unlink(missing_ok=True)  # the links already written lead to no one
            self.refuse(f"{path}: {error.strerror}")
        self.say(f"{len(rows)} links are in {path}.")
