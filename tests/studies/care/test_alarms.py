"""Whom an alarm reaches, who answers it, and what happens when no one does: over real mail and webhook servers."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dialogue.models import RiskEvent
from studies.care import alarms, answers, oncall, sending
from studies.care.acts import record_act
from studies.design.safety_rules import OnCall, SafetyRules
from studies.models import Alarm, SafetyAct
from tests import factories
from tests.studies.care.servers import Box, Hook

pytestmark = pytest.mark.django_db
KEY = "of our webhook, and long enough"


@pytest.fixture
def study(hook, monkeypatch):
    """Ann has a webhook and mail, Ben has mail."""
    monkeypatch.setenv("HOOK_SECRET", KEY)
    ann = OnCall(name="Ann", email="ann@example.org", webhook=hook.address, secret_env="HOOK_SECRET")
    ben = OnCall(name="Ben", email="ben@example.org")
    return factories.study(safety=SafetyRules(oncall=(ann, ben), ack_minutes=5, time_zone="Asia/Shanghai"))


@pytest.fixture
def event(study):
    person = factories.person(study)
    return RiskEvent.objects.create(subject=person.code, source="message", level=3)


def raise_and_send(event: RiskEvent) -> None:
    alarms.raise_alarm(event)
    sending.send_due()


def later(minutes: float = 6) -> None:
    """Let the clock look some minutes after the newest alarm."""
    then = Alarm.objects.latest("created_at").created_at + timedelta(minutes=minutes)
    alarms.climb_overdue(then)
    sending.send_due(then)


def link_in(text: str) -> str:
    [line] = {line for line in text.split() if "/oncall/" in line}
    return line.partition("://")[2].partition("/")[2].join(["/", ""])


def kinds(event: RiskEvent) -> list[tuple[str, str]]:
    return list(event.acts.values_list("kind", "by_name"))


def test_mail_and_webhook_of_the_first_contact_say_what_and_where_but_no_more(event, study, box: Box, hook: Hook):
    raise_and_send(event)
    assert box.recipients() == ["ann@example.org"]
    [text], [body] = box.texts(), hook.bodies()
    utc, local = f"{event.created_at:%Y-%m-%d %H:%M:%S}", f"{event.created_at + timedelta(hours=8):%Y-%m-%d %H:%M:%S}"
    assert "Level: 3 (active thoughts of suicide, or danger to or from others)" in text
    assert "plays a role" not in text
    for said in (study.key, event.subject, utc, local, "Asia/Shanghai", "http://127.0.0.1:8000/oncall/"):
        assert said in text
    assert (body["study"], body["person"], body["level"], body["type"]) == (study.key, event.subject, 3, "alarm")
    assert (body["time_local"], body["time_zone"], body["unanswered"]) == (local, "Asia/Shanghai", False)
    assert body["link"].startswith("http://127.0.0.1:8000/oncall/")
    assert "example.org" not in text + str(body)
    assert hook.is_signed(KEY)
    assert kinds(event) == [("alarmed", "Ann"), ("alarmed", "Ann")]


def test_a_sign_in_role_play_is_told_as_one(study, box, hook):
    counsellor = factories.person(study, track="counsellor")
    event = RiskEvent.objects.create(subject=counsellor.code, source="message", level=4)
    raise_and_send(event)
    for said in ("Level: 4 (a plan, means, a farewell, or an attempt under way)", "the words may be the role's"):
        assert said in box.texts()[0]
    link = link_in(box.texts()[0])
    assert "This person plays a role" in Client().get(link).content.decode()

    RiskEvent.objects.filter(pk=event.pk).update(role_answer="me")
    assert "This person plays a role" not in Client().get(link).content.decode()


def test_the_link_is_stored_as_a_hash_alone(event, box, hook):
    raise_and_send(event)
    token = hook.bodies()[0]["link"].split("/")[-2]
    assert len(token) == 43
    assert token not in str(list(Alarm.objects.values()))


def test_nobody_acknowledges_and_the_next_contact_is_alarmed_and_then_all_again(event, box, hook):
    raise_and_send(event)
    later(minutes=4)
    assert box.recipients() == ["ann@example.org"]
    later()
    later(minutes=4)
    assert box.recipients() == ["ann@example.org", "ben@example.org"]
    assert "No one before you has acknowledged this alarm in time." in box.texts()[1]
    later()
    assert box.recipients() == ["ann@example.org", "ben@example.org", "ann@example.org"]
    assert "No one on the list has acknowledged this alarm." in box.texts()[2]
    assert [body["unanswered"] for body in hook.bodies()] == [False, True]
    assert kinds(event)[2:5] == [("overdue", "Ann"), ("alarmed", "Ben"), ("overdue", "Ben")]


def test_after_three_times_through_the_order_the_next_steps_are_an_hour_apart(event, box, hook):
    raise_and_send(event)
    for _ in range(6):
        later()
    assert Alarm.objects.latest("pk").lap == 4
    before = Alarm.objects.count()
    later(minutes=59)
    assert Alarm.objects.count() == before
    later(minutes=61)
    assert Alarm.objects.count() == before + 1


def is_open(event: RiskEvent) -> bool:
    return event.alarms.filter(acknowledged_at=None).exists()


@pytest.mark.parametrize("method", ["get", "head", "options"])
def test_fetching_a_link_acknowledges_nothing(event, box, hook, method):
    raise_and_send(event)
    getattr(Client(), method)(link_in(box.texts()[0]))
    assert is_open(event)
    later()
    assert "ben@example.org" in box.recipients()


def test_the_button_of_the_page_acknowledges_once_and_stops_the_climb(event, box, hook):
    raise_and_send(event)
    link, stranger = link_in(box.texts()[0]), Client(enforce_csrf_checks=True)
    page = stranger.get(link).content.decode()
    assert event.subject in page
    assert "I will take care of this" in page
    after = stranger.post(link, {"newest": "1"}, follow=True).content.decode()
    assert "Acknowledged by Ann at " in after
    assert "I will take care of this" not in after
    stranger.post(link, {"newest": "1"})
    later()
    assert box.recipients() == ["ann@example.org"]
    assert kinds(event)[2:] == [("acknowledged", "Ann")]


@pytest.mark.parametrize(("account", "name"), [("", "the person on call"), ("ada", "ada")])
def test_who_acknowledges_without_a_rota_has_the_name_of_their_account_or_a_word(account, name, box, hook, client):
    study = factories.study("plain", oncall_email="oncall@example.org", safety=SafetyRules())
    event = RiskEvent.objects.create(subject=factories.person(study).code, source="message", level=3)
    raise_and_send(event)
    if account:
        client.force_login(User.objects.create(username=account))
    page = client.post(link_in(box.texts()[0]), {"newest": "1"}, follow=True)
    assert f"Acknowledged by {name} at " in page.content.decode()
    assert [(one.act.kind, one.who) for one in page.context["acts"]][1:] == [("acknowledged", name)]


def test_the_page_leads_to_the_sign_on_the_desk(event, study, box, hook):
    raise_and_send(event)
    link, desk = link_in(box.texts()[0]), f"/research/{study.key}/risks/{event.pk}/"
    assert f'href="{desk}"' in Client().get(link).content.decode()
    after = Client().post(link, {"newest": "1"}, follow=True).content.decode()
    assert re.search(f'class="button button--main"\\s+href="{desk}"', after)


def test_the_page_tells_answers_but_nothing_that_someone_wrote(event, box, hook):
    raise_and_send(event)
    for kind, text in (("answered", "no"), ("where", "at home"), ("wrote", "Please call us"), ("noted", "I called")):
        record_act(event, kind, by_name=answers.PERSON if kind in ("answered", "where") else "ada", text=text)
    page = Client().get(link_in(box.texts()[0]))
    shown = [(one.act.kind, one.who, str(one.text)) for one in page.context["acts"]]
    assert shown[2:] == [
        ("answered", "", "No, or I am not sure"),
        ("where", "", ""),
        ("wrote", "ada", ""),
        ("noted", "ada", ""),
    ]
    for written in ("at home", "Please call us", "I called"):
        assert written not in page.content.decode()


def test_the_page_speaks_chinese_and_keeps_its_address_to_itself(event, box, hook):
    raise_and_send(event)
    response = Client().get(link_in(box.texts()[0]), {"language": "zh"})
    assert 'lang="zh-Hans"' in response.content.decode()
    assert (response["Referrer-Policy"], response["Cache-Control"]) == ("no-referrer", "no-store")


def test_a_link_that_was_guessed_opens_nothing(event, box, hook):
    raise_and_send(event)
    assert Client().get(f"/oncall/{'A' * 43}/").status_code == 404
    assert Client().post(f"/oncall/{'A' * 43}/").status_code == 404


def test_a_round_that_began_after_the_page_was_opened_stays_open(event, box, hook):
    raise_and_send(event)
    link = link_in(box.texts()[0])
    raise_and_send(event)
    page = Client().post(link, {"newest": "1"}, follow=True).content.decode()
    assert "Something new has happened since then." in page
    assert is_open(event)
    Client().post(link, {"newest": "2"})
    assert not is_open(event)


def test_a_new_round_begins_with_the_contact_whom_the_last_one_reached(event, box, hook):
    raise_and_send(event)
    later()
    raise_and_send(event)
    assert box.recipients() == ["ann@example.org", "ben@example.org", "ben@example.org"]
    assert "Something new has happened" in box.texts()[2]
    assert alarms.acknowledge(event, by_name="Ben")
    raise_and_send(event)
    assert box.recipients()[3:] == ["ann@example.org"]


def test_the_desk_acknowledges_in_the_name_of_an_account(event, box, hook, admin_user):
    raise_and_send(event)
    assert alarms.acknowledge(event, by=admin_user)
    assert not alarms.acknowledge(event, by=admin_user)
    assert SafetyAct.objects.filter(kind="acknowledged", by=admin_user, by_name="admin").count() == 1


def test_an_alarm_that_was_acknowledged_before_it_could_be_sent_is_not_sent(event, box, hook):
    alarms.raise_alarm(event)
    alarms.acknowledge(event, by_name="Ben")
    assert sending.send_due() == 0


def test_release_stops_the_climb(event, box, hook, admin_user):
    raise_and_send(event)
    oncall.release(event, by=admin_user)
    later()
    assert box.recipients() == ["ann@example.org"]


def test_events_of_test_people_alarm_nobody(study, box, hook):
    person = factories.person(study, is_test=True)
    event = RiskEvent.objects.create(subject=person.code, source="answer", level=4, is_test=True)
    assert alarms.raise_alarm(event) == []
    event.released_at = timezone.now()  # or saying so once more would be about the same event
    event.save()
    answers.record_unsafe(person)
    assert list(RiskEvent.objects.filter(subject=person.code).values_list("is_test", flat=True)) == [True, True]
    assert not Alarm.objects.exists()


def test_a_simulated_seeker_alarms_nobody(study):
    run = factories.run_with_turns(study)
    event = RiskEvent.objects.create(conversation=run.conversation, source="message", level=4)
    oncall.handle_risk(event)
    event.refresh_from_db()
    assert event.is_test
    assert not Alarm.objects.exists()


@pytest.mark.parametrize(("level", "count"), [(2, 0), (3, 2)])
def test_a_withheld_reply_alarms_where_more_than_the_classifier_found_it(study, box, hook, level, count):
    person = factories.person(study)
    run = factories.run_with_turns(study, participation=person)
    event = RiskEvent.objects.create(conversation=run.conversation, source="reply", level=level)
    oncall.handle_risk(event)
    assert event.subject == person.code
    assert Alarm.objects.count() == count


def test_the_rota_is_that_of_the_newest_version(event, study, box, hook):
    rules = SafetyRules(oncall=(OnCall(name="Cho", email="cho@example.org"),))
    factories.study(safety=rules)
    raise_and_send(event)
    assert box.recipients() == ["cho@example.org"]


# Webhooks


def test_a_webhook_that_is_down_holds_up_no_mail_and_is_tried_again(event, box, hook):
    hook.status = 503
    raise_and_send(event)
    assert box.recipients() == ["ann@example.org"]
    alarm = Alarm.objects.get(channel="webhook")
    assert (alarm.sent_at, alarm.fault) == (None, {"code": "hook_status", "values": {"status": 503}})
    hook.status = 200
    sending.send_due(timezone.now() + timedelta(seconds=20))
    alarm.refresh_from_db()
    assert (alarm.attempts, alarm.fault, alarm.sent_at is None) == (2, {}, False)
    assert [kind for kind, _name in kinds(event)] == ["failed", "alarmed", "alarmed"]


def test_no_redirect_is_followed(event, box, hook):
    hook.status, hook.location = 307, hook.address + "/elsewhere"
    raise_and_send(event)
    assert len(hook.requests) == 1
    assert Alarm.objects.get(channel="webhook").fault["values"] == {"status": 307}


def test_a_key_that_is_not_set_holds_up_no_alarm_and_is_named(event, box, hook, monkeypatch):
    monkeypatch.delenv("HOOK_SECRET")
    raise_and_send(event)
    alarm = Alarm.objects.get(channel="webhook")
    assert alarm.sent_at is not None
    assert "HOOK_SECRET" in alarm.fault["values"]["detail"]
    assert "X-Emostudy-Signature" not in hook.requests[0][0]


def with_form(study, form: str):
    rules = study.current().spec().safety
    return factories.study(safety=replace(rules, oncall=(replace(rules.oncall[0], form=form),)))


def test_slack_gets_a_text(event, study, box, hook):
    with_form(study, "slack")
    raise_and_send(event)
    assert list(hook.bodies()[0]) == ["text"]
    assert event.subject in hook.bodies()[0]["text"]


def test_ntfy_gets_a_title_a_priority_and_the_link(event, study, box, hook):
    with_form(study, "ntfy")
    raise_and_send(event)
    headers, body = hook.requests[0]
    assert (headers["Title"], headers["Priority"]) == (
        f"[emostudy] Level 3: please look now ({event.subject})",
        "urgent",
    )
    assert headers["Click"].startswith("http://127.0.0.1:8000/oncall/")
    assert event.subject in body.decode()


def test_without_a_public_address_the_message_says_so(event, box, hook, settings):
    settings.BASE_URL = ""
    raise_and_send(event)
    assert "Open /oncall/" in box.texts()[0]
    assert "This server has no BASE_URL" in box.texts()[0]


# What the person who waits may know


def test_waiting_facts_say_when_somebody_was_told_and_when_they_answered(event, box, hook):
    assert alarms.get_waiting_facts(event) == alarms.WaitingFacts((), None, overdue=False)
    alarms.raise_alarm(event)
    assert alarms.get_waiting_facts(event).contacts == ()
    sending.send_due()
    facts = alarms.get_waiting_facts(event)
    assert [contact.who for contact in facts.contacts] == ["the person on call"]
    assert (facts.acknowledged_at, facts.overdue) == (None, False)
    later()
    facts = alarms.get_waiting_facts(event)
    assert ([contact.who for contact in facts.contacts], facts.overdue) == (
        ["the person on call", "the next person on call"],
        True,
    )
    alarms.acknowledge(event, by_name="Ben")
    facts = alarms.get_waiting_facts(event)
    assert facts.acknowledged_at is not None
    assert not facts.overdue
