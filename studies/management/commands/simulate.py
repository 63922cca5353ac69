from typing import Any

from django.core.management.base import CommandParser

from dialogue.seekers.components import components
from studies.design.spec import StudySpec
from studies.management.simulating import SimulatingCommand, keys_in
from studies.simulation.benchmark import Benchmark, Estimating
from studies.simulation.choice import fitting_profiles, get_arms, seeker_setup
from studies.simulation.setup import Setup


class Command(SimulatingCommand):
    help = (
        "Lets simulated seekers talk to the arms of a study and rate them as people do. Existing "
        "conversations are not repeated, and interrupted ones are continued."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("--seeker", required=True, choices=("average", "worst_case"))
        parser.add_argument(
            "--without",
            nargs="+",
            default=[],
            choices=tuple(components()),
            metavar="BEHAVIOUR",
            help=f"leave out of the worst case: {', '.join(components())}",
        )
        parser.add_argument("--one-agent", action="store_true", help="no Thinker before the Talker")
        parser.add_argument("--simple-profile", action="store_true", help="no personality and no script in the profile")
        self.add_simulation_arguments(parser)
        self.add_job_arguments(parser)
        self.add_limit_argument(parser)

    def work(self, *, study: str, seeker: str, **options: Any) -> dict[str, Any]:
        study_row = self.study(study)
        self.refuse_odd_numbers(options, "limit")
        if options["without"] and seeker == "average":
            self.refuse("--without leaves out behaviours of the worst case; average seekers have none.")
        protocol = study_row.current()
        spec = protocol.spec()
        setup = self.setup(spec, seeker, options)
        arms = self.choose(get_arms, spec, keys_in(options["arms"]))
        fitting = self.choose(fitting_profiles, study_row, spec, options["profiles"], [setup])
        self.say_left_out(fitting)
        run = Benchmark(
            protocol,
            (setup,),
            tuple(arms),
            tuple(fitting.profiles),
            (),
            options["replicates"],
            limit=options["limit"],
            origin=fitting.origin,
        )
        if options["estimate"]:
            return self.say_estimate(Estimating(run).run())
        terms = self.job_options(options, run.models())
        run.keep_profiles()
        planned = self.plan_setup(run, setup, **terms)
        if options["background"]:
            self.say_planned(planned)
        else:
            self.work_on(planned.job, f"simulate {planned.job.title}", at_once=options["concurrency"])
        return {"seeker": seeker, "setup": setup.name(), **self.report_conversations(planned)}

    def setup(self, spec: StudySpec, condition: Any, options: dict[str, Any]) -> Setup:
        return self.choose(
            seeker_setup,
            spec,
            condition=condition,
            without=tuple(sorted(set(options["without"]))),
            one_agent=options["one_agent"],
            simple_profile=options["simple_profile"],
            max_turns=options["max_turns"],
            review=options["review"],
        )
