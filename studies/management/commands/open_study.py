from typing import Any

from django.core.management.base import CommandParser

from studies.life.readiness import confirm_resources
from studies.management.stage_command import StageCommand
from studies.models import Stage


class Command(StageCommand):
    help = (
        "Opens a study to real people: for the first time, after a pause, or after it was closed. Before the first "
        "time it lists what is missing, and changes nothing while something is."
    )
    to = Stage.OPEN
    outcome = "is open: people can start"

    def add(self, parser: CommandParser) -> None:
        super().add(parser)
        parser.add_argument(
            "--resources-checked-by",
            metavar="NAME",
            help="record that NAME has tried each help line of the study's country today",
        )

    def work(self, study: str, **options: Any) -> dict[str, Any]:
        name = options["resources_checked_by"]
        confirmation = confirm_resources(self.study(study), name) if name else None
        summary = super().work(study=study, **options)
        if confirmation:  # a refusal keeps nothing, and must not say that it did
            self.say(f"{confirmation.by_name} has tried the help lines of {confirmation.country}: recorded.")
        return summary
