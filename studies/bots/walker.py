"""Walk one artificial person through a study, by pages and websockets of a running server only."""

import asyncio
import random
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

import aiohttp

from studies.bots.answers import WORDS, Person, answer
from studies.bots.page_reader import Form, Page, read_page
from studies.bots.stories import lines_for

PATIENCE = 240.0  # seconds in which a server that is away must come back
REPLY_PATIENCE = 90.0  # seconds without a frame before the socket is opened anew
HEARTBEAT = 10.0
VISITS = 12  # of one step without getting any further
FLAG = "/study/flag/"
RETRIES = 5  # of a reply that failed
AWAY = (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, ConnectionError, TimeoutError)
TYPED = {"en": 5.0, "zh": 2.0}  # characters a second
READ = {"en": 20.0, "zh": 8.0}
SECONDS_A_QUESTION = 4.0


class BotStuck(Exception):
    """The bot cannot continue; the text says where and why."""


class NoReply(BotStuck):
    """A reply has failed too often in the conversation of this code."""

    def __init__(self, text: str, conversation: str) -> None:
        super().__init__(text)
        self.conversation = conversation


@dataclass
class Talk:
    """A conversation as the bot saw it. `acked` holds what the server said it had stored: message id → (turn, text)."""

    code: str
    length: int  # messages before the bot ends it
    messages: dict[int, str] = field(default_factory=dict)
    replies: dict[int, str] = field(default_factory=dict)
    acked: dict[str, tuple[int, str]] = field(default_factory=dict)
    pending: tuple[str, str] | None = None  # id and text of a message that may not be stored
    last_seq: int = 0
    retries: int = 0

    def turns(self) -> list[tuple[str, str]]:
        return [(self.messages[turn], reply) for turn, reply in sorted(self.replies.items()) if turn in self.messages]


@dataclass
class Bot:
    """A bot on its way. `walk` returns the completion code; it raises BotStuck, naming the step.

    `stand_in` is asked, by the bot's code, where a page has nothing to answer: it returns whether it let the bot
    continue who had waited for a researcher.
    """

    person: Person
    base_url: str
    link: str
    min_turns: int
    pace: float = 0.0
    stand_in: Callable[[str], Awaitable[bool]] | None = None
    talks: dict[str, Talk] = field(default_factory=dict)
    place: str = "the link"

    async def walk(self) -> str:
        async with self.browser() as self.session:
            visits: dict[str, int] = {}
            page = await self.come_in()
            while not page.completion_code:
                self.place = self.place_of(page)
                visits[self.progress()] = visits.get(self.progress(), 0) + 1
                if visits[self.progress()] > VISITS:
                    why = "its form is refused" if page.is_refused else "the same page came"
                    raise self.stuck(f"{why} again and again")
                page = await self.take_step(page)
            return page.completion_code

    async def come_in(self) -> Page:
        """Press the Start button of the person's link."""
        page = await self.open(self.link)
        form = page.form_to("")
        if form is None:
            raise self.stuck("there is no button to start")
        return await self.open(self.link, form.hidden_values())

    @asynccontextmanager
    async def browser(self) -> Any:
        headers = {"Origin": self.base_url, "Referer": f"{self.base_url}/study/"}
        timeout = aiohttp.ClientTimeout(total=60)
        jar = aiohttp.CookieJar(unsafe=True)  # also for servers without a name
        async with aiohttp.ClientSession(cookie_jar=jar, headers=headers, timeout=timeout) as session:
            yield session

    def progress(self) -> str:
        """Return a text that changes whenever the bot has got further."""
        return f"{self.place} {sum(len(talk.replies) for talk in self.talks.values())}"

    def place_of(self, page: Page) -> str:
        form = page.step_form()
        if page.conversation:
            return f"the conversation {page.conversation}"
        if form is None:
            return f"the page {page.heading!r}"
        # A step may have several pages of one kind, one after the other: each says which one it is.
        return " ".join(form.fields[name].value for name in ("step", "checkpoint") if name in form.fields)

    def stuck(self, why: str) -> BotStuck:
        return BotStuck(f"bot {self.person.code} at {self.place}: {why}")

    async def take_step(self, page: Page) -> Page:
        if page.conversation:
            await self.talk_in(page.conversation)
            if form := page.form_to(FLAG):
                await self.flag_a_reply(form, self.talks[page.conversation])
            return await self.open("/study/")
        form = page.step_form()
        if form is None:
            return await self.wait_for_decision()
        if self.person.track == "reviewer":
            self.person.talks += page.talks()  # the basis of its ratings
        return await self.submit(form)

    async def wait_for_decision(self) -> Page:
        if self.stand_in is None or not await self.stand_in(self.person.code):
            raise self.stuck("there is nothing to answer on this page")
        return await self.open("/study/")

    async def submit(self, form: Form) -> Page:
        answers = answer(form, self.person)
        await self.wait(SECONDS_A_QUESTION * len(form.visible_fields()))
        return await self.open(form.action or "/study/", answers)

    async def flag_a_reply(self, form: Form, talk: Talk) -> None:
        """Flag one reply of each conversation, while its page is still open."""
        reasons = form.fields["reason"].options
        if talk.replies and len(talk.replies) >= talk.length:
            turn, reason = self.person.draw.choice(sorted(talk.replies)), self.person.draw.choice(reasons)
            note = WORDS[self.person.language]
            await self.open(
                FLAG, form.hidden_values() | {"turn": str(turn), "reason": reason, "note": note, "act": "save"}
            )

    async def open(self, path: str, data: dict[str, str] | None = None) -> Page:
        """Return the page at the end of all redirects. It tries again while the server is away."""
        method, address = ("GET" if data is None else "POST"), urljoin(self.base_url, path)
        give_up = time.monotonic() + PATIENCE
        for wait in _waits():
            try:
                async with self.session.request(method, address, data=data) as response:
                    text, status = await response.text(), response.status
            except AWAY as error:
                why = f"{type(error).__name__} {error}".strip()
            else:
                if status < 400:
                    return read_page(text)
                why = f"the server answered {status}"
                if status < 500:
                    raise self.stuck(why)
            if time.monotonic() > give_up:
                raise self.stuck(why)
            await asyncio.sleep(wait)
        raise AssertionError("the waits have no end")

    async def wait(self, seconds: float) -> None:
        if self.pace:
            await asyncio.sleep(self.pace * seconds)

    # The conversation

    async def talk_in(self, code: str) -> None:
        """Talk until the conversation pauses, ends, or the line drops; the person's page then says how to continue."""
        if code not in self.talks:
            length = self.min_turns + self.person.draw.randint(0, 2)
            self.talks[code] = Talk(code, length)
            self.person.talks.append([])
        talk = self.talks[code]
        address = urljoin(self.base_url, f"/ws/chat/{code}/").replace("http", "ws", 1)
        try:
            async with self.session.ws_connect(address, heartbeat=HEARTBEAT) as socket:
                await ChatSocket(self, talk, socket).hold()
        except (*AWAY, aiohttp.WSServerHandshakeError):
            await asyncio.sleep(random.uniform(0.2, 0.6))
        self.person.talks[list(self.talks).index(code)] = talk.turns()


class SocketDone(Exception):
    """The socket is no longer needed; nothing is lost."""


@dataclass
class ChatSocket:
    """One socket to one conversation."""

    bot: Bot
    talk: Talk
    socket: aiohttp.ClientWebSocketResponse
    knows: bool = False  # whether the bot may speak

    async def hold(self) -> None:
        await self.send(type="resume", after=self.talk.last_seq)
        # An empty message is refused with the current reason, after all missed frames. So the bot learns whether it
        # may speak.
        await self.send(type="message", id="probe", text="")
        try:
            while True:
                async with asyncio.timeout(REPLY_PATIENCE):  # aiohttp's own begins anew with each ping of the server
                    message = await self.socket.receive()
                if message.type != aiohttp.WSMsgType.TEXT:
                    return
                await self.take(message.json())
        except SocketDone:
            await self.socket.close()

    async def send(self, **frame: Any) -> None:
        await self.socket.send_json(frame)

    async def take(self, frame: dict[str, Any]) -> None:
        self.talk.last_seq = max(self.talk.last_seq, frame.get("seq", 0))
        handle: Callable[[dict[str, Any]], Any] | None = getattr(self, f"on_{frame['type']}", None)
        if handle is not None:
            await handle(frame)

    async def on_ack(self, frame: dict[str, Any]) -> None:
        if self.talk.pending and self.talk.pending[0] == frame["id"]:
            self.note_stored(frame["id"], frame["turn"], self.talk.pending[1])

    async def on_message(self, frame: dict[str, Any]) -> None:
        """Note a stored message on resume, because its acknowledgement may have been lost with the line."""
        self.note_stored(frame["id"], frame["turn"], frame["text"])

    def note_stored(self, identifier: str, turn: int, text: str) -> None:
        self.talk.messages[turn] = text
        self.talk.acked[identifier] = (turn, text)
        if self.talk.pending and self.talk.pending[0] == identifier:
            self.talk.pending = None

    async def on_reply(self, frame: dict[str, Any]) -> None:
        self.talk.replies[frame["turn"]] = frame["text"]
        self.talk.retries = 0
        await self.send(type="seen", seq=frame["seq"])
        if self.knows:
            await self.bot.wait(len(frame["text"]) / READ[self.bot.person.language])
            await self.speak()

    async def on_error(self, frame: dict[str, Any]) -> None:
        self.knows = True
        match frame["code"]:
            case "empty":
                await self.speak()
            case "paused" | "closed" | "held":
                raise SocketDone
            case "rate":
                await asyncio.sleep(1)
                await self.speak()
            case "too_long" | "bad_frame":
                raise self.bot.stuck(f"a frame was refused: {frame['detail']}")

    async def on_failed(self, frame: dict[str, Any]) -> None:
        self.talk.retries += 1
        if self.talk.retries > RETRIES:
            stuck = self.bot.stuck(f"no reply to turn {frame['turn']} after {RETRIES} retries")
            raise NoReply(str(stuck), self.talk.code)
        await asyncio.sleep(min(10.0, 0.2 * 2**self.talk.retries))
        await self.send(type="retry")

    async def on_pause(self, _frame: dict[str, Any]) -> None:
        raise SocketDone

    on_closed = on_held = on_pause

    async def on_superseded(self, _frame: dict[str, Any]) -> None:
        raise self.bot.stuck("somebody opened the same conversation elsewhere")

    async def speak(self) -> None:
        """Send the message that may not be stored again, or the next line, or the end."""
        if self.talk.pending is None and len(self.talk.replies) >= self.talk.length:
            await self.send(type="end", early=False)
            return
        if self.talk.pending is None:
            text = self.next_line()
            self.talk.pending = (str(uuid.uuid4()), text)
            await self.bot.wait(len(text) / TYPED[self.bot.person.language])
        identifier, text = self.talk.pending
        await self.send(type="message", id=identifier, text=text)

    def next_line(self) -> str:
        person = self.bot.person
        number = list(self.bot.talks).index(self.talk.code)
        lines = lines_for(person.story, person.language, f"{person.seed} {number}")
        return next(line for place, line in enumerate(lines) if place == len(self.talk.messages))


def _waits() -> Any:
    wait = 0.1
    while True:
        yield random.uniform(0.7, 1.3) * wait
        wait = min(5.0, 1.6 * wait)
