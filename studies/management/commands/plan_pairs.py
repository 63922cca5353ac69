from typing import Any

from django.core.management.base import CommandParser

from studies.management.command import OF_TESTS
from studies.management.command import Command as Base
from studies.models import PairPlan
from studies.second_raters import comparisons
from studies.second_raters.eligible import conversations
from studies.second_raters.reviews import NothingToPlan, PlanRefused


class Command(Base):
    help = (
        "Draws pairs of conversations, or of single replies, that reviewers compare side by side: every two arms, or "
        "every two kinds of seekers, equally often, and of the same seeker where there are such."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("--name", required=True, metavar="N", help="what the plan is called")
        parser.add_argument(
            "--instrument", required=True, metavar="I", help=", ".join(comparisons.pairwise_instruments())
        )
        parser.add_argument("--between", required=True, choices=comparisons.BETWEEN)
        parser.add_argument("--level", choices=comparisons.LEVELS, default=comparisons.CONVERSATION)
        parser.add_argument(
            "--count",
            type=int,
            default=comparisons.COUNT,
            metavar="N",
            help=f"pairs at most (default {comparisons.COUNT})",
        )
        parser.add_argument("--each", type=int, default=1, metavar="K", help="reviewers for each pair (default 1)")
        parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the draw (default 1)")
        parser.add_argument(
            "--include-tests",
            action="store_true",
            dest="test_data",
            help="of test data, for bots alone; people get none of it",
        )

    def work(self, *, study: str, name: str, instrument: str, each: int, **options: Any) -> dict[str, Any]:
        drawing = comparisons.Drawing(**{key: options[key] for key in comparisons.Drawing.__dataclass_fields__})
        study_row = self.study(study)
        try:
            plan = comparisons.make_plan(study_row, name=name, instrument=instrument, each=each, drawing=drawing)
        except PlanRefused as refusal:
            nothing = isinstance(refusal, NothingToPlan) and not drawing.test_data
            tests = nothing and conversations(study_row, is_test=True).exists()
            self.refuse(f"{refusal} {OF_TESTS}" if tests else str(refusal))
        return self.report(plan, study)

    def report(self, plan: PairPlan, study: str) -> dict[str, Any]:
        contests = comparisons.contests_of(plan)
        count = sum(contests.values())
        self.say("".join(f"{first} and {second}: {number}\n" for (first, second), number in sorted(contests.items())))
        self.say(f"{study}: {count} pairs in the plan {plan.name}, verdicts on each: {plan.verdicts_each}.")
        by_contest = {f"{first}>{second}": number for (first, second), number in sorted(contests.items())}
        return {"study": study, "plan": plan.name, "pairs": count, "contests": by_contest}
