"""Progress of a study's simulations and judges, read from the rows of their jobs; and how a person stops them."""

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.db.models.fields.json import KT
from django.utils import timezone

from dialogue.jobs import store
from dialogue.jobs.reasons import Reason
from dialogue.models import Job, JobItem
from studies.judging.planning import KIND as JUDGING
from studies.models import Study, Task
from studies.simulation.planning import KIND as SIMULATING
from studies.simulation.planning import REVIEW
from studies.simulation.setup import Setup

States = JobItem.State
FAILED_STATES = (States.FAILED, States.QUARANTINED)


@dataclass
class Tally:
    """Counts of items by state; `failed` by reason and detail; `faults`: of the simulated seekers themselves."""

    done: int = 0
    all: int = 0
    working: int = 0
    faults: int = 0
    failed: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, state: str, failure: str, detail: str, number: int) -> None:
        self.all += number
        if state == States.DONE:
            self.done += number
        elif state == States.WORKING:
            self.working += number
        elif state in FAILED_STATES:
            self.failed[failure, detail] += number


def conversations(study: Study) -> dict[tuple[str, str], Tally]:
    """Return the conversations of unchanged seekers, not of ablations, by arm and condition."""
    condition_of = {job.pk: job.plan["condition"] for job in jobs_of(study, SIMULATING) if is_whole(job)}
    items = JobItem.objects.filter(job__in=condition_of, role__in=(SIMULATING, REVIEW)).exclude(replaced())
    held = Q(lease_until__gt=timezone.now())
    kinds = items.annotate(arm=KT("payload__arm"), faults=KT("result__faults"), held=held).order_by()
    tallies: dict[tuple[str, str], Tally] = {}
    for job, role, arm, state, held, failure, detail, faults, number in kinds.values_list(
        "job", "role", "arm", "state", "held", "failure", "detail", "faults"
    ).annotate(number=Count("pk")):
        tally = tallies.setdefault((arm, condition_of[job]), Tally())
        tally.faults += int(faults or 0) * number
        if role == SIMULATING:
            tally.add(state if held or state != States.WORKING else States.WAITING, failure, detail, number)
    return tallies


def replaced() -> Q:
    """Return the filter for conversations that were never held, and that a later run has planned in another way."""
    later = JobItem.objects.filter(
        role=OuterRef("role"),
        subject=OuterRef("subject"),
        replicate=OuterRef("replicate"),
        job__title=OuterRef("job__title"),
        pk__gt=OuterRef("pk"),
    )
    return ~Q(state=States.DONE) & Q(role__in=(SIMULATING, REVIEW)) & Exists(later)


def is_whole(job: Job) -> bool:
    return not Setup.from_plan(job.plan).name()


def judgements(study: Study) -> dict[str, Tally]:
    """Return the judgements by judge and strategy, as their jobs are called."""
    title_of = {job.pk: job.title for job in jobs_of(study, JUDGING)}
    rows = JobItem.objects.filter(job__in=title_of, role=JUDGING).order_by()
    tallies: dict[str, Tally] = {}
    states = rows.values_list("job", "state", "failure", "detail").annotate(number=Count("pk"))
    for job, state, failure, detail, number in states:
        tallies.setdefault(title_of[job], Tally()).add(state, failure, detail, number)
    return dict(sorted(tallies.items()))


def jobs_of(study: Study, *kinds: str) -> QuerySet[Job]:
    return Job.objects.filter(scope=study.key, kind__in=kinds)


def under_way(study: Study) -> list[Job]:
    return list(jobs_of(study, SIMULATING, JUDGING).filter(state=Job.State.OPEN).order_by("pk"))


def get_stopped_job(study: Study) -> Job | None:
    """Return the newest job that a person, its budget or failures ended before its items were done."""
    left = JobItem.objects.filter(job=OuterRef("pk"), state__in=(States.WAITING, States.WORKING, States.FAILED))
    left = left.exclude(replaced())
    ended = jobs_of(study, SIMULATING, JUDGING).filter(state__in=(Job.State.STOPPED, Job.State.BUDGET))
    return ended.filter(Exists(left)).order_by("pk").last()


def stop(study: Study, user: AbstractBaseUser) -> int:
    """Begin no further item, nor the next strategy or condition of a series; items under way are finished and kept.

    Return how many jobs and series that were.
    """
    series = list(running_series(study))
    stopped = sum(stop_task(task, user) for task in series)
    jobs = under_way(study)
    for job in jobs:
        store.end(job.pk, Job.State.STOPPED, Reason.of("person", name=user.get_username()))
    return len(series) + stopped + len(jobs)


def running_series(study: Study) -> QuerySet[Task]:
    """Return the tasks that begin one job after the other."""
    return study.tasks.filter(command__in=("benchmark", "judge"), state=Task.State.RUNNING)


def find_series(study: Study, job: Job) -> Task | None:
    """Return the task that began the job; None where a command did."""
    commands = ("benchmark", "judge") if job.kind == JUDGING else ("benchmark",)
    begun = study.tasks.filter(command__in=commands, started_at__lte=job.created_at)
    return begun.filter(Q(ended_at=None) | Q(ended_at__gte=job.created_at)).first()


def stop_task(task: Task, user: AbstractBaseUser) -> int:
    """Ask a task to begin nothing more, and stop its jobs; return how many those were."""
    Task.objects.filter(pk=task.pk, stop_asked_by="").update(stop_asked_by=user.get_username())
    task.refresh_from_db()
    return end_stopped_jobs(task)


def end_stopped_jobs(task: Task) -> int:
    """Stop the jobs of a task that is asked to stop; return how many those were. Its process calls this again and
    again, since it may be planning a job while it is asked."""
    if not task.stop_asked_by:
        return 0
    kinds = (JUDGING,) if task.command == "judge" else (SIMULATING, JUDGING)
    jobs = list(jobs_since(task).filter(kind__in=kinds, state=Job.State.OPEN))
    for job in jobs:
        store.end(job.pk, Job.State.STOPPED, Reason.of("person", name=task.stop_asked_by))
    return len(jobs)


def reopen(study: Study, jobs: QuerySet[Job]) -> None:
    """Open stopped jobs again. Whoever was at them goes on, else the runner beside the server."""
    running_series(study).update(stop_asked_by="")
    store.open_again(jobs)


def jobs_since(task: Task) -> QuerySet[Job]:
    return jobs_of(task.study, SIMULATING, JUDGING).filter(created_at__gte=task.started_at)


def spent_since(task: Task) -> Decimal:
    total: Decimal | None = jobs_since(task).aggregate(total=Sum("spent"))["total"]
    return total or Decimal(0)


def get_remaining_arguments(task: Task) -> list[str]:
    """Return the arguments that continue a task, its budget reduced by what it has spent."""
    arguments = list(task.arguments)
    if "--budget" in arguments:
        place = arguments.index("--budget") + 1
        arguments[place] = str(max(Decimal(arguments[place]) - spent_since(task), Decimal(0)))
    return arguments
