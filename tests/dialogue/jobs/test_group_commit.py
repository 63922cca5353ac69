"""Many small writes as few. What `write` does with them is told by the things themselves."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError

from dialogue.jobs import group_commit
from dialogue.jobs.group_commit import GroupCommit, in_database

# To work in the thread that speaks with the database closes connections that have died there.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(_seconds: float) -> None:
        return None

    monkeypatch.setattr(group_commit.asyncio, "sleep", at_once)


class Written:
    """Keeps each batch; refuses it as a whole where a thing of it is bad."""

    def __init__(self, *, away: int = 0) -> None:
        self.batches: list[list[Any]] = []
        self.away = away

    def __call__(self, things: Sequence[Any]) -> list[Any]:
        self.batches.append(list(things))
        if self.away:
            self.away -= 1
            raise OperationalError("the server closed the connection")
        if "bad" in things:
            raise IntegrityError("no such row")
        return [f"{thing} is stored" for thing in things]


async def stored(write: Written, *things: Any) -> list[Any]:
    commit = GroupCommit().writer_for(write)
    return await asyncio.gather(*(commit(thing) for thing in things), return_exceptions=True)


async def test_what_comes_together_is_one_transaction_and_each_gets_its_own() -> None:
    write = Written()
    assert await stored(write, 1, 2, 3) == ["1 is stored", "2 is stored", "3 is stored"]
    assert write.batches == [[1, 2, 3]]


async def test_what_comes_meanwhile_goes_into_the_next() -> None:
    write = Written()
    commit = GroupCommit().writer_for(write)
    first = asyncio.ensure_future(commit(1))
    while not write.batches:
        await asyncio.wait([first], timeout=0.001)
    await asyncio.gather(first, *(commit(n) for n in (2, 3)))
    assert write.batches == [[1], [2, 3]]


async def test_one_that_cannot_be_stored_does_not_take_others_with_it() -> None:
    write = Written()
    one, bad, two = await stored(write, 1, "bad", 2)
    assert (one, two) == ("1 is stored", "2 is stored")
    assert isinstance(bad, IntegrityError)


async def test_database_that_is_away_is_tried_again() -> None:
    write = Written(away=2)
    assert await stored(write, 1, 2) == ["1 is stored", "2 is stored"]
    assert write.batches == [[1, 2]] * 3


async def test_database_that_stays_away_fails_all_together() -> None:
    write = Written(away=99)
    assert [type(one) for one in await stored(write, 1, 2)] == [OperationalError] * 2
    assert write.batches == [[1, 2]] * group_commit.TRIES


async def test_further_things_are_stored_after_a_failure() -> None:
    write = Written()
    commit = GroupCommit().writer_for(write)
    with pytest.raises(IntegrityError):
        await commit("bad")
    assert await commit(1) == "1 is stored"


async def test_who_waits_no_more_takes_nothing_with_them() -> None:
    write = Written()
    commit = GroupCommit().writer_for(write)
    gone, there = asyncio.ensure_future(commit(1)), asyncio.ensure_future(commit(2))
    await asyncio.wait([gone], timeout=0)
    gone.cancel()
    assert await there == "2 is stored"


async def test_other_errors_are_not_tried_again() -> None:
    tries = []

    def broken() -> None:
        tries.append(1)
        raise ValueError("a mistake of ours")

    with pytest.raises(ValueError, match="a mistake of ours"):
        await in_database(broken)
    assert len(tries) == 1


async def test_what_was_stored_for_one_who_was_cancelled_meanwhile_is_told_of() -> None:
    back: list[str] = []
    goes_on = threading.Event()

    def write(things: Sequence[Any]) -> list[Any]:
        assert goes_on.wait(20)
        return [f"{thing} is stored" for thing in things]

    group = GroupCommit()
    commit = group.writer_for(write, take_back=back.append)
    first = asyncio.ensure_future(commit(1))
    while group.waiting or not group.task:  # until it is being written
        await asyncio.wait([first], timeout=0.001)
    first.cancel()
    await asyncio.wait([first])
    goes_on.set()
    assert (await commit(2), back) == ("2 is stored", ["1 is stored"])
    assert first.cancelled()


async def test_what_was_stored_in_the_moment_of_the_cancellation_is_told_of_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    back: list[str] = []
    group = GroupCommit()
    commit = group.commit

    async def and_cancel(batch: Any) -> None:
        await commit(batch)
        first.cancel()

    monkeypatch.setattr(group, "commit", and_cancel)
    first = asyncio.ensure_future(group.writer_for(Written(), take_back=back.append)(1))
    await asyncio.wait([first])
    assert (first.cancelled(), back) == (True, ["1 is stored"])
