import asyncio
import gc
import random
import weakref
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogue.providers import limits
from dialogue.providers.limits import Limit, get_limit
from tests.amounts import choose
from tests.dialogue.providers.simulated import (
    Server,
    SoManyAtOnce,
    SoManyPerMinute,
    SoManyPerSecond,
    keep_asking,
    simulated,
)

RETRY_AFTER = choose(usual=[None], full=[None, 0.0, 1.0])  # seconds that a refusal names
ENDPOINT = ("http://127.0.0.1:9/v1", "m", "KEY")


@pytest.fixture(autouse=True)
def known_jitter() -> None:
    random.seed(5)


def share(server: Any, begin: float, end: float) -> float:
    """What was answered between two times, of what the server could have answered."""
    return sum(begin <= at < end for at in server.answered) / ((end - begin) * server.per_second)


async def one(limit: Limit, begun: list[Any], name: Any, *, ends: asyncio.Event, tokens: int = 1) -> None:
    async with limit.slot(tokens) as slot:
        begun.append(name)
        await ends.wait()
        slot.report_success(tokens)


async def begun_within(seconds: float, limit: Limit, calls: int, tokens: int = 1) -> int:
    """How many of so many calls, none of which ends, begin within so many seconds."""
    begun: list[int] = []
    tasks = [asyncio.create_task(one(limit, begun, n, ends=asyncio.Event(), tokens=tokens)) for n in range(calls)]
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    return len(begun)


async def answered(limit: Limit, times: int) -> None:
    """Rounds of calls that use the whole limit up and succeed."""
    for _ in range(times):
        slots = [limit.slot(1) for _ in range(limit.size)]
        for slot in slots:
            await slot.__aenter__()
        for slot in slots:
            slot.report_success(1)
        for slot in slots:
            await slot.__aexit__()


# The server's own limit is found.


@pytest.mark.parametrize("retry_after", RETRY_AFTER)
@pytest.mark.parametrize(("most", "seconds"), [(3, 0.5), (12, 0.5), (64, 0.2), (64, 2.0), (200, 0.5)])
def test_limit_comes_within_a_tenth_of_so_many_at_once(most: int, seconds: float, retry_after: float | None) -> None:
    server = SoManyAtOnce(most, seconds, retry_after)
    simulated(keep_asking(server, Limit(ceiling=500), workers=600, seconds=90))
    assert share(server, 30, 90) >= 0.9
    assert sum(at >= 30 for at in server.refused) <= 0.02 * len(server.answered)


@pytest.mark.parametrize("retry_after", RETRY_AFTER)
@pytest.mark.parametrize(("most", "seconds"), [(12, 0.5), (40, 0.5), (64, 0.2), (64, 2.0), (200, 0.5)])
def test_size_itself_is_within_a_tenth_of_the_servers_after_half_a_minute(
    most: int, seconds: float, retry_after: float | None
) -> None:
    """Mostly: once in a while it tries further, is refused, and for some calls is smaller."""
    server, limit, sizes = SoManyAtOnce(most, seconds, retry_after), Limit(ceiling=500), []

    async def watched() -> None:
        asking = asyncio.create_task(keep_asking(server, limit, workers=600, seconds=90))
        await asyncio.sleep(30)
        for _ in range(600):
            sizes.append(limit.size)
            await asyncio.sleep(0.1)
        await asking

    simulated(watched())
    assert abs(median(sizes) - most) <= most / 10
    assert sum(abs(size - most) <= most / 10 for size in sizes) >= 0.75 * len(sizes)
    assert max(sizes) <= 1.1 * most


@pytest.mark.parametrize("retry_after", RETRY_AFTER)
@pytest.mark.parametrize(("per_second", "seconds"), [(100.0, 0.2), (100.0, 0.5), (20.0, 1.0)])
def test_limit_comes_within_a_tenth_of_so_many_per_second(
    per_second: float, seconds: float, retry_after: float | None
) -> None:
    server = SoManyPerSecond(per_second, seconds, retry_after)
    simulated(keep_asking(server, Limit(ceiling=500), workers=600, seconds=150))
    assert share(server, 30, 150) >= 0.9
    assert sum(at >= 30 for at in server.refused) <= 0.01 * len(server.answered)


def test_limit_finds_a_server_that_has_grown_and_one_that_has_shrunk() -> None:
    server = SoManyAtOnce(64, 0.5, 1.0)

    async def changes() -> None:
        asking = asyncio.create_task(keep_asking(server, Limit(ceiling=500), workers=600, seconds=400))
        await asyncio.sleep(60)
        server.most = 192
        await asyncio.sleep(240)
        server.most = 32
        await asking

    simulated(changes())
    assert share(server, 240, 300) >= 0.9 * 3
    assert share(server, 340, 400) >= 0.9 / 2


def test_server_that_refuses_everything_for_a_while_does_not_crush_the_limit() -> None:
    class Closed(SoManyAtOnce):
        def is_too_much(self, now: float, tokens: int) -> bool:
            return 20 <= now < 60 or super().is_too_much(now, tokens)

    server = Closed(64, 0.5, None)
    simulated(keep_asking(server, Limit(ceiling=64), workers=100, seconds=150))
    assert share(server, 110, 150) >= 0.9


# How it grows and shrinks.


async def test_limit_doubles_each_round_while_clean() -> None:
    limit = Limit(ceiling=80)
    sizes = [limit.size]
    for _ in range(4):
        await answered(limit, 1)
        sizes.append(limit.size)
    assert sizes == [20, 40, 80, 80, 80]


async def test_limit_that_is_not_used_up_stays() -> None:
    limit = Limit(ceiling=80)
    for _ in range(50):
        async with limit.slot(1) as slot:
            slot.report_success(1)
    assert limit.size == 20


@pytest.mark.parametrize(("ceiling", "size"), [(7, 7), (20, 20), (64, 20), (100, 20), (200, 40), (500, 100)])
async def test_limit_starts_with_twenty_or_a_fifth_of_its_ceiling(ceiling: int, size: int) -> None:
    assert Limit(ceiling=ceiling).size == size


def test_burst_shrinks_once() -> None:
    async def burst() -> list[int]:
        limit, sizes = Limit(ceiling=80), []
        slots = [limit.slot(1) for _ in range(20)]
        for slot in slots:
            await slot.__aenter__()
        for slot in slots:
            slot.report_failure("rate_limited", None)
            sizes.append(limit.size)
        return sizes

    assert simulated(burst()) == [14] * 20


def test_limit_never_falls_below_one() -> None:
    async def bursts() -> int:
        limit = Limit(ceiling=3)
        for _ in range(20):
            async with limit.slot(1) as slot:
                slot.report_failure("rate_limited", 0.0)
        return limit.size

    assert simulated(bursts()) == 1


@pytest.mark.parametrize("status", ["server_error", "timeout", "network", "refused", "stopped", "client_error"])
async def test_other_failures_change_nothing(status: str) -> None:
    limit = Limit(ceiling=80)
    async with limit.slot(1) as slot:
        slot.report_failure(status, 9.0)
    async with asyncio.timeout(5), limit.slot(1):
        assert limit.size == 20


def test_after_a_refusal_growth_ends_below_the_refused_size() -> None:
    async def refused_at_twenty() -> list[int]:
        limit = Limit(ceiling=80)
        slots = [limit.slot(1) for _ in range(20)]
        for slot in slots:
            await slot.__aenter__()
        slots[-1].report_failure("rate_limited", 1.0)
        for slot in slots:
            await slot.__aexit__()
        await asyncio.sleep(1.5)
        sizes = [limit.size]
        for _ in range(8):
            await answered(limit, 1)
            sizes.append(limit.size)
        await asyncio.sleep(30)
        await answered(limit, 3)
        return [*sizes, limit.size]

    *sizes, later = simulated(refused_at_twenty())
    assert sizes[0] == 14
    assert sizes[-1] == max(sizes) == 19
    assert later > 19


@pytest.mark.parametrize(("retry_after", "earliest", "latest"), [(7.0, 7.0, 7.0), (None, 0.5, 1.5)])
def test_everybody_waits_after_a_refusal(retry_after: float | None, earliest: float, latest: float) -> None:
    async def wait() -> list[float]:
        limit, loop = Limit(ceiling=80), asyncio.get_running_loop()
        async with limit.slot(1) as slot:
            slot.report_failure("rate_limited", retry_after)
        times = []

        async def call() -> None:
            async with limit.slot(1):
                times.append(loop.time())

        await asyncio.gather(*(call() for _ in range(5)))
        return times

    times = simulated(wait())
    assert len(times) == 5
    assert all(earliest <= at <= latest for at in times)


def test_nobody_waits_for_longer_than_a_call_has_time_for() -> None:
    async def sent_away() -> tuple[list[Any], float]:
        limit, loop = Limit(ceiling=1), asyncio.get_running_loop()

        async def call() -> None:
            async with limit.slot(1):
                pass

        async with limit.slot(1) as slot:
            waiting = [asyncio.create_task(call()) for _ in range(3)]
            await asyncio.sleep(1.0)
            slot.report_failure("rate_limited", 601.0)
            found = await asyncio.gather(*waiting, return_exceptions=True)
        found += await asyncio.gather(call(), return_exceptions=True)
        at = loop.time()
        await asyncio.sleep(601.0)
        await call()
        return found, at

    found, at = simulated(sent_away())
    assert [str(error) for error in found] == ["The server asks to wait for 601 s."] * 4
    assert {type(error) for error in found} == {limits.PausedTooLongError}
    assert at == 1.0


def test_calls_after_a_pause_are_spread_over_the_time_that_one_takes() -> None:
    async def begun() -> list[float]:
        limit, loop = Limit(ceiling=20), asyncio.get_running_loop()
        async with limit.slot(1) as slot:
            await asyncio.sleep(1.0)
            slot.report_success(1)
        async with limit.slot(1) as slot:
            slot.report_failure("rate_limited", 2.0)
        times: list[float] = []

        async def call() -> None:
            async with limit.slot(1):
                times.append(loop.time())
                await asyncio.sleep(9)

        await asyncio.gather(*(call() for _ in range(14)))
        return times

    assert simulated(begun()) == pytest.approx([3 + place / 14 for place in range(14)])


def test_late_refusals_of_a_burst_may_lengthen_the_wait() -> None:
    async def wait() -> float:
        limit = Limit(ceiling=80)
        async with limit.slot(1) as first, limit.slot(1) as second:
            first.report_failure("rate_limited", 2.0)
            second.report_failure("rate_limited", 6.0)
        async with limit.slot(1):
            return asyncio.get_running_loop().time()

    assert simulated(wait()) == 6.0


# Waiting.


async def test_first_come_is_first_served() -> None:
    limit, begun, ends = Limit(ceiling=1), [], asyncio.Event()
    tasks = [asyncio.create_task(one(limit, begun, n, ends=ends)) for n in range(6)]
    await asyncio.sleep(0)
    assert begun == [0]
    ends.set()
    await asyncio.gather(*tasks)
    assert begun == [0, 1, 2, 3, 4, 5]


async def test_who_is_cancelled_while_waiting_takes_no_place() -> None:
    limit, begun, ends = Limit(ceiling=1), [], asyncio.Event()
    tasks = [asyncio.create_task(one(limit, begun, n, ends=ends)) for n in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    tasks[2].cancel()
    ends.set()
    await asyncio.wait(tasks)
    assert begun == [0, 3]


async def test_who_is_cancelled_when_given_a_place_gives_it_back() -> None:
    limit, begun, ends = Limit(ceiling=1), [], asyncio.Event()
    async with limit.slot(1):
        waiting = asyncio.create_task(one(limit, begun, "cancelled", ends=ends))
        await asyncio.sleep(0)
    waiting.cancel()  # the place is its own by now, but it has not run yet
    ends.set()
    async with asyncio.timeout(5):
        await one(limit, begun, "next", ends=ends)
    assert begun == ["next"]
    assert waiting.cancelled() or await asyncio.wait([waiting])


def test_who_waits_for_many_tokens_and_is_cancelled_holds_nobody_up() -> None:
    async def wait() -> float:
        limit = Limit(ceiling=9, tokens_per_minute=6000)
        async with limit.slot(300):
            large = asyncio.create_task(begun_within(100, limit, 1, tokens=300))
            small = asyncio.create_task(one(limit, [], "small", ends=ended(), tokens=1))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            large.cancel()
            await asyncio.wait([small])
            return asyncio.get_running_loop().time()

    def ended() -> asyncio.Event:
        event = asyncio.Event()
        event.set()
        return event

    assert simulated(wait()) < 60


@given(
    st.lists(st.sampled_from(["ok", "429", "500", "silent", "cancel"]), min_size=1, max_size=120), st.integers(1, 30)
)
def test_every_call_gets_its_place_and_the_limit_is_kept(outcomes: list[str], ceiling: int) -> None:
    limit, under_way, most = Limit(ceiling=ceiling), [0], [0]

    async def call(outcome: str) -> str:
        async with limit.slot(10) as slot:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
            assert under_way[0] <= ceiling
            try:
                await asyncio.sleep(0.1)
            finally:
                under_way[0] -= 1
            if outcome == "ok":
                slot.report_success(12)
            elif outcome != "silent":
                slot.report_failure({"429": "rate_limited"}.get(outcome, "server_error"), None)
        return outcome

    async def all_calls() -> None:
        tasks = [asyncio.create_task(call(outcome)) for outcome in outcomes]
        await asyncio.sleep(0.15)
        for task, outcome in zip(tasks, outcomes, strict=True):
            if outcome == "cancel":
                task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert [one for one in done if not isinstance(one, str | asyncio.CancelledError)] == []
        assert [one for one in done if one in ("ok", "429", "500", "silent")] == [
            one for one in outcomes if one != "cancel"
        ]
        async with limit.slot(1):
            assert limit._in_flight == 1

    simulated(all_calls())


# Budgets.


@pytest.mark.parametrize(("requests", "tokens"), [(600, 10**9), (10**9, 60_000), (3, 10**9), (30, 6_000)])
def test_budget_is_used_and_never_exceeded(requests: int, tokens: int) -> None:
    server = SoManyPerMinute(requests, tokens, 2.0)
    limit = Limit(ceiling=100, requests_per_minute=requests, tokens_per_minute=tokens)
    simulated(keep_asking(server, limit, workers=150, seconds=600))
    assert server.refused == []
    # Whoever still waited at the end was let through after it, one by one, so only the time asked for counts.
    per_minute = sum(at < 600 for at in server.answered) / 10
    assert per_minute >= 0.9 * min(requests, tokens / 100)


def test_estimates_are_corrected_by_what_the_calls_took() -> None:
    async def taken(tokens: int) -> int:
        server = SoManyPerMinute(10**9, 10**9, 0.5)
        limit = Limit(ceiling=100, tokens_per_minute=60_000)
        await keep_asking(server, limit, workers=20, seconds=300, estimate=100, tokens=tokens)
        return sum(at < 300 for at in server.answered) * tokens

    for tokens in (50, 100, 200):
        assert simulated(taken(tokens)) == pytest.approx(5 * 60_000, rel=0.1)


def test_call_larger_than_the_budget_goes_alone() -> None:
    limit = Limit(ceiling=9, tokens_per_minute=100)
    assert simulated(begun_within(60, limit, 3, tokens=500)) == 1


def test_call_whose_tokens_are_not_told_counts_as_estimated() -> None:
    async def wait() -> float:
        limit = Limit(ceiling=9, tokens_per_minute=6000)  # 300 at once, 95 a second
        async with limit.slot(300) as slot:
            slot.report_success(None)
        async with limit.slot(95):
            return asyncio.get_running_loop().time()

    assert simulated(wait()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "given", [{"ceiling": 0}, {"ceiling": 1, "requests_per_minute": 0}, {"ceiling": 1, "tokens_per_minute": -1}]
)
def test_limit_that_lets_nothing_through_is_refused(given: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Limit(**given)


# One limit for each endpoint and loop.


async def test_endpoint_has_one_limit() -> None:
    one = get_limit(ENDPOINT, ceiling=5)
    assert get_limit(ENDPOINT, ceiling=5) is one
    assert get_limit((*ENDPOINT[:2], "OTHER"), ceiling=5) is not one


async def test_higher_ceiling_and_smaller_budget_hold() -> None:
    get_limit(("a", "b", "c"), ceiling=5)
    limit = get_limit(("a", "b", "c"), ceiling=50, requests_per_minute=600)
    get_limit(("a", "b", "c"), ceiling=8, requests_per_minute=6000, tokens_per_minute=10**6)
    assert limit._requests is not None
    assert limit._tokens is not None
    assert (limit._ceiling, limit._requests.per_minute, limit._tokens.per_minute) == (50, 600, 10**6)


def test_limit_of_a_closed_loop_is_let_go() -> None:
    async def made() -> Any:
        return weakref.ref(get_limit(ENDPOINT, ceiling=5))

    first = asyncio.run(made())
    asyncio.run(made())
    gc.collect()
    assert first() is None
    assert len(limits._limits) == 1


def test_server_of_the_simulation_refuses() -> None:
    async def two() -> list[Any]:
        server: Server = SoManyAtOnce(1, 1.0, 3.0)
        return await asyncio.gather(server.call(1), server.call(1))

    assert simulated(two()) == [None, ("rate_limited", 3.0)]
