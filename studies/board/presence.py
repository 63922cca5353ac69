"""People who are in a study right now, by their last sign of life: a page, an answer that they typed, or a message."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max, Q
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from dialogue.models.conversation import Status as ConversationStatus
from dialogue.models.conversation import TurnState
from studies.design.plan import Step
from studies.models import Participation, Study
from studies.models.participation import AWAITED
from studies.participation import counts
from studies.participation.step_kinds import describe

HERE = timedelta(minutes=2)
IDLE = timedelta(minutes=30)
MOST_ROWS = 50

STUCK, HALTED, PRESENT, AWAY, GONE = "stuck", "halted", "here", "idle", "gone"
LABELS: dict[str, Promise] = {
    STUCK: _("stuck"),
    HALTED: _("paused by the team"),
    PRESENT: _("here now"),
    AWAY: _("idle"),
    GONE: _("gone"),
}
SHAPES = {STUCK: "attention", HALTED: "attention", PRESENT: "done", AWAY: "going", GONE: "stopped"}


@dataclass(frozen=True)
class PersonNow:
    """One person for whose next action the study waits. `since`: their last sign of life."""

    code: str
    track: str
    step: str
    state: str
    since: datetime | None

    def label(self) -> Promise:
        return LABELS[self.state]

    def shape(self) -> str:
        return SHAPES[self.state]

    def is_halted(self) -> bool:
        return self.state == HALTED


@dataclass(frozen=True)
class Presence:
    """Counts by state, and rows of those who are not gone, the stuck ones first."""

    counted: dict[str, int]
    people: Sequence[PersonNow]
    more: int  # rows that are not shown


def get_presence(study: Study, *, test: str, now: datetime | None = None) -> Presence:
    """Return the people who are under way and do not wait for a researcher."""
    people = list(people_now(study, test, now or timezone.now()))
    counted = Counter(person.state for person in people)
    present = [person for person in people if person.state != GONE]
    present.sort(key=lambda person: (list(LABELS).index(person.state), -seconds_of(person.since)))
    return Presence({state: counted[state] for state in LABELS}, present[:MOST_ROWS], max(0, len(present) - MOST_ROWS))


def people_now(study: Study, test: str, now: datetime) -> Iterator[PersonNow]:
    people = counts.filter_by_test(study.participations.filter(status__in=AWAITED), test).exclude(plan=[])
    stuck = set(people_without_a_reply(study, now))
    rows = people.annotate(
        message_at=Max("runs__conversation__turns__created_at"), typed_at=Max("drafts__saved_at")
    ).values_list("pk", "code", "track", "plan", "position", "paused_at", "last_seen_at", "message_at", "typed_at")
    for pk, code, track, plan, position, paused_at, *signs in rows:
        step = Step.from_json(plan[min(position, len(plan) - 1)])
        since = max((sign for sign in signs if sign), default=None)
        has_no_arms = step.kind == "chats"
        state = HALTED if paused_at else STUCK if pk in stuck or has_no_arms else state_of(since, now)
        yield PersonNow(code, str(Participation.Track(track).label), describe(step), state, since)


def people_without_a_reply(study: Study, now: datetime) -> list[int]:
    """Return the people in a conversation whose partner failed to answer, or takes longer than any reply does."""
    turn = "conversation__turns"
    failed = Q(**{f"{turn}__state": TurnState.FAILED})
    overdue = Q(**{f"{turn}__state": TurnState.WAITING, f"{turn}__created_at__lt": now - counts.OVERDUE})
    runs = study.runs.filter(participation__isnull=False).exclude(conversation__status=ConversationStatus.CLOSED)
    return list(runs.filter(failed | overdue).values_list("participation", flat=True))


def state_of(since: datetime | None, now: datetime) -> str:
    if since is None or now - since > IDLE:
        return GONE
    return PRESENT if now - since <= HERE else AWAY


def seconds_of(moment: datetime | None) -> float:
    return moment.timestamp() if moment else 0.0
