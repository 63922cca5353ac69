"""The page of the audit log, and its CSV file."""

import csv
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from studies.audit.acting import Actor, act_as
from studies.audit.chain import record
from studies.data.erasure import erase_rows
from studies.models import AuditEntry
from tests import factories

pytestmark = pytest.mark.django_db
PAGE = "/research/demo/audit/"
Act, Thing = AuditEntry.Act, AuditEntry.Thing


def write(name: str, act: AuditEntry.Act, thing: AuditEntry.Thing, code: str = "", source: str = "research-person"):
    with act_as(lambda: Actor(7, name, source, "f00d")):
        return record("demo", act, thing, code)


def shown(client: Client, query: str = "") -> list[tuple[str, str, str]]:
    rows = client.get(PAGE + query).context["rows"]
    return [(row.who, row.entry.act, row.person + row.code) for row in rows]


def read_file(client: Client, query: str = "") -> list[dict[str, str]]:
    response = client.get(f"{PAGE}export.csv{query}")
    return list(csv.DictReader(StringIO(response.getvalue().decode())))


def test_page_shows_the_entries_of_this_study_the_last_first(desk, study):
    person = factories.person(study)
    write("eve", Act.SAW, Thing.PERSON, person.record_code)
    write("ada", Act.CHANGED, Thing.STAGE)
    record("other", Act.CHANGED, Thing.STAGE)

    assert shown(desk) == [("ada", "changed", ""), ("eve", "saw", person.code)]
    page = desk.get(PAGE).content.decode()
    assert f'href="/research/demo/people/{person.code}/"' in page
    assert ".venv/bin/python manage.py check_audit demo" in page
    assert AuditEntry.objects.get(number=2, study_key="demo").hash in page


def test_page_links_to_nobody_once_they_are_erased(desk, study):
    person = factories.person(study)
    record_code = person.record_code
    write("eve", Act.SAW, Thing.CONVERSATION, f"{record_code}/2")
    assert shown(desk)[-1][2] == f"{person.code}/2"

    erase_rows(person)

    assert shown(desk)[-1][2] == f"{record_code}/2"
    assert person.code not in desk.get(PAGE).content.decode()


def test_who_has_no_account_is_named(desk, study):
    with act_as(lambda: Actor(source="leave")):
        record("demo", Act.ERASED, Thing.PERSON)
    record("demo", Act.ERASED, Thing.APPLICANT)
    assert [who for who, _act, _code in shown(desk)] == ["the server itself", "the person themself"]


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("?who=eve", [3, 1]),
        ("?act=changed", [2]),
        ("?thing=stage", [2]),
        ("?who=eve&act=exported", [3]),
        ("?who=nobody", []),
        ("?from=2020-01-01&to=2999-12-31", [3, 2, 1]),
        ("?to=2020-01-01", []),
        ("?from=2999-01-01", []),
        ("?from=2021-02-30&to=yesterday", [3, 2, 1]),
        ("?from=2021-02-30&to=9999-12-31", [3, 2, 1]),
    ],
)
def test_filters(query, numbers, desk, study):
    write("eve", Act.SAW, Thing.PERSON)
    write("ada", Act.CHANGED, Thing.STAGE)
    write("eve", Act.EXPORTED, Thing.DATA)

    response = desk.get(PAGE + query)

    assert [row.entry.number for row in response.context["rows"]] == numbers
    assert ("No entry fits the filters" in response.content.decode()) == (not numbers)
    assert [int(line["number"]) for line in read_file(desk, query)] == numbers[::-1]


def test_a_day_includes_its_last_second(desk, study, monkeypatch):
    monkeypatch.setattr(timezone, "now", lambda: datetime(2026, 3, 4, 23, 59, 59, tzinfo=UTC))
    write("eve", Act.SAW, Thing.PERSON)
    assert len(shown(desk, "?from=2026-03-04&to=2026-03-04")) == 1
    assert len(shown(desk, "?to=2026-03-03")) + len(shown(desk, "?from=2026-03-05")) == 0


def test_an_empty_log_says_when_entries_appear(desk, study):
    page = desk.get(PAGE).content.decode()
    assert "Nothing is logged yet" in page
    assert "export.csv" not in page


def test_the_file_has_all_columns_and_its_download_is_written_down(desk, study):
    entry = write("=eve", Act.SAW, Thing.PERSON, "R2345/1")

    (line,) = read_file(desk)

    assert line == {
        "number": "1",
        "at": entry.at.isoformat().replace("+00:00", "Z"),
        "account": "7",
        "by_name": "'=eve",
        "act": "saw",
        "thing": "person",
        "code": "R2345/1",
        "source": "research-person",
        "request": "f00d",
        "before": "",
        "hash": entry.hash,
        "study_key": "demo",
    }
    last = AuditEntry.objects.get(number=2)
    assert (last.act, last.thing, last.by_name) == ("exported", "log", "ada")


def test_a_file_of_many_entries_and_pages_of_a_hundred(desk, study):
    for _ in range(101):
        write("eve", Act.SAW, Thing.PERSON)
    assert len(shown(desk)) == 100
    assert len(shown(desk, "?page=2")) == 1
    assert len(read_file(desk)) == 101


@pytest.mark.parametrize(
    ("role", "status"),
    [("admin", 200), ("researcher", 200), ("reader", 200), ("safety_officer", 403), ("coder", 403), ("reviewer", 403)],
)
def test_who_may_see_it(role, status, study):
    user = factories.grant(study, User.objects.create(username="eve", is_staff=True), role)
    client = Client()
    client.force_login(user)
    assert client.get(PAGE).status_code == status
    assert client.get(f"{PAGE}export.csv").status_code == status


def test_a_page_asks_the_database_as_often_for_three_entries_as_for_one(desk, study):
    asked = []
    for number in (1, 2):
        for _ in range(number):
            write("eve", Act.SAW, Thing.PERSON, factories.person(study).record_code or "")
        with CaptureQueriesContext(connection) as queries:
            desk.get(PAGE)
        asked.append(len(queries))
    assert asked[0] == asked[1]
