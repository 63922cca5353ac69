from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandParser

from studies.management.command import Command as Base
from studies.workbench.tasks import folder_of, get_or_create_task


class Command(Base):
    help = (
        "Exports a study, analyses it and shows the results on its Analysis page, as the button there does. For files "
        "of your own see export and analyse."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("--include-tests", action="store_true", help="include test data: of bots and of test links")

    def work(self, study: str, include_tests: bool, **_options: Any) -> dict[str, Any]:
        arguments = ["--include-tests"] if include_tests else []
        task, is_new = get_or_create_task(self.study(study), "analyse", arguments)
        if not is_new:
            self.refuse(f"An analysis of {study} is already running.")
        call_command("run_task", task.pk)
        report = folder_of(task) / "report" / "report.html"
        self.say(f"{report}\nIt is on the study's Analysis page too: /research/{study}/analysis/")
        return {"study": study, "report": str(report)}
