"""The base of the commands that take a study from one stage of its life to another."""

import getpass
from typing import Any

from django.core.management.base import CommandParser

from studies.life import stages
from studies.management.command import Command as Base
from studies.models import Stage


class StageCommand(Base):
    """The base class. Subclasses give the stage `to` which a study goes, and the `outcome` that is printed after its
    key."""

    to: Stage
    outcome: str

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument(
            "--reason", default="", help="why; it is kept with the change, and shown on the page Lifecycle"
        )
        parser.add_argument("--by", default="", metavar="NAME", help="who decides (default: your account's name)")

    def work(self, study: str, reason: str, by: str, **_options: Any) -> dict[str, Any]:
        study_row = self.study(study)
        before = study_row.stage
        try:
            changed = stages.move(study_row, self.to, stages.Actor(by or getpass.getuser()), reason=reason)
        except stages.NotReady as missing:
            lines = "".join(f"\n- {each.text}\n  {each.advice}" for each in missing.missing)
            self.refuse(f"{study} cannot be opened yet. Missing:{lines}")
        except stages.StageUnreachable as no_way:
            ways = ", ".join(stages.get_next_stages(study_row))
            self.refuse(f"{study} is in the stage {no_way.at}, from which it can only go to: {ways}.")
        except stages.ReasonNeeded:
            self.refuse(
                "The results by arm have been shown, so opening the study again ends its blinding: add --reason."
            )
        self.say(f"{study} {self.outcome}." if changed else f"{study} {self.outcome} already: nothing has changed.")
        return {"study": study, "before": before, "stage": study_row.stage}
