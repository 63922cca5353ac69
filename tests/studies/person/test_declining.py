"""Of one who does not agree to take part nothing is kept but that they came, and how far."""

from datetime import timedelta

import pytest
from django.apps import apps
from django.core.management import call_command
from django.utils import timezone

from dialogue.models import RiskEvent
from studies.data.exports.columns import Filter
from studies.data.exports.tables import PARTICIPANTS, participants
from studies.models import Answer, Draft, Participation, Rater, Response, Study, Submission, Task
from studies.models.participation import Status
from studies.participation import progress
from tests.answers import ELIGIBLE
from tests.people import Person

pytestmark = pytest.mark.django_db

MARK = "xyzzy"
TOLD = {**ELIGIBLE, "issue_text": f"{MARK} {ELIGIBLE['issue_text']}", "suicidal_2w": "prefer_not", "age": "47"}


@pytest.fixture(autouse=True)
def demo(db, settings, tmp_path):
    settings.VAR = tmp_path
    call_command("load_study", str(settings.FIXTURES / "studies" / "demo.toml"), verbosity=0)


def everything_stored() -> str:
    return "\n".join(str(row) for model in apps.get_models() for row in model.objects.values_list())


def at_consent() -> Person:
    person = Person()
    person.go_to("screening")
    person.client.post("/study/draft/", {"step": "screening", **TOLD})
    person.send({**TOLD, "idempotency": "one"})
    assert person.step.kind == "review"
    progress.admit(person.row)
    person.be_refused({"adult": "on"})
    assert MARK in everything_stored()
    return person


def html(page) -> str:
    return page.content.decode()


def test_nothing_is_left_of_one_who_declines_but_that_they_came_and_how_far():
    person = at_consent()
    step = person.step.key

    offered = html(person.client.get("/leave/"))
    assert 'value="keep"' not in offered
    assert "everything you have entered is deleted at once" in offered
    told = html(person.client.post("/leave/", {"idempotency": "two"}, follow=True))

    assert "Everything you entered has been deleted." in told
    assert "Your data so far are kept" not in told
    assert MARK not in everything_stored()
    models = (Answer, Response, Rater, Draft, Submission)
    assert [model.__name__ for model in models if model.objects.exists()] == []
    row = Participation.objects.get()
    assert (row.status, row.language, row.country, row.outcome) == (Status.WITHDRAWN, "", "", {})
    assert row.steps()[row.position].key == step == "consent"


def test_who_has_declined_is_counted_and_is_no_row_of_anything_else():
    person = at_consent()
    person.client.post("/leave/", {})
    names = [column.name for column in PARTICIPANTS]
    (row,) = [dict(zip(names, each, strict=True)) for each in participants(Study.objects.get(), Filter())]
    assert (row["status"], row["consented_at"], row["language"]) == ("withdrawn", None, "")
    assert row["started_at"]
    assert row["ended_at"]


def test_alarm_that_was_given_stays():
    person = at_consent()
    RiskEvent.objects.create(subject=person.row.code, source=RiskEvent.Source.ANSWER, level=3)
    person.client.post("/leave/", {})
    assert RiskEvent.objects.get().subject == person.row.code


def test_link_and_every_further_click_lead_to_the_page_that_says_so():
    person = at_consent()
    person.client.post("/leave/", {"idempotency": "two"})
    again = person.client.post("/leave/", {"idempotency": "two"}, follow=True)
    assert "You are not taking part." in html(again)
    assert "You are not taking part." in html(person.client.get("/leave/", follow=True))
    person.client.cookies.clear()
    assert "You are not taking part." in html(person.client.post(person.link, follow=True))
    assert Participation.objects.get().language == ""


def test_page_stays_in_the_language_of_who_declines():
    person = Person(language="zh")
    person.go_to("consent")
    assert "未同意参加" in html(person.client.get("/leave/"))
    assert "您没有参加本研究" in html(person.client.post("/leave/", {}, follow=True))


def test_old_page_that_offered_to_keep_it_changes_nothing():
    person = at_consent()
    person.client.post("/leave/", {"choice": "keep"})
    assert MARK not in everything_stored()


def test_exports_made_meanwhile_go_and_earlier_ones_stay(settings):
    person = at_consent()
    study, begun = Study.objects.get(), Participation.objects.get().started_at
    for name, ended in {"before": begun - timedelta(hours=1), "meanwhile": timezone.now()}.items():
        (settings.VAR / name).mkdir()
        Task.objects.create(study=study, command="export", folder=name, ended_at=ended)
    person.client.post("/leave/", {})
    assert [path.name for path in settings.VAR.iterdir() if path.is_dir()] == ["before"]


def test_who_has_signed_chooses_what_is_kept():
    person = Person()
    person.go_to("training")
    assert 'value="keep"' in html(person.client.get("/leave/"))
    told = html(person.client.post("/leave/", {"choice": "keep"}, follow=True))
    assert "Your data so far are kept" in told
    assert Response.objects.filter(instrument="screening").exists()


def test_reviewer_who_is_not_asked_for_consent_chooses_too():
    person = Person(track="reviewer")
    person.go_to("questionnaire")
    assert 'value="keep"' in html(person.client.get("/leave/"))


def test_who_was_turned_away_stays_counted_so():
    person = Person()
    person.go_to("screening")
    person.send({**ELIGIBLE, "age": "17"})
    person.client.post("/leave/", {})
    assert Participation.objects.get().status == Status.SCREENED_OUT
