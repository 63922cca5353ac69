"""Several processes look for alarms at the same time: each message goes out once, each step is climbed once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from dialogue.models import RiskEvent
from studies.care import alarms, clock, sending
from studies.design.safety_rules import OnCall, SafetyRules
from studies.models import Alarm
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)
PROCESSES = 4


def at_once(act: Callable[[], int]) -> list[int]:
    """Each in a thread with a connection of its own, as processes have."""

    def once(_number: int) -> int:
        try:
            return act()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(PROCESSES) as pool:
        return list(pool.map(once, range(PROCESSES)))


@pytest.fixture
def event() -> RiskEvent:
    contacts = tuple(OnCall(name=name, email=f"{name}@example.org") for name in ("ann", "ben", "cho"))
    study = factories.study(safety=SafetyRules(oncall=contacts))
    return RiskEvent.objects.create(subject=factories.person(study).code, source="message", level=3)


def test_each_message_goes_out_once(event, box, monkeypatch):
    monkeypatch.setattr(clock, "send_soon", lambda: None)
    for _ in range(5):
        alarms.raise_alarm(event)
    assert sum(at_once(sending.send_due)) == 5
    assert len(box.mails) == 5
    assert set(Alarm.objects.values_list("attempts", flat=True)) == {1}


def test_each_step_is_climbed_once(event, box):
    alarms.raise_alarm(event)
    later = timezone.now() + timedelta(hours=1)
    assert sum(at_once(lambda: alarms.climb_overdue(later))) == 1
    assert list(Alarm.objects.values_list("contact", flat=True)) == ["ann", "ben"]
    assert event.acts.filter(kind="overdue").count() == 1


def test_an_alarm_is_acknowledged_once(event, box):
    alarms.raise_alarm(event)
    assert sum(at_once(lambda: int(alarms.acknowledge(event, by_name="ann")))) == 1
    assert event.acts.filter(kind="acknowledged").count() == 1
