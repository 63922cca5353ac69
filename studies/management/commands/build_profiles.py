from typing import Any

from django.core.management.base import CommandParser

from dialogue.jobs.store import PlannedJob
from dialogue.languages import CODES
from studies.design.spec import ArmSpec, StudySpec
from studies.management.expanding import ExpandingCommand
from studies.management.jobs import failure_counts
from studies.models import Study
from studies.seeker_profiles.estimate import estimate_profiles
from studies.seeker_profiles.planning import KIND, LATER_USE, Work, candidates, plan_profiles, work_for, writer_settings
from studies.workbench.labels import one_or_more

NOBODY = (
    f"No one to make a profile of: the study has no participant whose language is {' or '.join(CODES)}. Let people "
    "take part first (invite)."
)


class Command(ExpandingCommand):
    help = (
        "Lets a model write a profile of a simulated seeker from each participant's answers, without what could tell "
        "who they are; or, with --expand, further profiles of invented people after those that there are. A person "
        "approves each before it is played (docs/profiles.md)."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument(
            "--model", metavar="KEY", help="an arm or a judge whose model writes (default: the one of [seeker])"
        )
        parser.add_argument("--include-tests", action="store_true", help="also of test people, as bots")
        self.add_expansion_arguments(parser)
        self.add_job_arguments(parser)
        self.add_limit_argument(parser)

    def work(self, *, study: str, model: str | None, include_tests: bool, **options: Any) -> dict[str, Any]:
        study_row = self.study(study)
        self.refuse_below_one(options, "concurrency", "limit")
        writer = self.writer(study_row.current().spec(), model)
        if options["expand"] is not None:
            if include_tests:
                self.refuse("--include-tests is about participants: leave it out with --expand.")
            return self.expand(study_row, writer, options)
        self.refuse_without_expand(options)
        work = work_for(study_row, writer, include_tests=include_tests)
        people = work.people[: options["limit"]]
        if options["estimate"]:
            return self.say_estimate(estimate_profiles(study_row, writer, people))
        terms = self.job_options(options, {writer.key: writer_settings(writer)})
        planned = plan_profiles(study_row, writer, people, include_tests=include_tests, **terms)
        if options["background"]:
            self.say_planned(planned, "profile", "profiles")
        else:
            self.work_on(planned.job, "profiles", at_once=options["concurrency"])
        summary = self.summary(planned, work)
        self.tell(summary, writer)
        if work == Work():
            self.say(NOBODY)
        if not include_tests and not (work.people or work.made_before):
            self.say_tests_left_out(study_row)
        return {"study": study, **summary}

    def say_tests_left_out(self, study: Study) -> None:
        if count := candidates(study, include_tests=True).count() - candidates(study, include_tests=False).count():
            were = one_or_more(count, "test person was", "test people were")
            self.say(f"{count} {were} left out: --include-tests includes them.")

    def writer(self, spec: StudySpec, key: str | None) -> ArmSpec:
        models = {model.key: model for model in (*spec.arms, *spec.judges)}
        if key is not None and key not in models:
            self.refuse(f"--model: the study {spec.key} has no arm or judge {key!r}. It has: {', '.join(models)}.")
        writer = models[key] if key else spec.seeker
        if writer is None:
            self.refuse(
                f"The study file of {spec.key} names no model that writes profiles. Add a table [seeker] with kind, "
                "base_url and model and load it again, or name an arm or a judge with --model."
            )
        return writer

    def summary(self, planned: PlannedJob, work: Work) -> dict[str, Any]:
        summary = self.job_summary(planned.job, KIND, planned=planned.items)
        results = planned.job.items.filter(role=KIND).values_list("result", flat=True)
        return {
            **summary,
            "refused_by_checks": sum(bool(result.get("refused")) for result in results),
            "made_before": work.made_before,
            "unanswered": work.unanswered,
            "not_agreed": work.not_agreed,
            "not_sent": work.not_sent,
        }

    def tell(self, summary: dict[str, Any], writer: ArmSpec) -> None:
        drafts = summary["done"] - summary["refused_by_checks"]
        counts = {
            f"{one_or_more(drafts, 'profile', 'profiles')} made; approve on the page Profiles": drafts,
            "refused by the automatic checks": summary["refused_by_checks"],
            f"{people(summary['made_before'])} one already": summary["made_before"],
            f"{people(summary['unanswered'])} not told their topic or answered the Big Five": summary["unanswered"],
            f"{people(summary['not_agreed'])} not agreed to later use ({LATER_USE})": summary["not_agreed"],
            f"not sent: their consent does not name '{writer.provider or writer.base_url}'": summary["not_sent"],
            "not made: the person has left meanwhile": summary["erased"],
            **failure_counts(summary),
            "left for the next time": summary["left"],
        }
        self.say_counts(counts)


def people(count: int) -> str:
    return one_or_more(count, "person has", "people have")
