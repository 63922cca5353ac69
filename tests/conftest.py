"""What all tests share, and a loud word at the end on what was skipped and why."""

import gc
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from asgiref.sync import SyncToAsync, sync_to_async
from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.core.cache import caches
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import AsyncClient, Client, TransactionTestCase
from django.test.client import ClientMixin
from django.utils import translation
from hypothesis import settings as properties

from dialogue.chat import replies
from studies.models.append_only import TABLE, guard_log, is_guarded, unguard_log
from tests.amounts import choose
from tests.lanes import ONE_DATABASE, SERVERS, SLOW

ROOT = Path(__file__).parent
properties.register_profile("ours", max_examples=choose(usual=25, full=300), deadline=None)
properties.load_profile("ours")
EVERY = 8  # of the tests that are rolled back, one in so many runs on both databases
MADE_BY_MIGRATIONS = {"django_content_type", "auth_permission"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `python -m tests` runs side by side, and what `make check` leaves out."""
    for item in items:
        place = item.path.relative_to(ROOT)
        places = {place.as_posix(), *(folder.as_posix() for folder in place.parents)}
        for marker, marked in (("servers", SERVERS), ("slow", SLOW)):
            if places & set(marked):
                item.add_marker(marker)
        if not places & set(ONE_DATABASE) and is_for_both_databases(item):
            item.add_marker("both_databases")


def is_for_both_databases(item: pytest.Item) -> bool:
    database = item.get_closest_marker("django_db")
    if database is None or item.get_closest_marker("browser"):
        return False
    return bool(database.kwargs.get("transaction")) or crc32(item.nodeid.encode()) % EVERY == 0


def pytest_collection_finish() -> None:
    """Look for garbage more seldom, and not in what stays until the end: modules and tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    reasons: dict[str, int] = {}
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason] = reasons.get(reason, 0) + 1
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"*** SKIPPED {count}: {reason} ***", red=True, bold=True)


@pytest.fixture(scope="session", autouse=True)
def quick_passwords() -> Iterator[None]:
    """Argon2 takes a good part of a second of a processor for each password; those of tests are no one's secret."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "PASSWORD_HASHERS", ["django.contrib.auth.hashers.MD5PasswordHasher"])
        yield


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the test cache keys of its own, so that attempts are not counted on: to clear it would clear a whole
    Redis."""
    shared = caches["default"]
    monkeypatch.setattr(shared, "key_prefix", f"{shared.key_prefix}:{uuid.uuid4().int}")


@pytest.fixture(autouse=True)
def fresh_sign_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """`force_login` stands for signing in by password just now, which allauth notes in the session."""
    log_in, alog_in = ClientMixin._login, ClientMixin._alogin

    def note(session: SessionBase, user: Any) -> None:
        session["account_authentication_methods"] = [{"method": "password", "at": time.time()}]
        session["account_authentication_methods_user"] = str(user.pk)
        session.save()

    def log_in_by_password(client: Client, user: Any, backend: str | None = None) -> None:
        log_in(client, user, backend)
        note(client.session, user)

    async def alog_in_by_password(client: AsyncClient, user: Any, backend: str | None = None) -> None:
        await alog_in(client, user, backend)
        await sync_to_async(note)(await client.asession(), user)

    monkeypatch.setattr(ClientMixin, "_login", log_in_by_password)
    monkeypatch.setattr(ClientMixin, "_alogin", alog_in_by_password)


@pytest.fixture(autouse=True)
def alarms_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alarms go out in the same thread, so that a test sees them and the database is not used after it."""
    from studies.care import clock, sending

    monkeypatch.setattr(clock, "send_soon", sending.send_due)


@pytest.fixture(autouse=True)
def no_instruments_of_this_site(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The folder of whoever runs the tests is not looked at; a test that makes instruments has one of its own."""
    from studies.instruments.loading import SITE

    monkeypatch.setattr(SITE, "folder", None)
    SITE.forget()
    yield
    SITE.forget()


@pytest.fixture
def figures_are_left_out(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two thirds of an analysis go into drawing its figures; tests marked `with_figures` have them."""
    from studies.analysis.reporting import drawing

    if not request.node.get_closest_marker("with_figures"):
        monkeypatch.setattr(drawing, "_svg", lambda *_given: '<svg xmlns="http://www.w3.org/2000/svg"></svg>')
        monkeypatch.setattr(drawing, "_pdf", lambda *_given: b"%PDF-")


@pytest.fixture(autouse=True)
def no_reply_left_running() -> Iterator[None]:
    yield
    replies.running.clear()
    replies.listeners.clear()


@pytest.fixture(autouse=True)
def no_language_left_active() -> Iterator[None]:
    """A page leaves that of its person active in the thread."""
    yield
    translation.deactivate()


@pytest.fixture
def on_commit_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a test the outer transaction never commits; what waits for it runs as soon as it is asked for."""
    monkeypatch.setattr(transaction, "on_commit", lambda act, *_args, **_kwargs: act())


@pytest.fixture(scope="session", autouse=True)
def rows_are_deleted_after_a_test_that_commits() -> Iterator[None]:
    """Django truncates every table instead and makes permissions anew, which takes some hundred times as long on tables
    of a few rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", delete_rows)
        yield


def delete_rows(case: TransactionTestCase) -> None:
    """Delete all that tests store, in one transaction: constraints between tables are looked at when it ends."""
    for alias in case._databases_names(include_mirrors=False):
        connection = connections[alias]
        with unguarded_log(connection):
            delete_rows_of(connection)


@contextmanager
def unguarded_log(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Take the audit log's triggers off where it has entries: between tests they too are deleted."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {TABLE}")
        has_entries = cursor.fetchone()[0] > 0
    if has_entries and is_guarded(connection):
        unguard_log(connection)
    yield
    if not is_guarded(connection):
        guard_log(connection)


def delete_rows_of(connection: BaseDatabaseWrapper) -> None:
    names = set(connection.introspection.django_table_names(only_existing=True, include_views=False))
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        for name in sorted(names - MADE_BY_MIGRATIONS):
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(name)}")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:
    """The thread in which async code speaks with the database keeps its connection; a test database cannot be dropped
    while it is open."""
    from django.db import connections

    yield
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()
