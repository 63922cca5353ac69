"""The days of [retention] are announced once, 30 days before, and kept."""

import json
from dataclasses import replace
from datetime import date, timedelta
from io import StringIO

import pytest
from django.conf import settings
from django.core import mail
from django.core.management import call_command
from django.utils import timezone

from studies.care import clock
from studies.care.alarms import CONSOLE
from studies.data.retention_schedule import Step, enforce_retention, find_due, get_days
from studies.design.reading import StudyFileError, read_study
from studies.design.retention_spec import RetentionSpec
from studies.design.serialisation import spec_from_json, spec_to_json
from studies.design.writing import dump_study
from studies.instruments.loading import instrument_ids
from studies.models import Answer, Payee, RetentionRecord, Study
from studies.participation.consent import template_ids
from studies.payments.payees import remember_payee
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def var(tmp_path, settings):
    settings.VAR = tmp_path


def day(offset: int) -> str:
    return (timezone.now().date() + timedelta(days=offset)).isoformat()


def study(**days: str) -> Study:
    made = factories.study("kept", retention=RetentionSpec(**days), contact="lab@example.org")
    person = factories.person(made, status="completed")
    remember_payee(person, "5f1e2d3c4b5a69788796a5b4")
    factories.answer(person, "profile", {"occupation": "a lamp lighter"})
    return made


def announced(made: Study, *, days_ago: int = 31) -> Study:
    """The study, with its days announced so many days ago."""
    at = timezone.now() - timedelta(days=days_ago)
    for what, last in get_days(made.current().spec()):
        RetentionRecord.objects.create(study=made, what=what, day=last, announced_at=at)
    return made


def steps() -> list[tuple[str, Step]]:
    return [(due.what, due.step) for due in find_due(timezone.now())]


@pytest.mark.parametrize(
    ("offset", "due"), [(31, []), (30, [("contacts", Step.ANNOUNCE)]), (0, [("contacts", Step.ANNOUNCE)])]
)
def test_announced_from_thirty_days_before(offset, due):
    study(contacts_until=day(offset))
    assert steps() == due


def test_announcement_is_one_mail_to_the_contact():
    study(keep_until=day(10))

    enforce_retention()
    enforce_retention()

    (sent,) = mail.outbox
    assert sent.to == ["lab@example.org"]
    assert sent.subject.startswith("Study kept: data will be removed after ")
    assert "The study is anonymised" in sent.body
    assert RetentionRecord.objects.get().announced_at is not None


def test_announcement_that_no_server_took_is_tried_again(monkeypatch):
    study(keep_until=day(10))
    monkeypatch.setattr(mail.EmailMessage, "send", refuse)

    assert [well for _due, well in enforce_retention()] == [False]
    monkeypatch.undo()
    assert [well for _due, well in enforce_retention()] == [True]
    assert len(mail.outbox) == 1


def refuse(*_arguments, **_named):
    raise ConnectionRefusedError


def test_nothing_goes_before_its_announcement_is_thirty_days_old():
    factories.close(study(keep_until=day(-1000), contacts_until=day(-2000)))
    assert [step for _what, step in steps()] == [Step.ANNOUNCE, Step.ANNOUNCE]

    enforce_retention()
    enforce_retention()

    assert (len(mail.outbox), Payee.objects.count()) == (2, 1)
    assert Answer.objects.get().text == "a lamp lighter"
    last = timezone.now().date() + timedelta(days=30)
    assert f"{last.day} {last:%B} {last.year}" in mail.outbox[0].subject


@pytest.mark.parametrize(("days_ago", "left"), [(29, 1), (30, 1), (31, 0)])
def test_a_late_announcement_delays_what_it_announces(days_ago, left):
    announced(study(contacts_until=day(-5)), days_ago=days_ago)
    enforce_retention()
    assert Payee.objects.count() == left


def test_where_no_mail_can_be_sent_the_page_announces_it(settings):
    settings.EMAIL_BACKEND = CONSOLE
    study(contacts_until=day(-5))
    assert [well for _due, well in enforce_retention()] == [True]
    assert steps() == []
    RetentionRecord.objects.update(announced_at=timezone.now() - timedelta(days=31))
    assert steps() == [("contacts", Step.ENFORCE)]


def test_as_long_as_a_mail_server_refuses_the_announcement_nothing_goes(monkeypatch):
    study(contacts_until=day(-90))
    monkeypatch.setattr(mail.EmailMessage, "send", refuse)
    enforce_retention()
    assert steps() == [("contacts", Step.ANNOUNCE)]


def test_contact_data_go_when_their_day_is_over_and_nothing_else():
    announced(study(contacts_until=day(-1)))

    enforce_retention()

    assert not Payee.objects.exists()
    assert Answer.objects.get().text == "a lamp lighter"
    assert steps() == []
    assert RetentionRecord.objects.get().rows == {"payees": 1}


def test_a_study_that_cannot_be_read_keeps_no_other_from_its_days(caplog):
    announced(study(contacts_until=day(-1)))
    Study.objects.create(key="a_study_without_a_version")
    assert [(due.study.key, went_well) for due, went_well in enforce_retention()] == [("kept", True)]
    assert not Payee.objects.exists()
    assert "a_study_without_a_version" in caplog.text


def test_the_last_day_itself_is_kept():
    study(contacts_until=day(0))
    enforce_retention()
    assert Payee.objects.exists()


@pytest.mark.parametrize(("then", "answers"), [("anonymise", [""]), ("delete", [])])
def test_data_of_a_closed_study_go_when_their_day_is_over(then, answers):
    factories.close(announced(study(keep_until=day(-1), then=then)))

    enforce_retention()

    assert list(Answer.objects.values_list("text", flat=True)) == answers
    assert not Payee.objects.exists()
    assert steps() == []
    assert RetentionRecord.objects.get().done_at is not None


def test_data_wait_while_the_study_is_open():
    announced(study(keep_until=day(-1)))

    assert steps() == [("anonymise", Step.WAIT)]
    enforce_retention()

    assert Answer.objects.get().text == "a lamp lighter"
    assert RetentionRecord.objects.get().done_at is None


def test_an_amended_day_counts():
    made = announced(study(contacts_until=day(-1)))
    factories.load_study(replace(made.current().spec(), retention=RetentionSpec(contacts_until=day(90))))
    enforce_retention()
    assert Payee.objects.exists()


def test_command_says_what_is_due_and_changes_nothing_when_dry():
    made = study(contacts_until=day(-1), keep_until=day(5))
    announced(made).retention_records.filter(what="anonymise").delete()
    told = StringIO()

    call_command("enforce_retention", "--dry-run", "--json", stdout=told)

    lines = told.getvalue().splitlines()
    assert lines[0] == f"kept: Contact data are deleted: due since {day(-1)}"
    assert lines[1] == f"kept: The study is anonymised after {day(5)}: to be announced"
    assert json.loads(lines[-1]) == {"announce": 1, "enforce": 1, "wait": 0, "failed": 0, "dry_run": True}
    assert Payee.objects.exists()
    assert mail.outbox == []


def test_servers_do_it_by_themselves(monkeypatch):
    monkeypatch.setattr(clock, "close_old_connections", lambda: None)  # the test's own would be closed
    announced(study(contacts_until=day(-1)))
    clock.do_chores()
    assert not Payee.objects.exists()


# The study file


def read(tmp_path, **values: str):
    spec = replace(factories.demo_spec(), retention=None)
    text = dump_study(spec) + "\n[retention]\n" + "".join(f'{key} = "{value}"\n' for key, value in values.items())
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return read_study(
        path, instruments=[*instrument_ids(), *template_ids()], prompt_folder=settings.FIXTURES / "prompts"
    )


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"delete_until": "soon"}, "retention.delete_until: must be a day as YYYY-MM-DD"),
        ({"keep_until": "2027-02-30"}, "retention.keep_until: must be a day"),
        ({"delete_until": "2028-01-01", "keep_until": "2027-01-01"}, "retention.delete_until: is after keep_until"),
        ({"then": "delete"}, "retention.then: only with keep_until"),
        ({"then": "burn", "keep_until": "2027-01-01"}, "retention.then: "),
    ],
)
def test_wrong_days_are_refused_with_their_place(tmp_path, values, fault):
    with pytest.raises(StudyFileError) as refused:
        read(tmp_path, **values)
    assert fault in str(refused.value)


def test_days_read_back_as_the_same_and_fill_the_consent_form(tmp_path):
    spec = read(tmp_path, delete_until="2027-06-30", keep_until="2036-12-31", then="delete")
    assert spec_from_json(spec_to_json(spec)) == spec
    assert '[retention]\ndelete_until = "2027-06-30"' in dump_study(spec)
    silent = replace(spec, consent=replace(spec.consent, values={}))
    assert silent.consent_values()["withdrawal_deadline"] == {"en": "30 June 2027", "zh": "2027 年 6 月 30 日"}
    assert spec.retention.get_day("delete_until") == date(2027, 6, 30)
