"""Rules of several chats that wait for the database at once share a transaction, and each keeps its own outcome."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction

from dialogue.chat import shared_commits
from dialogue.chat.shared_commits import run_rule
from dialogue.models import Supporter, Turn

pytestmark = pytest.mark.django_db(transaction=True)

SHARES = connection.vendor == "sqlite"
NO_CONVERSATION = 12_345


@transaction.atomic
def store(name: str) -> int:
    """Store a supporter. Return in how many transactions around it."""
    Supporter.objects.create(digest=name, kind="scripted")
    return len(connection.savepoint_ids)


@transaction.atomic
def store_and_refuse(name: str) -> None:
    store(name)
    raise ValueError(f"{name} is refused")


@transaction.atomic
def store_without_conversation() -> None:
    """Store what only the commit refuses."""
    Turn.objects.create(conversation_id=NO_CONVERSATION, number=1, client_id="1", text="Hello", seq=1)


async def run_while_waiting(*rules: Callable[[], Any]) -> list[Any]:
    """Run the rules, all of which wait until a first one ends. Return their results and errors."""
    begun, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def hold() -> None:
        loop.call_soon_threadsafe(begun.set)
        assert go_on.wait(10)

    first = asyncio.create_task(run_rule(hold))
    await begun.wait()
    tasks = [asyncio.create_task(run_rule(rule)) for rule in rules]
    await asyncio.sleep(0)
    go_on.set()
    await first
    return await asyncio.gather(*tasks, return_exceptions=True)


async def names() -> list[str]:
    return [name async for name in Supporter.objects.order_by("digest").values_list("digest", flat=True)]


async def test_a_rule_that_waits_for_no_other_has_its_own_transaction() -> None:
    assert await run_rule(store, "a") == 0
    assert await names() == ["a"]


async def test_rules_that_wait_share_a_transaction_on_sqlite_alone() -> None:
    outcomes = await run_while_waiting(*(lambda name=name: store(name) for name in "abc"))
    assert outcomes == ([1, 1, 1] if SHARES else [0, 0, 0])
    assert await names() == ["a", "b", "c"]


async def test_a_rule_that_fails_takes_no_other_with_it() -> None:
    outcomes = await run_while_waiting(lambda: store("a"), lambda: store_and_refuse("b"), lambda: store("c"))
    assert isinstance(outcomes[1], ValueError)
    assert await names() == ["a", "c"]


async def test_what_the_commit_refuses_takes_no_other_with_it() -> None:
    outcomes = await run_while_waiting(lambda: store("a"), store_without_conversation, lambda: store("c"))
    assert isinstance(outcomes[1], IntegrityError)
    assert await names() == ["a", "c"]


async def test_whoever_waited_in_vain_costs_the_others_nothing() -> None:
    async def give_up() -> None:
        task = asyncio.create_task(run_rule(store, "b"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    await asyncio.gather(run_rule(store, "a"), give_up(), run_rule(store, "c"))
    assert {"a", "c"} <= set(await names())


@pytest.mark.skipif(not SHARES, reason="PostgreSQL has a transaction for each rule")
async def test_a_database_that_is_away_is_said_to_each(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_rules: object) -> None:
        raise OperationalError("disk I/O error")

    monkeypatch.setattr(shared_commits, "run_together", fail)
    outcomes = await asyncio.gather(*(run_rule(store, name) for name in "ab"), return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["disk I/O error"] * 2
