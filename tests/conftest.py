"""What all tests share, and a loud word at the end on what was skipped and why."""

from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import SyncToAsync
from django.utils import translation

from dialogue import replies


def pytest_terminal_summary(terminalreporter: Any) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    reasons: dict[str, int] = {}
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason] = reasons.get(reason, 0) + 1
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"*** SKIPPED {count}: {reason} ***", red=True, bold=True)


@pytest.fixture(autouse=True)
def mail_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """On-call mail goes out in the same thread, so that a test sees it and the database is not used after it."""
    from studies import oncall

    monkeypatch.setattr(oncall, "mail_in_background", oncall.send_due_mails)


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
    from django.db import transaction

    monkeypatch.setattr(transaction, "on_commit", lambda act, *_args, **_kwargs: act())


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:
    """The thread in which async code speaks with the database keeps its connection; a test database cannot be dropped
    while it is open."""
    from django.db import connections

    yield
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()
