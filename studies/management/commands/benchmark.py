from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandParser

from dialogue.jobs.store import PlannedJob
from dialogue.judges.strategies import get_strategies
from dialogue.judges.strategies.standard import Standard
from dialogue.seekers.components import components
from studies.data.exports.destinations import ExportRefused, refuse_unusable_folder
from studies.data.exports.files import refuse_foreign
from studies.judging.planning import plan_judging
from studies.judging.settings import Configuration
from studies.management.judging import JudgingCommand
from studies.management.simulating import SimulatingCommand, keys_in
from studies.models import Study
from studies.simulation.benchmark import ABLATIONS, Benchmark, Estimating, Wish
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
        parser.add_argument(
            "--ablations",
            nargs="+",
            choices=ABLATIONS,
            default=[],
            metavar="CHANGE",
            help="hold all conversations once more with seekers changed so: "
            f"{', '.join(ABLATIONS)} (the last {len(components())} leave a behaviour of the worst case out)",
        )
        parser.add_argument("--judge", nargs="+", default=[], metavar="KEY", help="judges of the study file")
        parser.add_argument(
            "--strategy",
            nargs="+",
            choices=get_strategies(),
            default=[Standard.name],
            help="of each judge (default: standard)",
        )
        parser.add_argument(
            "--out", type=Path, metavar="DIR", help="where the export and the report go; without it none are made"
        )
        self.add_job_arguments(parser)

    def work(self, *, study: str, **options: Any) -> dict[str, Any]:
        self.refuse_odd_numbers(options)
        study_row = self.study(study)
        self.refuse_unusable(options["out"], study_row)
        run = self.benchmark(study_row, options)
        if options["estimate"]:
            return self.say_estimate(Estimating(run).run())
        self.refuse_unreachable(run.models())
        budget = self.budget(options["budget"], run.models().values())
        if options["background"] and budget is not None:
            self.refuse("--budget is kept from one job to the next, which --background cannot. Leave one of them out.")
        run.keep_profiles()
        summary = Summary(run, budget)
        for part in self.parts(run, summary, options):
            summary.add(part)
            if summary.is_over() and not options["background"]:
                self.say("The rest is not done: run the same command again to continue.")
                return summary.as_dict()
        if options["out"] and not options["background"]:
            summary.report = self.write_report(run, options["out"])
        return summary.as_dict()

    def refuse_unusable(self, out: Path | None, study: Study) -> None:
        """Refuse an unusable folder before any model is asked and paid."""
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
        same = ("conditions", "ablations", "profiles", "replicates", "max_turns", "review")
        wish = Wish(
            arms=keys_in(options["arms"]),
            judges=options["judge"],
            strategies=options["strategy"],
            **{name: options[name] for name in same},
        )
        run, fitting = self.choose(wish.of, study)
        self.say_left_out(fitting)
        return run

    # The parts, each a job

    def parts(self, run: Benchmark, summary: "Summary", options: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the summary of each part.

        The next one is planned when the one before is over, with what is left of the budget.
        """
        for setup in run.setups:
            yield self.run_simulation(run, setup, summary, options)
        for configuration in run.judges:
            yield self.run_judging(run, configuration, summary, options)

    def run_simulation(
        self, run: Benchmark, setup: Setup, summary: "Summary", options: dict[str, Any]
    ) -> dict[str, Any]:
        planned = self.plan_setup(run, setup, **self.job_terms(summary, options))
        self.do(planned, f"simulate {planned.job.title}", summary, options)
        return {"condition": setup.condition, "setup": setup.name(), **self.report_conversations(planned)}

    def run_judging(
        self, run: Benchmark, configuration: Configuration, summary: "Summary", options: dict[str, Any]
    ) -> dict[str, Any]:
        work = run.judging(configuration, run.get_held_numbers())
        planned = plan_judging(run.study, configuration, work.judgements, **self.job_terms(summary, options))
        self.do(planned, f"judge {planned.job.title}", summary, options)
        judged = self.report_judgements(planned, work, configuration.judge, judgements=len(work.judgements))
        return {"judge": configuration.judge.key, "strategy": configuration.strategy, **judged}

    def job_terms(self, summary: "Summary", options: dict[str, Any]) -> dict[str, Any]:
        return {
            "budget": summary.to_spend(),
            "attended": not options["background"],
            "retry_quarantined": options["retry_quarantined"],
        }

    def do(self, planned: PlannedJob, label: str, summary: "Summary", options: dict[str, Any]) -> None:
        self.say(f"{label}:")
        if options["background"]:
            self.say_planned(planned)
        else:
            self.work_on(planned.job, label, at_once=options["concurrency"])
            summary.spent += planned.job.spent

    # The results

    def write_report(self, run: Benchmark, out: Path) -> str:
        call_command("export", run.study.key, "--out", str(out / EXPORT), verbosity=0)
        call_command("analyse", str(out / EXPORT), "--out", str(out / REPORT), verbosity=0)
        for line in leaderboard_lines(outcomes_of(out / REPORT / "results.json")):
            self.say(line)
        self.say(f"{out / REPORT / 'report.html'}")
        return str(out / REPORT)


class Summary:
    """The summary of a run, and what it may still spend."""

    def __init__(self, run: Benchmark, budget: Decimal | None) -> None:
        self.run, self.budget = run, budget
        self.spent = Decimal(0)
        self.finished_parts: list[dict[str, Any]] = []
        self.report = ""

    def add(self, part: dict[str, Any]) -> None:
        self.finished_parts.append(part)

    def is_over(self) -> bool:
        """Return whether the last part was stopped or spent its budget, so that no further part is started."""
        return bool(self.finished_parts[-1]["left"] or self.finished_parts[-1]["budget_reached"])

    def to_spend(self) -> Decimal | None:
        return None if self.budget is None else self.budget - self.spent

    def of(self, name: str, *, judging: bool) -> int:
        return sum(part[name] for part in self.finished_parts if ("judge" in part) == judging)

    def as_dict(self) -> dict[str, Any]:
        return {
            "study": self.run.study.key,
            "conversations": self.run.size(),
            "held": self.of("done", judging=False),
            "held_before": self.of("skipped_existing", judging=False),
            "end_reasons": dict(sum((Counter(part.get("end_reasons")) for part in self.finished_parts), Counter())),
            "judged": self.of("done", judging=True),
            "judged_before": self.of("skipped_existing", judging=True),
            "failed": sum(part["failed"] for part in self.finished_parts),
            "left": sum(part["left"] for part in self.finished_parts),
            "waiting": sum(part.get("waiting", 0) for part in self.finished_parts),
            "cost": float(self.spent),
            "budget_reached": any(part["budget_reached"] for part in self.finished_parts),
            "parts": self.finished_parts,
            "report": self.report,
        }


def leaderboard_lines(outcomes: Outcomes) -> Iterator[str]:
    """Yield the leaderboards in words."""
    if not outcomes.leaderboards:
        yield "Conditions cannot be compared yet: no arm has rated conversations in both."
    for board in outcomes.leaderboards:
        yield f"{board.instrument} by {board.raters}, mean of its items: average, worst case"
        yield from board_lines(board)


def board_lines(board: Leaderboard) -> Iterator[str]:
    width = max(len(standing.arm) for standing in board.standings)
    for standing in board.standings:
        yield f"  {standing.arm:{width}}  {format_figure(standing.average)}  {format_figure(standing.worst_case)}"


def format_figure(figure: Figure) -> str:
    if figure.value is None:
        return "-"
    interval = "" if figure.low is None else f" [{figure.low:.2f}, {figure.high:.2f}]"
    return f"{figure.value:.2f}{interval}"
