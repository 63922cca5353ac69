"""Estimates of the calls and the cost of judging. Call it inside `discard_changes`."""

from collections.abc import Iterable
from dataclasses import replace

from asgiref.sync import async_to_sync

from dialogue.jobs.estimate import DryCaller, Load, sample_items, scale_loads
from dialogue.models import Job, JobItem
from studies.judging.handler import JudgeHandler
from studies.judging.planning import KIND, THINKER


def judging_loads(job: Job, caller: DryCaller, *, judgements: float | None = None) -> list[Load]:
    """Return the loads of this job. `judgements`: return the loads of that many, for conversations to come."""
    handler, tried = JudgeHandler(job), sample_items(job, KIND)
    needed = JobItem.objects.unfinished().filter(needed_by__in=tried).distinct()
    thinking, judging = dry_run(handler, needed, caller), dry_run(handler, tried, caller)
    items = job.items.unfinished()
    number = items.filter(role=KIND).count()
    more = (number if judgements is None else judgements) / number if number else 0
    thought = scale_loads(thinking, items.filter(role=THINKER).count() * more)
    judged = [replace(load, in_batch=job.batched_role == KIND) for load in scale_loads(judging, number * more)]
    return [*thought, *judged]


def dry_run(handler: JudgeHandler, items: Iterable[JobItem], caller: DryCaller) -> list[list[Load]]:
    """Return the loads of each item. The results are stored, because a judge is shown the states of a Thinker."""
    samples = []
    for item in items:
        material = handler.read([item]).get(item.pk)
        if material is not None:
            handler.store_outcomes([(item, async_to_sync(handler.work)(item, material, caller))])
            samples.append(caller.take_loads())
    return samples
