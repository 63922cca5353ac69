"""The page Lifecycle tells until when data are kept, and how far each day has come."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from studies.data.retention_schedule import enforce_retention
from studies.design.retention_spec import RetentionSpec
from studies.models import RetentionRecord, Study
from studies.models.participation import Status
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def var(tmp_path: Path, settings) -> Path:
    settings.VAR = tmp_path
    return tmp_path


def day(offset: int) -> str:
    return (timezone.now().date() + timedelta(days=offset)).isoformat()


def kept(contact: str = "lab@example.org", **days: str) -> Study:
    return factories.study("kept", retention=RetentionSpec(**days), contact=contact)


def announce(study: Study, what: str, last: str, *, days_ago: int) -> None:
    at = timezone.now() - timedelta(days=days_ago)
    RetentionRecord.objects.create(study=study, what=what, day=last, announced_at=at)


def life_of(study: Study) -> str:
    return reverse("research-life", args=[study.key])


def text_of(page) -> str:
    return " ".join(page.content.decode().split())


def days_on_the_page(desk: Client, study: Study) -> list[tuple[str, str, str]]:
    days = desk.get(life_of(study)).context["retention_days"]
    return [(str(each.what), each.day.isoformat(), each.state) for each in days]


def test_page_lists_the_days_to_come(desk):
    study = kept(delete_until=day(20), contacts_until=day(40), keep_until=day(400), then="delete")
    assert days_on_the_page(desk, study) == [
        ("Contact data are deleted", day(40), f"A mail to the study's contact announces it on {day(10)}."),
        ("The data of all people are deleted", day(400), f"A mail to the study's contact announces it on {day(370)}."),
    ]
    text = text_of(desk.get(life_of(study)))
    assert f">{day(40)}</time> Contact data are deleted" in text
    assert f"People who start with the current version can have their data deleted until {day(20)}." in text


def test_page_of_a_closed_study_names_the_days_of_the_people_who_took_part(desk):
    study = kept(delete_until=day(20))
    factories.person(study, status="completed")
    later = RetentionSpec(delete_until=day(60))
    factories.load_study(replace(study.current().spec(), retention=later))
    factories.close(study)
    text = text_of(desk.get(life_of(study)))
    assert f"The last day on which people can have their data deleted: {day(20)}" in text
    assert day(60) not in text
    assert "People who start" not in text


def test_page_says_what_was_announced_and_done(desk):
    study = kept(contacts_until=day(-1), keep_until=day(9))
    announce(study, "contacts", day(-1), days_ago=31)
    assert days_on_the_page(desk, study)[0][2] == "Due. The server does it within the hour."
    enforce_retention()
    late = f"Nothing is removed sooner than 30 days after the announcement, so it is kept until {day(30)}."
    assert [state for _what, _day, state in days_on_the_page(desk, study)] == [
        f"Done on {day(0)}.",
        f"Announced by mail on {day(0)}. {late}",
    ]


def test_page_says_that_a_day_in_the_past_is_announced_first(desk):
    study = kept(keep_until=day(-800))
    late = f"Nothing is removed sooner than 30 days after the announcement, so it is kept until {day(30)}."
    assert days_on_the_page(desk, study)[0][2] == f"A mail to the study's contact announces it on {day(0)}. {late}"


@pytest.mark.parametrize(("offset", "told"), [(-800, day(30)), (7, day(30)), (60, day(60)), (61, "")])
def test_page_that_closes_a_study_says_what_goes_within_sixty_days(desk, offset, told):
    study = kept(keep_until=day(offset))
    page = desk.get(reverse("research-close", args=[study.key]))
    said = f"The server removes data automatically after {told} (UTC): The study is anonymised."
    assert (said in text_of(page)) == bool(told)
    assert len(page.context["retention_soon"]) == bool(told)


def test_page_says_why_a_day_waits(desk):
    study = kept(keep_until=day(-1))
    announce(study, "anonymise", day(-1), days_ago=31)
    factories.person(study)
    assert days_on_the_page(desk, study) == [
        ("The study is anonymised", day(-1), "Overdue. It waits, because the study is not closed.")
    ]
    factories.close(study)
    assert days_on_the_page(desk, study)[0][2] == "Overdue. It waits, because people are still taking part."
    study.participations.update(status=Status.COMPLETED)
    assert days_on_the_page(desk, study)[0][2] == "Due. The server does it within the hour."


def test_page_says_when_nobody_can_be_told(desk):
    study = kept(contact="Room 12", keep_until=day(9))
    assert days_on_the_page(desk, study)[0][2].startswith("No mail announces it")


def test_what_was_done_stays_told_after_an_amendment(desk, study):
    RetentionRecord.objects.create(study=study, what="contacts", day=day(-9), done_at=timezone.now())
    RetentionRecord.objects.create(study=study, what="anonymise", day=day(9), announced_at=timezone.now())
    assert days_on_the_page(desk, study) == [("Contact data are deleted", day(-9), f"Done on {day(0)}.")]


def test_page_says_where_to_set_days_when_there_are_none(desk, study):
    text = text_of(desk.get(life_of(study)))
    assert "The study file names no day on which data are deleted or anonymised" in text
    assert "Set the days in the section Retention of the design." in text
