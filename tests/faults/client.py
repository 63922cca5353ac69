"""A browser with the conversation page in its tabs: a twin of static/js/socket.js and chat.js that keeps what it was
told. Only the waits are shorter."""

import asyncio
import json
import random
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp

FIRST_WAIT = 0.1  # seconds; the page's are 0.5, 15 and 30
LONGEST_WAIT = 1.5
SILENCE = 4.0
TOO_MANY = 10.0
AWAY = (aiohttp.ClientError, ConnectionError, TimeoutError)

Frame = dict[str, Any]


@dataclass
class Heard:
    """One frame, and on which connection it came. `after` is what that connection had asked to be told from."""

    connection: int
    after: int
    frame: Frame


@dataclass
class Memory:
    """What one person's browser has sent and was told, over all tabs and connections."""

    sent: dict[str, str] = field(default_factory=dict)  # id → text, in the order of sending
    heard: list[Heard] = field(default_factory=list)
    connections: int = 0

    def acknowledged(self) -> dict[str, set[int]]:
        """The turns under which a message was said to be stored; there should be one."""
        turns: dict[str, set[int]] = {}
        for one in self.heard:
            if one.frame["type"] in ("ack", "message"):
                turns.setdefault(one.frame["id"], set()).add(one.frame["turn"])
        return turns

    def frames(self, kind: str) -> list[Frame]:
        return [one.frame for one in self.heard if one.frame["type"] == kind]


class ChatSocket:
    """socket.js. `unsent` is the browser's localStorage: every tab reads it when it is opened."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        url: str,
        *,
        store: dict[str, str],
        memory: Memory,
        on_frame: Callable[[Frame], None],
    ) -> None:
        self.session, self.url, self.store, self.memory, self.on_frame = session, url, store, memory, on_frame
        self.unsent: list[Frame] = self.kept()
        self.line: aiohttp.ClientWebSocketResponse | None = None
        self.opening = asyncio.Event()
        self.last = self.failed_at = self.settled = self.tries = 0
        self.reply_due = self.superseded = self.closed = False
        self.tasks: set[asyncio.Task[None]] = set()
        self.holding: asyncio.Task[None]
        self.timers: dict[str, asyncio.TimerHandle] = {}

    # The line

    def connect(self) -> None:
        self.forget("again")
        if not self.closed:
            self.holding = self.run(self.hold())

    def run(self, work: Any) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def later(self, name: str, seconds: float, act: Callable[[], None]) -> None:
        self.forget(name)
        self.timers[name] = asyncio.get_running_loop().call_later(seconds, act)

    def forget(self, name: str) -> None:
        if timer := self.timers.pop(name, None):
            timer.cancel()

    async def hold(self) -> None:
        timeout = aiohttp.ClientWSTimeout(ws_close=0.2)
        with suppress(*AWAY):
            async with self.session.ws_connect(self.url, timeout=timeout) as self.line:
                self.memory.connections += 1
                await self.opened(self.line, self.memory.connections)
        self.broke()

    async def opened(self, line: aiohttp.ClientWebSocketResponse, connection: int) -> None:
        self.tries, after = 0, self.last
        self.opening.set()
        await line.send_json({"type": "resume", "after": after})
        for message in self.unsent:
            await line.send_json(message)
        self.watch()
        async for message in line:
            if message.type == aiohttp.WSMsgType.TEXT:
                self.receive(message.json(), connection, after)

    def broke(self) -> None:
        self.forget("silence")
        self.line = None
        self.opening.clear()
        if self.superseded or self.closed:
            return
        wait = min(LONGEST_WAIT, FIRST_WAIT * 2**self.tries)
        self.tries += 1
        self.later("again", wait * (0.5 + random.random() / 2), self.connect)

    def watch(self) -> None:
        self.forget("silence")
        if (self.unsent or self.reply_due) and not self.closed:
            self.later("silence", SILENCE, self.drop)

    def drop(self) -> None:
        """Nothing came although something is due: the line is given up, and what it still says is not listened to."""
        self.line = None
        self.opening.clear()
        self.holding.cancel()
        self.connect()

    def transmit(self, frame: Frame) -> bool:
        if self.line is None or self.line.closed:
            return False
        self.run(passed_on(self.line, frame))
        return True

    # What the page does

    def send(self, text: str, times: int = 1) -> str:
        message = {"type": "message", "id": str(uuid.uuid4()), "text": text}
        self.memory.sent[message["id"]] = text
        self.unsent.append(message)
        self.keep([*self.kept(), message])
        for _ in range(times):
            self.transmit(message)
        self.watch()
        return message["id"]

    def send_kept(self) -> None:
        for message in self.unsent:
            self.transmit(message)

    def kept(self) -> list[Frame]:
        return json.loads(self.store.get(self.url, "[]"))

    def keep(self, messages: list[Frame]) -> None:
        self.store[self.url] = json.dumps(messages)

    def arrived(self, identifier: str) -> None:
        self.unsent = [message for message in self.unsent if message["id"] != identifier]
        self.keep([message for message in self.kept() if message["id"] != identifier])

    def retry(self) -> bool:
        self.last = self.failed_at - 1
        self.reply_due = self.transmit({"type": "retry"})
        self.watch()
        return self.reply_due

    # What it is told

    def receive(self, frame: Frame, connection: int, after: int) -> None:
        self.memory.heard.append(Heard(connection, after, frame))
        if "seq" in frame:
            if frame["seq"] <= self.last:
                return
            self.last = frame["seq"]
        self.note(frame)
        self.on_frame(frame)
        self.watch()

    def note(self, frame: Frame) -> None:
        match frame["type"]:
            case "ack" | "message":
                self.arrived(frame["id"])
                self.reply_due = frame["turn"] > self.settled
            case "failed":
                self.failed_at, self.settled, self.reply_due = frame["seq"], frame["turn"], False
            case "reply":
                self.settled, self.reply_due = frame["turn"], False
                self.send_kept()
            case "pause" | "held" | "closed":
                self.reply_due = False
            case "superseded":
                self.superseded = True
            case "error" if frame["code"] == "rate":
                self.later("rate", TOO_MANY, self.send_kept)

    async def close(self) -> None:
        """The tab is closed."""
        self.closed = True
        for name in list(self.timers):
            self.forget(name)
        for task in tuple(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


class ChatPage:
    """chat.js in one tab: what stands on the screen, and what may be done."""

    def __init__(self, session: aiohttp.ClientSession, url: str, *, store: dict[str, str], memory: Memory) -> None:
        self.asked = self.answered = 0
        self.failed = self.over = self.superseded = False
        self.changed = asyncio.Event()
        self.hooks: list[Callable[[Frame], None]] = []
        self.socket = ChatSocket(session, url, store=store, memory=memory, on_frame=self.on_frame)
        self.socket.connect()

    def on_frame(self, frame: Frame) -> None:
        match frame["type"]:
            case "ack" | "message":
                self.asked = max(self.asked, frame["turn"])
            case "reply":
                self.answered, self.failed = max(self.answered, frame["turn"]), False
                self.socket.transmit({"type": "seen", "seq": frame["seq"]})
            case "failed":
                self.failed = True
            case "pause" | "closed" | "held":
                self.over = True
            case "superseded":
                self.superseded = True
            case "error":
                self.over = self.over or frame["code"] in ("paused", "held", "closed")
        for hook in self.hooks:
            hook(frame)
        self.changed.set()

    def may_send(self) -> bool:
        due = self.asked > self.answered
        return not (self.over or self.failed or due or self.superseded or self.socket.unsent)

    def retry(self) -> None:
        if self.socket.retry():
            self.failed = False

    async def close(self) -> None:
        await self.socket.close()


async def passed_on(line: aiohttp.ClientWebSocketResponse, frame: Frame) -> None:
    """A line that breaks just now is noticed where it is read."""
    with suppress(*AWAY):
        await line.send_json(frame)
