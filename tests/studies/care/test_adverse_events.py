"""Adverse events: entered, changed, reported, and handed to an ethics board."""

import csv
import io
from datetime import timedelta

import pytest
from django.utils import timezone

from dialogue.models import RiskEvent
from studies.models import AdverseEvent, Study
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def person(study: Study):
    return factories.person(study)


def given(person, **changes) -> dict[str, str]:
    return {
        "subject": person.code,
        "occurred_at": "2026-01-05T10:00",
        "description": "Went to the emergency room.",
        "severity": "severe",
        "serious": "on",
        "relatedness": "possible",
        "outcome": "ongoing",
        **changes,
    }


def enter(desk, person, query: str = "", **changes) -> AdverseEvent:
    sent = desk.post(f"/research/demo/risks/adverse/new/{query}", given(person, **changes))
    row = AdverseEvent.objects.latest("pk")
    assert (sent.status_code, sent["Location"]) == (302, f"/research/demo/risks/adverse/{row.pk}/")
    return row


def test_event_by_hand_is_stored_with_its_deadline(desk, person):
    row = enter(desk, person)

    assert (row.origin, row.subject, row.serious, row.created_by.username) == ("hand", person.code, True, "ada")
    assert row.report_due_at - row.created_at == pytest.approx(timedelta(hours=24), abs=timedelta(seconds=5))


def test_event_that_is_not_serious_has_more_time(desk, person):
    row = enter(desk, person, serious="")
    assert row.report_due_at - row.created_at == pytest.approx(timedelta(days=15), abs=timedelta(seconds=5))


def test_event_from_a_sign_takes_over_person_and_time_and_is_noted_there(desk, person):
    sign = RiskEvent.objects.create(subject=person.code, source="message", level=3)
    page = desk.get(f"/research/demo/risks/adverse/new/?event={sign.pk}").content.decode()
    assert f'value="{person.code}"' in page

    row = enter(desk, person, f"?event={sign.pk}")

    assert (row.event, row.origin) == (sign, "sign")
    assert [(act.kind, act.by.username) for act in sign.acts.all()] == [("reported", "ada")]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"subject": "P-9999"}, "No person of this study has this code."),
        ({"description": ""}, "This field is required."),
        ({"occurred_at": "2999-01-01T00:00"}, "This time is in the future."),
        ({"occurred_at": "yesterday"}, "Enter a valid date/time."),
        ({"reported_to": "The board"}, "Please give both"),
    ],
)
def test_form_that_must_be_corrected_keeps_what_was_typed_and_stores_nothing(desk, person, changes, words):
    sent = desk.post("/research/demo/risks/adverse/new/", given(person, action="Called them", **changes))

    page = sent.content.decode()
    assert sent.status_code == 422
    assert words in page
    assert "Called them" in page
    assert not AdverseEvent.objects.exists()


def test_change_keeps_what_stood_there_before(desk, person):
    row = enter(desk, person)

    desk.post(f"/research/demo/risks/adverse/{row.pk}/", given(person, outcome="recovered"))

    row.refresh_from_db()
    [change] = row.changes
    assert (row.outcome, change["by"], change["before"]) == ("recovered", "ada", {"outcome": "ongoing"})
    assert "Outcome: Ongoing" in desk.get(f"/research/demo/risks/adverse/{row.pk}/").content.decode()


def post(desk, path: str, form: dict) -> str:
    return " ".join(desk.post(f"/research/demo/risks/adverse/{path}", form, follow=True).content.decode().split())


def test_colleague_on_an_old_page_overwrites_nothing(desk, person):
    row = enter(desk, person)
    old = given(person, known="0", action="Called their sister")
    post(desk, f"{row.pk}/", given(person, known="0", outcome="recovered"))

    page = post(desk, f"{row.pk}/", old)

    row.refresh_from_db()
    assert (row.outcome, row.action, len(row.changes)) == ("recovered", "", 1)
    assert "A colleague has changed this meanwhile" in page
    assert "Called their sister</textarea>" in page
    assert "UTC, changed by ada. Before:" in page
    assert "<li>Outcome: Ongoing</li>" in page
    assert '<input type="hidden" name="known" value="1">' in page
    post(desk, f"{row.pk}/", {**old, "known": "1", "outcome": "recovered"})
    row.refresh_from_db()
    assert (row.outcome, row.action) == ("recovered", "Called their sister")


def test_sign_is_entered_twice_only_by_someone_who_knows(desk, person):
    event = RiskEvent.objects.create(subject=person.code, source="message", level=4)
    query = f"new/?event={event.pk}"
    post(desk, query, given(person, known="0"))
    [row] = AdverseEvent.objects.all()

    page = post(desk, query, given(person, known="0", action="Called their sister"))

    assert "A colleague has entered this sign meanwhile." in page
    assert f"This sign is already entered, as adverse event {row.pk}." in page
    assert AdverseEvent.objects.count() == 1
    post(desk, query, given(person, known="1"))
    assert AdverseEvent.objects.count() == 2


def test_report_that_is_overdue_stands_first_and_says_so(desk, person):
    late, later = enter(desk, person), enter(desk, person, description="A headache", severity="mild", serious="")
    AdverseEvent.objects.filter(pk=late.pk).update(report_due_at=timezone.now() - timedelta(hours=1))

    page = desk.get("/research/demo/risks/adverse/").content.decode()

    assert page.index(f"/adverse/{late.pk}/") < page.index(f"/adverse/{later.pk}/")
    assert "overdue since" in page


def test_csv_is_guarded_and_complete(desk, person):
    row = enter(desk, person, description='=HYPERLINK("http://example.org")')

    sent = desk.get("/research/demo/risks/adverse/export.csv")
    [line] = csv.DictReader(io.StringIO(b"".join(sent.streaming_content).decode()))

    assert line["description"] == '\'=HYPERLINK("http://example.org")'
    assert (line["number"], line["study"], line["person"]) == (str(row.pk), "demo", person.code)
    assert (line["occurred_at"], line["serious"], line["reported_at"]) == ("2026-01-05T10:00:00Z", "true", "")
    assert line["entered_by"] == "ada"


def test_printable_form_has_what_the_board_asks(desk, person):
    row = enter(desk, person)
    page = desk.get(f"/research/demo/risks/adverse/{row.pk}/print/").content.decode()
    for words in (person.code, "Went to the emergency room.", "Severe", "Possibly related", "signature"):
        assert words in page


def test_event_of_another_study_is_not_found(desk, person):
    row = enter(desk, person)
    factories.study("other")
    for page in ("", "print/"):
        assert desk.get(f"/research/other/risks/adverse/{row.pk}/{page}").status_code == 404


def test_pages_are_for_researchers(client, study):
    for page in ("", "new/", "export.csv"):
        sent = client.get(f"/research/demo/risks/adverse/{page}")
        assert (sent.status_code, sent["Location"].startswith("/research/sign-in/")) == (302, True)
