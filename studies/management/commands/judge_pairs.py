from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandParser

from dialogue.jobs.estimate import DryCaller, Estimate, Typicals, discard_changes, sample_items, scale_loads
from dialogue.jobs.store import PlannedJob
from studies.design.spec import ArmSpec
from studies.judging.comparisons import PAIR, PairHandler, Showing, Work, plan_pairs, work_for
from studies.judging.estimate import dry_run
from studies.judging.settings import judge_settings
from studies.management.jobs import failure_counts
from studies.management.judging import JudgingCommand, answer_statistics, unreadable
from studies.models import PairPlan, Study
from studies.second_raters.comparisons import pairwise_instruments
from studies.simulation.choice import Unfit, get_judge

LIMIT_PAIRS = "compare at most N pairs this time; with 3 a trial, which asks the judge and is paid"


class Command(JudgingCommand):
    help = (
        "Lets a judge compare the pairs of a plan (see plan_pairs), each in both orders. A plan has either only test "
        "data "
        "or no test data. What it has compared is not asked again, and what was paid for is not paid for again."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("--judge", required=True, metavar="KEY", help="a judge of the study file")
        parser.add_argument("--plan", metavar="NAME", help="of these pairs (default: all plans)")
        parser.add_argument("--limit", type=int, metavar="N", help=LIMIT_PAIRS)
        self.add_job_arguments(parser)

    def work(self, *, study: str, judge: str, plan: str | None, **options: Any) -> dict[str, Any]:
        study_row = self.study(study)
        spec = self.judge(study_row, judge)
        self.refuse_changed(study_row, spec)
        self.refuse_below_one(options, "concurrency", "limit")
        work = work_for(spec, self.plans(study_row, plan))
        showings = work.limit(options["limit"])
        if options["estimate"]:
            return self.say_estimate(estimate_pairs(study_row, spec, showings))
        terms = self.job_options(options, {f"judge {judge}": judge_settings(spec)})
        planned = plan_pairs(study_row, spec, showings, **terms)
        if options["background"]:
            self.say_planned(planned)
        else:
            self.work_on(planned.job, f"judge {planned.job.title}", at_once=options["concurrency"])
        return {"judge": judge, **self.report(planned, work, spec, showings=len(showings))}

    def judge(self, study: Study, key: str) -> ArmSpec:
        try:
            return get_judge(study.current().spec(), key)
        except Unfit as error:
            self.refuse(str(error))

    def plans(self, study: Study, name: str | None) -> list[PairPlan]:
        plans = list(study.pair_plans.all())
        if not plans:
            self.refuse(f"The study {study.key} has no plan of pairs. Make one with plan_pairs.")
        matches = [plan for plan in plans if name in (None, plan.name)]
        if not matches:
            names = ", ".join(repr(plan.name) for plan in plans)
            self.refuse(f"--plan: the study {study.key} has no plan {name!r}. It has: {names}.")
        usable = [plan for plan in matches if plan.instrument in pairwise_instruments()]
        if not usable:
            self.refuse(
                f"The questions of {matches[0].name!r} are not among our instruments, so no judge can be asked."
            )
        return usable

    def report(self, planned: PlannedJob, work: Work, judge: ArmSpec, *, showings: int) -> dict[str, Any]:
        done_before = planned.done_before[PAIR]
        ended = self.job_summary(planned.job, PAIR, planned=showings - done_before - planned.quarantined)
        summary = {
            **ended,
            "skipped_existing": work.skipped_existing + done_before,
            "not_sent": work.not_sent,
            "unfit": work.unfit,
            **answer_statistics(planned.job, PAIR),
        }
        name = judge.provider or judge.base_url
        self.say_counts(
            {
                "compared (a pair counts twice, once in each order)": summary["done"],
                "compared before": summary["skipped_existing"],
                f"not sent: a consent does not name '{name}'": summary["not_sent"],
                "not compared: a conversation is open, or its person has withdrawn": summary["unfit"],
                "not compared: a person has withdrawn meanwhile": summary["erased"],
                unreadable(
                    summary,
                    "single question could not be read and has no verdict",
                    "single questions could not be read and have no verdict",
                ): summary["unreadable_items"],
                **failure_counts(summary),
                "left for the next time": summary["left"],
            }
        )
        self.say_answer_statistics(summary)
        return summary


def estimate_pairs(study: Study, judge: ArmSpec, showings: Sequence[Showing]) -> Estimate:
    with discard_changes():
        job = plan_pairs(study, judge, showings).job
        caller = DryCaller(Typicals.read())
        number = job.items.unfinished().filter(role=PAIR).count()
        loads = scale_loads(dry_run(PairHandler(job), sample_items(job, PAIR), caller), number)
    return Estimate(judgements=number, loads=loads, lengths=caller.lengths)
