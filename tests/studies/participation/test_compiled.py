"""Queries that are compiled once give what the same query gives, with its related rows."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dialogue.compiled_sql import CompiledQuery
from studies.models import ArmRun, Participation
from studies.participation import chats, enrolment
from tests import factories
from tests.people import Person

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> ArmRun:
    study = factories.study("hearts")
    return factories.run_with_turns(study, factories.person(study))


def values_of(row: Participation | ArmRun) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def test_rows_have_the_values_that_the_query_gives(run: ArmRun) -> None:
    for compiled, plain in (
        (enrolment.PERSON.rows(run.participation_id), Participation.objects.filter(pk=run.participation_id)),
        (chats.RUN.rows(run.participation_id, run.position), ArmRun.objects.filter(pk=run.pk)),
    ):
        assert [values_of(row) for row in compiled] == [values_of(row) for row in plain]


def test_related_rows_come_with_them(run: ArmRun) -> None:
    with CaptureQueriesContext(connection) as queries:
        [found] = chats.RUN.rows(run.participation_id, run.position)
        assert found.conversation is not None
        assert values_of(found.conversation) == values_of(run.conversation)
    assert len(queries) == 1


def test_row_without_a_related_one_has_none(run: ArmRun) -> None:
    ArmRun.objects.filter(pk=run.pk).update(conversation=None)
    [found] = chats.RUN.rows(run.participation_id, run.position)
    assert found.conversation is None


def test_second_call_compiles_nothing(run: ArmRun) -> None:
    built = []
    compiled = CompiledQuery(ArmRun, lambda: built.append(1) or ArmRun.objects.filter(pk=0))
    assert [len(compiled.rows(key)) for key in (run.pk, run.pk, 0)] == [1, 1, 0]
    assert built == [1]


def test_page_of_a_conversation_asks_the_database_nine_times() -> None:
    factories.study("demo")
    person = Person()
    person.go_to("chat")
    person.client.get("/study/")
    with CaptureQueriesContext(connection) as queries:
        person.client.get("/study/")
    assert len(queries) == 9
