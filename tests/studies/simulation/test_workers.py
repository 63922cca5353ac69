import asyncio

import pytest

from studies.simulation.workers import work_through


async def test_everything_is_done_once_by_a_few_at_once() -> None:
    done: list[int] = []
    under_way: set[int] = set()
    most = 0

    async def do(number: int) -> None:
        nonlocal most
        under_way.add(number)
        most = max(most, len(under_way))
        await asyncio.sleep(0)
        under_way.remove(number)
        done.append(number)

    await work_through(iter(range(10)), do, at_once=3)
    assert sorted(done) == list(range(10))
    assert most == 3


async def test_what_a_worker_raises_ends_the_work() -> None:
    done: list[int] = []

    async def do(number: int) -> None:
        if number == 2:
            raise ValueError(number)
        done.append(number)
        await asyncio.sleep(0)

    with pytest.raises(ExceptionGroup):
        await work_through(range(100), do, at_once=2)
    assert done == [0, 1, 3]  # the other worker had one in hand
