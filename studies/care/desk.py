"""The safety desk: events that wait for someone, what led to them, and what can be done about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Case, DateTimeField, Exists, F, Max, OuterRef, Q, QuerySet, Subquery, When
from django.utils import timezone

from dialogue.chat import lifecycle
from dialogue.compiled_sql import CompiledQuery
from dialogue.models import RiskEvent, Turn
from dialogue.models.conversation import EndReason
from studies.care import alarms, oncall
from studies.care.acts import record_act
from studies.care.answers import PERSON, ROLE
from studies.care.form_words import find_grave_words
from studies.care.sign_words import (
    READ,
    ShownAct,
    Words,
    describe_findings,
    describe_page,
    describe_release,
    describe_role_answer,
    describe_standing,
    show_act,
)
from studies.models import Alarm, Participation, SafetyAct, Study
from studies.participation import counts
from studies.participation.locking import lock_person
from studies.workbench.delivery_faults import describe_fault

Kind = SafetyAct.Kind
# Acts of the person and of colleagues that someone must know of before deciding; alarms that go out are none.
TELLING = (
    *(Kind.ANSWERED, Kind.WHERE, Kind.ACKNOWLEDGED, Kind.WROTE, Kind.NOTED),
    *(Kind.RELEASED, Kind.ENDED, Kind.ERASED),
)
AROUND = 6  # turns before the sign, and two after it, that the desk shows
AFTER = 2


class State(NamedTuple):
    """The state that the desk's page watches: it is loaded anew when one of these values changes.

    `open` and `unacknowledged` are of real people alone.
    """

    open: int
    unacknowledged: int
    newest_event: int
    newest_act: int


def get_state(study: Study) -> State:
    """Return values that differ whenever a row of the desk has changed. Three queries."""
    events = counts.risks_of(study)
    open_events = counts.open_risks_of_people(study)
    return State(
        open=open_events.count(),
        unacknowledged=_with_acknowledgement(open_events).filter(acknowledged=None).count(),
        newest_event=events.aggregate(newest=Max("pk"))["newest"] or 0,
        newest_act=SafetyAct.objects.filter(event__in=events).aggregate(newest=Max("pk"))["newest"] or 0,
    )


def get_open_events(study: Study, *, test: str = "") -> QuerySet[RiskEvent]:
    """Return the events that wait: real people's before test data, unacknowledged first, the oldest first.

    What a counsellor said was the role's stands behind the rest, so that no one in danger is looked for below it.
    `acknowledged` is a time or None.
    """
    events = _with_acknowledgement(counts.open_risks(study, test=test)).select_related("conversation")
    is_played = Case(When(role_answer=ROLE, then=1), default=0)
    return events.order_by("is_test", is_played, F("acknowledged").asc(nulls_first=True), "created_at", "pk")


def get_settled_events(study: Study, *, test: str = "") -> QuerySet[RiskEvent]:
    """Return the events that no longer wait, the latest first."""
    events = counts.risks_of(study, test=test).select_related("conversation", "released_by")
    return events.exclude(pk__in=counts.open_risks(study).values("pk")).order_by("-created_at", "-pk")


def _with_acknowledgement(events: QuerySet[RiskEvent]) -> QuerySet[RiskEvent]:
    """Return the events, each with the time when it was last acknowledged.

    With an alarm that no one has answered, a new round say, an event is unacknowledged again.
    """
    acknowledgements = SafetyAct.objects.filter(event=OuterRef("pk"), kind=Kind.ACKNOWLEDGED)
    last = acknowledgements.order_by().values("event").annotate(last=Max("at")).values("last")
    pending = Exists(Alarm.objects.filter(event=OuterRef("pk"), acknowledged_at=None))
    return events.annotate(
        acknowledged=Case(When(pending, then=None), default=Subquery(last), output_field=DateTimeField())
    )


class ShownAlarm(NamedTuple):
    """An alarm, and in words why it was not sent."""

    alarm: Alarm
    fault: str


@dataclass(frozen=True)
class Sign:
    """One event with its surroundings. `turns` are those around the sign, `person` is None for one erased, `words` are
    what the person has written of danger elsewhere than in a conversation, `other_signs` are the person's other open
    ones. `seen` is what `refuse_news` compares."""

    event: RiskEvent
    person: Participation | None
    turns: Sequence[Turn]
    words: Sequence[str]
    acts: Sequence[ShownAct]
    alarms: Sequence[ShownAlarm]
    acknowledged: datetime | None
    other_signs: Sequence[RiskEvent]
    seen: str

    def holder(self) -> str:
        """Return who acknowledged the event last; empty where no one has."""
        return next((one.act.by_name for one in reversed(self.acts) if one.act.kind == Kind.ACKNOWLEDGED), "")

    def newest_round(self) -> int:
        """Return the number of the last round of alarms; 0 where no one was alarmed."""
        return max((one.alarm.round for one in self.alarms), default=0)

    def unread(self) -> set[int]:
        """Return the messages to the person that they have not said to have read."""
        read = max((one.act.at for one in self.acts if is_reading(one.act)), default=None)
        written = (one.act for one in self.acts if one.act.kind == Kind.WROTE)
        return {act.pk for act in written if read is None or act.at > read}

    def is_open(self) -> bool:
        return self.event.released_at is None and (self.event.level >= 3 or bool(self.alarms))

    def findings(self) -> list[Words]:
        return describe_findings(self.event)

    def page(self) -> str:
        return describe_page(self.event)

    def standing(self) -> str:
        return describe_standing(self.event, self.person)

    def role_answer(self) -> Words:
        return describe_role_answer(self.event)

    def release_words(self) -> list[str]:
        return list(describe_release(self.event, self.person))

    def can_be_ended(self) -> bool:
        return self.person is not None and not self.person.is_over()

    def is_answered(self) -> bool:
        return bool(self.event.safe_answer)


def get_sign(event: RiskEvent) -> Sign:
    """Return what someone on call needs to know of an event, without what was said elsewhere."""
    [acknowledged] = _with_acknowledgement(RiskEvent.objects.filter(pk=event.pk)).values_list("acknowledged", flat=True)
    person = Participation.objects.filter(code=event.subject).first() if event.subject else None
    return Sign(
        event=event,
        person=person,
        turns=_turns_around(event),
        words=find_grave_words(person) if person and event.source == RiskEvent.Source.ANSWER else [],
        acts=[show_act(act, event) for act in event.acts.select_related("by")],
        alarms=[ShownAlarm(alarm, describe_fault(alarm.fault)) for alarm in event.alarms.all()],
        acknowledged=acknowledged,
        other_signs=list(counts.open_risks(person.study).filter(subject=person.code).exclude(pk=event.pk))
        if person
        else [],
        seen=get_seen(event),
    )


def _turns_around(event: RiskEvent) -> list[Turn]:
    if event.conversation is None:
        return []
    turns = event.conversation.turns.order_by("number")
    if event.turn is None:
        return list(turns.reverse()[:AROUND])[::-1]
    return list(turns.filter(number__gt=event.turn - AROUND, number__lte=event.turn + AFTER))


class HasNews(Exception):
    """The error that something has happened since the page was opened on which somebody decided."""


def get_seen(event: RiskEvent) -> str:
    """Return a text that differs once the person or a colleague has done something more, or the person has given
    another sign."""
    signs = RiskEvent.objects.filter(Q(subject=event.subject) if event.subject else Q(pk=event.pk))
    acts = SafetyAct.objects.filter(event__in=signs, kind__in=TELLING).exclude(kind=Kind.ANSWERED, text=READ)
    newest = [rows.aggregate(newest=Max("pk"))["newest"] or 0 for rows in (signs, acts)]
    return "-".join(map(str, newest))


def refuse_news(event: RiskEvent, seen: str) -> None:
    """Raise HasNews where `seen`, the value of the page, is out of date. The person stays locked until the commit."""
    person = Participation.objects.filter(code=event.subject).first() if event.subject else None
    if person:
        lock_person(person)
    else:
        alarms.lock_event(event.pk)
    if seen and seen != get_seen(event):
        raise HasNews(event.pk)


def acknowledge(event: RiskEvent, *, by: AbstractBaseUser, newest: int | None = None) -> bool:
    """Store that `by` looks after this event, so that no further contact is alarmed; return False where someone else
    does. `newest`: the last round of alarms that they have seen; a later one stays open."""
    if alarms.acknowledge(event, by=by, newest=newest):
        return True
    if event.acts.filter(kind=Kind.ACKNOWLEDGED).exists():
        return False
    record_act(event, Kind.ACKNOWLEDGED, by=by)  # no one had been alarmed: a test person's event
    return True


@transaction.atomic
def write_to_person(event: RiskEvent, text: str, *, by: AbstractBaseUser) -> None:
    """Store a message that the person reads on their page. Who wrote it is not told them."""
    record_act(event, Kind.WROTE, by=by, text=text)


@transaction.atomic
def release(event: RiskEvent, *, by: AbstractBaseUser, reason: str, seen: str = "") -> None:
    """Settle the event; where the person waits because of it, they can continue. Raises HasNews."""
    refuse_news(event, seen)
    event.refresh_from_db()
    if event.released_at is not None:
        raise HasNews(event.pk)
    oncall.release(event, by=by, note=reason)


@transaction.atomic
def end_kindly(event: RiskEvent, *, by: AbstractBaseUser, reason: str, seen: str = "") -> bool:
    """End the study for the person with care and full pay, and settle the event. False where it has ended already.

    Raises HasNews.
    """
    refuse_news(event, seen)
    subject = Participation.objects.filter(code=event.subject).first()
    person = subject and lock_person(subject)
    if person is None or person.is_over():
        return False
    oncall.stop(person)
    if event.conversation_id:
        lifecycle.stop(event.conversation_id, EndReason.SAFETY)
    fresh = RiskEvent.objects.select_for_update().get(pk=event.pk)
    if fresh.released_at is None:
        fresh.released_at, fresh.released_by, fresh.note = timezone.now(), by, reason
        fresh.save(update_fields=["released_at", "released_by", "note"])
    record_act(event, Kind.ENDED, by=by, text=reason)
    return True


@transaction.atomic
def add_note(event: RiskEvent, text: str, *, by: AbstractBaseUser) -> None:
    """Store a note for colleagues, which the person never sees."""
    record_act(event, Kind.NOTED, by=by, text=text)


WRITTEN = CompiledQuery(
    SafetyAct,
    lambda: (
        SafetyAct.objects.filter(event__subject="")
        .filter(Q(kind=Kind.WROTE) | Q(kind=Kind.ANSWERED, text=READ))
        .order_by("-at", "-pk")
    ),
)


class Message(NamedTuple):
    """The part of a message that the person reads: when it was written, and its words. `act`: the key of its row."""

    at: datetime
    text: str
    act: int
    is_read: bool


def get_messages(person: Participation) -> list[Message]:
    """Return what the research team wrote to the person, the latest first."""
    messages: list[Message] = []
    read: set[int] = set()  # events with a message that the person has read since
    for act in WRITTEN.rows(person.code, Kind.WROTE, Kind.ANSWERED, READ):
        if is_reading(act):
            read.add(act.event_id)
        else:
            messages.append(Message(act.at, act.text, act.pk, act.event_id in read))
    return messages


def is_reading(act: SafetyAct) -> bool:
    """Return whether the person said by this act that they had read what was written to them."""
    return act.kind == Kind.ANSWERED and act.text == READ


@transaction.atomic
def mark_read(person: Participation, act: int) -> None:
    """Store that the person has read a message and those before it about the same event; once."""
    if act in {message.act for message in get_messages(person) if not message.is_read}:
        record_act(RiskEvent.objects.get(acts=act), Kind.ANSWERED, by_name=PERSON, text=READ)
