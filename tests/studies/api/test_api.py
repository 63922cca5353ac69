"""/api/v1/: reading, for researchers alone; test_acts.py has the rest."""

import asyncio
import csv
import io
import re
import subprocess
import sys
import threading

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import AsyncClient, Client

from studies.api import urls
from studies.api.streams import csv_pieces, stream_pieces
from studies.connections.tokens import create_token
from studies.data.exports.tables import RATINGS
from tests import factories

pytestmark = pytest.mark.django_db

READ_ONLY = [
    "",
    "schema/",
    "studies/demo/",
    "studies/demo/arms/",
    "studies/demo/people/",
    "studies/demo/progress/",
    "studies/demo/tables/",
    "studies/demo/tables/ratings.csv",
    "studies/demo/export.zip",
]
PATHS = [*READ_ONLY, "studies/", "studies/demo/tasks/"]


@pytest.fixture
def study():
    return factories.study()


@pytest.fixture
def desk():
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    return client


@pytest.mark.parametrize("path", [*PATHS, "studies/nowhere/"])
def test_the_api_tells_strangers_nothing(path, study):
    response = Client().get(f"/api/v1/{path}")

    assert (response.status_code, response["WWW-Authenticate"]) == (401, "Bearer")
    assert b"Authentication credentials were not provided." in response.content
    assert not any(name in response.content for name in (b"amber", b"formula", b"demonstration", b"studies"))


@pytest.mark.parametrize("path", PATHS)
def test_the_api_is_for_researchers(path, study):
    client = Client()
    client.force_login(User.objects.create(username="eve"))

    assert client.get(f"/api/v1/{path}").status_code == 403


def test_the_api_begins_with_the_addresses_of_its_parts(desk, study):
    assert desk.get("/api/")["Location"] == "/api/v1/"
    told = desk.get("/api/v1/").json()
    assert told == {name: f"http://testserver/api/v1/{name}/" for name in ("schema", "studies", "check")}
    assert [desk.get(address).status_code for address in told.values()] == [200, 200, 405]


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
@pytest.mark.parametrize("path", READ_ONLY)
def test_these_parts_are_read_only(path, method, desk, study):
    assert getattr(desk, method)(f"/api/v1/{path}").status_code == 405


@pytest.mark.parametrize(
    "path",
    ["studies/nowhere/", "studies/nowhere/progress/", "studies/nowhere/tables/ratings.csv", "nowhere/", "studies"],
)
def test_what_is_not_there_is_told_in_json(path, desk):
    response = desk.get(f"/api/v1/{path}")

    assert (response.status_code, list(response.json())) == (404, ["detail"])


def test_studies_are_listed_by_their_newest_version(desk, study):
    factories.person(study)
    factories.study("demo", contact="other@example.org")
    factories.study("another", title={"en": "Another", "zh": "另一个"})

    found = desk.get("/api/v1/studies/").json()

    assert [(row["key"], row["title"], row["version"]) for row in found] == [
        ("another", "Another", 1),
        ("demo", "Emotional support in conversation: a demonstration", 2),
    ]


@pytest.mark.parametrize("count", [1, 3])
def test_studies_ask_the_database_as_often_for_many_as_for_one(count, desk, django_assert_num_queries):
    for number in range(count):
        factories.study(f"study-{number}")

    with django_assert_num_queries(4):
        desk.get("/api/v1/studies/")


def test_a_study_names_its_arms_and_never_a_key(desk, study):
    found = desk.get("/api/v1/studies/demo/").json()

    assert found["protocol_hash"] == study.current().hash()
    assert [arm["key"] for arm in found["arms"]] == ["amber", "birch", "cedar", "delta", "ember"]
    assert found["arms"][0] == {
        "key": "amber",
        "title": {"en": "Stock phrases (demonstration)", "zh": "套话（演示）"},
        "kind": "scripted",
        "model": "formula",
        "base_url": "",
        "provider": "",
        "prompt": "",
        "paused": False,
        "demonstration": True,
    }


@pytest.mark.parametrize(("test", "active"), [("", 2), ("no", 1), ("yes", 1)])
def test_progress_counts_people_steps_and_arms(test, active, desk, study):
    for is_test in (False, True):
        plan = [{"kind": "consent", "key": "consent"}]
        person = factories.person(study, plan=plan, is_test=is_test)
        factories.run_with_turns(study, person, is_test=is_test)

    found = desk.get("/api/v1/studies/demo/progress/", {"test": test}).json()

    assert {row["status"]: row["people"] for row in found["statuses"] if row["people"]} == {"active": active}
    assert found["steps"] == [{"step": "consent", "people": active}]
    assert found["arms"][0] == {"arm": "amber", "runs": active, "closed": active, "turns": 2 * active, "failed": 0}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("query", "people"), [("", ["real"]), ("?include_tests=true", ["real", "test"])])
async def test_ratings_are_streamed_as_an_export_writes_them(query, people):
    codes = await sync_to_async(rate_something)()
    ada = await User.objects.acreate(username="ada", is_staff=True, is_superuser=True)
    token = (await sync_to_async(create_token)(ada, name="script", scopes=["read", "export"]))[1]

    address = f"/api/v1/studies/demo/tables/ratings.csv{query}"
    response = await AsyncClient().get(address, headers={"Authorization": f"Bearer {token}"})
    text = b"".join([piece async for piece in response.streaming_content]).decode()

    rows = list(csv.DictReader(io.StringIO(text)))
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert list(rows[0]) == [column.name for column in RATINGS]
    assert {row["rater"] for row in rows} == {codes[name] for name in people}
    assert {row["score"] for row in rows} == {"4"}


def rate_something():
    study = factories.study()
    people = {"real": factories.person(study), "test": factories.person(study, is_test=True)}
    for name, person in people.items():
        factories.rating(person, factories.run_with_turns(study, person, is_test=name == "test"))
    return {name: person.code for name, person in people.items()}


def test_csv_pieces_guard_against_formulas_and_end_lines_as_csv_does():
    assert list(csv_pieces(iter([["a", "b"], ["=1+1", None]]))) == ["a,b\r\n'=1+1,\r\n"]


def test_the_schema_describes_every_path(desk):
    described = [path.removeprefix("/api/v1/") for path in desk.get("/api/v1/schema/").json()["paths"]]
    routes = [str(pattern.pattern) for pattern in urls.urlpatterns if pattern.name != "api-nowhere"]
    assert sorted(described) == sorted(re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route) for route in routes)


def test_the_framework_is_imported_when_it_is_asked_for():
    # The template engine imports what it finds of template tags in each app; `reverse` imports every list of addresses.
    code = (
        "import sys, emostudy.asgi; from django.template import engines; from django.urls import reverse;"
        "engines['django'], reverse('study'); print(*sys.modules)"
    )
    python = [sys.executable, "-c", code]
    modules = subprocess.run(python, cwd=settings.BASE_DIR, capture_output=True, text=True, check=True).stdout.split()

    assert "studies.api.urls" in modules
    assert {"rest_framework.views", "drf_spectacular.openapi", "yaml", "pandas"} & set(modules) == set()


@pytest.mark.parametrize(("fault", "status"), [(ValueError, 500), (OperationalError, 503)])
def test_fault_of_ours_is_told_in_json(fault, status, desk, monkeypatch):
    def fail(*_args):
        raise fault("away")

    monkeypatch.setattr("studies.api.views.people.time_out_absent", fail)
    factories.study()
    desk.raise_request_exception = False

    response = desk.get("/api/v1/studies/demo/progress/")

    assert (response.status_code, list(response.json())) == (status, ["detail"])


def test_body_that_cannot_be_read_is_told_in_json(desk):
    response = desk.post("/api/v1/check/", b"--", content_type="multipart/form-data")

    assert (response.status_code, response.json()) == (400, {"detail": "The request cannot be read."})


async def test_stream_leaves_the_thread_that_stores_messages_free():
    ended = threading.Event()

    def make_pieces():
        assert ended.wait(30)
        yield "made"

    async def read_stream():
        return [piece async for piece in stream_pieces(make_pieces())]

    stream = asyncio.create_task(read_stream())
    await asyncio.sleep(0)
    await sync_to_async(ended.set)()  # in the thread of the database, which the piece must not occupy
    assert await stream == ["made"]
