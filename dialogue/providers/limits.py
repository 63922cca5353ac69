"""A limit on calls under way at one endpoint, which finds the server's own. Pure, asyncio.

Jacobson's congestion avoidance (SIGCOMM 1988: grow while it goes well, shrink when refused), with a memory, since a
server's limit mostly stays where it is and a refusal costs a pause of all calls: after a refusal the limit returns just
below the refused size and holds there; only after some time without refusals does it try further.
"""

import asyncio
import random
from collections import deque
from math import inf
from typing import Self

from dialogue.providers.retrying import LONGEST_TRY

Endpoint = tuple[str, str, str]  # base URL, model, name of the variable with the key

START = 20
SHARE = 1 / 5  # of the ceiling to start with where that is more: who allows hundreds thinks that the server bears many
SHRINK = 0.7
QUICK = 0.95  # of the size to hold: so far the limit grows with every success, then once in as many as it is large
DOUBT = 0.1  # taken off the size to hold for each further refusal that comes before it has proved itself
MOST_DOUBTS = 3
STRIDE = 0.05  # how far above a proven size the limit tries, doubled each time that proves itself too
PATIENCE = 20  # a size has proved itself after so many times what a refusal costs: it costs a twentieth at most
SHORTEST_PATIENCE = 10.0  # seconds
COOLDOWN = 1.0  # seconds, with jitter, where the server names no wait; doubled while nothing gets through
LONGEST_COOLDOWN = 30.0
AT_ONCE = 3 / 60  # of a minute's budget
SMOOTHING = 0.1  # weight of the newest call in the mean duration


class PausedTooLongError(Exception):
    """The server asks for a longer wait than a call has time for. `seconds` of it are left."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"The server asks to wait for {seconds:.0f} s.")
        self.seconds = seconds


class Slot:
    """The place of one call. A call that leaves it without a report, because it was cancelled, changes nothing."""

    __slots__ = ("_limit", "in_flight", "round", "started", "tokens")

    def __init__(self, limit: "Limit", tokens: int) -> None:
        self._limit = limit
        self.tokens = tokens
        self.started = 0.0
        self.round = 0
        self.in_flight = 0  # calls under way when this one started, itself included

    async def __aenter__(self) -> Self:
        await self._limit._enter(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._limit._leave()

    def report_success(self, tokens: int | None) -> None:
        """Let the limit grow. `tokens` is the number that the call took, `None` where the server does not say."""
        self._limit._learn_success(self, tokens)

    def report_failure(self, status: str, retry_after: float | None) -> None:
        """Shrink the limit where `status` is `rate_limited`. Other failures do not change it."""
        if status == "rate_limited":
            self._limit._learn_refusal(self, retry_after)


class Limit:
    """The limit of one endpoint in one event loop.

    `ceiling` is the most calls at once. The budgets are those of the account: no more begins within any minute, except
    for a single call of more than a twentieth of the tokens.
    """

    def __init__(
        self, *, ceiling: int, requests_per_minute: int | None = None, tokens_per_minute: int | None = None
    ) -> None:
        if ceiling < 1:
            raise ValueError(f"ceiling must be at least 1, not {ceiling}")
        self._ceiling = ceiling
        self._size = min(max(START, SHARE * ceiling), float(ceiling))
        self._in_flight = 0
        self._waiting: deque[tuple[asyncio.Future[None], Slot]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._requests = _Budget(requests_per_minute) if requests_per_minute is not None else None
        self._tokens = _Budget(tokens_per_minute) if tokens_per_minute is not None else None
        self._paused_until = self._spread_until = -inf
        self._full_at = -inf
        self._seconds = 0.0  # that a call takes, about
        self._round = 0  # rises with each cut
        self._got_through = True  # a call of this round has succeeded
        self._in_vain = 0  # cuts in a row without a success of any call
        self._hold = inf  # the size to return to and to stay at
        self._proven = 0.0  # the size that was held without a refusal before this one; 0: none
        self._doubts = 0
        self._stride = STRIDE
        self._proves_at = inf  # loop time at which the size to hold has proved itself

    @property
    def size(self) -> int:
        """Return how many calls may be under way at once now."""
        return int(self._size)

    def slot(self, tokens: int) -> Slot:
        """Return a place for a call of about so many tokens.

        `async with limit.slot(1200) as slot:` waits until the call may start, first come, first served. Raises
        PausedTooLongError.
        """
        return Slot(self, tokens)

    def agree(
        self, *, ceiling: int, requests_per_minute: int | None = None, tokens_per_minute: int | None = None
    ) -> None:
        """Combine with the wishes of another user of the endpoint: the higher ceiling and the smaller budgets hold."""
        self._ceiling = max(self._ceiling, ceiling)
        self._requests = _smaller(self._requests, requests_per_minute)
        self._tokens = _smaller(self._tokens, tokens_per_minute)

    # Coming and going.

    async def _enter(self, slot: Slot) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self._paused_until - now > LONGEST_TRY:
            raise PausedTooLongError(self._paused_until - now)
        if not self._waiting and self._has_room() and self._ready_at(slot, now) <= now:
            self._start(slot, now)
            return
        turn = loop.create_future()
        self._waiting.append((turn, slot))
        self._wake()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._wake()  # who stands behind may have less to wait for
            else:  # cancelled just when it was given its place
                self._leave()
            raise

    def _leave(self) -> None:
        self._in_flight -= 1
        self._wake()

    def _has_room(self) -> bool:
        return self._in_flight < int(self._size)

    def _ready_at(self, slot: Slot, now: float) -> float:
        ready = self._paused_until
        if self._requests:
            ready = max(ready, self._requests.ready_at(1, now))
        if self._tokens:
            ready = max(ready, self._tokens.ready_at(slot.tokens, now))
        return ready

    def _start(self, slot: Slot, now: float) -> None:
        self._in_flight += 1
        slot.round, slot.in_flight, slot.started = self._round, self._in_flight, now
        if not self._has_room():
            self._full_at = now
        if now < self._spread_until:  # not all at once after a pause: servers that count per second would refuse again
            self._paused_until = now + self._seconds / self._size
        if self._requests:
            self._requests.spend(1, now)
        if self._tokens:
            self._tokens.spend(slot.tokens, now)

    def _wake(self) -> None:
        """Begin calls that wait, as far as there is room. Nothing overtakes the first in the queue."""
        while self._waiting and self._has_room():
            turn, slot = self._waiting[0]
            if not turn.cancelled():
                loop = asyncio.get_running_loop()
                now = loop.time()
                if (ready := self._ready_at(slot, now)) > now:
                    self._wake_at(ready, loop)
                    return
                self._start(slot, now)
                turn.set_result(None)
            self._waiting.popleft()

    def _wake_at(self, when: float, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer and self._timer.when() <= when:
            return
        if self._timer:
            self._timer.cancel()
        self._timer = loop.call_at(when, self._wake_now)

    def _wake_now(self) -> None:
        self._timer = None
        self._wake()

    # Learning.

    def _learn_success(self, slot: Slot, tokens: int | None) -> None:
        if self._tokens and tokens is not None:
            self._tokens.correct(tokens - slot.tokens)
        now = asyncio.get_running_loop().time()
        self._seconds += (now - slot.started - self._seconds) * (SMOOTHING if self._seconds else 1)
        self._in_vain = 0
        if slot.round == self._round:
            self._got_through = True
            if slot.started <= self._full_at:  # a limit that is not used up is not known to be too small
                self._grow(now)

    def _grow(self, now: float) -> None:
        if self._size < QUICK * self._hold:
            self._size = min(self._size + 1, self._hold)
        elif self._size < self._hold:
            self._size = min(self._size + 1 / self._size, self._hold)
        elif now >= self._proves_at:
            self._try_further(now)
        self._size = min(self._size, self._ceiling)

    def _try_further(self, now: float) -> None:
        self._proven, self._doubts = self._hold, 0
        self._hold = max(self._hold + 1, self._hold * (1 + self._stride))
        self._stride *= 2
        self._proves_at = now + self._patience(COOLDOWN)

    def _learn_refusal(self, slot: Slot, retry_after: float | None) -> None:
        now = asyncio.get_running_loop().time()
        if slot.round == self._round:  # else it started before the last cut: the same burst
            self._shrink(slot.in_flight)
            self._round += 1
            pause = self._cooldown() if retry_after is None else retry_after
            self._pause_until(now + pause)
            self._proves_at = self._paused_until + self._patience(pause)
        elif retry_after is not None:
            self._pause_until(now + retry_after)

    def _shrink(self, refused: int) -> None:
        """Cut the limit, because `refused` calls at once were too many."""
        smaller = max(1.0, self._size * SHRINK)
        if not self._got_through:  # nothing was learned of where the server's limit lies
            self._in_vain += 1
        elif refused < smaller:  # far too many; whether as few as that is too many too will be seen
            self._hold, self._proven = smaller, 0.0
        elif refused > self._proven > 0:
            self._hold = max(self._proven, QUICK * refused)
        else:
            self._hold, self._proven = max(1.0, (refused - 1) * (1 - DOUBT * self._doubts)), 0.0
            self._doubts = min(self._doubts + 1, MOST_DOUBTS)
        self._size, self._stride, self._got_through = smaller, STRIDE * max(1, self._doubts), False

    def _pause_until(self, when: float) -> None:
        self._paused_until = max(self._paused_until, when)
        self._spread_until = self._paused_until + self._seconds
        left = self._paused_until - asyncio.get_running_loop().time()
        if left > LONGEST_TRY:
            self._send_away(PausedTooLongError(left))

    def _send_away(self, error: PausedTooLongError) -> None:
        while self._waiting:
            turn, _ = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(error)

    def _cooldown(self) -> float:
        return min(LONGEST_COOLDOWN, COOLDOWN * 2.0**self._in_vain) * random.uniform(0.5, 1.5)

    def _patience(self, pause: float) -> float:
        """Return the seconds after which a size has proved itself.

        A refusal costs the pause and the time until the freed places are filled again. A size found by doubting is
        more likely too small than too large, so it is left sooner.
        """
        return max(SHORTEST_PATIENCE, PATIENCE * (pause + (1 - SHRINK) * self._seconds) / max(1, self._doubts))


class _Budget:
    """A token bucket that lets no more than `per_minute` through within any minute: what it holds when full and what
    flows in within 60 s are that together. What is larger than the bucket goes when it is full, and leaves a debt."""

    def __init__(self, per_minute: int) -> None:
        if per_minute <= 0:
            raise ValueError(f"a budget per minute must be above 0, not {per_minute}")
        self.per_minute = per_minute
        self._full = max(1.0, per_minute * AT_ONCE)
        self._per_second = per_minute * (1 - AT_ONCE) / 60
        self._level, self._then = self._full, -inf

    def ready_at(self, amount: float, now: float) -> float:
        missing = min(amount, self._full) - self._level_at(now)
        return now + max(0.0, missing) / self._per_second

    def spend(self, amount: float, now: float) -> None:
        self._level, self._then = self._level_at(now) - amount, now

    def correct(self, amount: float) -> None:
        """Add what was spent beyond the estimate, which may be negative."""
        self._level -= amount

    def _level_at(self, now: float) -> float:
        return min(self._full, self._level + (now - self._then) * self._per_second)


def _smaller(budget: _Budget | None, per_minute: int | None) -> _Budget | None:
    if per_minute is None or (budget and budget.per_minute <= per_minute):
        return budget
    return _Budget(per_minute)


# One limit for each endpoint within one event loop. Who waits holds the loop, so weak keys would not let go of it;
# closed loops are dropped instead.

_limits: dict[asyncio.AbstractEventLoop, dict[Endpoint, Limit]] = {}


def get_limit(
    endpoint: Endpoint,
    *,
    ceiling: int,
    requests_per_minute: int | None = None,
    tokens_per_minute: int | None = None,
) -> Limit:
    """Return the one limit of this endpoint in the running loop. Where it exists, the higher ceiling and the smaller
    budgets hold from now on."""
    for loop in [each for each in list(_limits) if each.is_closed()]:
        _limits.pop(loop, None)
    limits = _limits.setdefault(asyncio.get_running_loop(), {})
    if endpoint not in limits:
        limits[endpoint] = Limit(ceiling=ceiling)
    limits[endpoint].agree(
        ceiling=ceiling, requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute
    )
    return limits[endpoint]
