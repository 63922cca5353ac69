"""What commands that let seekers be simulated share: their options, and how a job of conversations ended."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from django.core.management.base import CommandParser

from dialogue.jobs.store import Planned
from dialogue.seekers.profiles import Profile
from studies.design.spec import StudySpec
from studies.management.jobs import JobCommand
from studies.models import Study
from studies.simulating.choice import Unfit, fitting_profiles
from studies.simulating.planning import KIND
from studies.simulating.setup import Setup

Chosen = TypeVar("Chosen")


class SimulatingCommand(JobCommand):
    def add_simulation_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--profiles",
            type=Path,
            metavar="FILE",
            help="who the seekers are, .json or .jsonl (default: the study's approved profiles, else ours)",
        )
        parser.add_argument("--arms", metavar="a,b", help="keys of arms, with commas between them (default: all)")
        parser.add_argument("--max-turns", type=int, default=15, metavar="N", help="default: 15")
        parser.add_argument("--replicates", type=int, default=1, metavar="K", help="conversations of each pair")
        parser.add_argument("--review", action="store_true", help="let the model look for its own seekers' faults")

    def chosen(self, choose: Callable[..., Chosen], *args: Any, **values: Any) -> Chosen:
        try:
            return choose(*args, **values)
        except Unfit as error:
            self.refuse(str(error))

    def profiles(self, study: Study, spec: StudySpec, path: Path | None, setups: Sequence[Setup]) -> list[Profile]:
        found = self.chosen(fitting_profiles, study, spec, path, setups)
        self.say_left_out(found.others)
        return found.profiles

    def say_left_out(self, others: int) -> None:
        if others:
            self.say(f"{others} profiles are in other languages than the study's and are left out.")

    def told_of_conversations(self, planned: Planned) -> dict[str, Any]:
        before = planned.done_before[KIND]
        told = self.told_of(planned.job, KIND, planned=planned.items)
        faults = planned.job.items.filter(role=KIND).values_list("result", flat=True)
        summary = {**told, "skipped_existing": before, "seeker_faults": sum(one.get("faults", 0) for one in faults)}
        self.say_counts(
            {
                "conversations held": summary["done"],
                "held before": before,
                "faults of the seekers themselves were found (see conversations.csv)": summary["seeker_faults"],
                **{f"failed: {reason}": count for reason, count in summary["failed_reasons"].items()},
                "left for the next time": summary["left"],
            }
        )
        return summary


def keys_in(given: str | None) -> list[str]:
    return [key.strip() for key in given.split(",")] if given else []
