import asyncio
from contextlib import suppress

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from studies.bots import walker
from studies.bots.answers import Person
from studies.bots.walker import Bot, ChatSocket, Talk

TOO_LONG = 20.0  # seconds: the line was not given up


async def ping_for_ever(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    with suppress(ConnectionResetError):
        while not socket.closed:
            await socket.ping()
            await asyncio.sleep(0.01)
    return socket


async def test_line_on_which_nothing_but_pings_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walker, "REPLY_PATIENCE", 0.5)
    app = web.Application()
    app.router.add_get("/", ping_for_ever)
    async with TestClient(TestServer(app)) as browser, browser.ws_connect("/") as socket:
        bot = Bot(Person("P1", "en", "1"), "", "", min_turns=1)
        async with asyncio.timeout(TOO_LONG):
            with pytest.raises(TimeoutError):
                await ChatSocket(bot, Talk("A", 1), socket).hold()
