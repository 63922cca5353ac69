"""The database refuses or says nothing: help is there all the same, and every other page says what to do."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from tests.faults.database import POSTGRES, Postgres, postgres_answers
from tests.faults.line import Line
from tests.server import Server, come_in, serving

pytestmark = pytest.mark.skipif(not postgres_answers(), reason="no PostgreSQL answered: none was taken away")

HELP_PATIENCE = aiohttp.ClientTimeout(total=5)  # seconds, after which a person would close the page
PATIENCE = aiohttp.ClientTimeout(total=20)
LINES = {"en": "Call 112", "zh": "拨打 112"}


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[tuple[Server, Line]]:
    """A server, and the line to its PostgreSQL."""
    url = urlsplit(POSTGRES)
    async with Line(url.port or 5432).standing() as line:
        with ExitStack() as stack:
            name = f"test_emostudy_away_{os.getpid()}"
            await asyncio.to_thread(stack.enter_context, Postgres.made(name))
            host = f"{url.username}{':' + url.password if url.password else ''}@127.0.0.1:{line.port}"
            there = url._replace(netloc=host, path=f"/{name}").geturl()
            server = await asyncio.to_thread(stack.enter_context, serving(folder, DATABASE_URL=there))
            try:
                yield server, line
            finally:
                await asyncio.to_thread(stack.close)


@pytest.mark.parametrize("how", ["refused", "silent"])
async def test_help_is_there_and_other_pages_say_what_to_do(tmp_path: Path, how: str) -> None:
    async with (
        served(tmp_path) as (server, line),
        aiohttp.ClientSession(server.base_url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as person,
    ):
        await come_in(person, "/open/demo/?track=participant")
        line.lose("upwards", "downwards") if how == "silent" else line.close()
        pages = [asyncio.create_task(get(person, "/study/", PATIENCE)) for _ in range(8)]  # more than there are threads
        await asyncio.sleep(0)
        for _ in range(3):
            for query, words in (("", "findahelpline"), ("?country=US", "988"), ("?country=CN", "12356")):
                status, text = await get(person, f"/help/{query}", HELP_PATIENCE)
                assert (status, words in text) == (200, True), (query, status)
            await asyncio.sleep(2)
        for status, text in await asyncio.gather(*pages):
            assert status == 503
            assert "We cannot save anything right now" in text
            assert "目前无法保存" in text
            assert "12356" in text
            assert "988" in text
        assert await get(person, "/healthz", HELP_PATIENCE) == (200, '{"status": "ok"}')
        line.cut()
        if how == "refused":
            await line.open()
        async with asyncio.timeout(60):
            while (await get(person, "/study/", PATIENCE))[0] != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.5)


async def get(person: aiohttp.ClientSession, path: str, patience: aiohttp.ClientTimeout) -> tuple[int, str]:
    async with person.get(path, timeout=patience) as page:
        return page.status, await page.text()
