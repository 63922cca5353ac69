"""The chain of the audit log: no one can change it unnoticed, and many writers at once do not fork it."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from io import StringIO
from threading import Barrier

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, connections, transaction

from studies.audit.chain import check_chain, record
from studies.models import AuditChain, AuditEntry, Study
from studies.models.append_only import guard_log, is_guarded, unguard_log
from studies.models.audit import AppendOnly
from tests import factories

Act, Thing = AuditEntry.Act, AuditEntry.Thing
WRITERS, EACH = 10, 20


@contextmanager
def behind_the_back() -> Iterator[None]:
    """What someone does who has the whole database in their hands."""
    unguard_log(connection)
    yield
    guard_log(connection)


def write(number: int, study_key: str = "demo") -> list[AuditEntry]:
    return [record(study_key, Act.SAW, Thing.PERSON, f"R{one}") for one in range(1, number + 1)]


def run_sql(sql: str, *values: object) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, values)


def check(*arguments: str) -> tuple[dict, int]:
    """The summary of the command and its exit code."""
    out, code = StringIO(), 0
    try:
        call_command("check_audit", *arguments, "--json", stdout=out)
    except SystemExit as stop:
        code = stop.code
    return json.loads(out.getvalue().splitlines()[-1]), code


@pytest.mark.django_db
def test_entries_follow_each_other_in_the_chain_of_their_study():
    first, second = write(2)
    (other,) = write(1, "other")

    assert (first.number, first.before) == (1, "")
    assert (second.number, second.before) == (2, first.hash)
    assert (other.number, other.before) == (1, "")
    assert first.hash != second.hash != other.hash
    found = check_chain("demo")
    assert (found.entries, found.last_hash, found.fault) == (2, second.hash, None)


@pytest.mark.django_db
def test_entries_read_back_have_the_hash_they_were_written_with():
    written = write(1)[0]
    assert AuditEntry.objects.get().compute_hash() == written.hash


@pytest.mark.django_db
def test_the_model_refuses_to_change_and_to_delete():
    entry = write(1)[0]
    with pytest.raises(AppendOnly):
        entry.save()
    with pytest.raises(AppendOnly):
        entry.delete()
    with pytest.raises(AppendOnly):
        AuditEntry.objects.update(by_name="eve")
    with pytest.raises(AppendOnly):
        AuditEntry.objects.all().delete()


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["demo", ""])
@pytest.mark.parametrize("sql", ["UPDATE studies_auditentry SET by_name = 'eve'", "DELETE FROM studies_auditentry"])
def test_the_database_refuses_too(sql, key):
    factories.study("demo")
    write(1, key)
    with pytest.raises(DatabaseError, match="append-only"):
        run_sql(sql)
    assert check_chain(key).fault is None


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no TRUNCATE")
def test_postgresql_refuses_to_truncate():
    write(1)
    with pytest.raises(DatabaseError, match="append-only"):
        run_sql("TRUNCATE studies_auditentry")


@pytest.mark.django_db
def test_a_log_can_go_once_its_study_is_gone():
    factories.study("demo")
    write(2)
    Study.objects.filter(key="demo").delete()
    run_sql("DELETE FROM studies_auditentry WHERE study_key = 'demo'")
    assert AuditEntry.objects.count() == 0


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("sql", "number", "message"),
    [
        ("UPDATE studies_auditentry SET by_name = 'eve' WHERE number = 3", 3, "entry 3 is not as it was written"),
        ("UPDATE studies_auditentry SET at = '2020-01-01 00:00:00' WHERE number = 1", 1, "entry 1 is not as it was"),
        ("DELETE FROM studies_auditentry WHERE number = 2", 2, "entry 2 is missing"),
        ("DELETE FROM studies_auditentry WHERE number = 5", 5, "entry 5 is missing; 5 were written"),
        ("DELETE FROM studies_auditentry", 1, "entry 1 is missing; 5 were written"),
        ("UPDATE studies_auditchain SET length = 4", None, "the log ends with entry 5"),
        ("DELETE FROM studies_auditchain", None, "the log ends with entry 5"),
    ],
)
def test_the_command_finds_what_was_changed_behind_the_back(sql, number, message):
    factories.study("demo")
    write(5)
    assert check()[1] == 0
    with behind_the_back():
        run_sql(sql)

    summary, code = check("demo")

    assert code == 1
    assert summary["logs"][0]["fault"]["entry"] == number
    assert summary["logs"][0]["fault"]["message"].startswith(message)
    assert len(summary["failed"]) == 1


@pytest.mark.django_db
def test_an_entry_with_a_hash_of_its_own_breaks_the_next_one():
    write(3)
    forged = AuditEntry.objects.get(number=2)
    forged.by_name = "eve"
    with behind_the_back():
        run_sql("UPDATE studies_auditentry SET by_name = 'eve', hash = %s WHERE number = 2", forged.compute_hash())
    assert check_chain("demo").fault == (3, "entry 3 does not follow the entry before it")


@pytest.mark.django_db
def test_a_hash_kept_elsewhere_shows_a_log_that_was_written_anew():
    factories.study("demo")
    kept = write(2)[-1].hash
    assert check("demo", "--holds", kept)[1] == 0
    with behind_the_back():
        run_sql("DELETE FROM studies_auditentry")
    AuditChain.objects.all().delete()
    write(2)

    summary, code = check("demo", "--holds", kept)

    assert (code, summary["logs"][0]["fault"]) == (1, None)
    assert summary["failed"] == [f"demo: no entry has the hash {kept}."]


@pytest.mark.django_db
def test_the_command_says_where_triggers_are_missing():
    assert is_guarded(connection)
    with behind_the_back():
        summary, code = check()
    assert (code, len(summary["failed"])) == (1, 1)
    assert "triggers" in summary["failed"][0]


@pytest.mark.django_db
def test_the_command_refuses_what_it_does_not_know():
    with pytest.raises(CommandError, match="There is no study 'nowhere'"):
        call_command("check_audit", "nowhere")
    with pytest.raises(CommandError, match="--holds needs a STUDY"):
        call_command("check_audit", "--holds", "abc")


@pytest.fixture
def own_connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each thread has a connection of its own, where usually all share a pool of eight."""
    connections.close_all()
    if connection.vendor == "postgresql":
        monkeypatch.setitem(connections["default"].settings_dict["OPTIONS"], "pool", None)
    yield
    connections.close_all()


@pytest.mark.django_db(transaction=True)
def test_writers_at_once_do_not_fork_the_chain(own_connections):
    together = Barrier(WRITERS)

    def write_some(writer: int) -> None:
        try:
            together.wait(timeout=30)
            for number in range(EACH):
                record("demo", Act.SAW, Thing.PERSON, f"R{writer}/{number}")
        finally:
            connection.close()

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write_some, range(WRITERS)))

    found = check_chain("demo")
    assert (found.entries, found.fault) == (WRITERS * EACH, None)
    assert AuditEntry.objects.values("before").distinct().count() == WRITERS * EACH
