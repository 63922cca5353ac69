"""Acts of the team on a running study: pause an arm or a person, leave a conversation out, make a new link, end a part.

Each is stored with who did it and why. A conversation that is left out here is left out of results as one that two
coders exclude is, and comes back when it is counted again.
"""

import secrets
from collections.abc import Mapping

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from dialogue.chat import lifecycle, state
from dialogue.chat.access import revoke
from dialogue.models import Conversation
from dialogue.models.conversation import EndReason
from dialogue.models.conversation import Status as ConversationStatus
from studies.models import Arm, ArmRun, BoardAct, Participation, Study
from studies.models.participation import AWAITED, Status, digest
from studies.participation import enrolment, exclusions, progress, timeouts
from studies.participation.locking import lock_person
from studies.participation.time_spent import seconds_spent

Kind = BoardAct.Kind


def record(study: Study, kind: str, *, by: AbstractBaseUser, reason: str, **about: object) -> BoardAct:
    return BoardAct.objects.create(study=study, kind=kind, by=by, by_name=by.get_username(), reason=reason, **about)


# Arms


@transaction.atomic
def set_paused(study: Study, arm: str, *, paused: bool, by: AbstractBaseUser, reason: str) -> bool:
    """Pause or resume an arm in every version of the study; False if it was so already.

    A pause keeps the arm out of new orders only. People who have it in theirs meet it.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    if not Arm.objects.filter(protocol__study=study, key=arm, paused=not paused).update(paused=paused):
        return False
    record(study, Kind.ARM_PAUSED if paused else Kind.ARM_RESUMED, by=by, reason=reason, arm=arm)
    return True


def get_pauses(study: Study) -> Mapping[str, BoardAct]:
    """Return the latest act on each arm, if it was a pause."""
    acts = study.board_acts.filter(kind__in=(Kind.ARM_PAUSED, Kind.ARM_RESUMED)).order_by("at", "pk")
    latest = {act.arm: act for act in acts}
    return {arm: act for arm, act in latest.items() if act.kind == Kind.ARM_PAUSED}


# Conversations


@transaction.atomic
def mark_invalid(run: ArmRun, *, by: AbstractBaseUser, reason: str) -> bool:
    """Leave a conversation out of results; False if it is left out already."""
    fresh = ArmRun.objects.select_for_update(of=("self",)).select_related("study").get(pk=run.pk)
    if not fresh.valid:
        return False
    record(fresh.study, Kind.MARKED_INVALID, by=by, reason=reason, run=fresh)
    ArmRun.objects.filter(pk=run.pk).update(valid=False)
    return True


@transaction.atomic
def mark_valid(run: ArmRun, *, by: AbstractBaseUser, reason: str) -> bool:
    """Take the mark back; False if there is none. What two coders have excluded stays out."""
    fresh = ArmRun.objects.select_for_update(of=("self",)).select_related("study").get(pk=run.pk)
    if exclusions.mark_of(fresh) is None:
        return False
    record(fresh.study, Kind.MARKED_VALID, by=by, reason=reason, run=fresh)
    stays_out = exclusions.verdict(fresh.decisions.all()) == exclusions.Verdict.LEAVE_OUT
    ArmRun.objects.filter(pk=run.pk).update(valid=not stays_out)
    return True


# Links


def may_have_link(person: Participation) -> bool:
    """Return False for people whose data were erased: nothing is left behind their link."""
    return bool(person.plan) or not person.has_started()


@transaction.atomic
def reissue_link(person: Participation, *, by: AbstractBaseUser, reason: str) -> str:
    """Return the token of a new link. The old one, and browsers that came by it, no longer open the person's pages."""
    token = secrets.token_urlsafe(32)
    Participation.objects.filter(pk=person.pk).update(token_hash=digest(token), browser_hash="")
    revoke(Conversation.objects.filter(run__participation=person))
    record(person.study, Kind.LINK_REISSUED, by=by, reason=reason, participation=person)
    return token


# People


class ReplyUnderWay(Exception):
    """The error that someone's partner is writing to them at this moment."""


def may_pause(person: Participation) -> bool:
    return person.status in AWAITED and not person.is_paused()


def may_end(person: Participation) -> bool:
    """Return whether the team can end their part. People who have not agreed yet decide for themselves."""
    return person.status in AWAITED and not enrolment.is_unsigned(person)


@transaction.atomic
def pause_person(person: Participation, *, by: AbstractBaseUser, reason: str) -> list[state.Notice] | None:
    """Pause a person where they are; None if they are paused already or nothing of theirs is awaited.

    A reply that is under way still comes. Return what their sockets are to be told.
    """
    fresh = lock_person(person)
    if not may_pause(fresh):
        return None
    Participation.objects.filter(pk=person.pk).update(paused_at=timezone.now())
    record(person.study, Kind.PERSON_PAUSED, by=by, reason=reason, participation=person)
    return [lifecycle.suspend(key) for key in open_conversations(fresh)]


@transaction.atomic
def resume_person(person: Participation, *, by: AbstractBaseUser, reason: str) -> bool:
    """Let a paused person continue where they were; False if they are not paused."""
    fresh = lock_person(person)
    if not fresh.is_paused():
        return False
    Participation.objects.filter(pk=person.pk).update(paused_at=None)
    timeouts.restart_timeout(fresh)
    for key in open_conversations(fresh):
        lifecycle.unsuspend(key)
    record(person.study, Kind.PERSON_RESUMED, by=by, reason=reason, participation=person)
    return True


@transaction.atomic
def end_person(person: Participation, *, by: AbstractBaseUser, reason: str, told: str) -> list[state.Notice] | None:
    """End a person's part kindly: their data stay, they get a completion code, and read what they are told of why.

    Return what their sockets are to be told; None if they are over already, or held. Raises ReplyUnderWay, and then
    changes nothing.
    """
    fresh = lock_person(person)
    if not may_end(fresh):
        return None
    keys = open_conversations(fresh)
    if any(map(lifecycle.is_reply_under_way, keys)):
        raise ReplyUnderWay
    notices = [lifecycle.stop(key, EndReason.WITHDRAWN) for key in keys]
    fresh.active_seconds, fresh.completion_code = seconds_spent(fresh), progress.new_completion_code()
    fresh.save(update_fields=["active_seconds", "completion_code"])
    progress.set_status(fresh, Status.ENDED)
    record(person.study, Kind.PERSON_ENDED, by=by, reason=reason, told=told, participation=person)
    return notices


def get_told(person: Participation) -> str:
    """Return what someone whose part the team has ended reads as the reason."""
    ended = person.board_acts.filter(kind=Kind.PERSON_ENDED).first()
    return ended.told if ended else ""


def open_conversations(person: Participation) -> list[int]:
    """Return the keys of the person's conversations that have not ended."""
    runs = person.runs.filter(conversation__isnull=False).exclude(conversation__status=ConversationStatus.CLOSED)
    return list(runs.values_list("conversation", flat=True))


def get_pause(person: Participation) -> BoardAct | None:
    """Return the act by which the person is paused; None if they are not."""
    return person.board_acts.filter(kind=Kind.PERSON_PAUSED).first() if person.is_paused() else None
