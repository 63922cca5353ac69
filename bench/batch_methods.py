"""One way of sending many judge calls; prints its figures as one JSON line.

    python -m bench.batch_methods METHOD --url http://127.0.0.1:9100 --calls 500 --at-once 64 --model judge-f200

METHOD: raw (hand-written HTTP over kept sockets: the limit), aiohttp, openai-aio (AsyncOpenAI over its aiohttp
transport), threads (a pool and one shared OpenAI client), inspect (inspect_ai: stored answers, model_graded_qa).
None but inspect stores anything. Each warms up first, but for inspect, which has no way to.
"""

import argparse
import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import Any

PROMPT = "Please judge the answer below on a scale of 1 to 10 as [[rating]].\n[Question]\n{}\n[Answer]\n{}\n"
QUESTION, ANSWER = "What should I do next? " * 20, "You could try this. " * 60
WARM = 50

Call = Callable[[int], Awaitable[str]]


def body(model: str, number: int) -> dict[str, Any]:
    text = PROMPT.format(QUESTION + str(number), ANSWER)
    return {"model": model, "messages": [{"role": "user", "content": text}], "temperature": 0}


class Clock:
    """What happened between the last warm-up call and the end."""

    def start(self) -> None:
        self.wall, self.cpu = time.monotonic(), time.process_time()

    def stop(self) -> dict[str, float]:
        return {
            "wall_s": round(time.monotonic() - self.wall, 3),
            "cpu_s": round(time.process_time() - self.cpu, 3),
            "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        }


async def capped(call: Call, calls: int, at_once: int, clock: Clock) -> list[str]:
    """At most `at_once` in flight, by that many workers."""

    async def all_of(numbers: range) -> list[str]:
        todo, got = iter(numbers), []

        async def worker() -> None:
            for number in todo:
                got.append(await call(number))

        await asyncio.gather(*(worker() for _ in range(at_once)))
        return got

    await all_of(range(WARM))
    clock.start()
    return await all_of(range(WARM, WARM + calls))


async def raw(options: argparse.Namespace, clock: Clock) -> list[str]:
    host, port = options.url.split("//")[1].split(":")
    idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def call(number: int) -> str:
        reader, writer = idle.pop() if idle else await asyncio.open_connection(host, int(port))
        data = json.dumps(body(options.model, number)).encode()
        writer.write(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: m\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\n\r\n" % len(data) + data
        )
        head = await reader.readuntil(b"\r\n\r\n")
        size = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        answer = json.loads(await reader.readexactly(size))
        idle.append((reader, writer))
        return str(answer["choices"][0]["message"]["content"])

    return await capped(call, options.calls, options.at_once, clock)


async def with_aiohttp(options: argparse.Namespace, clock: Clock) -> list[str]:
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:

        async def call(number: int) -> str:
            address = f"{options.url}/v1/chat/completions"
            async with http.post(address, json=body(options.model, number)) as response:
                return str((await response.json())["choices"][0]["message"]["content"])

        return await capped(call, options.calls, options.at_once, clock)


async def with_openai(options: argparse.Namespace, clock: Clock) -> list[str]:
    from openai import AsyncOpenAI, DefaultAioHttpClient

    address = f"{options.url}/v1"
    async with AsyncOpenAI(base_url=address, api_key="none", http_client=DefaultAioHttpClient()) as client:

        async def call(number: int) -> str:
            answer = await client.chat.completions.create(**body(options.model, number))
            return str(answer.choices[0].message.content)

        return await capped(call, options.calls, options.at_once, clock)


def threads(options: argparse.Namespace, clock: Clock) -> list[str]:
    from concurrent.futures import ThreadPoolExecutor

    from openai import OpenAI

    client = OpenAI(base_url=f"{options.url}/v1", api_key="none")

    def call(number: int) -> str:
        return str(client.chat.completions.create(**body(options.model, number)).choices[0].message.content)

    with ThreadPoolExecutor(options.at_once) as pool:
        list(pool.map(call, range(WARM)))
        clock.start()
        return list(pool.map(call, range(WARM, WARM + options.calls)))


def inspect(options: argparse.Namespace, clock: Clock) -> list[str]:
    os.environ.update(MOCK_API_KEY="none", MOCK_BASE_URL=f"{options.url}/v1")
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import model_graded_qa
    from inspect_ai.solver import solver

    @solver
    def stored() -> Any:
        async def solve(state: Any, _generate: Any) -> Any:
            state.output = ModelOutput.from_content("stored", state.metadata["answer"])
            return state

        return solve

    model = f"openai-api/mock/{options.model}"
    samples = [
        Sample(input=QUESTION + str(number), target="helpful", metadata={"answer": ANSWER})
        for number in range(options.calls)
    ]
    task = Task(dataset=MemoryDataset(samples), solver=stored(), scorer=model_graded_qa(model=model))
    clock.start()
    with tempfile.TemporaryDirectory() as logs:
        [log] = eval(
            task,
            model=model,
            max_connections=options.at_once,
            max_samples=options.at_once,
            display="none",
            log_dir=logs,
        )
        if log.status != "success":
            raise RuntimeError(log.error)
        return [str(sample.scores["model_graded_qa"].value) for sample in log.samples]


METHODS: dict[str, Callable[[argparse.Namespace, Clock], Any]] = {
    "raw": raw,
    "aiohttp": with_aiohttp,
    "openai-aio": with_openai,
    "threads": threads,
    "inspect": inspect,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("--url", required=True)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--model", default="judge-f200")
    options, clock = parser.parse_args(), Clock()
    got = METHODS[options.method](options, clock)
    if asyncio.iscoroutine(got):
        got = asyncio.run(got)
    good = sum(answer == "C" or "[[7]]" in answer for answer in got)
    json.dump({"name": options.method, "good": good, **clock.stop()}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
