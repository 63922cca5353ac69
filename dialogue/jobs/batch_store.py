"""The rows of batches: items that a batch holds, requests that are rows of the ledger. Each function is one short
transaction.

A batch holds its items from the moment it takes them until it has ended: no one else can claim them. Then they wait to
be worked on as all others are, and find their answers in the ledger; what the batch brought no answer to is asked live.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import F, Max, Min, Q, QuerySet
from django.utils import timezone

from dialogue.input_checks import LARGEST_KEY, int_from
from dialogue.jobs import store
from dialogue.jobs.calls import (
    Attempt,
    BudgetReached,
    Closing,
    OpenCall,
    Question,
    WaitReason,
    close_attempts,
    open_attempts,
)
from dialogue.jobs.handlers import BatchHandler
from dialogue.jobs.reasons import Reason
from dialogue.models import Batch, Call, Job, JobItem
from dialogue.models.job import FOR_BATCH, LEASE
from dialogue.providers.base import ModelSettings, ProviderError, Reply
from dialogue.providers.batches import NotRun, Standing, request_line
from dialogue.providers.prices import Price, Prices, estimate_tokens

TRIES = 2  # an item that so many batches did not get to is asked live
NEVER_RUN = ("timeout", "stopped")  # as NotRun has it
States = JobItem.State


# Gathering


def needs_runner() -> bool:
    """Return True where a job or a batch is open that no command looks after."""
    return get_unattended_jobs().exists() or Batch.objects.open().looked_after_by(None).exists()


def get_unattended_jobs() -> QuerySet[Job]:
    return Job.objects.filter(Q(attended_until=None) | Q(attended_until__lt=timezone.now()), state=Job.State.OPEN)


def jobs_to_batch(job: int | None) -> list[int]:
    """Return open jobs of this process with items for a batch. A job counts once everything asked live before is done,
    so that one batch gets all its items."""
    jobs = Job.objects.filter(state=Job.State.OPEN, pk=job) if job is not None else get_unattended_jobs()
    return [one.pk for one in jobs.exclude(batched_role="").order_by("pk") if is_ready(one)]


def is_ready(job: Job) -> bool:
    before = job.items.unfinished().exclude(role=job.batched_role)
    return job.items.for_batch().exists() and not before.can_go_on().exists()


def get_room(job: int) -> int | None:
    """Return how many items the next batch may have: `None` for any number, 0 for none yet."""
    batches = Batch.objects.filter(job=job)
    least: int | None = batches.aggregate(least=Min("next_size"))["least"]
    if least is not None and batches.open().exists():
        return 0
    return least


@transaction.atomic
def prepare(job: int, owner: str) -> Batch:
    Job.objects.select_for_update(no_key=True).get(pk=job)
    last = Batch.objects.filter(job=job).aggregate(last=Max("number"))["last"] or 0
    return Batch.objects.create(job_id=job, number=last + 1, owner=owner, lease_until=timezone.now() + LEASE)


@dataclass
class Addition:
    """Items and requests added to a batch.

    `settings` are those of the model, where there is a request. `put_back` holds items that wait for other calls or
    for money. `stop`: why no money may be spent.
    """

    items: int = 0
    requests: int = 0
    lines: list[bytes] = field(default_factory=list)
    settings: ModelSettings | None = None
    put_back: list[int] = field(default_factory=list)
    stop: Reason | None = None

    def add(self, more: "Addition") -> None:
        """Add everything but the lines, which are in the file by now."""
        self.items += more.items
        self.requests += len(more.lines)
        self.settings = self.settings or more.settings
        self.put_back += more.put_back
        self.stop = more.stop


@transaction.atomic
def fill_batch(
    batch: Batch, handler: BatchHandler, prices: Prices, *, limit: int, but: Collection[int] = ()
) -> Addition:
    """Take up to `limit` items into the batch, with a row of the ledger for each request. Items that the handler no
    longer names belong to people who withdrew, and are deleted."""
    items = take(batch, limit, but)
    materials = handler.read(items) if items else {}
    JobItem.objects.filter(pk__in=[item.pk for item in items if item.pk not in materials]).delete()
    questions_by_item = {item.pk: handler.questions(item, materials[item.pk]) for item in items if item.pk in materials}
    outcomes = open_calls([question for questions in questions_by_item.values() for question in questions], prices)
    opened = [one for one in outcomes.values() if isinstance(one, OpenCall)]
    Call.objects.filter(pk__in=[one.call for one in opened]).update(batch=batch)
    return Addition(
        items=len(items),
        lines=[line_of(one) for one in opened],
        settings=opened[0].attempt.question.settings if opened else None,
        put_back=keep_new_items(
            batch, {pk: [outcomes[one.key()] for one in questions] for pk, questions in questions_by_item.items()}
        ),
        stop=next((one.reason for one in outcomes.values() if isinstance(one, BudgetReached)), None),
    )


def take(batch: Batch, limit: int, but: Collection[int]) -> list[JobItem]:
    free = JobItem.objects.for_batch().filter(job=batch.job_id).exclude(pk__in=but)
    items = store.take_items(batch.holder, free, limit)
    JobItem.objects.filter(pk__in=[item.pk for item in items]).update(batch=batch, lease_until=None)
    return items


def open_calls(questions: Iterable[Question], prices: Prices) -> dict[str, Any]:
    """Open a call for each question, and return the outcomes of `open_attempts` by key. Equal questions are asked
    once."""
    by_key = {question.key(): question for question in questions}
    attempts = [
        Attempt(question, key, 1, price_of(question.settings, prices), estimate_tokens(question.messages))
        for key, question in by_key.items()
    ]
    return dict(zip(by_key, open_attempts(attempts), strict=True))


def price_of(settings: ModelSettings, prices: Prices, on: date | None = None) -> Price | None:
    price = prices.price_of(settings.model, settings.base_url, on or store.today())
    return price and price.in_batch()


def line_of(opened: OpenCall) -> bytes:
    question = opened.attempt.question
    return request_line(name_of(opened.call), question.settings_to_send(), question.messages)


def name_of(call: int) -> str:
    return f"call-{call}"


def call_of(name: str) -> int | None:
    return int_from(name.removeprefix("call-"), 1, LARGEST_KEY)


def keep_new_items(batch: Batch, outcomes: Mapping[int, Sequence[Any]]) -> list[int]:
    """Keep the items that this batch asks for, free those with known answers, and put back and return those that
    wait."""
    waiting = [pk for pk, ones in outcomes.items() if any(isinstance(one, WaitReason | BudgetReached) for one in ones)]
    answered = [pk for pk, ones in outcomes.items() if all(isinstance(one, Reply) for one in ones)]
    store.release(batch.holder, [*waiting, *answered])
    JobItem.objects.filter(pk__in=waiting).update(batch=None, attempts=F("attempts") - 1)
    size = F("size") + len(outcomes) - len(waiting) - len(answered)
    Batch.objects.filter(pk=batch.pk).update(size=size)
    return waiting


# Submitting


def keep_lease(owner: str) -> None:
    """Renew the lease of the batches that this owner prepares."""
    Batch.objects.filter(owner=owner, state__in=Batch.OURS).update(lease_until=timezone.now() + LEASE)


def note_submitting(batch: Batch, settings: ModelSettings, file: str) -> bool:
    """Return False where another process took the batch for dead meanwhile: it must not be started then."""
    ours = Batch.objects.filter(pk=batch.pk, owner=batch.owner, state=Batch.State.PREPARING)
    return bool(
        ours.update(state=Batch.State.SUBMITTING, input_file=file, submitted_at=timezone.now(), **address(settings))
    )


def address(settings: ModelSettings) -> dict[str, str]:
    return {"base_url": settings.base_url, "model": settings.model, "api_key_env": settings.api_key_env}


def store_standing(batch: Batch, standing: Standing) -> None:
    """Store what the provider says of a batch. An unknown state counts as work in progress."""
    is_known = standing.state in Batch.State.values
    Batch.objects.filter(pk=batch.pk).open().update(
        remote=standing.id,
        state=standing.state if is_known else Batch.State.IN_PROGRESS,
        total=standing.total,
        answered=standing.answered,
        failed=standing.failed,
        error=standing.error,
    )


def release_batch(batch: Batch) -> None:
    """End the lease, so that the next process may take the batch at once."""
    Batch.objects.filter(pk=batch.pk, owner=batch.owner).update(lease_until=timezone.now())


def take_over_batch(batch: Batch, owner: str) -> bool:
    """Take over a batch whose process has gone silent. Return False where another process was faster."""
    now = timezone.now()
    dead = Batch.objects.filter(pk=batch.pk, state__in=Batch.OURS, lease_until__lt=now)
    return bool(dead.update(owner=owner, lease_until=now + LEASE))


# Looking after


def get_batches_under_way(job: int | None) -> list[Batch]:
    return list(Batch.objects.open().looked_after_by(job))


def describe_progress(job: int) -> str:
    """Return in words how far the provider is with a job; empty where it has no batch of it."""
    batches = Batch.objects.open().exclude(state__in=Batch.OURS).looked_after_by(job).order_by("pk")
    return ", ".join(f"batch {one.remote}: {one.state}, {one.answered} of {one.total} answered" for one in batches)


def is_wanted(batch: Batch) -> bool:
    """Return True while it has items whose job was not stopped. A job that reached its budget has paid for its
    batch."""
    return items_held_by(batch).exclude(job__state=Job.State.STOPPED).exists()


def is_something_else_left(job: int) -> bool:
    """Return True where a job has unfinished items other than those that wait for a batch."""
    return JobItem.objects.unfinished().filter(job=job).exclude(FOR_BATCH).exists()


def stop_jobs(batch: Batch, reason: Reason) -> None:
    """Stop the jobs of its items, which another job may have taken over."""
    for job in items_held_by(batch).order_by("job").values_list("job", flat=True).distinct():
        store.end(job, Job.State.STOPPED, reason)


def items_held_by(batch: Batch) -> Any:
    return JobItem.objects.filter(batch=batch, owner=batch.holder, state=States.WORKING)


# Ending


@dataclass(frozen=True)
class Result(Closing):
    """The outcome of a request in a batch."""

    def cost(self) -> Decimal | None:
        cost = super().cost()
        return (self.opened.reserved or None) if cost is None else cost  # its price may have left the table meanwhile


@transaction.atomic
def close(batch: Batch, results: Sequence[tuple[str, Reply | ProviderError]], prices: Prices) -> None:
    """Close the rows of these results. Each row is closed once, however often results are read."""
    outcomes = {call_of(name): outcome for name, outcome in reversed(results)}
    calls = batch.calls.filter(status="started", pk__in=[pk for pk in outcomes if pk]).select_for_update(of=("self",))
    close_calls(batch, [(call, outcomes[call.pk]) for call in calls], prices)


@transaction.atomic
def close_rest(batch: Batch, outcome: ProviderError, prices: Prices) -> int:
    """Close all rows without a result, and return how many."""
    calls = list(batch.calls.filter(status="started").select_for_update(of=("self",)))
    close_calls(batch, [(call, outcome) for call in calls], prices)
    return len(calls)


def close_calls(batch: Batch, closed: Sequence[tuple[Call, Reply | ProviderError]], prices: Prices) -> None:
    if closed:
        close_attempts([make_result(batch, call, outcome, prices) for call, outcome in closed])


def make_result(batch: Batch, call: Call, outcome: Reply | ProviderError, prices: Prices) -> Result:
    settings, day = batch.settings(), call.created_at.date()
    question = Question(call.purpose, (), settings, job=batch.job_id)
    price = None if call.cost is None else price_of(settings, prices, day)
    attempt = Attempt(question, call.key, call.attempt, price, 0)
    status = outcome.status if isinstance(outcome, ProviderError) else "ok"
    opened = OpenCall(call.pk, attempt, call.cost or Decimal(0), day)
    return Result(opened, outcome, status, sent=not isinstance(outcome, NotRun))


def has_open_calls(batch: Batch) -> bool:
    return batch.calls.filter(status="started").exists()


@transaction.atomic
def end_batch(batch: Batch, state: str, *, error: str = "") -> bool:
    """End a batch and free its items. Requests that it never ran go into another batch, or after `TRIES` are asked
    live. Return False where another process was faster."""
    if not close_batch(batch, state, error):
        return False
    free = items_held_by(batch)
    left_out = batch.calls.filter(status__in=NEVER_RUN).values("item")
    counts = Q() if state == Batch.State.CANCELLED else Q(attempts__lt=TRIES)
    again = list(free.filter(counts, pk__in=left_out).values_list("pk", flat=True))
    free.update(state=States.WAITING, owner="")
    JobItem.objects.filter(pk__in=again).update(batch=None)
    return True


@transaction.atomic
def undo_batch(batch: Batch, state: str, *, error: str = "", next_size: int | None = None) -> bool:
    """End a batch that was never run, and restore its items. Its rows are closed already. Return False where another
    process was faster."""
    if not close_batch(batch, state, error, next_size=next_size):
        return False
    items_held_by(batch).update(state=States.WAITING, owner="", batch=None, attempts=F("attempts") - 1)
    return True


def fail_batch(batch: Batch, error: ProviderError) -> None:
    """Fail a batch that the provider no longer knows. Its cost is unknown, so a person decides whether to ask again."""
    for item in items_held_by(batch).values_list("pk", flat=True):
        store.mark_failed(batch.holder, item, failure=error.status, detail=error.detail)
    close_batch(batch, Batch.State.FAILED, error.detail)


def close_batch(batch: Batch, state: str, error: str, **more: Any) -> bool:
    """Close the row of a batch. Return False where another process was faster."""
    return bool(
        Batch.objects.filter(pk=batch.pk).open().update(state=state, error=error, ended_at=timezone.now(), **more)
    )


def is_alone(batch: Batch) -> bool:
    """Return True where no other batch of the same account and model is open."""
    there = Batch.objects.open().filter(base_url=batch.base_url, model=batch.model, api_key_env=batch.api_key_env)
    return not there.exclude(pk=batch.pk).exists()
