"""Arms are counted, and paused by the rules of the study file."""

from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.utils import timezone

from dialogue.models import RiskEvent
from studies.care import stopping_rules
from studies.care.stopping_rules import Tally, apply_rules, get_arm_safety
from studies.design.safety_rules import SafetyRules, StoppingRule
from studies.models import Arm, StoppedArm, Study
from tests import factories

pytestmark = pytest.mark.django_db

Source = RiskEvent.Source


@pytest.fixture
def study() -> Study:
    rules = (StoppingRule(count="events", at_least=2), StoppingRule(count="withheld", at_least=1, share=0.5))
    return factories.study("lab", safety=SafetyRules(stopping_rules=rules, officer_email="officer@example.org"))


def conversations(study: Study, arm: str, number: int, **fields) -> list:
    return [factories.run_with_turns(study, factories.person(study), arm=arm, **fields) for _ in range(number)]


def event(run, **fields) -> RiskEvent:
    values = {"level": 3, "source": Source.MESSAGE, "subject": run.participation.code, "turn": 1, **fields}
    return RiskEvent.objects.create(conversation=run.conversation, **values)


def tallies(study: Study, arm: str) -> dict[str, Tally]:
    return next(row.tallies for row in get_arm_safety(study) if row.arm == arm)


def test_conversations_are_counted_once_by_arm_and_kind(study):
    first, second = conversations(study, "amber", 2)
    event(first)
    event(first, level=4)
    event(second, source=Source.REPLY)
    event(first, source=Source.REPLY, level=2)  # only suspected
    event(second, source=Source.ANSWER, level=2, entries=["worsening"])

    found = tallies(study, "amber")

    assert {name: (tally.count, tally.of) for name, tally in found.items()} == {
        "events": (1, 2),
        "worsening": (1, 2),
        "withheld": (1, 2),
    }
    # Clopper and Pearson (1934): one of two, by the beta quantiles 0.025 of B(1, 2) and 0.975 of B(2, 1).
    assert (found["events"].low, found["events"].high) == pytest.approx((1 - 0.975**0.5, 0.975**0.5))
    assert tallies(study, "birch")["events"] == Tally(0, 0, 0.0, 1.0)


def test_test_people_and_words_of_a_role_do_not_count(study):
    played, rehearsed = conversations(study, "amber", 2)
    event(played, role_answer="role")
    rehearsed.is_test = True
    rehearsed.save()
    event(rehearsed)

    assert tallies(study, "amber")["events"] == Tally(0, 1, 0.0, pytest.approx(0.975))


def test_rule_that_is_met_pauses_the_arm_and_tells_the_officer_once(study):
    for run in conversations(study, "amber", 2):
        event(run)

    [stop] = apply_rules(study)

    assert (stop.arm.key, stop.count, stop.of, stop.rule["count"]) == ("amber", 2, 2, "events")
    assert list(Arm.objects.filter(paused=True).values_list("key", flat=True)) == ["amber"]
    [letter] = mail.outbox
    assert letter.to == ["officer@example.org"]
    assert "Arm: amber" in letter.body
    assert apply_rules(study) == []
    assert len(mail.outbox) == 1


def test_arm_that_people_resumed_is_not_paused_again_by_the_same_rule(study):
    for run in conversations(study, "amber", 2):
        event(run)
    apply_rules(study)
    Arm.objects.update(paused=False)

    apply_rules(study)

    assert not Arm.objects.filter(paused=True).exists()


def test_share_must_be_surely_above_its_limit(study):
    runs = conversations(study, "birch", 4)
    event(runs[0], source=Source.REPLY)
    assert apply_rules(study) == []

    for run in runs[1:]:
        event(run, source=Source.REPLY)
    # 4 of 4: the exact lower limit is 0.025 ** (1 / 4) = .398, below .5 still
    assert apply_rules(study) == []
    for run in conversations(study, "birch", 2):
        event(run, source=Source.REPLY)

    [stop] = apply_rules(study)  # 6 of 6: .541
    assert (stop.arm.key, stop.rule["share"]) == ("birch", 0.5)


def test_officer_whose_server_is_away_is_told_later(study, settings):
    for run in conversations(study, "amber", 2):
        event(run)
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    apply_rules(study)
    assert StoppedArm.objects.get().officer_told_at is None

    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    stopping_rules.tell_officer(study)
    assert mail.outbox == []  # not yet: a server that refuses is not asked again at once

    StoppedArm.objects.update(officer_due_at=timezone.now())
    stopping_rules.tell_officer(study)

    assert StoppedArm.objects.get().officer_told_at is not None
    assert len(mail.outbox) == 1


def test_officer_is_told_by_another_process_where_one_died_before_the_mail_was_out(study, monkeypatch):
    def die(*_of_the_mail):
        raise SystemExit

    for run in conversations(study, "amber", 2):
        event(run)
    with monkeypatch.context() as dying:
        dying.setattr(stopping_rules, "send_mail", die)
        with pytest.raises(SystemExit):
            stopping_rules.Watch().look()
    stopping_rules.Watch().look()
    assert mail.outbox == []  # the first process may still be at it

    StoppedArm.objects.update(officer_due_at=timezone.now())
    stopping_rules.Watch().look()

    assert len(mail.outbox) == 1


def test_study_without_rules_counts_nothing(django_assert_num_queries):
    study = factories.study("lab", safety=replace(SafetyRules(), stopping_rules=()))
    protocol = study.current()
    assert protocol is not None
    assert apply_rules(study) == []
    assert mail.outbox == []


def test_watch_looks_when_there_is_something_new(study):
    watch = stopping_rules.Watch()
    first, second = conversations(study, "amber", 2)
    event(first)
    watch.look()
    assert not StoppedArm.objects.exists()

    event(second)
    watch.look()
    watch.look()

    assert StoppedArm.objects.count() == 1
    assert len(mail.outbox) == 1


def test_watch_looks_again_when_an_event_is_raised(study):
    watch = stopping_rules.Watch()
    first, second = conversations(study, "amber", 2)
    event(first)
    event(second)
    raised = RiskEvent.objects.latest("pk")
    RiskEvent.objects.filter(pk=raised.pk).update(level=2)
    watch.look()
    assert not StoppedArm.objects.exists()

    RiskEvent.objects.filter(pk=raised.pk).update(level=3)  # as the second line does
    watch.look()

    assert StoppedArm.objects.count() == 1


def test_officer_whom_no_server_reached_is_told_by_a_later_look(study, settings):
    watch = stopping_rules.Watch()
    for run in conversations(study, "amber", 2):
        event(run)
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    watch.look()
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    StoppedArm.objects.update(officer_due_at=timezone.now())

    watch.look()
    watch.look()

    assert len(mail.outbox) == 1


def test_page_by_arm_is_for_those_with_the_permission_alone(study, desk):
    address = f"/research/{study.key}/risks/arms/"
    assert desk.get(address).status_code == 403
    assert address not in desk.get(f"/research/{study.key}/risks/").content.decode()
    [run] = conversations(study, "amber", 1)
    event(run)

    factories.grant(study, User.objects.get(username="ada"), "safety_officer")

    assert address in desk.get(f"/research/{study.key}/risks/").content.decode()
    page = desk.get(address).content.decode()
    assert "amber" in page
    assert "Level 3 or 4 in at least 2 conversations pauses the arm." in page


def test_superuser_without_the_permission_stays_blind(study, client):
    client.force_login(User.objects.create_superuser("root"))
    assert client.get(f"/research/{study.key}/risks/arms/").status_code == 403
