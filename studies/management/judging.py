"""Summaries of jobs of judging, for commands that let judges answer."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from dialogue.jobs.store import PlannedJob
from dialogue.judges.judge import AGAIN, REPAIR
from dialogue.models import Job
from studies.design.spec import ArmSpec
from studies.judging.asking import get_ways
from studies.judging.changes import ChangedJudgeError, refuse_changed
from studies.judging.planning import KIND, Work
from studies.management.jobs import JobCommand, failure_counts, in_brackets, is_unpriced
from studies.models import Study
from studies.workbench.labels import one_or_more


class JudgingCommand(JobCommand):
    def refuse_changed(self, study: Study, judge: ArmSpec) -> None:
        try:
            refuse_changed(study, judge)
        except ChangedJudgeError as error:
            self.refuse(str(error))

    def report_judgements(self, planned: PlannedJob, work: Work, judge: ArmSpec, *, judgements: int) -> dict[str, Any]:
        """Print and return the summary. `judgements`: how many of `work` were planned."""
        done_before = planned.done_before[KIND]
        ended = self.job_summary(planned.job, KIND, planned=judgements - done_before - planned.quarantined)
        summary = {
            **ended,
            "skipped_existing": work.skipped_existing + done_before,
            "not_sent": work.not_sent,
            "without_profile": work.without_profile,
            **answer_statistics(planned.job, KIND),
        }
        self.say_counts(
            {
                "judged": summary["done"],
                "answered before": summary["skipped_existing"],
                f"not sent: their consent does not name '{judge.provider or judge.base_url}'": summary["not_sent"],
                "not judged: nothing is known of the seeker": summary["without_profile"],
                "not judged: the person has withdrawn meanwhile": summary["erased"],
                unreadable(
                    summary,
                    "single item could not be read and is stored as missing",
                    "single items could not be read and are stored as missing",
                ): summary["unreadable_items"],
                **failure_counts(summary),
                "left for the next time": summary["left"],
            }
        )
        self.say_answer_statistics(summary)
        return summary

    def say_answer_statistics(self, summary: Mapping[str, Any]) -> None:
        """Print missing scores, repairs, and the cost of a usable answer."""
        done, valid = summary["done"], summary["valid"]
        if valid < done:
            self.say(f"{done - valid} of {done} have no score at all.")
        for what, key in (("sent for repair", "repaired"), ("asked again, with more room", "asked_again")):
            if summary[key]:
                self.say(f"{summary[key]} of {done} ({summary[f'{key}_share']:.1%}) were {what}.")
        if summary["cost_per_valid"]:
            each, currency = summary["cost_per_valid"], self.prices().currency
            self.say(f"Cost: {summary['cost']:.4f} {currency}, {each:.4f} for each of the {valid} with a score.")


def answer_statistics(job: Job, role: str) -> dict[str, Any]:
    """Return statistics of a job's items of this role.

    How many have a score at all (`valid`), what is missing and why, how many were sent for repair or asked again, and
    the cost of a valid one; None if a price is not known.
    """
    items = job.items.filter(role=role, state="done")
    results = list(items.values_list("result", flat=True))
    ways = Counter(way for result in results for way in get_ways(result))
    missing: Counter[str] = sum((Counter(result.get("missing")) for result in results), Counter())
    valid = sum(bool(result.get("valid")) for result in results)
    return {
        "valid": valid,
        "unreadable_items": sum(result.get("unreadable", 0) for result in results),
        "missing_reasons": dict(sorted(missing.items())),
        "repaired": ways[REPAIR],
        "repaired_share": share(ways[REPAIR], len(results)),
        "asked_again": ways[AGAIN],
        "asked_again_share": share(ways[AGAIN], len(results)),
        "cost_per_valid": None if is_unpriced(job) else share(float(job.spent), valid),
    }


def share(part: float, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def unreadable(summary: Mapping[str, Any], one: str, more: str) -> str:
    return f"{one_or_more(summary['unreadable_items'], one, more)}{in_brackets(summary['missing_reasons'])}"
