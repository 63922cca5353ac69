"""A clock that jumps, and servers with a limit of their own."""

import asyncio
import random
import selectors
from collections import deque
from collections.abc import Coroutine
from typing import Any

from dialogue.providers.limits import Limit

REFUSING_SECONDS = 0.02
Refusal = tuple[str, float | None]


class _Jumping(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise RuntimeError("nothing is left that could ever happen")
        self.now += max(0.0, timeout)
        return super().select(0)


class SimulatedLoop(asyncio.SelectorEventLoop):
    """Where a real loop would sleep, this one's time jumps to the next timer."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def simulated(work: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(work)


class Server:
    """Answers in `seconds`, half as much to half as much again; says when it answered and when it refused."""

    def __init__(self, seconds: float, retry_after: float | None) -> None:
        self.seconds, self.retry_after = seconds, retry_after
        self.answered: list[float] = []
        self.refused: list[float] = []
        self.draw = random.Random(7)

    async def call(self, tokens: int) -> Refusal | None:
        now = asyncio.get_running_loop().time()
        if self.is_too_much(now, tokens):
            self.refused.append(now)
            await asyncio.sleep(REFUSING_SECONDS)
            return "rate_limited", self.retry_after
        await self.answer()
        self.answered.append(asyncio.get_running_loop().time())
        return None

    def is_too_much(self, now: float, tokens: int) -> bool:
        raise NotImplementedError

    async def answer(self) -> None:
        await asyncio.sleep(self.seconds * self.draw.uniform(0.5, 1.5))


class SoManyAtOnce(Server):
    def __init__(self, most: int, seconds: float, retry_after: float | None) -> None:
        super().__init__(seconds, retry_after)
        self.most = most
        self.under_way = 0
        self.per_second = most / seconds

    def is_too_much(self, now: float, tokens: int) -> bool:
        return self.under_way >= self.most

    async def answer(self) -> None:
        self.under_way += 1
        await super().answer()
        self.under_way -= 1


class SoManyPerSecond(Server):
    """Keeps what was left of one second for the next."""

    def __init__(self, per_second: float, seconds: float, retry_after: float | None) -> None:
        super().__init__(seconds, retry_after)
        self.per_second = self.left = per_second
        self.then = 0.0

    def is_too_much(self, now: float, tokens: int) -> bool:
        self.left = min(self.per_second, self.left + (now - self.then) * self.per_second)
        self.then = now
        if self.left < 1:
            return True
        self.left -= 1
        return False


class SoManyPerMinute(Server):
    """Counts requests and tokens of the last 60 seconds."""

    def __init__(self, requests: int, tokens: int, seconds: float) -> None:
        super().__init__(seconds, None)
        self.requests, self.tokens = requests, tokens
        self.taken: deque[tuple[float, int]] = deque()
        self.tokens_taken = 0

    def is_too_much(self, now: float, tokens: int) -> bool:
        while self.taken and self.taken[0][0] <= now - 60:
            self.tokens_taken -= self.taken.popleft()[1]
        if len(self.taken) >= self.requests or self.tokens_taken + tokens > self.tokens:
            return True
        self.taken.append((now, tokens))
        self.tokens_taken += tokens
        return False


async def keep_asking(
    server: Server, limit: Limit, *, workers: int, seconds: float, estimate: int = 100, tokens: int = 100
) -> None:
    loop = asyncio.get_running_loop()

    async def work() -> None:
        while loop.time() < seconds:
            async with limit.slot(estimate) as slot:
                if refusal := await server.call(tokens):
                    slot.report_failure(*refusal)
                else:
                    slot.report_success(tokens)

    await asyncio.gather(*(work() for _ in range(workers)))
