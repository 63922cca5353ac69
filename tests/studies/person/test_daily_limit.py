"""Where the study allows so many conversations a day, the next one waits for another day."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from dialogue.models import Conversation
from studies.design.safety_rules import SafetyRules
from studies.models import Participation
from studies.participation import daily_limit
from tests import factories
from tests.people import Person

pytestmark = pytest.mark.django_db


def begin(*, limit: int | None = 2, track: str = "participant", zone: str = "UTC") -> Person:
    spec = factories.demo_spec()
    factories.study(chat=replace(spec.chat, conversations_per_day=limit), safety=SafetyRules(time_zone=zone))
    return Person(track=track)


def text_of(page) -> str:
    return " ".join(page.content.decode().split())


def test_next_conversation_waits_until_the_next_day():
    person = begin()
    person.go_to("between", run=1)
    assert "A short break, if you like" in text_of(person.page())
    person.go_to("between", run=2)

    page = text_of(person.page())
    tomorrow = timezone.now().date() + timedelta(days=1)
    assert "That is enough for today. Thank you" in page
    assert "resource__channels" in page
    assert f"The next partner is there from {tomorrow} on (0:00, UTC)." in page
    person.send(person.answers())
    assert person.step.key == "run2.between"

    Conversation.objects.update(started_at=timezone.now() - timedelta(days=1))
    assert "A short break, if you like" in text_of(person.page())
    person.send(person.answers())
    assert person.step.run == 3


def test_without_a_limit_nobody_waits():
    person = begin(limit=None)
    person.go_to("between", run=3)
    assert "A short break, if you like" in text_of(person.page())


def test_counsellors_wait_too():
    person = begin(limit=1, track="counsellor")
    person.go_to("between", run=1)
    assert "at most 1 conversation a day" in text_of(person.page())


def test_test_people_go_on_at_once():
    person = begin(limit=1)
    Participation.objects.update(is_test=True)
    person.go_to("between", run=1)
    assert "A short break, if you like" in text_of(person.page())


@pytest.mark.parametrize(
    ("began", "waits"),
    [
        (datetime(2026, 12, 1, 15, 59, tzinfo=UTC), False),  # 23:59 of the day before in Shanghai
        (datetime(2026, 12, 1, 16, 1, tzinfo=UTC), True),
    ],
)
def test_days_are_those_of_the_zone_of_the_study(began, waits, monkeypatch):
    person = begin(limit=1, zone="Asia/Shanghai")
    person.go_to("between", run=1)
    Conversation.objects.update(started_at=began)
    monkeypatch.setattr(daily_limit.timezone, "now", lambda: datetime(2026, 12, 1, 20, 0, tzinfo=UTC))
    next_day = daily_limit.find_next_day(person.row)
    assert str(next_day) == ("2026-12-03" if waits else "None")


def test_people_know_of_it_before_they_agree_and_in_the_guide():
    person = begin(limit=2)
    person.go_to("consent")
    assert "You chat with at most 2 of the programs on one day." in text_of(person.page())
    person.go_to("training")
    assert "You have at most 2 conversations a day, so you come back on another day" in text_of(person.page())


@pytest.mark.parametrize("limit", [None, 5])
def test_limit_that_nobody_meets_is_not_spoken_of(limit):
    person = begin(limit=limit)
    person.go_to("consent")
    assert "on one day" not in text_of(person.page())
    person.go_to("training")
    assert "conversations a day" not in text_of(person.page())
