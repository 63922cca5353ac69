from dataclasses import replace
from typing import Any

from django.core.management.base import CommandParser

from dialogue.judges.strategies import get_strategies
from dialogue.models.conversation import SeekerKind
from studies.management.command import OF_TESTS
from studies.management.command import Command as Base
from studies.second_raters.reviews import (
    SOURCES,
    NothingToPlan,
    PlanOptions,
    PlanRefused,
    Source,
    faults,
    make_plan,
    matching,
)


class Command(Base):
    help = "Draws conversations for reviewers: which ones, in which rating scales, and how many ratings of each."

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("--name", required=True, metavar="N", help="of the plan; reviewers do not see it")
        parser.add_argument("--instruments", required=True, metavar="A,B", help="rating scales, in their order")
        parser.add_argument(
            "--source",
            required=True,
            choices=SOURCES,
            help="arm: as many of each arm, one arm after the other; strata: as many of each, mixed; far: those on "
            "which a judge is farthest from people",
        )
        parser.add_argument("--size", type=int, metavar="N", help="at most so many conversations")
        parser.add_argument("--judge", default="", metavar="KEY", help="for far")
        parser.add_argument("--strategy", default="", choices=get_strategies(), help="for far: the judge's")
        parser.add_argument("--seekers", nargs="+", default=[], choices=SeekerKind.values, help="default: all")
        parser.add_argument("--each", type=int, default=2, metavar="K", help="ratings in the overlap (default 2)")
        parser.add_argument(
            "--overlap",
            type=float,
            default=1.0,
            metavar="X",
            help="share that gets K, the others one (default 1)",
        )
        parser.add_argument("--no-calibration", action="store_true", help="without the examples with known scores")
        parser.add_argument(
            "--repeat-every", type=int, default=0, metavar="N", help="after N an earlier one comes again (0: never)"
        )
        parser.add_argument("--seed", type=int, default=1, metavar="S")
        parser.add_argument(
            "--include-tests", action="store_true", help="of test data, for bots alone; people get none of it"
        )

    def work(self, *, study: str, **options: Any) -> dict[str, Any]:
        study_row, plan_options = self.study(study), self.plan_options(options)
        if wrong := faults(study_row, plan_options):
            self.refuse("\n".join(f"--{about}: {text}" for about, text in wrong.items()))
        try:
            plan = make_plan(study_row, plan_options)
        except PlanRefused as refusal:
            nothing = isinstance(refusal, NothingToPlan) and not plan_options.source.is_test
            tests = nothing and matching(study_row, replace(plan_options.source, is_test=True)).exists()
            self.refuse(f"{refusal} {OF_TESTS}" if tests else str(refusal))
        needed = list(plan.items.values_list("wanted", flat=True))
        self.say(f"{len(needed)} conversations, {sum(needed)} ratings. Invite reviewers with: invite --track reviewer")
        return {"plan": plan.pk, "name": plan.name, "conversations": len(needed), "ratings": sum(needed)}

    def plan_options(self, options: dict[str, Any]) -> PlanOptions:
        for name, least in {"size": 1, "each": 1, "repeat_every": 0}.items():
            if options[name] is not None and options[name] < least:
                self.refuse(f"--{name.replace('_', '-')} must be at least {least}.")
        if not 0 <= options["overlap"] <= 1:
            self.refuse("--overlap must be from 0 to 1.")
        return PlanOptions(
            name=options["name"],
            instruments=[name for name in options["instruments"].split(",") if name],
            source=Source(
                kind=options["source"],
                size=options["size"],
                judge=options["judge"],
                strategy=options["strategy"],
                seeker_kinds=tuple(options["seekers"]),
                is_test=options["include_tests"],
            ),
            ratings_each=options["each"],
            overlap=options["overlap"],
            calibration=not options["no_calibration"],
            repeat_every=options["repeat_every"],
            seed=options["seed"],
        )
