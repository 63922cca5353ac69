import asyncio
from typing import Any

from django.core.management.base import CommandParser

from dialogue.judges.prompts import STRATEGIES
from dialogue.providers.base import ProviderError
from dialogue.providers.registry import model_for
from studies.design.spec import ArmSpec
from studies.judging import MOMENTS, Judging, Tally, judge_rater, judge_settings, work_for
from studies.management.command import Command as Base
from studies.models import Study


class Command(Base):
    help = (
        "Lets a judge answer the rating instruments about every closed conversation of a study. "
        "What it has answered is not asked again."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("--judge", required=True, metavar="KEY", help="a judge of the study file")
        parser.add_argument("--strategy", required=True, choices=STRATEGIES)
        parser.add_argument("--moments", nargs="+", choices=MOMENTS, default=["final"], help="default: final")
        parser.add_argument("--replicates", type=int, default=1, metavar="K", help="answers to each questionnaire")
        parser.add_argument("--concurrency", type=int, default=4, metavar="C", help="calls at once (default 4)")
        parser.add_argument("--limit", type=int, metavar="N", help="answer at most N questionnaires this time")

    def work(self, *, study: str, judge: str, strategy: str, **options: Any) -> dict[str, Any]:
        found = self.study(study)
        spec = self.judge_of(found, judge)
        for name in ("replicates", "concurrency", "limit"):
            if options[name] is not None and options[name] < 1:
                self.refuse(f"--{name} must be at least 1.")
        tally = self.judged(found, spec, strategy, options)
        self.tell(tally, spec)
        return {"judge": judge, "strategy": strategy, **tally.as_dict()}

    def judge_of(self, study: Study, key: str) -> ArmSpec:
        judges = {judge.key: judge for judge in study.current().spec().judges}
        if key not in judges:
            self.refuse(f"The study {study.key} has no judge {key!r}. It has: {', '.join(judges) or 'none'}.")
        try:
            model_for(judge_settings(judges[key]))
        except ProviderError as error:
            self.refuse(f"judge {key}: {error.detail}")
        return judges[key]

    def judged(self, study: Study, judge: ArmSpec, strategy: str, options: dict[str, Any]) -> Tally:
        tally, rater = Tally(), judge_rater(study, judge, strategy)
        work = work_for(rater, judge, moments=options["moments"], replicates=options["replicates"], tally=tally)
        work = work[: options["limit"]]
        with self.progress(len(work), f"judge {judge.key} ({strategy})") as progress:
            judging = Judging(judge, rater, tally, progress.step)
            asyncio.run(judging.work_through(work, at_once=options["concurrency"]))
        return tally

    def tell(self, tally: Tally, judge: ArmSpec) -> None:
        unnamed = judge.provider or judge.base_url
        told = {
            "judged": tally.done,
            "answered before": tally.skipped_existing,
            f"not sent: their consent does not name '{unnamed}'": tally.not_sent,
            "not judged: nothing is known of the seeker": tally.without_profile,
            "not judged: the person has withdrawn meanwhile": tally.erased,
            "single items could not be read and are stored as missing": tally.unreadable_items,
            **{f"failed: {reason}": count for reason, count in tally.failed_reasons.items()},
        }
        for what, count in told.items():
            if count:
                self.say(f"{count} {what}.")
