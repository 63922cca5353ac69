"""Servers that tell each other over Redis: sockets that only wait, and a Redis that is cut off."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from dialogue.chat.redis_layer import AGAIN, MISSED, RedisLayer
from tests.faults.line import Line
from tests.faults.site import REDIS, forget_keys, redis_answers
from tests.server import Server, come_in, serving

pytestmark = pytest.mark.skipif(not redis_answers(), reason="no Redis answered: sockets ran without it")

PREFIX = f"test_emostudy_walk_{os.getpid()}"
IDLE = 60.0  # seconds
CUT_OFF = 20.0
PATIENCE = 60.0
INVITE = """
from studies.participation.enrolment import draw_order, invite, start
from studies.models import Study
for _ in range(3):
    person, token = invite(Study.objects.get(key="demo"), is_test=True)
    start(person)
    person.language = "en"
    person.position = next(n for n, step in enumerate(person.plan) if step["kind"] == "chats")
    person.save()
    draw_order(person)
    person.position += 1  # past the feelings check, at the first conversation
    person.save()
    print("token", token)
"""


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[tuple[Server, Line]]:
    """A server, and the line to its Redis."""
    redis = urlsplit(REDIS)
    async with Line(redis.port or 6379).standing() as line:
        url = redis._replace(netloc=f"127.0.0.1:{line.port}").geturl()
        with ExitStack() as stack:
            stack.callback(forget_keys, PREFIX)
            opening = serving(folder, REDIS_URL=url, REDIS_PREFIX=PREFIX)
            server = await asyncio.to_thread(stack.enter_context, opening)
            try:
                yield server, line
            finally:
                await asyncio.to_thread(stack.close)


class Chat:
    """One person's browser at their first conversation."""

    def __init__(self, server: Server, browser: aiohttp.ClientSession, code: str) -> None:
        self.address = f"{server.base_url.replace('http', 'ws', 1)}/ws/chat/{code}/"
        self.browser = browser
        self.socket: aiohttp.ClientWebSocketResponse

    async def resume(self) -> None:
        self.socket = await self.browser.ws_connect(self.address)
        await self.socket.send_json({"type": "resume", "after": 0})

    async def take_turn(self, turn: int) -> None:
        """With its reply."""
        await self.socket.send_json({"type": "message", "id": str(turn), "text": f"I feel low since the move ({turn})"})
        while (await self.hear("reply"))["turn"] != turn:  # those before it come again after a reload
            pass

    async def hear_nothing(self, seconds: float) -> None:
        with pytest.raises(TimeoutError):
            await self.hear("reply", patience=seconds)

    async def hear(self, kind: str, *, patience: float = PATIENCE) -> dict[str, Any]:
        async with asyncio.timeout(patience):  # not that of `receive`, which begins anew with each ping
            while True:
                message = await self.socket.receive()
                assert message.type == aiohttp.WSMsgType.TEXT, f"the socket closed with {self.socket.close_code}"
                if (frame := json.loads(message.data))["type"] == kind:
                    return frame


@asynccontextmanager
async def chatting(server: Server) -> AsyncIterator[list[Chat]]:
    told = await asyncio.to_thread(server.manage, "shell", "-c", INVITE)
    async with AsyncExitStack() as stack:
        chats = []
        for token in re.findall(r"^token (\S+)$", told.stdout, re.MULTILINE):
            jar = aiohttp.CookieJar(unsafe=True)
            browser = aiohttp.ClientSession(cookie_jar=jar, headers={"Origin": server.base_url})
            await stack.enter_async_context(browser)
            page = await come_in(browser, f"{server.base_url}/j/{token}/")
            code = re.search(r'data-conversation="([^"]+)"', page)[1]
            chats.append(Chat(server, browser, code))
            await chats[-1].resume()
        yield chats


async def test_sockets_that_wait_for_a_minute_stay_open(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, _), chatting(server) as chats:
        await asyncio.gather(*(chat.hear_nothing(IDLE) for chat in chats))
        await asyncio.gather(*(chat.take_turn(1) for chat in chats))
    assert "Traceback" not in server.log.read_text()


async def test_chats_go_on_while_redis_is_away_and_the_log_says_so_once(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, line), chatting(server) as (stays, reloads, *others):
        logged = len(server.log.read_text())
        for number, silent in enumerate((False, True)):
            over = asyncio.get_running_loop().time() + CUT_OFF
            line.lose("upwards", "downwards") if silent else line.close()
            await reloads.socket.close()
            await reloads.resume()
            await asyncio.gather(*(chat.take_turn(1 + 2 * number) for chat in (stays, reloads, *others)))
            await asyncio.sleep(over - asyncio.get_running_loop().time())
            told = server.log.read_text()[logged:].splitlines()
            assert ["does not answer" in entry for entry in told] == [True, False, True][: 1 + 2 * number]
            line.losing.clear() if silent else await line.open()
            while len(told := server.log.read_text()[logged:].splitlines()) < 2 + 2 * number:  # noqa: ASYNC110
                await asyncio.sleep(0.2)
            await asyncio.gather(*(chat.take_turn(2 + 2 * number) for chat in (stays, reloads, *others)))
    told = server.log.read_text()[logged:].splitlines()
    assert ["answers again" in entry for entry in told] == [False, True, False, True]


async def test_socket_is_told_to_look_for_what_it_missed_and_is_in_its_group_again() -> None:
    config = {"prefix": PREFIX, "capacity": 10}
    news = {"type": "conversation.changed", "owner": "the-other-process"}
    elsewhere = RedisLayer(hosts=[{"address": REDIS}], **config)
    redis = urlsplit(REDIS)
    async with Line(redis.port or 6379).standing() as line:
        url = redis._replace(netloc=f"127.0.0.1:{line.port}").geturl()
        layer = RedisLayer(hosts=[{"address": url}], **config)
        channel = await layer.new_channel()
        await layer.group_add("conversation.one", channel)
        waiting = asyncio.create_task(layer.receive(channel))
        line.close()
        await elsewhere.group_send("conversation.one", news)
        await asyncio.to_thread(forget_keys, PREFIX)  # as when Redis was started anew
        await asyncio.wait([layer.watch()], timeout=3 * AGAIN)
        assert layer.is_away
        await line.open()
        assert await asyncio.wait_for(waiting, PATIENCE) == MISSED
        await elsewhere.group_send("conversation.one", news)
        assert await asyncio.wait_for(layer.receive(channel), PATIENCE) == news
        await layer.close_pools()
    await elsewhere.flush()
