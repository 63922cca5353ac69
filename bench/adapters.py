"""How a simulated participant reaches each system: open the page, open the socket, hold a turn.

A turn is an async generator of the answer's *new* text. It yields `ANEW` where the system begins the answer again
(after a failed attempt), so that what came before no longer counts, and raises for a failed turn.
"""

import json
import os
import re
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

import aiohttp
import orjson

ANEW = None
Piece = str | None


class ToldError(Exception):
    """The system said openly that there is no answer."""


class Adapter:
    """One participant. `context` is what `prepare` returned, `pid` counts the participants from 0."""

    name: ClassVar[str] = ""

    def __init__(self, http: aiohttp.ClientSession, url: str, pid: int, context: Any) -> None:
        self.http, self.url, self.pid, self.context = http, url, pid, context

    @classmethod
    async def prepare(cls, http: aiohttp.ClientSession, url: str, n: int) -> Any:
        """Once for each run, before anything is measured."""
        return None

    async def open_page(self) -> None:
        """The page on which the chat is; nothing where the system has none."""

    async def open_socket(self) -> None: ...

    def turn(self, text: str) -> AsyncIterator[Piece]:
        raise NotImplementedError

    async def close(self) -> None: ...


async def received(socket: aiohttp.ClientWebSocketResponse) -> str:
    message = await socket.receive()
    if message.type is not aiohttp.WSMsgType.TEXT:
        raise ConnectionError(f"socket closed: {message.type.name} {message.data}")
    return str(message.data)


def piece_of(line: bytes) -> str:
    """The text in one line of an OpenAI stream."""
    if not line.startswith(b"data: {"):
        return ""
    choices = orjson.loads(line[6:])["choices"]
    return choices[0]["delta"].get("content") or "" if choices else ""


class Direct(Adapter):
    """No system at all: the participant streams from the mock. The floor."""

    name = "direct"

    async def open_socket(self) -> None:
        self.history: list[dict[str, str]] = []

    async def turn(self, text: str) -> AsyncIterator[Piece]:
        self.history.append({"role": "user", "content": text})
        body = {"model": os.environ["BENCH_MODEL"], "stream": True, "messages": self.history}
        said = ""
        async with self.http.post(f"{self.url}/v1/chat/completions", json=body) as response:
            response.raise_for_status()
            async for line in response.content:
                if piece := piece_of(line):
                    said += piece
                    yield piece
        self.history.append({"role": "assistant", "content": said})


class Bare(Adapter):
    """The reference servers in suts/: {"t": piece} … {"end": true}."""

    name = "bare"

    async def open_socket(self) -> None:
        self.socket = await self.http.ws_connect(f"{self.url}/ws", max_msg_size=0)

    async def turn(self, text: str) -> AsyncIterator[Piece]:
        await self.socket.send_str(json.dumps({"text": text}))
        while True:
            frame = orjson.loads(await received(self.socket))
            if "t" in frame:
                yield frame["t"]
            elif "end" in frame:
                return
            else:
                raise ToldError(str(frame.get("error", frame))[:80])

    async def close(self) -> None:
        await self.socket.close()


def cookies_in(people: Path) -> list[str]:
    """The session keys that emostudy_rows.py has written."""
    cookies: list[str] = json.loads(people.read_text())
    return cookies


class Emostudy(Adapter):
    """The study page with the person's cookie, then the socket of the conversation that the page names."""

    name = "emostudy"
    CODE = re.compile(r'data-conversation="(\w+)"')

    @classmethod
    async def prepare(cls, http: aiohttp.ClientSession, url: str, n: int) -> list[str]:
        return cookies_in(Path(os.environ["BENCH_PEOPLE"]))

    def headers(self) -> dict[str, str]:
        return {"Cookie": f"emostudy_session={self.context[self.pid]}", "Origin": self.url}

    async def open_page(self) -> None:
        async with self.http.get(f"{self.url}/study/", headers=self.headers()) as response:
            response.raise_for_status()
            found = self.CODE.search(await response.text())
        if found is None:
            raise RuntimeError("no conversation on the page")
        self.code = found[1]

    async def open_socket(self) -> None:
        address = f"{self.url}/ws/chat/{self.code}/"
        self.socket = await self.http.ws_connect(address, headers=self.headers(), max_msg_size=0)
        await self.send(type="resume", after=0)

    async def send(self, **frame: Any) -> None:
        await self.socket.send_str(json.dumps(frame))

    async def turn(self, text: str) -> AsyncIterator[Piece]:
        await self.send(type="message", id=str(uuid.uuid4()), text=text)
        have, last_seq = "", 0
        while True:
            frame = orjson.loads(await received(self.socket))
            if frame["type"] in ("failed", "error", "held", "closed", "pause", "help"):
                raise ToldError(str(frame)[:80])
            if frame["type"] not in ("chunk", "reply"):
                continue
            if frame["seq"] <= last_seq:
                raise RuntimeError(f"frame {frame['seq']} came after frame {last_seq}")
            last_seq = frame["seq"]
            at = frame.get("at", 0)
            if frame["type"] == "chunk" and at < len(have):
                have = ""
                yield ANEW
            if frame["type"] == "chunk" and at != len(have):
                raise RuntimeError(f"piece at {at} where {len(have)} characters were")
            new = frame["text"] if frame["type"] == "chunk" else frame["text"].removeprefix(have)
            if frame["type"] == "reply" and not frame["text"].startswith(have):
                raise RuntimeError("the reply is not what its pieces were")
            have += new
            if new:
                yield new
            if frame["type"] == "reply":
                return

    async def close(self) -> None:
        await self.socket.close()


class Chainlit(Adapter):
    """Chainlit 2: socket.io (engine.io 4) straight over a websocket."""

    name = "chainlit"

    async def open_socket(self) -> None:
        address = f"{self.url}/ws/socket.io/?EIO=4&transport=websocket"
        self.socket = await self.http.ws_connect(address, max_msg_size=0)
        await self.socket.receive_str()  # 0{open}
        who = {"sessionId": str(uuid.uuid4()), "clientType": "webapp", "userEnv": "{}"}
        await self.socket.send_str("40" + json.dumps({**who, "chatProfile": "", "threadId": ""}))
        while not (await self.socket.receive_str()).startswith("40"):
            pass
        await self.emit("connection_successful")

    async def emit(self, event: str, *values: Any) -> None:
        await self.socket.send_str("42" + json.dumps([event, *values]))

    async def turn(self, text: str) -> AsyncIterator[Piece]:
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
        message = {"id": str(uuid.uuid4()), "threadId": "", "name": "user", "type": "user_message"}
        await self.emit(
            "client_message", {"message": {**message, "output": text, "createdAt": now}, "fileReferences": []}
        )
        begun = False
        while True:
            data = await received(self.socket)
            if data == "2":
                await self.socket.send_str("3")
            if not data.startswith("42"):
                continue
            event, *values = orjson.loads(data[2:])
            # task_end also closes the hook of the chat's start, so it counts after text only.
            if event == "stream_token":
                begun = True
                yield values[0]["token"]
            elif event == "stream_start":
                begun = True
                yield values[0].get("output", "")
            elif event == "task_end" and begun:
                return
            elif event == "new_message" and values[0].get("isError"):
                raise ToldError(values[0]["output"][:80])

    async def close(self) -> None:
        await self.emit("clear_session")
        await self.socket.close()


class Gradio(Adapter):
    """Gradio's ChatInterface over its own queue: a join, then server-sent events."""

    name = "gradio"

    @classmethod
    async def prepare(cls, http: aiohttp.ClientSession, url: str, n: int) -> tuple[int, int]:
        async with http.get(f"{url}/config") as response:
            dependencies = (await response.json())["dependencies"]
        index = next(i for i, one in enumerate(dependencies) if one.get("api_name") == "chat")
        return dependencies[index].get("id", index), len(dependencies[index]["inputs"])

    async def open_socket(self) -> None:
        self.session = uuid.uuid4().hex[:11]

    async def join(self, text: str) -> str:
        function, inputs = self.context
        who = {"fn_index": function, "event_data": None, "session_hash": self.session, "trigger_id": None}
        body = {"data": [text] + [None] * (inputs - 1), **who}
        async with self.http.post(f"{self.url}/gradio_api/queue/join?", json=body) as response:
            response.raise_for_status()
            return str((await response.json())["event_id"])

    async def turn(self, text: str) -> AsyncIterator[Piece]:
        event, have = await self.join(text), ""
        address = f"{self.url}/gradio_api/queue/data"
        async with self.http.get(address, params={"session_hash": self.session}) as response:
            response.raise_for_status()
            async for line in response.content:
                data = orjson.loads(line[5:]) if line.startswith(b"data:") else {}
                if data.get("event_id") not in (None, event):
                    continue
                if data.get("msg") == "unexpected_error":
                    raise ToldError(str(data)[:80])
                if data.get("msg") not in ("process_generating", "process_completed"):
                    continue
                if not data.get("success", True):
                    raise ToldError(str(data["output"].get("error"))[:80])
                if piece := new_text(data["output"].get("data") or [], have):
                    have += piece
                    yield piece
                if data["msg"] == "process_completed":
                    return


def new_text(data: list[Any], have: str) -> str:
    """What a Gradio output adds to `have`: a full value at first, then a list of edits."""
    if not data:
        return ""
    if isinstance(data[0], str):
        return data[0].removeprefix(have)
    new = ""
    for edit in data[0] or ():
        if edit[0] == "append":
            new += edit[2]
        elif edit[0] in ("replace", "add") and isinstance(edit[2], str):
            new += edit[2][len(have) :]
    return new


class OTree(Adapter):
    """oTree: a session made over its REST API, the page fetched, then liveSend."""

    name = "otree"
    SOCKET = re.compile(r'id="otree-live" data-socket-url="([^"]+)"')

    @classmethod
    async def prepare(cls, http: aiohttp.ClientSession, url: str, n: int) -> list[str]:
        key, wanted = {"otree-rest-key": "bench"}, {"session_config_name": "chat", "num_participants": n}
        async with http.post(f"{url}/api/sessions", headers=key, json=wanted) as response:
            response.raise_for_status()
            code = (await response.json(content_type=None))["code"]
        async with http.get(f"{url}/api/sessions/{code}", headers=key) as response:
            response.raise_for_status()
            people = (await response.json(content_type=None))["participants"]
        return [person["code"] for person in people]

    async def open_page(self) -> None:
        async with self.http.get(f"{self.url}/InitializeParticipant/{self.context[self.pid]}") as response:
            response.raise_for_status()
            found = self.SOCKET.search(await response.text())
        if found is None:
            raise RuntimeError("no live socket on the page")
        self.address = self.url + found[1].replace("&amp;", "&")

    async def open_socket(self) -> None:
        self.socket = await self.http.ws_connect(self.address, max_msg_size=0)

    async def turn(self, text: str) -> AsyncIterator[Piece]:
        await self.socket.send_str(json.dumps({"text": text}))
        while True:
            data = orjson.loads(await received(self.socket))
            if not data.get("otree_success"):
                raise ToldError("live_method failed")
            payload = data["live_method_payload"]
            if payload.get("t"):
                yield payload["t"]
            if payload.get("end"):
                return

    async def close(self) -> None:
        await self.socket.close()


ADAPTERS: dict[str, type[Adapter]] = {one.name: one for one in (Direct, Bare, Emostudy, Chainlit, Gradio, OTree)}
