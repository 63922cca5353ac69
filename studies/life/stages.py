"""A study's life: rehearsal, open, paused, closed, archived. Real people begin in an open study alone. One that is not
wanted is archived from its rehearsal.

Test people come and go in every stage, because what they do is in no result. Until it is opened, a study can change as
it likes; from then on, what people meet is fixed, and a change is an amendment (setup/storage.py).

In a paused study no one new begins, and people under way go on when it is open again; a conversation that has begun is
not cut off. In a closed study no one new begins, and people who have begun may finish.

Once no one is taking part in a closed study, the results by arm are open, because they can no longer influence new
data. If the study is opened again after that, staff who may have seen the results meet new people. Whether anyone has
looked is unknown, so each such opening counts: it is stored as an unblinding with its reason, and the study does not
become blind again. Before that, opening again leaves no trace in the results.
"""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from studies.life.readiness import Requirement, find_missing
from studies.models import Protocol, Stage, StageChange, Study, Unblinding, Webhook
from studies.participation.unblinding import is_kept_blind, unblind
from studies.webhooks.events import announce

# Where a study may go from each stage. The first opening alone is preceded by checks.
NEXT_STAGES = {
    Stage.REHEARSAL: (Stage.OPEN, Stage.ARCHIVED),
    Stage.OPEN: (Stage.PAUSED, Stage.CLOSED),
    Stage.PAUSED: (Stage.OPEN, Stage.CLOSED),
    Stage.CLOSED: (Stage.OPEN, Stage.ARCHIVED),
    Stage.ARCHIVED: (Stage.CLOSED,),
}
EVENTS = {  # of webhooks
    Stage.OPEN: Webhook.Event.STUDY_OPENED,
    Stage.PAUSED: Webhook.Event.STUDY_PAUSED,
    Stage.CLOSED: Webhook.Event.STUDY_CLOSED,
}


@dataclass(frozen=True)
class Actor:
    """The person who decides: a researcher's account or, at a command line, a name alone."""

    name: str
    user: AbstractBaseUser | None = None

    @classmethod
    def of(cls, user: Any) -> "Actor":
        return cls(user.get_username(), user)


class StageUnreachable(Exception):
    """The error that a study cannot go from its stage to that one."""

    def __init__(self, at: str, to: str) -> None:
        super().__init__(at, to)
        self.at, self.to = Stage(at), Stage(to)


class NotReady(Exception):
    """The error that something is missing before real people may come."""

    def __init__(self, missing: list[Requirement]) -> None:
        super().__init__(*(each.text for each in missing))
        self.missing = missing


class ReasonNeeded(Exception):
    """The error that opening needs a reason, because the results by arm have been open."""


def get_next_stages(study: Study) -> tuple[Stage, ...]:
    """Return the stages to which a study can go: from the archive, back to where it came from."""
    if study.stage == Stage.ARCHIVED and not study.was_closed():
        return (Stage.REHEARSAL,)
    return NEXT_STAGES[Stage(study.stage)]


@transaction.atomic
def move(study: Study, to: Stage, who: Actor, *, reason: str = "") -> bool:
    """Take the study to another stage; return False if it is there already.

    Raise StageUnreachable, NotReady or ReasonNeeded.
    """
    fresh = Study.objects.select_for_update().get(pk=study.pk)
    if fresh.stage == to:
        return False
    if to not in get_next_stages(fresh):
        raise StageUnreachable(fresh.stage, to)
    if to == Stage.OPEN:
        prepare_opening(fresh, who, reason)
    if fresh.stage == Stage.PAUSED:
        fresh.participations.under_way().update(awaited_since=timezone.now())  # the pause is no absence of theirs
    StageChange.objects.create(study=fresh, stage=to, by=who.user, by_name=who.name, reason=reason)
    Study.objects.filter(pk=fresh.pk).update(stage=to)
    if to in EVENTS:
        announce(fresh, EVENTS[to])
    study.refresh_from_db()
    return True


def prepare_opening(study: Study, who: Actor, reason: str) -> None:
    if study.stage == Stage.REHEARSAL:
        if missing := find_missing(study):
            raise NotReady(missing)
        freeze_version(study.current())
    elif has_opened_results(study):
        if not reason.strip():
            raise ReasonNeeded(study.key)
        unblind(study, who.user, name=who.name, when=Unblinding.When.REOPENED, reason=reason)


def freeze_version(protocol: Protocol) -> None:
    """Store when a version was frozen, and its hash at that time."""
    protocol.opened_at, protocol.opened_hash = timezone.now(), protocol.hash()
    protocol.save(update_fields=["opened_at", "opened_hash"])


def has_opened_results(study: Study) -> bool:
    """Return whether the results by arm are open because of the closing alone."""
    return study.is_finished() and is_kept_blind(study)
