"""A person who walks from their link to the completion code while the schedule's faults befall them, and goes on as a
person would: loads a page again, sends a form again, presses the button to ask again."""

import asyncio
import random
import re
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

import aiohttp

from studies.bots.answers import Person as Answerer
from studies.bots.answers import answer
from studies.bots.page_reader import Form, Page, read_page
from studies.bots.stories import lines_for
from tests.faults.client import AWAY, ChatPage, Frame, Memory
from tests.faults.house import House
from tests.faults.line import Line
from tests.faults.schedule import (
    AtForm,
    Cut,
    DatabaseAway,
    DatabaseBusy,
    DeadLine,
    Fault,
    FormName,
    InTurn,
    Kill,
    Schedule,
    SecondTab,
    SentTwice,
    SlowLine,
    TwoForms,
    When,
)
from tests.faults.study import Invited

PATIENCE = 600.0  # seconds for the whole way, on a slow machine that does other things too
PAGE_PATIENCE = 20.0  # for one page, before it is loaded again
HEAD_START = 0.2  # seconds that a database needs to be locked, or to be gone
MOMENTS = {"ack": "ack", "chunk": "chunk", "reply": "reply"}  # type of frame → moment of a turn

Answers = Mapping[str, str]


@dataclass
class Walk:
    """What one person did and was told: all that the checks need beside the database."""

    schedule: Schedule
    code: str
    memory: Memory = field(default_factory=Memory)
    submitted: dict[str, list[Answers]] = field(default_factory=dict)  # by form: every version that was sent
    conversation: str = ""
    completion_code: str = ""
    stuck: str = ""  # where and why the person could not go on
    met: list[Fault] = field(default_factory=list)
    log: list[str] = field(default_factory=list)


class Person:
    def __init__(self, schedule: Schedule, invited: Invited, house: House) -> None:
        self.schedule, self.link, self.house = schedule, invited.link, house
        self.walk = Walk(schedule, invited.code)
        self.started = time.monotonic()
        self.draw = random.Random(schedule.seed)
        self.answerer = Answerer(invited.code, "en", str(schedule.seed))
        self.lines = lines_for(self.answerer.story, "en", str(schedule.seed))
        self.to_come = list(schedule.faults)
        self.store: dict[str, str] = {}
        self.tabs: list[ChatPage] = []
        self.opened = 0
        self.second_tab: SecondTab | None = None
        self.place = "the link"

    # The way

    async def go(self) -> Walk:
        line = Line(self.house.port)
        async with line.standing(), self.browser(line):
            try:
                async with asyncio.timeout(PATIENCE):
                    await self.go_on()
            except (TimeoutError, Stuck) as error:
                self.walk.stuck = f"{self.place}: {str(error) or f'not through after {PATIENCE:.0f} s'}"
                self.note(f"STUCK {self.walk.stuck}")
            finally:
                for tab in self.tabs:
                    await tab.close()
        return self.walk

    @asynccontextmanager
    async def browser(self, line: Line) -> AsyncIterator[None]:
        self.line, self.address = line, f"http://127.0.0.1:{line.port}"
        async with aiohttp.ClientSession(
            cookie_jar=aiohttp.CookieJar(unsafe=True),
            headers={"Origin": self.address, "Referer": f"{self.address}/study/"},
            connector=aiohttp.TCPConnector(force_close=True),
            timeout=aiohttp.ClientTimeout(total=PAGE_PATIENCE),
        ) as self.session:
            yield

    async def go_on(self) -> None:
        page = await self.come_in()
        while not page.completion_code:
            form = page.step_form()
            if page.conversation:
                await self.converse(page)
                page = await self.look()
            elif form:
                page = await self.fill_in(form) or await self.look()
            else:
                await asyncio.sleep(0.5)
                page = await self.look()
        self.walk.completion_code = page.completion_code
        self.note("through")

    async def come_in(self) -> Page:
        while True:
            page = await self.look(self.link)
            if came := await self.request("POST", self.link, page.forms[0].hidden_values()):
                return came

    def note(self, text: str) -> None:
        self.walk.log.append(f"{time.monotonic() - self.started:7.3f} {text}")

    # Pages

    async def look(self, path: str = "/study/") -> Page:
        """The page, loaded until it comes."""
        while True:
            if page := await self.request("GET", path):
                return page
            await asyncio.sleep(self.draw.uniform(0.2, 0.8))

    async def request(self, method: str, path: str, data: Answers | None = None) -> Page | None:
        """None where nothing, or only an error of the server's, came back."""
        try:
            async with self.session.request(method, urljoin(self.address, path), data=data) as response:
                text, status = await response.text(), response.status
        except AWAY as error:
            self.note(f"{method} {path}: {type(error).__name__}")
            return None
        page = read_page(text)
        self.note(f"{method} {path}: {status} {page.heading!r}")
        if 400 <= status < 500:
            raise Stuck(f"{method} {path} was answered {status}")
        return page if status < 400 else None

    async def fill_in(self, form: Form) -> Page | None:
        """The page that came back; None where none did, so that it is not known what is stored."""
        name = name_of(form)
        self.place = f"the {name} form"
        given = [(form, answer(form, self.answerer))]
        due = self.due(AtForm(name))
        if any(isinstance(fault, SentTwice) for fault in due):
            given *= 2
        if any(isinstance(fault, TwoForms) for fault in due):
            given += await self.in_another_tab(name)
        await self.befall_first(due)
        for _ in range(1 + self.draw.randint(0, 1)):  # lost, a page is sent again or opened anew
            came = [page for page in await asyncio.gather(*(self.submit(name, *one) for one in given)) if page]
            if came:
                return came[-1]
            await asyncio.sleep(self.draw.uniform(0.1, 0.5))
        return None

    async def in_another_tab(self, name: str) -> list[tuple[Form, Answers]]:
        form = (await self.look()).step_form()
        if form is None or name_of(form) != name:
            return []
        return [(form, otherwise(form, answer(form, self.answerer), self.draw))]

    async def submit(self, name: str, form: Form, answers: Answers) -> Page | None:
        self.walk.submitted.setdefault(name, []).append(answers)
        return await self.request("POST", form.action or "/study/", answers)

    # The conversation

    async def converse(self, page: Page) -> None:
        """In one tab or several, until the page leads elsewhere or has to be loaded again."""
        self.walk.conversation = page.conversation
        self.place = "the conversation"
        tab = self.open_tab()
        while not (tab.over or tab.superseded):
            if self.second_tab:
                tab = await self.change_tabs(tab)
                continue
            tab.changed.clear()
            await self.act(tab)
            await wait_for(tab.changed, 1.0)
        self.note("the page moves on" if tab.over else "the page is superseded and is loaded again")
        self.tabs.remove(tab)
        await tab.close()

    def open_tab(self) -> ChatPage:
        self.opened += 1
        number = self.opened
        url = f"{self.address}/ws/chat/{self.walk.conversation}/"
        tab = ChatPage(self.session, url, store=self.store, memory=self.walk.memory)
        tab.hooks.append(lambda frame: self.on_frame(frame, number))
        self.tabs.append(tab)
        self.note(f"tab {number} opens")
        return tab

    async def change_tabs(self, first: ChatPage) -> ChatPage:
        """The newest wins. Who takes the conversation back loads the page of the first tab again."""
        fault, self.second_tab = self.second_tab, None
        second = self.open_tab()
        if fault is None or not fault.takes_back:
            return second
        await wait_for(second.socket.opening, 5.0)
        await wait_for(first.changed, 1.0)
        first.superseded = True
        return first

    async def act(self, tab: ChatPage) -> None:
        """What can be done now, if anything."""
        if tab.failed:
            self.note("asks again")
            tab.retry()
        elif tab.may_send() and len(self.walk.memory.sent) < self.schedule.turns:
            await self.say(tab)
        elif tab.may_send() and tab.answered == self.schedule.turns:
            self.note("ends it")
            tab.socket.transmit({"type": "end", "early": False})

    async def say(self, tab: ChatPage) -> None:
        turn = len(self.walk.memory.sent) + 1
        self.place = f"turn {turn}"
        due = self.due(InTurn(turn, "send"))
        if due:
            await wait_for(tab.socket.opening, 10.0)
        await self.befall_first(due)
        times = 2 if any(isinstance(fault, SentTwice) for fault in due) else 1
        tab.socket.send(f"[{self.schedule.seed}.{turn}] 🙂 字 {next(self.lines)}", times)
        self.note(f"says turn {turn}" + " twice" * (times - 1))

    def on_frame(self, frame: Frame, tab: int) -> None:
        self.note(f"tab {tab} <- " + " ".join(str(value)[:60] for value in frame.values()))
        if frame["type"] in MOMENTS:
            for fault in self.due(InTurn(frame["turn"], MOMENTS[frame["type"]])):
                self.befall(fault)
        if frame["type"] == "reply":
            self.line.seconds = 0.0

    # The faults

    def due(self, when: When) -> list[Fault]:
        """What comes now; each comes once."""
        due = [fault for fault in self.to_come if fault.when == when]
        self.to_come = [fault for fault in self.to_come if fault.when != when]
        self.walk.met += due
        return due

    async def befall_first(self, faults: Iterable[Fault]) -> None:
        """Before something is sent, so that it meets them."""
        for fault in faults:
            self.befall(fault)
        if any(isinstance(fault, DatabaseBusy | DatabaseAway) for fault in faults):
            await asyncio.sleep(HEAD_START)

    def befall(self, fault: Fault) -> None:
        self.note(f"--- {fault}")
        match fault:
            case Cut():
                self.cut(fault)
            case DeadLine():
                self.line.lose_on_these("upwards", "downwards")
            case SlowLine():
                self.line.seconds = fault.seconds
            case Kill():
                self.house.soon(self.house.die(after=fault.after, politely=fault.politely))
            case SecondTab():
                self.second_tab = fault
            case DatabaseBusy():
                self.house.soon(self.house.lock(fault.seconds))
            case DatabaseAway():
                self.house.soon(self.house.go_away(fault.seconds))

    def cut(self, fault: Cut) -> None:
        if fault.losing != "nothing":
            self.line.lose(fault.losing)
        asyncio.get_running_loop().call_later(fault.after, self.line.cut)


class Stuck(Exception):
    """The person cannot go on."""


def name_of(form: Form) -> FormName:
    step = form.fields["step"].value
    if step == "consent":
        return "consent"
    return "checkpoint" if step.endswith(".chat") else "rating"


def otherwise(form: Form, answers: Answers, draw: random.Random) -> Answers:
    """The same form, filled in by someone of another mind."""
    chosen = {name: draw.choice(one.options) for name, one in form.visible_fields().items() if one.kind == "radio"}
    return {**answers, **{name: value for name, value in chosen.items() if re.fullmatch(r"\d+", value)}}


async def wait_for(event: asyncio.Event, seconds: float) -> Any:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
