"""The base of commands that simulate seekers: their options, and the summary of a job of conversations."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from django.core.management.base import CommandParser

from dialogue.jobs import store
from dialogue.jobs.runner import VALID
from dialogue.jobs.store import PlannedJob
from dialogue.models import Job, JobItem
from studies.management.jobs import JobCommand, States, failure_counts, in_brackets
from studies.simulation.benchmark import Benchmark
from studies.simulation.choice import MILD, FittingProfiles, Unfit, describe_states
from studies.simulation.planning import KIND, REVIEW
from studies.simulation.setup import MOST_REPLICATES, MOST_TURNS, Setup
from studies.workbench.labels import one_or_more

Choice = TypeVar("Choice")


class SimulatingCommand(JobCommand):
    def add_simulation_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--profiles",
            type=Path,
            metavar="FILE",
            help="who the seekers are, .json or .jsonl (default: the study's approved profiles, else ours)",
        )
        parser.add_argument("--arms", metavar="a,b", help="keys of arms, with commas between them (default: all)")
        parser.add_argument("--max-turns", type=int, default=15, metavar="N", help=f"default: 15, at most {MOST_TURNS}")
        parser.add_argument(
            "--replicates",
            type=int,
            default=1,
            metavar="K",
            help=f"conversations of each pair (default: 1, at most {MOST_REPLICATES})",
        )
        parser.add_argument(
            "--review",
            action="store_true",
            help="let the model look for its own seekers' faults, in conversations held before too",
        )

    def refuse_odd_numbers(self, options: dict[str, Any], *names: str) -> None:
        """Refuse numbers out of range; `names`: further options that are at least 1."""
        self.refuse_below_one(options, "replicates", "concurrency", "max_turns", *names)
        self.refuse_above(options, replicates=MOST_REPLICATES, max_turns=MOST_TURNS)

    def choose(self, choose: Callable[..., Choice], *args: Any, **values: Any) -> Choice:
        try:
            return choose(*args, **values)
        except Unfit as error:
            self.refuse(str(error))

    def say_left_out(self, fitting: FittingProfiles) -> None:
        if fitting.others:
            are = one_or_more(fitting.others, "profile is", "profiles are")
            self.say(f"Left out: {fitting.others} {are} in a language that the study does not have.")
        if fitting.not_played:
            self.say(f"Profiles that may not be played and are left out: {describe_states(fitting.not_played)}.")
        if fitting.mild:
            self.say(f"Profiles too mild for the worst case, left out: {', '.join(fitting.mild)}. {MILD}")

    def plan_setup(self, run: Benchmark, setup: Setup, **terms: Any) -> PlannedJob:
        planned = run.plan(setup, **terms)
        self.set_aside = run.let_count(setup)
        if others := run.count_displaced(setup):
            self.say(
                "Earlier conversations of the same arms and profiles, with other prompts, models or another maximum of "
                f"turns: {others}. Each counts until the new conversation that replaces it is finished."
            )
        return planned

    def report_conversations(self, planned: PlannedJob) -> dict[str, Any]:
        conversations = self.job_summary(planned.job, KIND, planned=len(self.items_of_role(planned.job, KIND)))
        results = planned.job.items.filter(role__in=(KIND, REVIEW)).values_list("result", flat=True)
        ends = self.end_reasons(planned.job)
        held = one_or_more(conversations["done"], "conversation", "conversations")
        summary = {
            "end_reasons": ends,
            **with_reviews(conversations, self.job_summary(planned.job, REVIEW, planned=0, needs__state="done")),
            "skipped_existing": planned.done_before[KIND],
            "reviewed_before": planned.done_before[REVIEW],
            "seeker_faults": sum(one.get("faults", 0) for one in results),
            "unrated": sum(not one.get(VALID, True) for one in results),
            "unread_states": sum(one.get("unread_states", 0) for one in results),
            "unread_reviews": sum(one.get("unread", False) for one in results),
            "set_aside": self.set_aside + sum(one.get("set_aside", 0) for one in results),
        }
        self.say_counts(
            {
                f"{held} held{in_brackets(ends)}": summary["done"],
                "of them without a readable rating": summary["unrated"],
                f"{one_or_more(summary['unread_states'], 'inner state', 'inner states')} could not be read": summary[
                    "unread_states"
                ],
                "held before": summary["skipped_existing"],
                "reviewed": summary["reviewed"],
                "reviewed before": summary["reviewed_before"],
                f"{one_or_more(summary['unread_reviews'], 'review', 'reviews')} could not be read": summary[
                    "unread_reviews"
                ],
                f"{one_or_more(summary['seeker_faults'], 'fault', 'faults')} of the seekers themselves found "
                "(see conversations.csv)": summary["seeker_faults"],
                f"earlier {one_or_more(summary['set_aside'], 'one counts', 'ones count')} no more: held with other "
                "prompts, models or turns at most. Asked for as before, they count again at no cost": summary[
                    "set_aside"
                ],
                **failure_counts(summary),
                "left for the next time": summary["left"],
            }
        )
        return summary

    def end_reasons(self, job: Job) -> dict[str, int]:
        """Return the end reasons of the job's conversations."""
        reasons: Counter[str] = Counter()
        for some in store.chunks(self.items_of_role(job, KIND)):
            items = JobItem.objects.filter(pk__in=some, state=States.DONE)
            reasons.update(items.values_list("conversation__end_reason", flat=True))
        return dict(reasons.most_common())


def with_reviews(conversations: dict[str, Any], reviews: dict[str, Any]) -> dict[str, Any]:
    """Return the summary of conversations with that of the reviews of finished ones.

    Reviews of other conversations are left out, because they fail with them.
    """
    both = ("quarantined", "failed", "left", "waiting")
    added = {name: conversations[name] + reviews[name] for name in both if name in conversations}
    reasons = Counter(conversations["failed_reasons"]) + Counter(reviews["failed_reasons"])
    details = {**reviews["failed_details"], **conversations["failed_details"]}
    failed = {"failed_reasons": dict(reasons), "failed_details": details}
    return {**conversations, **added, **failed, "reviewed": reviews["done"]}


def keys_in(text: str | None) -> list[str]:
    """Return the keys. An empty text is one key that does not exist, because an unset shell variable must
    not mean all."""
    return [] if text is None else [key.strip() for key in text.split(",")]
