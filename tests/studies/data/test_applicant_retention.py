"""The answers of applicants who cannot take part are deleted when their time is over, and not before."""

from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from studies.care import clock
from studies.data.applicant_retention import forget_declined
from studies.models import Answer, Consent, Participation, SelectionDecision, SelectionScore, Study
from studies.selection.decisions import decide
from studies.selection.scoring import store_score
from tests import factories
from tests.people import Person
from tests.studies.selection.people import MATTER, applicant

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return factories.study("chosen", selection="manual", keep_declined_days=7)


@pytest.fixture
def var(tmp_path: Path, settings) -> Path:
    settings.VAR = tmp_path
    return tmp_path


def declined(study: Study, days: float, **fields) -> Participation:
    """One who was declined so many days ago, and had been scored."""
    person = applicant(study)
    store_score(person, User.objects.get_or_create(username="bea")[0], {"issue_clear": 3})
    decide(person, admits=False, reason="vague")
    fields = {"ended_at": timezone.now() - timedelta(days=days), "country": "US", **fields}
    Participation.objects.filter(pk=person.pk).update(**fields)
    return person


def has_answers(person: Participation) -> bool:
    return Answer.objects.filter(response__rater__participation=person).exists()


def test_answers_and_scores_go_after_the_days_of_the_study(study, var):
    old, recent = declined(study, 7.1), declined(study, 6.9)

    assert forget_declined() == 1

    assert [has_answers(person) for person in (old, recent)] == [False, True]
    assert SelectionScore.objects.get().participation == recent
    old.refresh_from_db()
    assert (old.status, old.country, old.outcome) == ("screened_out", "", {"kind": "eligible"})
    assert SelectionDecision.objects.get(participation=old).reason == "vague"
    assert forget_declined() == 0


def test_people_whom_the_screening_excluded_are_forgotten_too(study, var):
    person = declined(study, 8)
    SelectionDecision.objects.all().delete()
    assert (forget_declined(), has_answers(person)) == (1, False)


def test_nobody_else_is_forgotten(study, var):
    auto = factories.study("hearts")
    waiting, taking_part, elsewhere = applicant(study), declined(study, 99), declined(study, 99)
    Participation.objects.filter(pk=elsewhere.pk).update(study=auto, protocol=auto.current())
    Participation.objects.filter(pk=waiting.pk).update(ended_at=timezone.now() - timedelta(days=99))
    Consent.objects.create(
        participation=taking_part, instrument="consent_template", version="1", text_hash="h", language="en", boxes={}
    )
    assert forget_declined() == 0
    assert all(map(has_answers, (waiting, taking_part, elsewhere)))


def test_exports_that_hold_their_answers_go_with_them(study, var):
    declined(study, 8)
    call_command("export", "chosen", "--out", str(var / "out"), verbosity=0, stdout=StringIO())
    assert MATTER in (var / "out" / "answers.csv").read_text(encoding="utf-8")

    forget_declined()

    assert [path.name for path in var.rglob("*") if path.is_file()] == []


def test_clock_of_the_server_does_it(study, var, monkeypatch):
    monkeypatch.setattr(clock, "close_old_connections", lambda: None)  # the test's own would be closed
    person = declined(study, 8)
    clock.do_chores()
    assert not has_answers(person)


def test_applicants_are_told_at_the_screening_and_when_they_are_declined(study):
    person = Person("chosen")
    person.go_to("screening")
    notice = person.page().content.decode()
    person.send(person.answers())
    decide(person.row, admits=False)

    assert "your answers are deleted 7 days after that is decided" in " ".join(notice.split())
    day = (timezone.now() + timedelta(days=7)).date().isoformat()
    assert f"Your answers are deleted on {day}." in person.page().content.decode()


def test_studies_without_manual_selection_promise_nothing():
    factories.study("hearts")
    person = Person("hearts")
    person.go_to("screening")
    assert "after that is decided" not in person.page().content.decode()
    person.send({**person.answers(), "availability": "no"})
    assert "Your answers are deleted on" not in person.page().content.decode()
