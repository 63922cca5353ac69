"""How a job of judging ended, as commands that let judges answer tell it."""

from typing import Any

from dialogue.jobs.store import Planned
from studies.design.spec import ArmSpec
from studies.judging.planning import KIND, Work
from studies.management.jobs import JobCommand


class JudgingCommand(JobCommand):
    def told_of_judgements(self, planned: Planned, work: Work, judge: ArmSpec, *, judgements: int) -> dict[str, Any]:
        """`judgements`: so many of `work` were planned."""
        done_before = planned.done_before[KIND]
        told = self.told_of(planned.job, KIND, planned=judgements - done_before - planned.quarantined)
        results = planned.job.items.filter(role=KIND).values_list("result", flat=True)
        summary = {
            **told,
            "skipped_existing": work.skipped_existing + done_before,
            "not_sent": work.not_sent,
            "without_profile": work.without_profile,
            "unreadable_items": sum(result.get("unreadable", 0) for result in results),
        }
        self.say_counts(
            {
                "judged": summary["done"],
                "answered before": summary["skipped_existing"],
                f"not sent: their consent does not name '{judge.provider or judge.base_url}'": summary["not_sent"],
                "not judged: nothing is known of the seeker": summary["without_profile"],
                "not judged: the person has withdrawn meanwhile": summary["erased"],
                "single items could not be read and are stored as missing": summary["unreadable_items"],
                **{f"failed: {reason}": count for reason, count in summary["failed_reasons"].items()},
                "left for the next time": summary["left"],
            }
        )
        return summary
