from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from studies.care.opening import get_advice, lacks_drill
from studies.design.reading import StudyFileError, read_study
from studies.instruments.loading import instrument_ids
from studies.management.command import Command as Base
from studies.participation.consent import template_ids
from studies.setup.addresses import words_of_addresses
from studies.setup.cards import Stored
from studies.setup.model_keys import unset_keys, unset_secrets
from studies.setup.storage import load_spec
from studies.workbench.labels import one_or_more


class Command(Base):
    help = "Checks a study file and loads it. Every fault is reported at once; with a fault, nothing is changed."

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE.toml")

    def work(self, file: Path, **_options: Any) -> dict[str, Any]:
        known = [*instrument_ids(), *template_ids()]
        try:
            spec = read_study(
                file,
                instruments=known,
                prompt_folder=settings.FIXTURES / "prompts",
                taken_keys=words_of_addresses(),
            )
        except StudyFileError as error:
            self.refuse("\n".join(f"{file}: {fault}" for fault in error.faults))
        except OSError as error:
            self.refuse(f"{file}: {error.strerror}")
        loaded = load_spec(spec, folder=file.parent)
        self.say(f"{spec.key}: {loaded.outcome}, version {loaded.protocol.version}, {len(spec.arms)} arms.")
        for line in describe_cards(loaded.cards):
            self.say(line)
        unset = list(unset_keys(spec))
        for key in unset:
            self.stderr.write(f"Warning: {key.model} cannot be asked yet: the variable {key.variable} is not set here.")
        if lacks_drill(loaded.protocol.study):
            self.stderr.write(f"Warning: {get_advice(loaded.protocol.study)}")
        for variable in unset_secrets(spec):
            self.stderr.write(f"Warning: webhooks cannot be signed yet: the variable {variable} is not set here.")
        return {
            "study": spec.key,
            "outcome": loaded.outcome,
            "version": loaded.protocol.version,
            "unset_keys": [{"model": key.model, "variable": key.variable} for key in unset],
        }


def describe_cards(cards: Stored) -> Iterator[str]:
    """Yield a line about new role cards, and one about cards that need a decision."""
    if cards.added:
        yield f"{cards.added} {one_or_more(cards.added, 'role card', 'role cards')} added."
    if cards.kept:
        differ = one_or_more(
            cards.kept, "role card differs from the file and was", "role cards differ from it and were"
        )
        yield f"{cards.kept} {differ} left unchanged; import_cards replaces them with the file's."
