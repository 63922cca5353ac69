"""The page that sends a drill."""

import re

import pytest
from django.contrib.auth.models import User

from studies.design.safety_rules import OnCall, SafetyRules
from studies.models import Alarm, AuditEntry
from tests import factories

pytestmark = pytest.mark.django_db
PAGE = "/research/demo/risks/drill/"


@pytest.fixture
def study(hook):
    ann = OnCall(name="Ann", email="ann@example.org", webhook=hook.address)
    return factories.study(safety=SafetyRules(oncall=(ann, OnCall(name="Ben", email="ben@example.org"))))


def test_page_asks_and_sends_to_the_first_on_call(desk, study, box, hook):
    asked = desk.get(PAGE).content.decode()
    assert "Send the drill" in asked
    assert "Ann" in asked
    assert not Alarm.objects.exists()

    told = desk.post(PAGE, {"to": "first"}, follow=True).content.decode()

    assert box.recipients() == ["ann@example.org"]
    assert "The drill to Ann (E-mail) was sent." in told
    assert "not acknowledged yet" in told
    assert AuditEntry.objects.filter(thing="drill", act="started", by_name="ada").count() == 1


def test_page_names_the_one_contact_of_a_study_without_a_rota_in_its_language(desk, box):
    factories.study(oncall_email="oncall@example.org", safety=SafetyRules())
    desk.cookies["django_language"] = "zh-hans"
    told = desk.post(PAGE, {"to": "first"}, follow=True).content.decode()
    assert re.findall(r"<dd>\s*(值班人员)", told) == ["值班人员", "值班人员"]
    assert "on call" not in told


def test_page_sends_to_all(desk, study, box, hook):
    desk.post(PAGE, {"to": "all"})
    assert sorted(box.recipients()) == ["ann@example.org", "ben@example.org"]


def test_page_says_why_a_drill_was_not_sent_and_no_secret_address(desk, study, box, hook):
    hook.status = 500
    told = desk.post(PAGE, {"to": "first"}, follow=True).content.decode()
    assert "The drill to Ann (Webhook) was not sent: The webhook answered 500. Check its address" in told
    assert hook.address not in told


def test_page_without_contacts_says_where_to_name_them(desk):
    factories.study(oncall_email="", safety=SafetyRules())
    page = desk.get(PAGE).content.decode()
    assert "names no one on call" in page
    assert desk.post(PAGE).status_code == 200
    assert not Alarm.objects.exists()


def test_readers_cannot_send_one(client, study, box):
    client.force_login(factories.grant(study, User.objects.create(username="rita", is_staff=True), "reader"))
    assert client.post(PAGE).status_code == 403
    assert not Alarm.objects.exists()
