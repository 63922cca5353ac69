"""Alarms on their way, against a real mail server."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.utils import timezone

from dialogue.models import RiskEvent
from studies.care import alarms, clock, desk, messages, sending
from studies.design.spec import StudySpec
from studies.models import Alarm, Participation, SafetyAct, Study
from tests.studies.care.servers import free_port

pytestmark = pytest.mark.django_db
GRAVE = "I want to kill myself"


def test_mail_reaches_the_one_on_call_without_a_word_of_the_conversation(
    box, person, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        person.say(GRAVE)
    assert box.recipients() == ["oncall@example.org"]
    assert person.row.code in box.texts()[0]
    assert "kill" not in box.mails[0][1]
    alarm = Alarm.objects.get()
    assert (alarm.event, alarm.attempts, alarm.fault) == (RiskEvent.objects.get(), 1, {})
    assert alarm.sent_at is not None
    assert [(act.kind, act.by_name) for act in SafetyAct.objects.all()] == [("alarmed", "on call")]


def test_mail_that_no_server_takes_stays_due_and_is_sent_later(
    box, person, settings, django_capture_on_commit_callbacks
):
    right, settings.EMAIL_PORT = settings.EMAIL_PORT, free_port()
    with django_capture_on_commit_callbacks(execute=True):
        person.say(GRAVE)
    alarm = Alarm.objects.get()
    assert alarm.sent_at is None
    assert alarm.fault == {"code": "not_reached", "values": {"place": f"127.0.0.1:{settings.EMAIL_PORT}"}}
    assert person.step.kind == "held"
    settings.EMAIL_PORT = right
    assert sending.send_due(timezone.now()) == 0
    later = timezone.now() + timedelta(seconds=sending.WAITS[0] + 1)
    assert [sending.send_due(later), sending.send_due(later)] == [1, 0]
    assert len(box.mails) == 1
    assert Alarm.objects.get().fault == {}
    assert list(SafetyAct.objects.values_list("kind", flat=True)) == ["failed", "alarmed"]


def test_waits_between_tries_grow_up_to_five_minutes(person, settings, django_capture_on_commit_callbacks):
    settings.EMAIL_BACKEND, settings.EMAIL_PORT = "django.core.mail.backends.smtp.EmailBackend", free_port()
    person.say(GRAVE)
    waits = []
    for _ in range(6):
        before = timezone.now()
        sending.send_due(before + timedelta(days=1))
        waits.append(round((Alarm.objects.get().due_at - before).total_seconds()))
    assert waits == [15, 60, 120, 300, 300, 300]
    assert SafetyAct.objects.filter(kind="failed").count() == 1


def test_what_a_dead_process_had_claimed_is_due_again_when_the_only_process_starts(box, person):
    person.say(GRAVE)
    assert sending.claim(Alarm.objects.get())
    assert sending.send_due() == 0
    sending.free_claims()
    assert sending.send_due() == 1
    assert len(box.mails) == 1


def test_address_from_before_it_was_checked_adds_no_line_to_the_head_of_a_mail(
    box, person, django_capture_on_commit_callbacks
):
    protocol = Participation.objects.get().protocol
    protocol.design["oncall_email"] = "oncall@example.org\r\nBcc: stranger@example.org"
    protocol.save()
    with django_capture_on_commit_callbacks(execute=True):
        person.say(GRAVE)
    alarm = Alarm.objects.get()
    assert (box.mails, alarm.sent_at) == ([], None)
    assert alarm.fault["code"] == "bad_address"


def test_a_message_that_cannot_be_written_holds_up_no_other(box, person, monkeypatch):
    person.say(GRAVE)
    event = RiskEvent.objects.get()
    alarms.raise_alarm(event)
    first, second = Alarm.objects.all()

    def write(alarm: Alarm, spec: StudySpec) -> messages.Message:
        if alarm == first:
            raise LookupError("odd")
        return messages.get_message(alarm, spec)

    monkeypatch.setattr(sending, "get_message", write)
    assert sending.send_due() == 1
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.sent_at, first.fault) == (None, {"code": "unwritable", "values": {"kind": "LookupError"}})
    assert second.sent_at is not None


def test_a_study_that_names_nobody_holds_the_person_all_the_same_and_says_so(
    box, person, django_capture_on_commit_callbacks
):
    Study.objects.update(key="lab")  # the demonstration's page says something else
    protocol = Participation.objects.get().protocol
    protocol.design["oncall_email"] = ""
    protocol.save()
    with django_capture_on_commit_callbacks(execute=True):
        person.say(GRAVE)
    assert person.step.kind == "held"
    assert list(SafetyAct.objects.values_list("kind", "fault__code")) == [("failed", "no_contact")]
    page = person.page().content.decode()
    assert "We have not reached anyone on our team yet." in page
    assert "is being told now" not in page
    desk.acknowledge(RiskEvent.objects.get(), by=User.objects.create_user("ada"))
    page = person.page().content.decode()
    assert "Someone from the team has seen this and is taking care of it." in page
    assert "We have not reached anyone" not in page


def test_a_fault_of_one_look_does_not_stop_the_clock(caplog):
    def fail(error: Exception) -> None:
        raise error

    assert clock.look(lambda: fail(RuntimeError("odd")))
    assert "this look failed" in caplog.text
    assert not clock.look(lambda: fail(OperationalError("gone")))
    assert not clock.look(lambda: fail(OperationalError("gone")), was_away=True)
    assert caplog.text.count("the database does not answer") == 1


def test_a_look_does_everything_in_order_unless_the_database_is_away(monkeypatch):
    done: list[str] = []

    def is_away() -> None:
        raise OperationalError("gone")

    def fail() -> None:
        raise RuntimeError("odd")

    def do(*looks: Callable[[], None]) -> None:
        monkeypatch.setattr(clock, "get_duties", lambda: clock.Duties(looks=looks))

    do(lambda: done.append("climb"), fail, lambda: done.append("send"))
    assert clock.look_at_all(was_away=False)
    assert done == ["climb", "send"]
    do(is_away, lambda: done.append("send"))
    assert not clock.look_at_all(was_away=False)
    assert done == ["climb", "send"]
