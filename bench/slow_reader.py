"""Clients that write and resume but never read: what they make of the server's memory, second by second.

Daphne's websockets have no back-pressure (its send never waits for the socket), so what a client leaves unread is kept
by the server: `--server emostudy-on-daphne` shows it, `--server emostudy` what emostudy.server makes of it.
Each of --count clients opens its chat, asks for one long reply and then for everything again and again, at --rate
frames a second, without ever reading. Beside them one honest chat takes turn after turn, so that its latency shows what
the others suffer. The kernel takes the first few MB of each client; a run that is too short or too thin shows nothing.
"""

import argparse
import asyncio
import json
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

import aiohttp
import uvloop

from bench.adapters import Emostudy
from bench.chat_load import Load
from bench.processes import Server, memory_mb
from bench.run_chat import mock_llm, started
from bench.systems import SYSTEMS, Place
from bench.tokens import Answer

RECEIVE_BUFFER = 4096  # bytes that the kernel may keep for a client


def narrow_socket(address: Any) -> socket.socket:
    made = socket.socket(address[0], address[1], address[2])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    made.setblocking(False)
    return made


async def never_read(person: Emostudy, options: argparse.Namespace) -> str:
    """Until the time is over, or the server has had enough of it. Returns which."""
    await person.open_page()
    await person.open_socket()
    await person.send(type="message", id=f"slow-{person.pid}", text="Please tell me a long story.")
    try:
        async with asyncio.timeout(options.seconds):
            while True:
                await asyncio.sleep(1 / options.rate)
                await person.send(type="resume", after=0)
    except TimeoutError:
        return "held to the end"
    except ConnectionError:
        return "cut off"


async def honest(load: Load, person: Emostudy, options: argparse.Namespace) -> None:
    await load.join(person)
    started = time.monotonic()
    while time.monotonic() - started < options.seconds:
        load.turns.append(await load.hold(person, len(load.turns)))


async def watch(server: Server, options: argparse.Namespace) -> list[float]:
    """Resident MB of the server, once a second."""
    seen = []
    for _ in range(int(options.seconds)):
        await asyncio.sleep(1)
        seen.append(round(memory_mb(server.pid), 1))
    return seen


async def measure(server: Server, place: Place, options: argparse.Namespace) -> dict[str, Any]:
    load = Load(argparse.Namespace(ramp=0, n=1, timeout=60, label="", expect=options.tokens))
    cookies = json.loads((place.folder / "people.json").read_text())
    narrow = aiohttp.TCPConnector(limit=0, socket_factory=narrow_socket)
    jar = aiohttp.DummyCookieJar()
    before = memory_mb(server.pid)
    async with (
        aiohttp.ClientSession(connector=narrow, cookie_jar=jar) as slow,
        aiohttp.ClientSession(cookie_jar=jar) as http,
    ):
        readers = [Emostudy(slow, place.url, pid, cookies) for pid in range(1, options.count + 1)]
        ends, memory, _ = await asyncio.gather(
            asyncio.gather(*(never_read(reader, options) for reader in readers)),
            watch(server, options),
            honest(load, Emostudy(http, place.url, 0, cookies), options),
        )
    return {"before_mb": round(before, 1), "memory_mb": memory, "cut_off": ends.count("cut off"), **told(load)}


def told(load: Load) -> dict[str, Any]:
    answers = [Answer.of(turn.pieces, sent=turn.sent, end=turn.end) for turn in load.turns if not turn.error]
    added = [round(answer.up + answer.down) for answer in answers if answer]
    return {"honest_added_ms": added, "honest_errors": [turn.error + turn.detail for turn in load.turns if turn.error]}


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", choices=["emostudy", "emostudy-on-daphne"], default="emostudy")
    parser.add_argument("--count", type=int, default=20, help="clients that do not read")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rate", type=float, default=10, help="resume frames a second of each")
    parser.add_argument("--tokens", type=int, default=1000, help="of a reply")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main() -> None:
    options = parsed()
    with tempfile.TemporaryDirectory(prefix="emostudy-bench-") as folder, mock_llm(Path(folder)) as mock:
        place = Place(Path(folder), mock, f"mock-n{options.tokens}-f200-g1", options.count + 1)
        with started(SYSTEMS[options.server], place) as server:
            assert server is not None
            figures = uvloop.run(measure(server, place, options))
    lines = json.dumps(figures) if options.json else "\n".join(f"{name:<18}{shown}" for name, shown in figures.items())
    print(lines)


if __name__ == "__main__":
    main()
