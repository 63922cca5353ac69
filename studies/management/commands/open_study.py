from typing import Any

from django.core.management.base import CommandParser

from studies.life.readiness import confirm_resources
from studies.management.stage_command import StageCommand
from studies.models import Stage, Study


class Command(StageCommand):
    help = (
        "Opens a study to real people: for the first time, after a pause, or after it was closed. Before the first "
        "time it lists what is missing, and changes nothing while something is."
    )
    to = Stage.OPEN
    said = "is open: people can start"

    def add(self, parser: CommandParser) -> None:
        super().add(parser)
        parser.add_argument(
            "--resources-checked-by",
            metavar="NAME",
            help="record that NAME has tried each help line of the study's country today",
        )

    def work(self, study: str, **options: Any) -> dict[str, Any]:
        if name := options["resources_checked_by"]:
            self.confirm(self.study(study), name)
        return super().work(study=study, **options)

    def confirm(self, study: Study, name: str) -> None:
        kept = confirm_resources(study, name)
        self.say(f"{kept.by_name} has tried the help lines of {kept.country}: recorded.")
