"""What commands that let seekers be simulated share: their options, and how a job of conversations ended."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from django.core.management.base import CommandParser

from dialogue.jobs.store import Planned
from studies.management.jobs import JobCommand, failures
from studies.simulating.benchmark import Benchmark
from studies.simulating.choice import Fitting, Unfit, told_states
from studies.simulating.planning import KIND, REVIEW
from studies.simulating.setup import MOST_REPLICATES, MOST_TURNS, Setup

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
        """`names`: of further options that are at least 1."""
        self.refuse_below_one(options, "replicates", "concurrency", "max_turns", *names)
        self.refuse_above(options, replicates=MOST_REPLICATES, max_turns=MOST_TURNS)

    def chosen(self, choose: Callable[..., Chosen], *args: Any, **values: Any) -> Chosen:
        try:
            return choose(*args, **values)
        except Unfit as error:
            self.refuse(str(error))

    def say_left_out(self, found: Fitting) -> None:
        if found.others:
            self.say(f"{found.others} profiles are in other languages than the study's and are left out.")
        if found.not_played:
            self.say(f"Profiles that may not be played and are left out: {told_states(found.not_played)}.")

    def planned(self, run: Benchmark, setup: Setup, **terms: Any) -> Planned:
        planned = run.plan(setup, **terms)
        if others := run.let_count(setup):
            self.say(
                f"{others} conversations of the same arms and profiles no longer count: they were held with other "
                "prompts, models or turns at most. Ask for them as they were, and they count again at no cost."
            )
        return planned

    def told_of_conversations(self, planned: Planned) -> dict[str, Any]:
        conversations = self.told_of(planned.job, KIND, planned=len(self.begun(planned.job, KIND)))
        results = planned.job.items.filter(role__in=(KIND, REVIEW)).values_list("result", flat=True)
        summary = {
            **with_reviews(conversations, self.told_of(planned.job, REVIEW, planned=0, needs__state="done")),
            "skipped_existing": planned.done_before[KIND],
            "reviewed_before": planned.done_before[REVIEW],
            "seeker_faults": sum(one.get("faults", 0) for one in results),
            "unread_reviews": sum(one.get("unread", False) for one in results),
        }
        self.say_counts(
            {
                "conversations held": summary["done"],
                "held before": summary["skipped_existing"],
                "reviewed": summary["reviewed"],
                "reviewed before": summary["reviewed_before"],
                "reviews could not be read": summary["unread_reviews"],
                "faults of the seekers themselves were found (see conversations.csv)": summary["seeker_faults"],
                **failures(summary),
                "left for the next time": summary["left"],
            }
        )
        return summary


def with_reviews(conversations: dict[str, Any], reviews: dict[str, Any]) -> dict[str, Any]:
    """`reviews`: of conversations that are over; those of others share their fate, and are not told of."""
    both = ("quarantined", "failed", "left", "waiting")
    added = {name: conversations[name] + reviews[name] for name in both if name in conversations}
    reasons = Counter(conversations["failed_reasons"]) + Counter(reviews["failed_reasons"])
    return {**conversations, **added, "failed_reasons": dict(reasons), "reviewed": reviews["done"]}


def keys_in(given: str | None) -> list[str]:
    """An empty text holds one key, which nothing has: a variable of a shell that is not set must not mean all."""
    return [] if given is None else [key.strip() for key in given.split(",")]
