"""Decides when a failed call is repeated, and when it is given up. Pure: the caller does the waiting."""

import random
import time
from collections.abc import Callable
from math import inf
from typing import Literal

from dialogue.providers.base import ProviderError

FIRST_WAIT = 1.0  # seconds at most before the second attempt, doubled for each further one
LONGEST_WAIT = 60.0  # seconds, beside what a server asks for
LONGEST_TRY = 600.0  # seconds in which a call may be tried again
PASSING = ("rate_limited", "network", "timeout", "server_error")  # tell of the server at this moment, not of the call

WhyGivenUp = Literal["", "permanent", "attempts", "time", "identical"]


class Retries:
    """The attempts at one call. The time runs from the first failure: before it, a call may wait long for its turn.

    A call is given up after a permanent failure, after `identical` failures in a row with the same status and detail,
    after `attempts` attempts, and where the next one would come after `wall_seconds`. Failures that pass with the
    server's state (PASSING) say nothing of the call: they neither count as identical nor end a row. The waits between
    eight attempts are together one to two minutes, so a server that is away for a minute is waited for.
    """

    def __init__(
        self,
        attempts: int = 8,
        wall_seconds: float = LONGEST_TRY,
        identical: int = 3,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.given_up_because: WhyGivenUp = ""
        self._attempts, self._identical = attempts, identical
        self._clock = clock
        self._wall_seconds = wall_seconds
        self._ends_at = inf
        self._failures = 0
        self._last: tuple[str, str] | None = None
        self._in_a_row = 0

    def next_wait(self, error: ProviderError) -> float | None:
        """Return the seconds until the next attempt, never fewer than the server asked for. `None` means given up, for
        the reason in `given_up_because`."""
        self._count(error)
        wait = (error.retry_after or 0.0) + self._jitter()
        self.given_up_because = self._why_give_up(error, wait)
        return None if self.given_up_because else wait

    def _count(self, error: ProviderError) -> None:
        if self._failures == 0:
            self._ends_at = self._clock() + self._wall_seconds
        self._failures += 1
        if error.status in PASSING:
            return
        failure = (error.status, error.detail)
        self._in_a_row = self._in_a_row + 1 if failure == self._last else 1
        self._last = failure

    def _jitter(self) -> float:
        """Return at least half of the wait, and a random part of the rest, so that calls that failed together do not
        return together."""
        longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (self._failures - 1))
        return random.uniform(longest / 2, longest)

    def _why_give_up(self, error: ProviderError, wait: float) -> WhyGivenUp:
        if error.permanent:
            return "permanent"
        if self._in_a_row >= self._identical:
            return "identical"
        if self._failures >= self._attempts:
            return "attempts"
        return "time" if self._clock() + wait > self._ends_at else ""
