"""Alarms about signs of danger: raise them, climb the order of contacts, acknowledge them.

An alarm is a row for each message to each contact. It is stored in the transaction that stores the event, and is sent
after the commit (`studies.care.sending`). If no one acknowledges it within the study's `ack_minutes`, the next contact
is alarmed. A new round begins when `raise_alarm` is called again for the same event.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from dialogue.models import RiskEvent
from studies.care import clock, rota
from studies.care.acts import record_act
from studies.models import Alarm, Participation, SafetyAct, Study
from studies.workbench.delivery_faults import DeliveryFault

log = logging.getLogger(__name__)

CONSOLE = "django.core.mail.backends.console.EmailBackend"  # without EMAIL_URL: mail is printed, and not sent
QUICK_LAPS = 3  # so many times the whole order is climbed in the study's own time
SLOW = timedelta(hours=1)  # and from then on no faster than this


@dataclass(frozen=True)
class ReachedContact:
    """Someone whom an alarm has reached, without a name or an address, and when."""

    who: str
    at: datetime


@dataclass(frozen=True)
class WaitingFacts:
    """The facts that a person who waits may know about their alarm: no names, no addresses.

    `overdue` is true once `ack_minutes` have passed and no one has acknowledged the newest round, or where there is
    no one to alarm and no one has acknowledged the event on the desk.
    """

    contacts: tuple[ReachedContact, ...]
    acknowledged_at: datetime | None
    overdue: bool


@transaction.atomic
def raise_alarm(event: RiskEvent) -> list[Alarm]:
    """Alarm the first contact of the study's order about an event; a new round when called again.

    A round that follows one that no one has acknowledged begins with the contact whom that one reached last. Events of
    test people, bots and simulated seekers alarm no one. The messages go out after the commit.
    """
    study = get_study(lock_event(event.pk))
    if event.is_test or study is None:
        return []
    now = timezone.now()
    last = event.alarms.order_by("round", "step").last()
    order = rota.get_order(study.current().spec(), now)
    if not order:
        log.error("study %s: no one is on call, so event %s alarms no one", study.key, event.pk)
        record_act(event, SafetyAct.Kind.FAILED, fault=DeliveryFault.of("no_contact"))
        return []
    contact = order[0]
    if last is not None and last.acknowledged_at is None:
        contact = next((one for one in order if one.name == last.contact), contact)
    event.alarms.exclude(climb_at=None).update(climb_at=None)
    return alarm_contact(event, study, contact, round=last.round + 1 if last else 1, now=now)


def lock_event(pk: int) -> RiskEvent:
    """Return the event, locked for this transaction: an alarm is never climbed while it is acknowledged."""
    return RiskEvent.objects.select_for_update(of=("self",)).get(pk=pk)


def get_study(event: RiskEvent) -> Study | None:
    """Return the study of the person whom an event is about; None where the person is in no study."""
    person = Participation.objects.select_related("study").filter(code=event.subject).first()
    return person.study if person else None


def alarm_contact(
    event: RiskEvent, study: Study, contact: rota.Contact, *, round: int, step: int = 1, lap: int = 1, now: datetime
) -> list[Alarm]:
    """Store the messages to one contact, and send them once they are committed."""
    wait = timedelta(minutes=study.current().spec().safety.ack_minutes)
    climb_at = now + (wait if lap <= QUICK_LAPS else max(wait, SLOW))
    alarms = [
        create_alarm(study, contact, channel, event=event, round=round, step=step, lap=lap, climb_at=climb_at, now=now)
        for channel in get_channels(contact)
    ]
    transaction.on_commit(lambda: clock.send_soon())
    return alarms


def get_channels(contact: rota.Contact) -> list[Alarm.Channel]:
    """Return the ways to reach a contact, the quicker one first."""
    ways = ((contact.webhook, Alarm.Channel.WEBHOOK), (contact.email, Alarm.Channel.EMAIL))
    return [channel for address, channel in ways if address]


def create_alarm(study: Study, contact: rota.Contact, channel: Alarm.Channel, *, now: datetime, **fields: Any) -> Alarm:
    """Store one message that is due now."""
    alarm = Alarm(study=study, contact=contact.name, channel=channel, created_at=now, due_at=now, **fields)
    if channel == Alarm.Channel.WEBHOOK:
        alarm.address, alarm.form, alarm.secret_env = contact.webhook, contact.form, contact.secret_env
    else:
        alarm.address = contact.email
    alarm.token_hash = alarm.get_token_hash()
    alarm.save()
    return alarm


# Acknowledging


@transaction.atomic
def acknowledge(event: RiskEvent, *, by: Any = None, by_name: str = "", newest: int | None = None) -> bool:
    """Acknowledge the alarms about an event, and stop climbing; return whether this call did it.

    `by` is a researcher's account, `by_name` the contact whose link was used. `newest` is the last round that they have
    seen: a later one stays open.
    """
    lock_event(event.pk)
    alarms = event.alarms.filter(acknowledged_at=None)
    if newest is not None:
        alarms = alarms.filter(round__lte=newest)
    name = by_name or (by.get_username() if by else "")
    values = {"acknowledged_at": timezone.now(), "acknowledged_by": by, "acknowledged_by_name": name, "climb_at": None}
    if not alarms.update(**values):
        return False
    record_act(event, SafetyAct.Kind.ACKNOWLEDGED, by=by, by_name=name)
    return True


# Climbing


def climb_overdue(now: datetime | None = None) -> int:
    """Alarm the next contact about each event that no one has acknowledged in time; return for how many events."""
    now = now or timezone.now()
    overdue = Alarm.objects.filter(climb_at__lte=now).order_by("climb_at", "pk")
    places = dict.fromkeys(overdue.values_list("event", "round", "step"))
    return sum(climb_safely(*place, now=now) for place in places)


def climb_safely(event_id: int, round: int, step: int, *, now: datetime) -> bool:
    """Climb one event; what goes wrong with it is logged and must not hold up the others."""
    try:
        return climb(event_id, round, step, now=now)
    except (LookupError, ValueError, ObjectDoesNotExist):
        log.exception("event %s: the next contact could not be alarmed", event_id)
        return False


@transaction.atomic
def climb(event_id: int, round: int, step: int, *, now: datetime) -> bool:
    """Alarm the contact after one who has not acknowledged; return False where another process has done so.

    Only the process whose update finds `climb_at` still set goes on.
    """
    event = lock_event(event_id)
    step_alarms = event.alarms.filter(round=round, step=step)
    if not step_alarms.filter(climb_at__lte=now).update(climb_at=None):
        return False
    study = get_study(event)
    if study is None or event.released_at:
        return False
    last = step_alarms.first()
    assert last is not None  # noqa: S101 - updated above
    record_act(event, SafetyAct.Kind.OVERDUE, by_name=last.contact)
    order = rota.get_order(study.current().spec(), now)
    if not order:
        log.error("study %s: no one is on call any more, so the alarm about event %s ends", study.key, event.pk)
        return False
    names = event.alarms.filter(round=round, lap=last.lap).values_list("contact", flat=True)
    contact, begins_again = rota.get_next(order, list(names))
    alarm_contact(event, study, contact, round=round, step=step + 1, lap=last.lap + begins_again, now=now)
    return True


# What others may know


def get_waiting_facts(event: RiskEvent) -> WaitingFacts:
    """Return what the page of a person who waits may say about the newest round of alarms."""
    newest = event.alarms.order_by("round").last()
    if newest is None:
        acts = dict(event.acts.order_by("at", "pk").values_list("kind", "at"))
        seen = acts.get(SafetyAct.Kind.ACKNOWLEDGED)
        return WaitingFacts((), seen, overdue=seen is None and SafetyAct.Kind.FAILED in acts)
    alarms = list(event.alarms.filter(round=newest.round).order_by("step", "pk"))
    acknowledged = max((one.acknowledged_at for one in alarms if one.acknowledged_at), default=None)
    climb_at = max((one.climb_at for one in alarms if one.climb_at), default=None)
    late = alarms[-1].step > 1 or (climb_at is not None and climb_at <= timezone.now())
    late = late or all(is_printed(alarm) for alarm in alarms)
    return WaitingFacts(get_reached_contacts(alarms), acknowledged, overdue=acknowledged is None and late)


def get_reached_contacts(alarms: Sequence[Alarm]) -> tuple[ReachedContact, ...]:
    """Return each step whose message a server has taken, with the time of the first one.

    A mail that this server has only printed to its console has reached no one.
    """
    first: dict[int, datetime] = {}
    for alarm in alarms:
        if alarm.sent_at and not is_printed(alarm):
            first[alarm.step] = min(alarm.sent_at, first.get(alarm.step, alarm.sent_at))
    beginning = _("the person on call"), _("the next person on call")
    return tuple(ReachedContact(beginning[step > 1], at) for step, at in sorted(first.items()))


def is_printed(alarm: Alarm) -> bool:
    return alarm.channel == Alarm.Channel.EMAIL and settings.EMAIL_BACKEND == CONSOLE


def has_acknowledged_drill(study: Study, *, within_days: int = 30) -> bool:
    """Return whether a drill of these days was acknowledged by someone who is still among the study's contacts."""
    contacts = rota.get_contacts(study.current().spec())
    addresses = {address for contact in contacts for address in (contact.email, contact.webhook) if address}
    since = timezone.now() - timedelta(days=within_days)
    return study.alarms.filter(event=None, acknowledged_at__gte=since, address__in=addresses).exists()
