"""Those who meet the pages and are listened to: bots, one that looks into every corner, and strangers."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

import aiohttp

from dialogue.chat.chat_frames import MAX_CHARACTERS
from studies.bots.page_reader import Page, read_page
from studies.bots.walker import Bot, Talk
from tests.leaks.markers import CHECKPOINT, MAX_TURNS
from tests.leaks.recorder import Browser, Recorder, Wire

PATIENCE = 120.0  # seconds
TOKEN = "csrfmiddlewaretoken"
LOOKS = (
    *(("GET", path) for path in ("/", "/help/", "/help/?country=CN", "/pause/", "/leave/")),
    *(("GET", path) for path in ("/offline/CN/", "/offline/none/", "/offline/worker.js")),
    *(("GET", path) for path in ("/study/role/", "/study/flag/", "/study/played/", "/study/step-out/")),
    *(("GET", path) for path in ("/study/care/", "/study/safe/", "/study/unsafe/", "/study/where/")),
    ("GET", "/study/ask/"),
    *(("GET", f"/study/my-data/{page}") for page in ("", "read/", "my-data.json", "receipt/none/")),
    *((method, "/study/") for method in ("HEAD", "OPTIONS", "DELETE")),
)
POSTS: tuple[tuple[str, dict[str, str]], ...] = (
    ("/study/", {"step": "of the page before"}),
    ("/study/draft/", {"step": "of the page before"}),
    ("/study/language/", {"language": "none", "next": "/pause/"}),
    ("/study/role/", {"answer": "nobody", "turn": "1"}),
    ("/study/reply-rating/", {"turn": "1"}),
    ("/study/flag/", {"act": "save", "turn": "99", "reason": "harsh"}),
    ("/study/flag/", {"act": "save", "turn": "1", "reason": "other"}),
    ("/study/played/", {"run": "1", "behaviour": "resistance", "played": "yes"}),
    ("/study/played/", {"run": "1", "behaviour": "none"}),
    ("/study/step-out/", {"act": "out"}),
    ("/study/safe/", {"answer": "hard"}),
    ("/study/check/", {"answer": "yes"}),
    ("/study/where/", {"where": "here"}),
    ("/study/whose/", {"answer": "role"}),
    ("/study/letter/", {"letter": "message 1"}),
    ("/study/ask/", {"text": ""}),
    ("/leave/", {}),
)
JUNK = ("", "no json", "[1]", "null", '{"type":"nothing"}', '{"type":"resume","after":-1}', '{"type":"message","id":1}')
REFUSED: tuple[dict[str, Any], ...] = (
    {"type": "message", "id": "empty", "text": " "},
    {"type": "message", "id": "long", "text": "a" * 4001},
    {"type": "end", "early": False},
    {"type": "retry"},
    {"type": "seen", "seq": 1},
)
WHILE_IT_ANSWERS = ("chunk", "reply", "failed")
TOO_MANY = 121  # frames within ten seconds
TOO_LARGE = 70_000
FIRST = {"en": "I hardly sleep since the move, and no one here knows.", "zh": "搬家以后我几乎睡不着，这里没有人知道。"}


def socket_path(code: str) -> str:
    return f"/ws/chat/{code}/"


@dataclass
class WatchedBot(Bot):
    """A bot that is listened to."""

    recorder: Recorder = field(kw_only=True)

    @asynccontextmanager
    async def browser(self) -> AsyncIterator[Any]:
        async with super().browser() as session:
            yield Browser(session, self.recorder, self.person.code)

    def socket(self, code: str) -> Any:
        address = urljoin(self.base_url, socket_path(code)).replace("http", "ws", 1)
        return self.session.ws_connect(address)


@dataclass
class Twin(WatchedBot):
    """Says nothing before all is heard, and always as much, so that two walks can be compared frame by frame."""

    async def talk_in(self, code: str) -> None:
        if code not in self.talks:
            self.talks[code] = Talk(code, length=MAX_TURNS)
            self.person.talks.append([])
        talk = self.talks[code]
        async with self.socket(code) as wire:
            await wire.send_json({"type": "resume", "after": talk.last_seq})
            pauses = self.person.track == "participant" and not talk.replies
            for turn in range(len(talk.replies) + 1, 1 + (CHECKPOINT if pauses else MAX_TURNS)):
                await self.exchange(wire, talk, turn)
            talk.last_seq = (await until(wire, "pause", "closed"))["seq"]
        self.person.talks[list(self.talks).index(code)] = talk.turns()

    async def exchange(self, wire: Wire, talk: Talk, turn: int) -> None:
        talk.messages[turn] = self.person.story.lines[turn]
        await wire.send_json({"type": "message", "id": f"turn {turn}", "text": talk.messages[turn]})
        reply = await until(wire, "reply")
        talk.replies[turn] = reply["text"]
        await wire.send_json({"type": "seen", "seq": reply["seq"]})


@dataclass
class Prowler(WatchedBot):
    """Looks into every corner around the conversations, and tries in each of them what should not be tried.

    `seen` holds kinds of pages and their languages; prowlers that share it share the work.
    """

    seen: set[tuple[str, str]] = field(kw_only=True)

    async def take_step(self, page: Page) -> Page:
        kind = re.sub(r"run\d+|conversation \w+", "*", self.place), self.person.language
        if kind not in self.seen:
            self.seen.add(kind)
            await self.send_nothing(page)
            if kind[0].endswith(("the *", ".chat", ".between")):
                await self.prowl(page)
        return await super().take_step(page)

    async def send_nothing(self, page: Page) -> None:
        """Its own form without an answer."""
        if form := page.step_form():
            given = {name: value for name, value in form.hidden_values().items() if name != "idempotency"}
            await self.knock("POST", "/study/", given)

    async def prowl(self, page: Page) -> None:
        for method, path in LOOKS:
            await self.knock(method, path)
        token = page.forms[0].fields[TOKEN].value
        for path, data in POSTS:
            await self.knock("POST", path, {**data, TOKEN: token})
        await self.knock("POST", "/study/", {"step": "one without a token"})

    async def knock(self, method: str, path: str, data: Mapping[str, str] | None = None) -> None:
        async with self.session.request(method, urljoin(self.base_url, path), data=data):
            pass  # the recorder has read it

    async def talk_in(self, code: str) -> None:
        if code not in self.talks:
            await self.misbehave(code)
        await super().talk_in(code)

    async def misbehave(self, code: str) -> None:
        """Bad frames, a second tab in the middle of a reply, and a third one that says more than it may."""
        async with self.socket(code) as first:
            await self.send_nonsense(first)
            await first.send_json({"type": "message", "id": "first", "text": FIRST[self.person.language]})
            await first.send_json({"type": "message", "id": "second", "text": "Are you there?"})
            await until(first, *WHILE_IT_ANSWERS)
            async with self.socket(code) as second:
                await second.send_json({"type": "resume", "after": 0})
                await until(first, "superseded")
                await first.send_json({"type": "retry"})
                await until(first, "superseded")
                await until(second, "message")
        async with self.socket(code) as third:
            await third.send_json({"type": "resume", "after": 0})
            await answered(third)
            # A rating is due first; a counsellor, whom none interrupts, has to wait for the reply to the one before;
            # should that have come in between, the last message is too long.
            for said, text in (("third", "And now?"), ("fourth", "And now?"), ("fifth", "a" * (MAX_CHARACTERS + 1))):
                await third.send_json({"type": "message", "id": said, "text": text})
            await until(third, "error")

    async def send_nonsense(self, wire: Wire) -> None:
        await wire.send_json(REFUSED[0])
        for text in JUNK:
            await wire.socket.send_str(text)
        await wire.socket.send_bytes(b"\0\1")
        await wire.send_json({"type": "resume", "after": 0})
        for frame in REFUSED:
            await wire.send_json(frame)


async def until(wire: Wire, *types: str) -> dict[str, Any]:
    """The first frame of one of these types; that none comes is an error."""
    async with asyncio.timeout(PATIENCE):  # aiohttp's own begins anew with each of the server's pings
        while (message := await wire.receive()).type == aiohttp.WSMsgType.TEXT:
            frame: dict[str, Any] = message.json()
            if frame["type"] in types:
                return frame
    raise AssertionError(f"the socket was closed before any of {types} came: {message}")


async def answered(wire: Wire) -> None:
    """The reply has come; where it failed it was asked for again."""
    while (await until(wire, "reply", "failed"))["type"] == "failed":
        await wire.send_json({"type": "retry"})


async def until_closed(wire: Wire) -> None:
    async with asyncio.timeout(PATIENCE):
        while (await wire.receive()).type == aiohttp.WSMsgType.TEXT:
            pass


@dataclass
class Stranger:
    """Anyone with a browser."""

    name: str
    base_url: str
    browser: Browser

    async def look(self, path: str, method: str = "GET", **options: Any) -> Page:
        return read_page(await self.text(path, method, **options))

    async def text(self, path: str, method: str = "GET", **options: Any) -> str:
        async with self.browser.request(method, urljoin(self.base_url, path), **options) as response:
            return str(await response.text(errors="replace"))

    async def post(self, page: Page, path: str, **fields: str) -> Page:
        return await self.look(path, "POST", data={TOKEN: page.forms[0].fields[TOKEN].value, **fields})

    async def come_in(self, link: str) -> Page:
        return await self.post(await self.look(link), link)

    @asynccontextmanager
    async def socket(self, page: Page) -> AsyncIterator[Wire]:
        address = urljoin(self.base_url, socket_path(page.conversation)).replace("http", "ws", 1)
        async with self.browser.ws_connect(address) as wire:
            yield wire

    async def say(self, page: Page, *texts: str) -> None:
        """Each text a message, and what comes after it up to the reply, or to the frame that says that none will."""
        async with self.socket(page) as wire:
            await wire.send_json({"type": "resume", "after": 0})
            for number, text in enumerate(texts):
                await wire.send_json({"type": "message", "id": str(number), "text": text})
                while (await until(wire, "reply", "failed", "held", "error"))["type"] == "failed":
                    await wire.send_json({"type": "retry"})

    async def flood(self, page: Page) -> None:
        """More frames than a page sends, and one that is too large for any."""
        async with self.socket(page) as wire:
            codes = [""]
            while "rate" not in codes:
                for _ in range(TOO_MANY):
                    await wire.socket.send_str("")
                codes = [(await until(wire, "error"))["code"] for _ in range(TOO_MANY)]
            await wire.socket.send_str("a" * TOO_LARGE)
            await until_closed(wire)


@asynccontextmanager
async def stranger(name: str, base_url: str, recorder: Recorder, language: str = "en") -> AsyncIterator[Stranger]:
    headers = {"Origin": base_url, "Referer": f"{base_url}/study/", "Accept-Language": language}
    jar = aiohttp.CookieJar(unsafe=True)
    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    async with aiohttp.ClientSession(cookie_jar=jar, headers=headers, timeout=timeout) as session:
        yield Stranger(name, base_url, Browser(session, recorder, name))
