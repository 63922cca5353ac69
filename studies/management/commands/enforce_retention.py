from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from studies.data.retention_schedule import Due, Step, enforce_retention, find_due
from studies.management.command import Command as Base


class Command(Base):
    help = (
        "Keeps the days of [retention] of all studies: writes to a study's contact 30 days before data go, and deletes "
        "or anonymises when the day is over. Servers do the same once an hour. With --dry-run it only says what is due."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say what is due, and change nothing")

    def work(self, dry_run: bool, **_options: Any) -> dict[str, Any]:
        outcomes = [(due, True) for due in find_due(timezone.now())] if dry_run else enforce_retention()
        for due, went_well in outcomes:
            self.say(due.describe() if dry_run else tell(due, went_well=went_well))
        if not outcomes:
            self.say("Nothing is due.")
        counts = {str(step): sum(due.step == step and well for due, well in outcomes) for step in Step}
        return {**counts, "failed": sum(not well for _due, well in outcomes), "dry_run": dry_run}


def tell(due: Due, *, went_well: bool) -> str:
    outcome = {Step.ANNOUNCE: "announced", Step.ENFORCE: "done", Step.WAIT: "not done"}[due.step]
    return f"{due.describe()}: {outcome if went_well else 'not announced (the log says why)'}"
