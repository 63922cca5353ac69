from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from studies.imports.faults import ImportRefused
from studies.imports.pairs import IGNORED, NEEDED, OPTIONAL, import_pairs
from studies.management.command import Command as Base


class Command(Base):
    help = (
        "Adds verdicts on pairs of conversations from a CSV file. What is there already is left as it is; with any "
        f"fault, nothing is changed. Columns: {', '.join(NEEDED)}; where wanted {', '.join(OPTIONAL)}; "
        f"{', '.join(IGNORED)} of an exported pairs.csv are not read."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("file", type=Path, metavar="FILE.csv")

    def work(self, study: str, file: Path, **_options: Any) -> dict[str, Any]:
        found = self.study(study)
        try:
            with file.open("rb") as lines, self.progress(sum(1 for _ in lines) - 1, "import_pairs") as progress:
                outcome = import_pairs(found, file, on_done=progress.step)
        except ImportRefused as error:
            self.refuse(str(error))
        except OSError as error:
            self.refuse(f"{file}: {error.strerror}")
        self.say(
            f"{study}: {outcome.added} verdicts added, with {outcome.pairs} new pairs; "
            f"{outcome.already_there} were there already."
        )
        return {"study": study, **asdict(outcome)}
