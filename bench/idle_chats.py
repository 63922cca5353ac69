"""Many open chats in which nobody writes, held by one emostudy process: what they cost, and whether each still answers.

Opens --count chats as a browser does (page, socket, resume), lets them rest for --rest seconds, then lets --sample of
them, spread over the whole, send a message each, and counts the whole replies. Prints lines, or JSON with --json.
"""

import argparse
import asyncio
import json
import random
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import aiohttp
import uvloop

from bench.adapters import Emostudy
from bench.chat_load import Load, close
from bench.processes import Server, cpu_seconds, memory_mb
from bench.run_chat import mock_llm, started
from bench.systems import SYSTEMS, Place

SPARE_FILES = 500  # beside one socket for each chat


def allow_files(count: int) -> None:
    """The server inherits it: a chat takes a socket, and the usual limit is 1024."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, count + SPARE_FILES), hard))


async def rest_and_ask(server: Server, place: Place, options: argparse.Namespace) -> dict[str, Any]:
    """Memory in MB, CPU in seconds, times in milliseconds."""
    load = Load(options)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as http:
        cookies = json.loads((place.folder / "people.json").read_text())
        people = [Emostudy(http, place.url, pid, cookies) for pid in range(options.count)]
        empty, began, cpu = memory_mb(server.pid), time.monotonic(), cpu_seconds(server.pid) or 0
        listening = await asyncio.gather(*(join(load, person) for person in people))
        opened, opening_cpu = time.monotonic() - began, (cpu_seconds(server.pid) or 0) - cpu
        cpu = cpu_seconds(server.pid) or 0
        await asyncio.sleep(options.rest)
        resting_cpu, full = (cpu_seconds(server.pid) or 0) - cpu, memory_mb(server.pid)
        asked = (ask(load, people[pid], listening[pid], options) for pid in chosen(options))
        await asyncio.gather(*asked)
        await quiet(*listening)
        await asyncio.gather(*(close(person) for person in people))
    figures = load.figures()
    return {
        "chats": options.count - sum(bool(visit.error) for visit in load.visits),
        "empty_mb": round(empty, 1),
        "full_mb": round(full, 1),
        "kb_per_chat": round(1000 * (full - empty) / options.count, 1),
        "opening_s": round(opened, 2),
        "opening_cpu_ms_per_chat": round(1000 * opening_cpu / options.count, 1),
        "resting_cpu_ms_per_s": round(1000 * resting_cpu / options.rest, 1),
        "asked": len(load.turns),
        "answered": figures["turns_ok"],
        **{key: figures[key] for key in ("page", "socket", "added", "errors", "error_detail", "lost", "repeated")},
    }


async def join(load: Load, person: Emostudy) -> asyncio.Task[None]:
    """The task listens as a browser does all the time: who never reads does not answer the server's pings."""
    await load.join(person)
    return asyncio.create_task(listen(person))


async def listen(person: Emostudy) -> None:
    while not person.socket.closed:
        await person.socket.receive()


async def quiet(*listening: asyncio.Task[None]) -> None:
    for task in listening:
        task.cancel()
    await asyncio.wait(listening)


def chosen(options: argparse.Namespace) -> range:
    """Evenly spread, so that the first and the last are among them."""
    return range(0, options.count, max(1, options.count // options.sample))


async def ask(load: Load, person: Emostudy, listening: asyncio.Task[None], options: argparse.Namespace) -> None:
    await asyncio.sleep(random.Random(person.pid).uniform(0, options.ramp))
    await quiet(listening)
    if not load.visits[person.pid].error:
        load.turns.append(await load.hold(person, 0))


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--sample", type=int, default=1000, help="how many are asked at the end")
    parser.add_argument("--rest", type=float, default=30, help="seconds")
    parser.add_argument("--ramp", type=float, default=60, help="seconds within which all open, and later all write")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for opening and for a reply")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.n, options.expect, options.label = options.count, 40, ""
    return options


def main() -> None:
    options = parsed()
    allow_files(options.count)
    with tempfile.TemporaryDirectory(prefix="emostudy-bench-") as folder, mock_llm(Path(folder)) as mock:
        place = Place(Path(folder), mock, "mock-n40-f200-g25", options.count)
        with started(SYSTEMS["emostudy"], place) as server:
            assert server is not None
            figures = uvloop.run(rest_and_ask(server, place, options))
    lines = json.dumps(figures) if options.json else "\n".join(f"{name:<26}{shown}" for name, shown in figures.items())
    print(lines)


if __name__ == "__main__":
    main()
