"""Drills from the command line, against real servers."""

import json
import time
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from studies.care import alarms, sending
from studies.design.safety_rules import OnCall, SafetyRules
from studies.models import Alarm
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(hook):
    ann = OnCall(name="Ann", email="ann@example.org", webhook=hook.address)
    return factories.study(safety=SafetyRules(oncall=(ann, OnCall(name="Ben", email="ben@example.org"))))


def drill(*arguments: str) -> tuple[str, dict]:
    out = StringIO()
    try:
        call_command("try_oncall", "demo", "--json", *arguments, stdout=out, stderr=StringIO())
    except SystemExit as end:
        out.write(f"\nexit {end.code}")
    lines = out.getvalue().splitlines()
    [summary] = [json.loads(line) for line in lines if line.startswith("{")]
    return out.getvalue(), summary


def test_a_drill_reaches_the_first_contact_and_tells_what_came_back(study, box, hook):
    told, summary = drill()
    assert box.recipients() == ["ann@example.org"]
    assert "This is a drill. No one is in danger." in box.texts()[0]
    assert (hook.bodies()[0]["type"], hook.bodies()[0]["level"]) == ("drill", None)
    assert "Ann, E-mail to ann@example.org: sent" in told
    assert "Ann, Webhook to 127.0.0.1: sent, the answer was: 200" in told
    assert "/hook" not in told  # a webhook's path may be a secret
    assert (summary["sent"], summary["failed"], summary["left"]) == (2, 0, 0)
    assert "exit" not in told


def test_a_drill_to_all(study, box, hook):
    _told, summary = drill("--all")
    assert sorted(box.recipients()) == ["ann@example.org", "ben@example.org"]  # side by side
    assert summary["contacts"] == ["Ann", "Ben"]


def test_a_drill_that_cannot_be_sent_ends_with_1_and_is_not_repeated(study, box, hook):
    hook.status = 500
    told, summary = drill()
    assert "not sent: The webhook answered 500" in told
    assert (summary["failed"], told.splitlines()[-1]) == (1, "exit 1")
    assert sending.send_due() == 0


def test_without_a_mail_server_the_drill_says_so(study, hook, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    told, summary = drill()
    assert "not sent: EMAIL_URL is not set" in told
    assert summary["failed"] == 1


def test_waiting_ends_without_an_answer(study, box, hook):
    told, summary = drill("--wait", "0.01")
    assert "Ann: no acknowledgement" in told
    assert (summary["left"], told.splitlines()[-1]) == (1, "exit 1")


def test_odd_wait_is_refused(study):
    with pytest.raises(CommandError, match="--wait"):
        call_command("try_oncall", "demo", "--wait", "-1")


def test_the_button_acknowledges_a_drill(study, box, hook, client):
    drill()
    link = "/oncall/" + hook.bodies()[0]["link"].rpartition("/oncall/")[2]
    assert "This is a drill" in client.get(link).content.decode()
    assert not alarms.has_acknowledged_drill(study)
    assert "Acknowledged by Ann" in client.post(link, follow=True).content.decode()
    assert alarms.has_acknowledged_drill(study)


def test_waiting_ends_as_soon_as_somebody_has_acknowledged(study, box, hook, monkeypatch):
    def answer(_seconds: float) -> None:
        Alarm.objects.filter(channel="email").update(acknowledged_at=factories.timezone.now())

    monkeypatch.setattr(time, "sleep", answer)
    told, summary = drill("--wait", "1")
    assert "Ann: acknowledged" in told
    assert (summary["acknowledged"], summary["left"]) == (["Ann"], 0)
