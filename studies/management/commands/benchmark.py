from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandParser

from dialogue.jobs.store import Planned
from dialogue.judges.strategies import registered
from dialogue.judges.strategies.standard import Standard
from studies.data.exports.files import refuse_foreign
from studies.data.exports.places import ExportRefused, refuse_unusable_folder
from studies.judging.planning import plan_judging
from studies.judging.settings import Configuration
from studies.management.judging import JudgingCommand
from studies.management.simulating import SimulatingCommand, keys_in
from studies.models import Study
from studies.simulation.benchmark import Benchmark, Estimating, Wish
from studies.simulation.outcomes import CONDITIONS, Figure, Leaderboard, Outcomes, outcomes_of
from studies.simulation.setup import Setup

EXPORT, REPORT = "export", "report"  # within --out


class Command(SimulatingCommand, JudgingCommand):
    help = (
        "A benchmark run: lets every arm of a study talk with the same simulated seekers in each condition, lets "
        "judges rate these conversations, and analyses what came of it. Run it again to do only what is missing."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        self.add_simulation_arguments(parser)
        parser.add_argument(
            "--conditions", nargs="+", choices=CONDITIONS, default=list(CONDITIONS), help="default: both, as twins"
        )
        parser.add_argument("--judge", nargs="+", default=[], metavar="KEY", help="judges of the study file")
        parser.add_argument(
            "--strategy",
            nargs="+",
            choices=registered(),
            default=[Standard.name],
            help="of each judge (default: standard)",
        )
        parser.add_argument(
            "--out", type=Path, metavar="DIR", help="where the export and the report go; without it none are made"
        )
        self.add_job_arguments(parser)

    def work(self, *, study: str, **options: Any) -> dict[str, Any]:
        self.refuse_odd_numbers(options)
        found = self.study(study)
        self.refuse_unusable(options["out"], found)
        run = self.benchmark(found, options)
        if options["estimate"]:
            return self.told_estimate(Estimating(run).run())
        self.refuse_unreachable(run.models())
        budget = self.budget(options["budget"], run.models().values())
        if options["background"] and budget is not None:
            self.refuse("--budget is kept from one job to the next, which --background cannot. Leave one of them out.")
        run.keep_profiles()
        summary = Summary(run, budget)
        for told in self.parts(run, summary, options):
            summary.add(told)
            if summary.is_over() and not options["background"]:
                self.say("The rest is not done: run the same command again to continue.")
                return summary.as_dict()
        if options["out"] and not options["background"]:
            summary.report = self.reported(run, options["out"])
        return summary.as_dict()

    def refuse_unusable(self, out: Path | None, study: Study) -> None:
        """Before anybody is asked, and paid."""
        if out is None:
            return
        try:
            refuse_foreign(out / EXPORT, study)
            refuse_unusable_folder(out / REPORT)
        except ExportRefused as refusal:
            self.refuse(str(refusal))
        except OSError as error:
            self.refuse(f"{error.filename or out}: {error.strerror}")

    def benchmark(self, study: Study, options: dict[str, Any]) -> Benchmark:
        same = ("conditions", "profiles", "replicates", "max_turns", "review")
        wish = Wish(
            arms=keys_in(options["arms"]),
            judges=options["judge"],
            strategies=options["strategy"],
            **{name: options[name] for name in same},
        )
        run, fitting = self.chosen(wish.of, study)
        self.say_left_out(fitting)
        return run

    # Its parts, each a job

    def parts(self, run: Benchmark, summary: "Summary", options: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """How each ended. The next one is planned when the one before is over, with what that has left to spend."""
        for setup in run.setups:
            yield self.simulated(run, setup, summary, options)
        for configuration in run.judges:
            yield self.judged(run, configuration, summary, options)

    def simulated(self, run: Benchmark, setup: Setup, summary: "Summary", options: dict[str, Any]) -> dict[str, Any]:
        planned = self.planned(run, setup, **self.job_terms(summary, options))
        self.do(planned, f"simulate {planned.job.title}", summary, options)
        return {"condition": setup.condition, **self.told_of_conversations(planned)}

    def judged(
        self, run: Benchmark, configuration: Configuration, summary: "Summary", options: dict[str, Any]
    ) -> dict[str, Any]:
        work = run.judging(configuration, run.held())
        planned = plan_judging(run.study, configuration, work.judgements, **self.job_terms(summary, options))
        self.do(planned, f"judge {planned.job.title}", summary, options)
        told = self.told_of_judgements(planned, work, configuration.judge, judgements=len(work.judgements))
        return {"judge": configuration.judge.key, "strategy": configuration.strategy, **told}

    def job_terms(self, summary: "Summary", options: dict[str, Any]) -> dict[str, Any]:
        return {
            "budget": summary.to_spend(),
            "attended": not options["background"],
            "retry_quarantined": options["retry_quarantined"],
        }

    def do(self, planned: Planned, label: str, summary: "Summary", options: dict[str, Any]) -> None:
        self.say(f"{label}:")
        if options["background"]:
            self.say_planned(planned)
        else:
            self.work_on(planned.job, label, at_once=options["concurrency"])
            summary.spent += planned.job.spent

    # What came of it

    def reported(self, run: Benchmark, out: Path) -> str:
        call_command("export", run.study.key, "--out", str(out / EXPORT), verbosity=0)
        call_command("analyse", str(out / EXPORT), "--out", str(out / REPORT), verbosity=0)
        for line in lines(outcomes_of(out / REPORT / "results.json")):
            self.say(line)
        self.say(f"{out / REPORT / 'report.html'}")
        return str(out / REPORT)


class Summary:
    """How far a run came, and what it may still spend."""

    def __init__(self, run: Benchmark, budget: Decimal | None) -> None:
        self.run, self.budget = run, budget
        self.spent = Decimal(0)
        self.told: list[dict[str, Any]] = []
        self.report = ""

    def add(self, told: dict[str, Any]) -> None:
        self.told.append(told)

    def is_over(self) -> bool:
        """What was stopped, or has nothing more to spend, is not gone on with by the part that would come next."""
        return bool(self.told[-1]["left"] or self.told[-1]["budget_reached"])

    def to_spend(self) -> Decimal | None:
        return None if self.budget is None else self.budget - self.spent

    def of(self, name: str, *, judging: bool) -> int:
        return sum(told[name] for told in self.told if ("judge" in told) == judging)

    def as_dict(self) -> dict[str, Any]:
        return {
            "study": self.run.study.key,
            "conversations": self.run.size(),
            "held": self.of("done", judging=False),
            "held_before": self.of("skipped_existing", judging=False),
            "end_reasons": dict(sum((Counter(told.get("end_reasons")) for told in self.told), Counter())),
            "judged": self.of("done", judging=True),
            "judged_before": self.of("skipped_existing", judging=True),
            "failed": sum(told["failed"] for told in self.told),
            "left": sum(told["left"] for told in self.told),
            "waiting": sum(told.get("waiting", 0) for told in self.told),
            "cost": float(self.spent),
            "budget_reached": any(told["budget_reached"] for told in self.told),
            "parts": self.told,
            "report": self.report,
        }


def lines(outcomes: Outcomes) -> Iterator[str]:
    """The leaderboards in words."""
    if not outcomes.leaderboards:
        yield "Conditions cannot be compared yet: no arm has rated conversations in both."
    for board in outcomes.leaderboards:
        yield f"{board.instrument} by {board.raters}, mean of its items: average, worst case"
        yield from board_lines(board)


def board_lines(board: Leaderboard) -> Iterator[str]:
    width = max(len(standing.arm) for standing in board.standings)
    for standing in board.standings:
        yield f"  {standing.arm:{width}}  {told(standing.average)}  {told(standing.worst_case)}"


def told(figure: Figure) -> str:
    if figure.value is None:
        return "-"
    interval = "" if figure.low is None else f" [{figure.low:.2f}, {figure.high:.2f}]"
    return f"{figure.value:.2f}{interval}"
