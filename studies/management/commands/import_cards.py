from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from studies.design.card_files import CardFileError, read_cards
from studies.management.command import Command as Base
from studies.setup.cards import store_cards


class Command(Base):
    help = (
        "Takes role cards from a JSON file (in the manner of fixtures/instruments/seeker_profiles_demo.json). A card "
        "that has changed is changed; conversations that have it already keep it as it was. With any fault, nothing is "
        "changed."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("file", type=Path, metavar="FILE.json")

    def work(self, study: str, file: Path, **_options: Any) -> dict[str, Any]:
        study_row = self.study(study)
        try:
            cards = read_cards(file, min_turns=study_row.current().spec().chat.min_turns)
        except CardFileError as error:
            self.refuse("\n".join(f"{file}: {fault}" for fault in error.faults))
        stored = store_cards(study=study_row, cards=cards)
        self.say(f"{study}: {stored.added} cards added, {stored.changed} changed, {stored.unchanged} unchanged.")
        counted = {name: count for name, count in asdict(stored).items() if name != "kept"}
        return {"study": study, **counted}
