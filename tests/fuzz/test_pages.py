"""Forms and query parameters of every page, of people and of researchers."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from studies.bots.page_reader import read_page
from studies.workbench import tasks
from tests import factories
from tests.fuzz.amount import get_amount
from tests.fuzz.hostile import VALUES
from tests.fuzz.watch import watching
from tests.people import Person
from tests.test_hostile_input import LEAVES, addresses, answers, field_names, person_in_chat

pytestmark = pytest.mark.django_db
FOR_PEOPLE = ("screening", "consent", "training", "rating")  # the kinds of step whose forms are filled in
TRIES = frozenset({"studies_submission", "studies_participation"})  # a wrong answer of the training is one
REFUSED_BY_FORM = b'id="error-summary"'
CHECKS = list(HealthCheck)


class Target(NamedTuple):
    """A form, filled in well. `client`: of the person or researcher who may send it."""

    client: Client
    path: str
    fields: dict[str, str]
    kept: frozenset[str] = frozenset()  # tables that change also where it is sent back


@pytest.fixture(autouse=True)
def no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "spawn", lambda _task: None)


@pytest.fixture
def desk() -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def person(db: None) -> Person:
    factories.study("hearts", open_enrolment=True)
    return person_in_chat()


def forms_of(client: Client, path: str) -> Iterator[Target]:
    page = client.get(path)
    if page.status_code != 200 or not page.headers["Content-Type"].startswith("text/html"):
        return
    for form in read_page(page.content.decode()).forms:
        if not form.action.endswith(LEAVES):
            yield Target(client, form.action or path, answers(form))


def targets(person: Person, desk: Client) -> list[Target]:
    found = [form for path in addresses(person, "/research/") for form in forms_of(desk, path)]
    found += forms_of(person.client, "/study/")
    for kind in FOR_PEOPLE:
        other = Person("hearts", "participant")
        other.go_to(kind)
        other.client.raise_request_exception = False
        kept = TRIES if kind == "training" else frozenset()
        found += [form._replace(kept=kept) for form in forms_of(other.client, "/study/")]
    return [target for target in found if target.fields]


def is_accepted(response: Any, told: str) -> bool:
    """Return whether a form was. Raises AssertionError at a server error."""
    assert response.status_code < 500, f"{told}: {response.status_code}"
    sent_back = response.headers.get("Location", "").endswith("#error-summary")
    return response.status_code < 400 and not sent_back and REFUSED_BY_FORM not in response.getvalue()


def test_no_form_breaks_and_none_is_half_done(person: Person, desk: Client) -> None:
    forms = targets(person, desk)
    assert len(forms) > 40

    with watching("form") as watch:

        @settings(max_examples=get_amount("form"), phases=[Phase.generate], suppress_health_check=CHECKS, database=None)
        @given(st.data())
        def send(data: st.DataObject) -> None:
            client, path, fields, kept = data.draw(st.sampled_from(forms))
            names = data.draw(st.lists(st.sampled_from(sorted(fields)), min_size=1, max_size=2, unique=True))
            values = {name: data.draw(VALUES) for name in names}
            told = f"POST {path} {values!r:.200}"
            watch.send(told, lambda: is_accepted(client.post(path, fields | values), told), kept)

        send()


def test_no_query_breaks_a_page(person: Person, desk: Client) -> None:
    names = field_names()
    asked = [(desk, path) for path in addresses(person, "/research/", "/admin/", "/api/")]
    asked += [(person.client, path) for path in addresses(person, "/") if not path.startswith(("/research", "/admin"))]
    assert len(asked) > 100

    with watching("query") as watch:

        @settings(
            max_examples=get_amount("query"), phases=[Phase.generate], suppress_health_check=CHECKS, database=None
        )
        @given(st.data())
        def send(data: st.DataObject) -> None:
            client, path = data.draw(st.sampled_from(asked))
            query = data.draw(st.dictionaries(st.sampled_from(names), VALUES, min_size=1, max_size=3))
            told = f"GET {path} {query!r:.200}"
            watch.send(told, lambda: is_accepted(client.get(path, query), told))

        send()
