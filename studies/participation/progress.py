"""Where a person stands, and how they move on. A step is left once, however often its form arrives."""

import secrets
from contextlib import suppress

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from dialogue import chat
from dialogue.models.conversation import EndReason
from studies.design.plan import Step
from studies.models import Interview, Participation, Response
from studies.models.participation import ALPHABET, Status
from studies.participation import enrolment, timeouts
from studies.participation.chats import runs_with_a_reply
from studies.participation.time_spent import seconds_spent
from studies.second_raters import reviews

OVERLAYS = {
    Status.INVITED: "invited",  # they have no plan yet
    Status.HELD: "held",
    Status.IN_REVIEW: "review",
    Status.SCREENED_OUT: "screened_out",
    Status.STOPPED: "stopped",
    Status.WITHDRAWN: "withdrawn",
    Status.TIMED_OUT: "timed_out",
}


def current_step(participation: Participation) -> Step:
    """The one page that this person may see now."""
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
        enter(participation)
    return bool(moved)


def enter(participation: Participation) -> None:
    """What a step needs before it is first shown."""
    steps = participation.steps()
    kind = steps[participation.position].kind
    if kind == "chats":
        # With too few arms they stay at this step, which tries again at each visit; what they have answered is stored.
        with suppress(enrolment.ArmsMissing):
            enrolment.draw_order(participation)
    elif kind == "selection":
        set_status(participation, Status.IN_REVIEW)


def set_status(participation: Participation, status: Status) -> None:
    participation.status = status
    if participation.is_over():
        participation.ended_at = timezone.now()
        participation.drafts.all().delete()
    participation.save(update_fields=["status", "ended_at"])


@transaction.atomic
def admit(participation: Participation) -> None:
    """A researcher lets a person go on who was waiting for one: selection, screening or training."""
    fresh = Participation.objects.select_for_update().get(pk=participation.pk)
    if fresh.status != Status.IN_REVIEW:
        return
    timeouts.await_from_now(fresh)
    set_status(fresh, fresh.status_under_way())
    step = current_step(fresh)
    if step.kind == "selection":
        advance(fresh, done=step)


@transaction.atomic
def decline(participation: Participation) -> None:
    """A researcher ends the waiting kindly: the person sees thanks and the list of help."""
    fresh = Participation.objects.select_for_update().get(pk=participation.pk)
    if fresh.status == Status.IN_REVIEW:
        set_status(fresh, Status.SCREENED_OUT)


@transaction.atomic
def leave(participation: Participation) -> None:
    """The person stops and what they gave is kept; a conversation under way ends."""
    fresh = Participation.objects.select_for_update().get(pk=participation.pk)
    if fresh.is_over():
        return
    for run in fresh.runs.filter(conversation__isnull=False):
        chat.stop(run.conversation_id, EndReason.WITHDRAWN)
    fresh.active_seconds = seconds_spent(fresh)
    fresh.save(update_fields=["active_seconds"])
    set_status(fresh, Status.WITHDRAWN)


def missing_parts(participation: Participation) -> list[str]:
    """The keys of the steps before the debrief that left nothing in the database; empty when all is there."""
    missing = []
    runs = {run.position: run for run in participation.runs.select_related("conversation")}
    answered = set(
        Response.objects.filter(rater__participation=participation).values_list("instrument", "moment", "run__position")
    )
    for step in participation.steps():
        if step.kind == "chat":
            run = runs.get(step.run)
            if run is None or run.conversation is None or not run.conversation.end_reason:
                missing.append(step.key)
        elif step.kind == "consent":
            if not participation.consents.exists():
                missing.append(step.key)
        elif step.kind == "interview":
            if not Interview.objects.filter(participation=participation).exists():
                missing.append(step.key)
        elif step.kind == "blinding":
            asked = {(step.instrument, step.moment, run.position) for run in runs_with_a_reply(participation)}
            if asked - answered:
                missing.append(step.key)
        elif step.kind == "reviews":
            if not reviews.all_stored(participation):
                missing.append(step.key)
        elif step.instrument and (step.instrument, step.moment or step.phase, step.run or None) not in answered:
            missing.append(step.key)
    return missing


@transaction.atomic
def complete(participation: Participation) -> list[str]:
    """Count what should exist; only when all of it does is the person done and has a code. Returns what is missing."""
    fresh = Participation.objects.select_for_update().get(pk=participation.pk)
    missing = missing_parts(fresh)
    if not missing and fresh.status != Status.COMPLETED:
        fresh.completion_code = "".join(secrets.choice(ALPHABET) for _ in range(10))
        fresh.active_seconds = seconds_spent(fresh)
        fresh.save(update_fields=["completion_code", "active_seconds"])
        set_status(fresh, Status.COMPLETED)
    participation.refresh_from_db()
    return missing
