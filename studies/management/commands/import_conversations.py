from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from studies.imports.conversations import import_conversations
from studies.imports.faults import ImportRefused
from studies.management.command import Command as Base


class Command(Base):
    help = (
        "Adds finished conversations from a JSONL file, one a line. What is there already is left as it is; with any "
        "fault, nothing is changed. Messages of the role 'system' are no part of a conversation and are left out."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("file", type=Path, metavar="FILE.jsonl")

    def work(self, study: str, file: Path, **_options: Any) -> dict[str, Any]:
        found = self.study(study)
        try:
            with file.open("rb") as lines, self.progress(sum(1 for _ in lines), "import_conversations") as progress:
                outcome = import_conversations(found, file, on_done=progress.step)
        except ImportRefused as error:
            self.refuse(str(error))
        except OSError as error:
            self.refuse(f"{file}: {error.strerror}")
        self.say(
            f"{study}: {outcome.added} conversations added with {outcome.turns} turns ({outcome.empty_turns} of them "
            f"empty); {outcome.already_there} were there already."
        )
        return {"study": study, **asdict(outcome)}
