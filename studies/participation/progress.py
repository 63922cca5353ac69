"""A person's progress through their steps. A step is left once, however often its form arrives."""

import secrets

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from dialogue.chat import lifecycle
from dialogue.models.conversation import EndReason
from studies.design.plan import Step
from studies.models import Participation, Receipt, Response
from studies.models.participation import ALPHABET, Status
from studies.participation import timeouts
from studies.participation.locking import lock_person
from studies.participation.step_kinds import KINDS, StoredData
from studies.participation.time_spent import seconds_spent
from studies.webhooks.events import announce_end

OVERLAYS = {
    Status.INVITED: "invited",  # they have no plan yet
    Status.HELD: "held",
    Status.IN_REVIEW: "review",
    Status.SCREENED_OUT: "screened_out",
    Status.STOPPED: "stopped",
    Status.WITHDRAWN: "withdrawn",
    Status.TIMED_OUT: "timed_out",
    Status.ENDED: "ended",
}


def current_step(participation: Participation) -> Step:
    """Return the one page that this person may see now."""
    if kind := OVERLAYS.get(participation.status):
        return Step(kind=kind, key=kind)
    steps = participation.steps()
    return steps[min(participation.position, len(steps) - 1)]


@transaction.atomic
def advance(participation: Participation, *, done: Step) -> bool:
    """Leave `done` for the next step; False where it had been left already (double click, second tab)."""
    steps = participation.steps()
    position = next(index for index, step in enumerate(steps) if step.key == done.key)
    moved = Participation.objects.filter(pk=participation.pk, position=position).update(position=F("position") + 1)
    participation.refresh_from_db()
    if moved:
        prepare_step(participation)
    return bool(moved)


@transaction.atomic
def insert_step(participation: Participation, step: Step, *, after: Step) -> bool:
    """Put one more step into the person's plan, behind the one at which they are.

    Return False where they have left that step, or have the new one already.
    """
    fresh = Participation.objects.select_for_update().get(pk=participation.pk)
    keys = [each.key for each in fresh.steps()]
    if keys[fresh.position] != after.key or step.key in keys:
        return False
    participation.plan = [*fresh.plan[: fresh.position + 1], step.to_json(), *fresh.plan[fresh.position + 1 :]]
    participation.save(update_fields=["plan"])
    return True


@transaction.atomic
def drop_ratings(participation: Participation, *, run: int) -> None:
    """Take the ratings of one conversation out of the plan, where there is nothing to rate; answers stay."""
    fresh = Participation.objects.select_for_update().get(pk=participation.pk)
    steps = [
        step
        for at, step in enumerate(fresh.steps())
        if at <= fresh.position or step.kind != "rating" or step.run != run
    ]
    participation.plan = [step.to_json() for step in steps]
    participation.save(update_fields=["plan"])


def has_skipped_role(participation: Participation, *, run: int) -> bool:
    """Return whether a counsellor skipped the role of this conversation: its ratings are then out of the plan."""
    plays = participation.track == Participation.Track.COUNSELLOR
    return plays and not any(step.kind == "rating" and step.run == run for step in participation.steps())


def prepare_step(participation: Participation) -> None:
    """Prepare the step at which the person is now."""
    KINDS[participation.steps()[participation.position].kind].prepare(participation)


def set_status(participation: Participation, status: Status) -> None:
    participation.status = status
    if participation.is_over():
        participation.ended_at = timezone.now()
        participation.drafts.all().delete()
        announce_end(participation)
    participation.save(update_fields=["status", "ended_at"])


@transaction.atomic
def admit(participation: Participation) -> None:
    """Let a person continue who waited for a researcher: selection, screening or training."""
    fresh = Participation.objects.select_for_update().get(pk=participation.pk)
    if fresh.status != Status.IN_REVIEW:
        return
    timeouts.restart_timeout(fresh)
    set_status(fresh, fresh.status_under_way())
    step = current_step(fresh)
    if step.kind == "selection":
        advance(fresh, done=step)


@transaction.atomic
def decline(participation: Participation) -> None:
    """End a person's wait kindly: they see thanks and the list of help."""
    fresh = Participation.objects.select_for_update().get(pk=participation.pk)
    if fresh.status == Status.IN_REVIEW:
        set_status(fresh, Status.SCREENED_OUT)


@transaction.atomic
def leave(participation: Participation) -> None:
    """Let the person leave and keep their data; an open conversation ends."""
    fresh = lock_person(participation)
    if fresh.is_over():
        return
    for run in fresh.runs.filter(conversation__isnull=False):
        lifecycle.stop(run.conversation_id, EndReason.WITHDRAWN)
    fresh.active_seconds = seconds_spent(fresh)
    fresh.save(update_fields=["active_seconds"])
    set_status(fresh, Status.WITHDRAWN)
    Receipt.objects.create(participation=fresh, kind=Receipt.Kind.KEPT)


def missing_parts(participation: Participation) -> list[str]:
    """Return the keys of the steps that did not leave in the database what they should; empty when all is there."""
    runs = {run.position: run for run in participation.runs.select_related("conversation")}
    rows = Response.objects.filter(rater__participation=participation)
    stored = StoredData(participation, runs, frozenset(rows.values_list("instrument", "moment", "run__position")))
    return [step.key for step in participation.steps() if not KINDS[step.kind].is_stored(step, stored)]


def new_completion_code() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(10))


@transaction.atomic
def complete(participation: Participation) -> list[str]:
    """Complete the participation if everything is stored, and return the missing parts.

    Only then does the person get a code.
    """
    fresh = Participation.objects.select_for_update().get(pk=participation.pk)
    missing = missing_parts(fresh)
    if not missing and fresh.status != Status.COMPLETED:
        fresh.completion_code = new_completion_code()
        fresh.active_seconds = seconds_spent(fresh)
        fresh.save(update_fields=["completion_code", "active_seconds"])
        set_status(fresh, Status.COMPLETED)
    participation.refresh_from_db()
    return missing
