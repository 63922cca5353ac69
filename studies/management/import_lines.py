"""The base of commands that add the lines of one file to a study, all of them or none."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from studies.data.imports.faults import ImportRefused
from studies.management.command import Command
from studies.models import Study


class ImportLines(Command):
    """The base class. Subclasses name their kind of file and how many of its lines are headers, and give `bring` and
    `describe_outcome`.

    `more_options` names the options that they add; `bring` gets each under its name.
    """

    metavar: str
    header: int
    more_options: tuple[str, ...] = ()

    def bring(self, study: Study, file: Path, *, on_done: Callable[[int], None], **options: Any) -> Any:
        """Import the file and return the outcome, a dataclass. Raises ImportRefused, and then nothing was changed."""
        raise NotImplementedError

    def describe_outcome(self, outcome: Any) -> str:
        raise NotImplementedError

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("file", type=Path, metavar=self.metavar)

    def work(self, study: str, file: Path, **options: Any) -> dict[str, Any]:
        study_row = self.study(study)
        try:
            with file.open("rb") as lines, self.progress(sum(1 for _ in lines) - self.header, file.name) as progress:
                more = {name: options[name] for name in self.more_options}
                outcome = self.bring(study_row, file, on_done=progress.step, **more)
        except ImportRefused as error:
            self.refuse(str(error))
        except OSError as error:
            self.refuse(f"{file}: {error.strerror}")
        self.say(f"{study}: {self.describe_outcome(outcome)}")
        return {"study": study, **asdict(outcome)}
