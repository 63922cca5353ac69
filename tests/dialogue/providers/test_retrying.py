import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogue.providers.base import ProviderError
from dialogue.providers.retrying import LONGEST_WAIT, Retries

BUSY = ProviderError("rate_limited", "Slow down.")
DOWN = ProviderError("server_error", "Down.")
EMPTY = ProviderError("empty", "No text came.")


PASSING_ONES = [BUSY, DOWN, ProviderError("network", "Gone."), ProviderError("timeout", "Slow.")]


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def numbered(count: int) -> list[ProviderError]:
    return [ProviderError("empty", f"No text came, request {number}.") for number in range(count)]


def given_up_after(retries: Retries, errors: list[ProviderError]) -> tuple[int, str]:
    """How many failures it took, and why; 0 and "" where it would go on."""
    for number, error in enumerate(errors, 1):
        if retries.next_wait(error) is None:
            return number, retries.given_up_because
        assert retries.given_up_because == ""
    return 0, ""


@pytest.mark.parametrize(
    ("errors", "outcome"),
    [
        ([ProviderError("client_error", "No such model.", permanent=True)], (1, "permanent")),
        ([EMPTY, EMPTY, EMPTY], (3, "identical")),
        ([EMPTY, EMPTY], (0, "")),
        ([EMPTY, *numbered(1), EMPTY, EMPTY], (0, "")),
        ([EMPTY, ProviderError("odd", "No text came."), EMPTY], (0, "")),
        *(([EMPTY, passing, EMPTY, passing, EMPTY], (5, "identical")) for passing in PASSING_ONES),
        *(([passing] * 7, (0, "")) for passing in PASSING_ONES),
        *(([passing] * 8, (8, "attempts")) for passing in PASSING_ONES),
        (numbered(8), (8, "attempts")),
        (numbered(7), (0, "")),
        ([*numbered(7), ProviderError("refused", "No.", permanent=True)], (8, "permanent")),
    ],
)
def test_call_is_given_up(errors: list[ProviderError], outcome: tuple[int, str]) -> None:
    assert given_up_after(Retries(), errors) == outcome


@pytest.mark.parametrize(("attempts", "identical", "outcome"), [(1, 3, (1, "attempts")), (9, 2, (2, "identical"))])
def test_numbers_can_be_chosen(attempts: int, identical: int, outcome: tuple[int, str]) -> None:
    assert given_up_after(Retries(attempts=attempts, identical=identical), [EMPTY] * 9) == outcome


def test_time_runs_out() -> None:
    """It does not run while the call waits for its turn, which may take longer where an endpoint has a budget."""
    clock = Clock()
    retries = Retries(attempts=99, wall_seconds=600, clock=clock)
    clock.now += 1000
    assert retries.next_wait(ProviderError("timeout", "Slow.")) is not None
    clock.now += 601
    assert retries.next_wait(ProviderError("network", "Gone.")) is None
    assert retries.given_up_because == "time"


def test_wait_beyond_the_time_is_not_begun() -> None:
    retries = Retries(wall_seconds=600, clock=Clock())
    assert retries.next_wait(ProviderError("rate_limited", "Tomorrow.", retry_after=86400.0)) is None
    assert retries.given_up_because == "time"


@given(st.integers(1, 12), st.none() | st.floats(0, 500))
def test_wait_is_what_the_server_asked_for_and_some_jitter(attempt: int, retry_after: float | None) -> None:
    retries = Retries(attempts=99, wall_seconds=10**6)
    for error in numbered(attempt - 1):
        retries.next_wait(error)
    wait = retries.next_wait(ProviderError("rate_limited", "Busy.", retry_after=retry_after))
    assert wait is not None
    asked = retry_after or 0.0
    assert asked <= wait <= asked + min(LONGEST_WAIT, 2.0 ** (attempt - 1))


def test_jitter_reaches_from_half_to_the_whole_wait() -> None:
    random.seed(3)
    waits = [Retries().next_wait(DOWN) for _ in range(500)]
    assert 0.5 <= min(wait for wait in waits if wait is not None) < 0.52
    assert 0.98 < max(wait for wait in waits if wait is not None) <= 1.0


@given(st.integers())
def test_server_that_is_away_for_a_minute_is_waited_for(seed: int) -> None:
    random.seed(seed)
    retries, waits = Retries(), []
    while (wait := retries.next_wait(DOWN)) is not None:
        waits.append(wait)
    assert 60.0 <= sum(waits) <= 125.0
