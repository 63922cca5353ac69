"""Keeps everything that reaches a browser: every answer's head, cookies and body, every frame, every close code."""

import base64
import binascii
import json
import re
import time
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from types import SimpleNamespace
from typing import Any

import aiohttp

from studies.bots.page_reader import read_page

SECRETS = re.compile(r"(?<=/j/)[^/]+|(?<=/chat/)[^/]+")
ENCODED = re.compile(r"[A-Za-z0-9_/+-]{8,}={0,2}")


@dataclass(frozen=True)
class Heard:
    """One thing that reached a browser. `part`: head, cookie, body, frame, text (of pieces put together), close."""

    who: str
    place: str  # method, path, status and step; or the frame's type
    part: str
    text: str


@dataclass(frozen=True)
class Passed:
    """A frame on its way, when (monotonic seconds) it was sent or had come. `conversation`: the socket's path."""

    who: str
    conversation: str
    outward: bool  # from the browser
    at: float
    frame: dict[str, Any]


@dataclass
class Recorder:
    heard: list[Heard] = field(default_factory=list)
    passed: list[Passed] = field(default_factory=list)

    def note(self, who: str, place: str, part: str, text: str) -> None:
        self.heard.append(Heard(who, place, part, text))

    def answer(self, who: str, method: str, response: aiohttp.ClientResponse, body: str) -> None:
        place = f"{method} {without_secrets(response.url.path_qs)} {response.status}{step_of(body)}"
        head = "\n".join(f"{name}: {value}" for name, value in response.headers.items())
        self.note(who, place, "head", f"{response.reason}\n{head}")
        for cookie in response.headers.getall("Set-Cookie", []):
            values = (morsel.value for morsel in SimpleCookie(cookie).values())
            self.note(who, place, "cookie", "\n".join([cookie, *(unpacked(value) for value in values)]))
        if body:
            self.note(who, place, "body", body)

    def frame(self, who: str, path: str, message: aiohttp.WSMessage) -> None:
        if message.type != aiohttp.WSMsgType.TEXT:
            self.note(
                who, f"WS {without_secrets(path)} {message.type.name}", "close", f"{message.data} {message.extra}"
            )
            return
        frame = json.loads(message.data)
        self.passed.append(Passed(who, path, False, time.monotonic(), frame))
        what = " ".join(filter(None, (frame["type"], frame.get("code"))))
        self.note(who, f"WS {without_secrets(path)} {what}", "frame", message.data)

    def sent(self, who: str, path: str, frame: dict[str, Any]) -> None:
        self.passed.append(Passed(who, path, True, time.monotonic(), frame))

    def joined(self) -> Iterator[Heard]:
        """What the pieces of each reply came to when they were put together; where it began anew, what stood before."""
        texts: dict[tuple[str, str, int], str] = {}
        for one in self.passed:
            if one.frame["type"] == "chunk":
                key, at = (one.who, one.conversation, one.frame["turn"]), one.frame["at"]
                standing = texts.get(key, "")
                if at < len(standing):
                    yield Heard(one.who, "WS /ws/chat/*/ chunk", "text", standing)
                texts[key] = standing[:at] + one.frame["text"]
        yield from (Heard(who, "WS /ws/chat/*/ chunk", "text", text) for (who, _, _), text in texts.items())

    def frames_of(self, who: str) -> dict[str, list[Passed]]:
        """By conversation, in order."""
        found: dict[str, list[Passed]] = {}
        for passed in self.passed:
            if passed.who == who:
                found.setdefault(passed.conversation, []).append(passed)
        return found


def without_secrets(path: str) -> str:
    return SECRETS.sub("*", path)


def step_of(body: str) -> str:
    """The step whose form the page has, or `chat`, or the page's heading: what tells the pages of one address apart."""
    page = read_page(body)
    form = page.step_form()
    if page.completion_code:
        return " debrief"
    if page.conversation:
        return " chat"
    step = form.fields["step"].value if form else page.heading
    return f" {step}" if step else ""


def unpacked(value: str) -> str:
    """What a cookie's value holds in base64, also where it is compressed, as Django signs what it keeps there."""
    return "\n".join(text for found in ENCODED.findall(value) if (text := _decoded(found)))


def _decoded(found: str) -> str:
    try:
        raw = base64.b64decode(found.rstrip("=") + "=" * (-len(found.rstrip("=")) % 4), altchars=b"-_")
    except binascii.Error:
        return ""
    with suppress(zlib.error):
        raw = zlib.decompress(raw)
    return raw.decode(errors="replace")


@dataclass
class Wire:
    """A websocket whose every frame is kept."""

    socket: aiohttp.ClientWebSocketResponse
    recorder: Recorder
    who: str
    path: str

    async def send_json(self, frame: dict[str, Any]) -> None:
        self.recorder.sent(self.who, self.path, frame)
        await self.socket.send_json(frame)

    async def receive(self, timeout: float | None = None) -> aiohttp.WSMessage:
        message = await self.socket.receive(timeout=timeout)
        self.recorder.frame(self.who, self.path, message)
        return message

    async def close(self) -> None:
        await self.socket.close()


@dataclass
class Browser:
    """A session whose every answer is kept, redirects and handshakes too."""

    session: aiohttp.ClientSession
    recorder: Recorder
    who: str

    def __post_init__(self) -> None:
        tracing = aiohttp.TraceConfig()
        tracing.on_request_redirect.append(self.on_answer)
        tracing.on_request_end.append(self.on_answer)
        tracing.freeze()
        self.session.trace_configs.append(tracing)

    async def on_answer(self, _session: aiohttp.ClientSession, _context: SimpleNamespace, params: Any) -> None:
        response: aiohttp.ClientResponse = params.response
        is_socket = response.status == 101
        body = "" if is_socket else (await response.read()).decode(errors="replace")
        self.recorder.answer(self.who, params.method, response, body)

    def request(self, method: str, address: str, **options: Any) -> Any:
        return self.session.request(method, address, **options)

    @asynccontextmanager
    async def ws_connect(self, address: str, **options: Any) -> AsyncIterator[Wire]:
        async with self.session.ws_connect(address, **options) as socket:
            yield Wire(socket, self.recorder, self.who, address[address.index("/ws/") :])
