"""The rows of jobs: planned, claimed for a short lease, done once. Each function is one short transaction."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

from django.db import IntegrityError, transaction
from django.db.models import Count, F, Q, QuerySet, Sum
from django.utils import timezone

from dialogue.jobs.reasons import Reason
from dialogue.models import Call, Job, JobItem
from dialogue.models.job import LEASE, JobItemQuerySet
from dialogue.providers.registry import MODELS, is_replayed
from dialogue.providers.retrying import PASSING

Result = TypeVar("Result")
REPLAYS = "replays"  # in a job's plan: it is for processes alone in which recorded answers stand in for models
ATTENDED = timedelta(seconds=15)  # how long a job waits for the command that began it to speak again
CHUNK = 500
ALIKE = 3  # times in a row that an item fails the same way before it is in quarantine
LOST_AFTER = timedelta(seconds=5)  # so long after it was sent, and with nothing left at the broker, a number is lost

Place = tuple[str, str, str, int]  # subject, role, configuration, replicate


@dataclass(frozen=True, slots=True)
class WantedItem:
    """An item as it is planned. `needs`: the place of one that must be done before."""

    subject: str
    role: str
    configuration: str
    replicate: int = 1
    conversation: int | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    needs: Place | None = None

    @property
    def place(self) -> Place:
        return self.subject, self.role, self.configuration, self.replicate


@dataclass
class PlannedJob:
    job: Job
    items: int = 0  # to be worked on
    done_before: Counter[str] = field(default_factory=Counter)  # by role
    quarantined: int = 0


# Planning


def plan(
    items: Iterable[WantedItem],
    *,
    kind: str,
    scope: str,
    title: str,
    plan: Mapping[str, Any],
    budget: Decimal | None = None,
    attended: bool = False,
    retry_quarantined: bool = False,
    batched_role: str = "",
) -> PlannedJob:
    """Create a job of those items that are not done. It takes over what earlier jobs left undone."""
    until = timezone.now() + ATTENDED if attended else None
    whole = {**plan, REPLAYS: True} if is_replayed(MODELS) else dict(plan)
    fields = {"kind": kind, "scope": scope, "title": title, "plan": whole, "budget": budget, "attended_until": until}
    unique = list({one.place: one for one in items}.values())
    try:
        return store_plan(Job(**fields, batched_role=batched_role), unique, retry_quarantined=retry_quarantined)
    except IntegrityError:  # someone planned some of it at the same moment; by now it is known
        return store_plan(Job(**fields, batched_role=batched_role), unique, retry_quarantined=retry_quarantined)


@transaction.atomic
def store_plan(job: Job, items: Sequence[WantedItem], *, retry_quarantined: bool) -> PlannedJob:
    job.save()
    planned = PlannedJob(job)
    rows: dict[Place, JobItem] = {}
    for stage in stages(items):
        existing = known_items(stage)
        take_over(planned, existing.values(), retry_quarantined=retry_quarantined)
        update_needs([one for one in stage if one.place in existing], existing, rows)
        rows |= existing | create_items(planned, [one for one in stage if one.place not in existing], rows)
    finish_if_done(job.pk)
    return planned


def stages(items: Sequence[WantedItem]) -> Iterator[list[WantedItem]]:
    """Yield first the items that need no other, because the rest name them by their numbers."""
    yield [one for one in items if one.needs is None]
    yield [one for one in items if one.needs is not None]


def known_items(items: Sequence[WantedItem]) -> dict[Place, JobItem]:
    places = {one.place for one in items}
    subjects = sorted({one.subject for one in items})
    existing: dict[Place, JobItem] = {}
    for some in chunks(subjects):
        for item in JobItem.objects.filter(subject__in=some):
            place = (item.subject, item.role, item.configuration, item.replicate)
            if place in places:
                existing[place] = item
    return existing


def take_over(planned: PlannedJob, existing: Collection[JobItem], *, retry_quarantined: bool) -> None:
    states = JobItem.State
    again = [states.WAITING, states.FAILED, *([states.QUARANTINED] if retry_quarantined else [])]
    for item in existing:
        if item.state == states.DONE:
            planned.done_before[item.role] += 1
        elif item.state == states.QUARANTINED and not retry_quarantined:
            planned.quarantined += 1
        else:
            planned.items += 1
    for some in chunks([item.pk for item in existing if item.state != states.DONE]):
        items = JobItem.objects.filter(pk__in=some)
        items.update(job=planned.job, sent_at=None)
        try_again(items.filter(state__in=again))


def try_again(items: JobItemQuerySet) -> None:
    items.update(state=JobItem.State.WAITING, failure="", detail="", done_at=None)


def update_needs(items: Sequence[WantedItem], existing: Mapping[Place, JobItem], rows: Mapping[Place, JobItem]) -> None:
    """Update what items need, which may differ from when they were first planned."""
    changed = []
    for one in items:
        item = existing[one.place]
        if one.needs and item.state != JobItem.State.DONE and item.needs_id != rows[one.needs].pk:
            item.needs = rows[one.needs]
            changed.append(item)
    JobItem.objects.bulk_update(changed, ["needs"], batch_size=CHUNK)


def chunks(things: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield parts as large as one statement may name."""
    return (things[start : start + CHUNK] for start in range(0, len(things), CHUNK))


def create_items(
    planned: PlannedJob, items: Sequence[WantedItem], rows: Mapping[Place, JobItem]
) -> dict[Place, JobItem]:
    new_rows = [
        JobItem(
            job=planned.job,
            conversation_id=one.conversation,
            subject=one.subject,
            role=one.role,
            configuration=one.configuration,
            replicate=one.replicate,
            payload=dict(one.payload),
            needs=rows[one.needs] if one.needs else None,
        )
        for one in items
    ]
    planned.items += len(new_rows)
    JobItem.objects.bulk_create(new_rows, batch_size=CHUNK)
    return {one.place: item for one, item in zip(items, new_rows, strict=True)}


# Working


def claim(
    owner: str, *, limit: int, job: int | None = None, item: int | None = None, but_jobs: Collection[int] = ()
) -> list[JobItem]:
    """Claim up to `limit` items for this owner until the lease ends: of one job, or of all that no command attends."""
    items = JobItem.objects.claimable().exclude(job__in=but_jobs)
    if item is not None:
        items = items.filter(pk=item)
    elif job is not None:
        items = items.filter(job=job)
    else:
        items = items.filter(Q(job__attended_until=None) | Q(job__attended_until__lt=timezone.now()))
    return take_items(owner, items, limit) if items.exists() else []  # who finds nothing locks nothing


@transaction.atomic
def take_items(owner: str, items: JobItemQuerySet, limit: int) -> list[JobItem]:
    rows = first_untried(items, limit)
    until = timezone.now() + LEASE
    JobItem.objects.filter(pk__in=[one.pk for one in rows]).update(
        state=JobItem.State.WORKING, owner=owner, lease_until=until, attempts=F("attempts") + 1, detail=""
    )
    if tried := [one.pk for one in rows if one.attempts]:
        cut_off = Call.objects.filter(item__in=tried, status="started", batch=None)
        cut_off.update(status="stopped", error="Whoever asked was gone before the answer came.")
    for one in rows:
        one.owner = owner
    return rows


def first_untried(items: JobItemQuerySet, limit: int) -> list[JobItem]:
    """Lock and return items, untried ones first: an item that stopped a job must not stop it again before the others
    had their turn."""
    free = items.select_for_update(skip_locked=True, of=("self",))
    rows = list(free.filter(attempts=0).order_by("pk")[:limit])
    if len(rows) < limit:
        rows += free.filter(attempts__gt=0).order_by("attempts", "pk")[: limit - len(rows)]
    return rows


@dataclass(frozen=True)
class LeaseReport:
    """The state of our leases. `lost` holds items that others have by now, `ended` jobs that have ended."""

    lost: set[int]
    ended: set[int]


def renew(owner: str, items: Collection[int], jobs: Collection[int], *, attended: int | None = None) -> LeaseReport:
    """Renew the leases of this owner on `items` of `jobs`, and on the job `attended`, and report what it has lost."""
    now = timezone.now()
    ours = JobItem.objects.filter(pk__in=items, state=JobItem.State.WORKING)
    ours.filter(owner=owner).update(lease_until=now + LEASE)
    if attended is not None:
        Job.objects.filter(pk=attended, state=Job.State.OPEN).update(attended_until=now + ATTENDED)
    lost = ours.exclude(owner=owner).values_list("pk", flat=True)
    ended = Job.objects.filter(pk__in=jobs).exclude(state=Job.State.OPEN).values_list("pk", flat=True)
    return LeaseReport(set(lost), set(ended))


def lock_owned(owner: str, items: Iterable[int]) -> set[int]:
    """Return those of `items` that are still this owner's, locked until the transaction ends."""
    rows = JobItem.objects.filter(pk__in=items, owner=owner, state=JobItem.State.WORKING).order_by("pk")
    return set(rows.select_for_update().values_list("pk", flat=True))


class LeaseLost(Exception):
    """The item no longer belongs to this owner."""


@transaction.atomic
def run_while_owned(owner: str, item: int, rule: Callable[..., Result], *args: Any, **kwargs: Any) -> Result:
    """Run `rule`, which stores part of an item's outcome. Raises LeaseLost where the item is no longer this owner's."""
    if not lock_owned(owner, [item]):
        raise LeaseLost
    return rule(*args, **kwargs)


def mark_done(results: Sequence[tuple[int, Mapping[str, Any]]]) -> None:
    """Mark items done, inside the transaction that stores their outcome."""
    alike: dict[str, list[int]] = defaultdict(list)
    for item, result in results:
        alike[json.dumps(result, sort_keys=True)].append(item)
    now = timezone.now()
    for text, items in alike.items():
        JobItem.objects.filter(pk__in=items).update(
            state=JobItem.State.DONE, result=json.loads(text), done_at=now, owner="", lease_until=None, failure=""
        )


@transaction.atomic
def mark_failed(owner: str, item: int, *, failure: str, detail: str, set_aside: bool = False) -> None:
    """Mark an item failed, and all that need it. After `ALIKE` equal failures in a row it goes into quarantine; at once
    where it is `set_aside`, because it can only fail again."""
    if not lock_owned(owner, [item]):
        return
    row, way = JobItem.objects.get(pk=item), way_of(failure, detail)
    times = row.failed_times + 1 if row.failed_as == way else 1
    state = JobItem.State.QUARANTINED if set_aside or times >= ALIKE else JobItem.State.FAILED
    fields = {"failure": failure, "detail": detail, "done_at": timezone.now(), "owner": "", "lease_until": None}
    JobItem.objects.filter(pk=item).update(state=state, failed_as=way, failed_times=times, **fields)
    JobItem.objects.unfinished().filter(needs=item).update(state=JobItem.State.FAILED, **fields)


def way_of(failure: str, detail: str) -> str:
    """Return what equal failures have in common. Of a server's state it is the failure alone, because many servers
    number their requests in what they say of it."""
    return failure if failure in PASSING else f"{failure}: {detail}"


def forgive(job: int, way: str) -> None:
    """Reset the failures of items that failed in the way that stopped the whole job: that was no fault of theirs."""
    states = (JobItem.State.FAILED, JobItem.State.QUARANTINED)
    failed = JobItem.objects.filter(job=job, state__in=states, failed_as=way, done_at__gte=F("job__created_at"))
    failed.update(state=JobItem.State.FAILED, failed_times=0)


def release(owner: str, items: Collection[int] | None = None) -> None:
    """Give back items that were not finished, for the next owner."""
    rows = JobItem.objects.filter(owner=owner, state=JobItem.State.WORKING)
    if items is not None:
        rows = rows.filter(pk__in=items)
    rows.update(state=JobItem.State.WAITING, owner="", lease_until=None)


def decline(owner: str, items: Collection[int], why: str) -> None:
    """Give back what this owner cannot do, and say why: none of it was tried."""
    rows = JobItem.objects.filter(owner=owner, state=JobItem.State.WORKING, pk__in=items)
    rows.update(state=JobItem.State.WAITING, owner="", lease_until=None, detail=why, attempts=F("attempts") - 1)


def drop(owner: str, item: int) -> None:
    """Delete an item whose subject has been withdrawn."""
    JobItem.objects.filter(pk=item, owner=owner).delete()


# A job as a whole


def finish_if_done(job: int) -> bool:
    left = JobItem.objects.unfinished().filter(job=job)
    if left.can_go_on().exists():
        return False
    left.update(
        state=JobItem.State.FAILED, failure="needed", detail="What it needs was not done.", done_at=timezone.now()
    )
    end(job, Job.State.DONE)
    return True


def end(job: int, state: Job.State, reason: Reason | None = None) -> None:
    """End a job, if it is open."""
    Job.objects.filter(pk=job, state=Job.State.OPEN).update(
        state=state, reason=reason.as_json() if reason else {}, ended_at=timezone.now(), attended_until=None
    )


@transaction.atomic
def open_again(jobs: QuerySet[Job]) -> None:
    """Open those of `jobs` that were stopped, and try again what failed in them, as a repeated command does."""
    stopped = list(jobs.filter(state=Job.State.STOPPED).select_for_update().values_list("pk", flat=True))
    try_again(JobItem.objects.filter(job__in=stopped, state=JobItem.State.FAILED))
    Job.objects.filter(pk__in=stopped).update(state=Job.State.OPEN, reason={}, ended_at=None)


def today() -> date:
    return timezone.now().date()


def is_something_left(job: int | None = None, but_jobs: Collection[int] = ()) -> bool:
    """Return True where this job, or any, has items left, including those that others hold and may lose. Jobs that are
    done are closed here."""
    jobs = Job.objects.filter(state=Job.State.OPEN).exclude(pk__in=but_jobs)
    if job is not None:
        jobs = jobs.filter(pk=job)
    finished = [finish_if_done(one) for one in jobs.values_list("pk", flat=True)]
    return not all(finished) or (job is not None and is_worked_on(job))


def is_worked_on(job: int) -> bool:
    """Return True while items of a job are worked on, which may be so after it was stopped."""
    now = timezone.now()
    return JobItem.objects.filter(job=job, state=JobItem.State.WORKING, lease_until__gt=now).exists()


def leave(job: int) -> None:
    """Note that the command that looked after a job ends."""
    Job.objects.filter(pk=job).update(attended_until=None)


def sum_reserved(jobs: Iterable[int]) -> dict[int, Decimal]:
    """Return by open job what is set aside for its calls under way. Until these end it counts as spent."""
    calls = Call.objects.filter(item__job__in=jobs, item__job__state=Job.State.OPEN, status="started")
    rows = calls.exclude(cost=None).order_by().values_list("item__job").annotate(Sum("cost"))
    return dict(rows)


def count_states(job: int) -> Counter[str]:
    """Return the number of a job's items by state."""
    rows = JobItem.objects.filter(job=job).values_list("state").annotate(number=Count("pk"))
    return Counter(dict(rows.order_by()))


# What a broker carries


def is_something_waiting() -> bool:
    return JobItem.objects.claimable().exists()


@transaction.atomic
def pick_to_send(*, limit: int, queue_is_empty: bool) -> list[int]:
    """Return numbers of items for a broker to carry: those whose worker died, those lost on the way, those never
    sent."""
    now = timezone.now()
    due = Q(sent_at=None) | Q(state=JobItem.State.WORKING, sent_at__lt=now - LEASE)
    if queue_is_empty:
        due |= Q(state=JobItem.State.WAITING, detail="", sent_at__lt=now - LOST_AFTER) | Q(pk__in=pick_declined())
    items = JobItem.objects.claimable().filter(due).order_by(F("sent_at").asc(nulls_last=True), "attempts", "pk")
    numbers = [one.pk for one in items.select_for_update(skip_locked=True, of=("self",)).only("pk")[:limit]]
    JobItem.objects.filter(pk__in=numbers).update(sent_at=now)
    return numbers


def pick_declined() -> list[int]:
    """Return items that workers have declined: all where others work on the job, else one now and then to find a worker
    that can."""
    recently = timezone.now() - LOST_AFTER
    declined = JobItem.objects.claimable().filter(state=JobItem.State.WAITING).exclude(detail="")
    numbers: list[int] = []
    for job in declined.order_by().values_list("job", flat=True).distinct():
        of_job = declined.filter(job=job)
        waiting = of_job.filter(sent_at__lt=recently).order_by("sent_at", "pk").values_list("pk", flat=True)
        if is_worked_on(job):
            numbers += waiting
        elif not of_job.filter(sent_at__gte=recently).exists():
            numbers += waiting[:1]
    return numbers


def reasons_declined() -> dict[int, str]:
    """Return why workers gave a job back, by the number of each open job."""
    declined = JobItem.objects.claimable().filter(state=JobItem.State.WAITING).exclude(detail="")
    return dict(declined.order_by("-pk").values_list("job", "detail"))


@dataclass(frozen=True)
class InVain:
    """A job that waits while no one works on it. `why` is what a worker said that cannot; empty where none took any."""

    why: str


def waits_in_vain(job: int, since: datetime) -> InVain | None:
    """Return why a job waits in vain, or None where workers are not needed or busy with other jobs. `since` is the time
    of the last look."""
    waiting = JobItem.objects.claimable().filter(job=job)
    if not waiting.exists():
        return None
    why = waiting.exclude(detail="").values_list("detail", flat=True).first() or ""
    at_work = Q(state=JobItem.State.WORKING, lease_until__gt=timezone.now()) | Q(done_at__gte=since)
    whose = Q(job=job) if why else Q(job__state=Job.State.OPEN)
    return None if JobItem.objects.filter(at_work, whose).exists() else InVain(why)


def unmark_sent(items: Collection[int]) -> None:
    """Note that the broker did not take the items."""
    JobItem.objects.filter(pk__in=items).update(sent_at=None)
