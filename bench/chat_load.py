"""N simulated participants hold chats of some turns with one system.

The system forwards each turn to mock_llm.py, whose tokens carry their own clock readings, so for each turn this knows,
in milliseconds:

    page    the chat page is fetched                                socket  the socket is open
    up      the message is sent       → the request is whole at the mock
    down    the first token leaves the mock → it is seen here
    added   up + down: what the system adds to the time to the first token
    token   a token leaves the mock   → the same token is seen here
    tail    the last token leaves the mock → the end of the turn is seen here

and which tokens were lost, repeated, out of order or another's. No nominal delay is subtracted, so a late timer of the
mock does not count against the system. All open within --ramp seconds; when the last one has, they begin to talk,
spread over --ramp again, with seeded, uniform pauses for thought. The server's CPU is read before, between and after.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import uvloop

from bench.adapters import ADAPTERS, ANEW, Adapter, ToldError
from bench.processes import cpu_seconds
from bench.tokens import Answer, damage, quantiles


@dataclass
class Visit:
    """One participant's openings, and why it ended early where it did."""

    pid: int
    page_ms: float | None = None
    socket_ms: float | None = None
    error: str = ""
    detail: str = ""


@dataclass
class Turn:
    pid: int
    number: int
    nonce: str
    sent: int  # microseconds of the monotonic clock, as all times here
    end: int = 0
    pieces: list[tuple[int, str]] = field(default_factory=list)
    begun_anew: int = 0
    error: str = ""
    detail: str = ""

    def text(self) -> str:
        return "".join(piece for _, piece in self.pieces)


def now_us() -> int:
    return time.monotonic_ns() // 1000


@dataclass
class Load:
    """A run: who takes part, when all have opened, and what was seen."""

    options: argparse.Namespace
    visits: list[Visit] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)

    async def run(self) -> dict[str, Any]:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=30)
        connector = aiohttp.TCPConnector(limit=0)
        jar = aiohttp.DummyCookieJar()
        async with aiohttp.ClientSession(connector=connector, timeout=timeout, cookie_jar=jar) as http:
            return await self.measure(http)

    async def measure(self, http: aiohttp.ClientSession) -> dict[str, Any]:
        options = self.options
        kind = ADAPTERS[options.system]
        context = await kind.prepare(http, options.url, options.n)
        people = [kind(http, options.url, pid, context) for pid in range(options.n)]
        started, cpu_start = time.monotonic(), time.process_time()
        server = [cpu_seconds(options.pid)]
        await asyncio.gather(*(self.join(person) for person in people))
        server.append(cpu_seconds(options.pid))
        draw = random.Random(options.seed)
        talks = [self.talk(one, random.Random(draw.random())) for one in people if not self.visits[one.pid].error]
        await asyncio.gather(*talks)
        server.append(cpu_seconds(options.pid))
        wall, cpu = time.monotonic() - started, time.process_time() - cpu_start
        await asyncio.gather(*(close(person) for person in people))
        return self.figures() | costs(server, options.n, len(self.turns)) | {"wall_s": wall, "client_cpu_s": cpu}

    async def join(self, person: Adapter) -> None:
        visit = Visit(person.pid)
        self.visits.append(visit)
        await asyncio.sleep(self.options.ramp * person.pid / self.options.n)
        try:
            async with asyncio.timeout(self.options.timeout):
                visit.page_ms = await timed(person.open_page)
                visit.socket_ms = await timed(person.open_socket)
        except Exception as error:
            visit.error, visit.detail = f"open: {type(error).__name__}", str(error)[:100]

    async def talk(self, person: Adapter, draw: random.Random) -> None:
        await asyncio.sleep(self.options.ramp * person.pid / self.options.n)
        for number in range(self.options.turns):
            await asyncio.sleep(draw.uniform(*self.options.think))
            turn = await self.hold(person, number)
            self.turns.append(turn)
            if turn.error:
                return

    async def hold(self, person: Adapter, number: int) -> Turn:
        turn = Turn(person.pid, number, f"{self.options.label}{person.pid}.{number}", sent=now_us())
        try:
            async with asyncio.timeout(self.options.timeout):
                async for piece in person.turn(f"What should I do next? #n={turn.nonce}#"):
                    if piece is ANEW:
                        turn.begun_anew += 1
                        turn.pieces.clear()
                    else:
                        turn.pieces.append((now_us(), piece))
        except Exception as error:
            name = "told" if isinstance(error, ToldError) else type(error).__name__
            turn.error, turn.detail = f"turn: {name}", str(error)[:100]
        turn.end = now_us()
        return turn

    def figures(self) -> dict[str, Any]:
        good = [turn for turn in self.turns if not turn.error]
        not_before = self.options.not_before
        answers = [Answer.of(turn.pieces, sent=turn.sent, end=turn.end, not_before=not_before) for turn in good]
        failed = [one for one in [*self.visits, *self.turns] if one.error]
        complete = [answer for answer in answers if answer is not None]
        found = sum((damage(turn.text(), self.options.expect, turn.nonce) for turn in good), Counter())
        return {
            "turns_ok": len(good),
            "begun_anew": sum(turn.begun_anew for turn in self.turns),
            "errors": dict(Counter(one.error for one in failed)),
            "error_detail": {one.error: one.detail for one in failed},
            **{kind: found[kind] for kind in ("lost", "repeated", "misordered", "strayed", "empty")},
            "page": quantiles([one.page_ms for one in self.visits if one.page_ms is not None]),
            "socket": quantiles([one.socket_ms for one in self.visits if one.socket_ms is not None]),
            "up": quantiles([answer.up for answer in complete]),
            "down": quantiles([answer.down for answer in complete]),
            "added": quantiles([answer.up + answer.down for answer in complete]),
            "token": quantiles([token for answer in complete for token in answer.tokens]),
            "tail": quantiles([answer.tail for answer in complete]),
        }


async def timed(action: Any) -> float:
    started = now_us()
    await action()
    return (now_us() - started) / 1000


async def close(person: Adapter) -> None:
    try:
        async with asyncio.timeout(5):
            await person.close()
    except Exception as error:
        print(f"participant {person.pid} could not close: {error!r}", file=sys.stderr)


def costs(server: list[float | None], n: int, turns: int) -> dict[str, Any]:
    """Milliseconds of the server's CPU; `None` where there is no server."""
    start, opened, ended = server
    if start is None or opened is None or ended is None:
        return {"cpu_ms_per_opening": None, "cpu_ms_per_turn": None, "cpu_ms_per_turn_with_opening": None}
    return {
        "cpu_ms_per_opening": 1000 * (opened - start) / n,
        "cpu_ms_per_turn": 1000 * (ended - opened) / max(turns, 1),
        "cpu_ms_per_turn_with_opening": 1000 * (ended - start) / max(turns, 1),
    }


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", choices=sorted(ADAPTERS), required=True)
    parser.add_argument("--url", required=True, help="where the system answers")
    parser.add_argument("--pid", type=int, help="its process, whose CPU is read")
    parser.add_argument("-n", type=int, default=50, help="participants at once")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--expect", type=int, default=40, help="tokens of an answer")
    parser.add_argument("--think", type=float, nargs=2, default=(1, 3), help="seconds, from to")
    parser.add_argument("--ramp", type=float, default=2, help="seconds within which all join")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one turn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--not-before", type=float, default=0, help="ms after the request before which nothing may show"
    )
    parser.add_argument("--label", default="", help="put before the number of each turn")
    parser.add_argument("--transcript", type=Path, help="every turn as a JSON line, as the participants saw it")
    return parser.parse_args(arguments)


def main() -> None:
    options = parsed()
    load = Load(options)
    figures = uvloop.run(load.run())
    if options.transcript:
        lines = [json.dumps({**asdict(turn), "pieces": None, "text": turn.text()}) for turn in load.turns]
        options.transcript.write_text("".join(f"{line}\n" for line in lines))
    json.dump({"system": options.system, "n": options.n, "turns": options.turns, **figures}, sys.stdout)


if __name__ == "__main__":
    main()
