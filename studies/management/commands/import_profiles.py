from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from dialogue.seekers.profiles import ProfilesRefused, load_profiles
from studies.management.command import Command as Base
from studies.seeker_profiles.selection import OtherProfiles, keep
from studies.simulation.choice import MILD


class Command(Base):
    help = (
        "Takes profiles of simulated seekers from a file (see docs/profiles.md) and checks them. One that is there "
        "already is not stored again. With any fault, nothing is changed."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument(
            "file",
            type=Path,
            metavar="FILE",
            help=".json: an object with profiles, or a list of them; .jsonl: one profile a line",
        )

    def work(self, study: str, file: Path, **_options: Any) -> dict[str, Any]:
        study_row = self.study(study)
        try:
            outcome = keep(study_row, load_profiles(file), origin=file.name)
        except (ProfilesRefused, OtherProfiles) as error:
            self.refuse(str(error))
        self.say(f"{study}: {outcome.added} profiles added, {outcome.unchanged} there already.")
        if outcome.refused:
            self.say(f"{outcome.refused} of them speak of danger to life and are refused; see the page Profiles.")
        if outcome.mild:
            self.say(f"Too mild for the worst case, and left out of it: {', '.join(outcome.mild)}. {MILD}")
        return {"study": study, **asdict(outcome)}
