"""The server is killed in the middle of a reply: the person's page goes on, and nothing is lost or twice."""

import asyncio
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.llm_server import running
from tests.server import Server, come_in, serving
from tests.walks.test_whole_chain import study_file

INVITE = """
from studies.participation.enrolment import draw_order, invite, start
from studies.models import Study
person, token = invite(Study.objects.get(key="chain"), is_test=True)
start(person)
person.language = "en"
person.position = next(n for n, step in enumerate(person.plan) if step["kind"] == "chats")
person.save()
draw_order(person)
person.position += 1  # past the feelings check, at the first conversation
person.save()
print("token", token)
"""
PATIENCE = 60


def slow_study(folder: Path, url: str) -> Path:
    path = study_file(folder, url)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"echo"', '"slow"').replace('"flaky-1-status-500"', '"slow"'), encoding="utf-8")
    return path


async def frames_until(socket: aiohttp.ClientWebSocketResponse, *types: str) -> list[dict[str, Any]]:
    frames: list[dict[str, Any]] = []
    while not frames or frames[-1]["type"] not in types:
        frames.append(json.loads((await socket.receive(timeout=PATIENCE)).data))
    return frames


async def chat_over_an_end(
    server: Server, token: str, end: Callable[[], None]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar, headers={"Origin": server.base_url}) as browser:
        page = await come_in(browser, f"{server.base_url}/j/{token}/")
        code = re.search(r'data-conversation="([^"]+)"', page)[1]
        address = f"{server.base_url.replace('http', 'ws', 1)}/ws/chat/{code}/"
        async with browser.ws_connect(address) as socket:
            await socket.send_json({"type": "resume", "after": 0})
            await socket.send_json({"type": "message", "id": "one", "text": "I feel low since the move"})
            before = await frames_until(socket, "chunk")
            await asyncio.to_thread(end)
        await asyncio.to_thread(server.start)
        async with browser.ws_connect(address) as socket:
            await socket.send_json({"type": "resume", "after": 0})
            await socket.send_json({"type": "message", "id": "one", "text": "I feel low since the move"})
            after = await frames_until(socket, "reply")
    return before, after


@pytest.mark.parametrize("end", [Server.kill9, Server.stop])
def test_reply_comes_after_the_server_ended_in_the_middle_of_it(tmp_path: Path, end: Callable[[Server], None]) -> None:
    with running() as url, serving(tmp_path) as server:
        server.load_open(slow_study(tmp_path, url))
        told = server.manage("shell", "-c", INVITE)
        token = re.search(r"^token (\S+)$", told.stdout, re.MULTILINE)[1]
        before, after = asyncio.run(chat_over_an_end(server, token, partial(end, server)))
    assert [frame["type"] for frame in before] == ["ack", "chunk"]
    messages = [frame for frame in after if frame["type"] == "message"]
    assert [(frame["turn"], frame["id"]) for frame in messages] == [(1, "one")]
    assert "I feel low since the move" in after[-1]["text"]
    again = [frame["seq"] for frame in after if frame["type"] in ("chunk", "reply")]
    assert min(again) > before[-1]["seq"]
    assert not re.search("Unclosed|Traceback|never retrieved|was destroyed", server.log.read_text())
