from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from studies.imports.faults import ImportRefused
from studies.imports.ratings import IGNORED, NEEDED, OPTIONAL, import_ratings
from studies.management.command import Command as Base


class Command(Base):
    help = (
        "Adds ratings from a CSV file. What is there already is left as it is; with any fault, nothing is changed. "
        "A row without score and missing_reason is not answered yet, and left out. "
        f"Columns: {', '.join(NEEDED)}; where wanted {', '.join(OPTIONAL)}; {', '.join(IGNORED)} of an exported "
        "ratings.csv are not read."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("file", type=Path, metavar="FILE.csv")

    def work(self, study: str, file: Path, **_options: Any) -> dict[str, Any]:
        found = self.study(study)
        try:
            with file.open("rb") as lines, self.progress(sum(1 for _ in lines) - 1, "import_ratings") as progress:
                outcome = import_ratings(found, file, on_done=progress.step)
        except ImportRefused as error:
            self.refuse(str(error))
        except OSError as error:
            self.refuse(f"{file}: {error.strerror}")
        self.say(
            f"{study}: {outcome.added} ratings added ({outcome.missing} of them without a score); "
            f"{outcome.already_there} were there already."
        )
        if outcome.not_answered_yet:
            self.say(f"{outcome.not_answered_yet} rows have neither score nor reason: not answered yet, and left out.")
        return {"study": study, **asdict(outcome)}
