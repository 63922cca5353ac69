"""The server is killed between a grave message and the mail about it: the mail goes out after the restart, once."""

import asyncio
import json
import os
import random
import socket
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import aiohttp
import tomlkit

from studies.bots.page_reader import read_page
from tests.faults.database import Database, Postgres, SQLite, postgres_answers
from tests.faults.schedule import Backend
from tests.server import ROOT, Server, free_port, serving
from tests.studies.care.servers import Box, mail_server

AT_ONCE = 2  # stories
LATEST = 0.6  # seconds from the frame that says that the message is stored to the kill
PATIENCE = 60.0  # seconds from the restart to the mail
AFTERWARDS = 8.0  # seconds in which no second mail may come; the clock looks every five
FIRST, SECOND = "ann@example.org", "ben@example.org"
COME_IN = """
import json
from django.contrib.sessions.backends.db import SessionStore
from django.core.management import call_command
from studies.models import Study
from studies.models.participation import Status
from studies.participation import enrolment, progress
call_command("load_study", "__FILE__", verbosity=0)
Study.objects.update(stage="open")
person, token = enrolment.invite(Study.objects.get(key="alarms"))
enrolment.start(person)
person.language = "en"
person.save(update_fields=["language"])
while (step := progress.current_step(person)).kind != "chat":
    progress.advance(person, done=step)
progress.set_status(person, Status.ACTIVE)
session = SessionStore()
enrolment.bind_session(session, person)
session["language"] = "en"
session.create()
print(json.dumps([person.code, session.session_key]))
"""
LET_TIME_PASS = """
from django.utils import timezone
from studies.models import Alarm
Alarm.objects.exclude(climb_at=None).update(climb_at=timezone.now())
"""


@dataclass(frozen=True)
class Story:
    """What stands in the mail's way until the server is killed, and when that is."""

    seed: int
    backend: Backend
    mail: Literal["closed", "silent"]  # no mail server, or one that takes the connection and says nothing
    after: float  # seconds

    def __str__(self) -> str:
        return f"alarm {self.seed} ({self.backend}, mail server {self.mail}): killed after {self.after:.2f} s"


def story_for(seed: int) -> Story:
    draw = random.Random(f"alarm {seed}")
    return Story(
        seed,
        "sqlite" if seed % 2 else "postgres",
        draw.choice(("closed", "silent")),
        draw.choice((0.0, draw.uniform(0, LATEST))),
    )


@dataclass(frozen=True)
class Seen:
    """What came of it: who got mails about the person, and what is stored."""

    frames: Sequence[str] = ("ack", "help", "held")
    early: Sequence[str] = ()  # recipients before the kill
    mailed: Sequence[str] = (FIRST,)  # after it
    climbed: Sequence[str] = (SECOND,)  # once no one had answered in time
    events: int = 1
    unsent: int = 0
    acts: Sequence[str] = ("alarmed", "overdue", "alarmed")
    traces: int = 0  # tracebacks in the server's log
    words: bool = False  # whether a mail holds a word of the message


def violations(seen: Seen) -> list[str]:
    """Return what does not hold, in words."""
    failed = [act for act in seen.acts if act != "failed"]
    wrong = {
        f"the person was told {list(seen.frames)}": "held" not in seen.frames,
        f"{seen.events} events are stored": seen.events != 1,
        f"mails before the kill: {list(seen.early)}": bool(seen.early),
        f"mails after the restart: {list(seen.mailed)}": list(seen.mailed) != [FIRST],
        f"mails after no one had answered: {list(seen.climbed)}": list(seen.climbed) != [SECOND],
        f"{seen.unsent} alarms are not sent": bool(seen.unsent),
        f"the acts are {list(seen.acts)}": failed != ["alarmed", "overdue", "alarmed"],
        f"{seen.traces} tracebacks in the log": bool(seen.traces),
        "a mail holds words of the conversation": seen.words,
    }
    return [words for words, is_wrong in wrong.items() if is_wrong]


@dataclass
class Told:
    story: Story
    seen: Seen | None = None
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.story}: " + ("ok" if not self.violations else "".join(f"\n  {one}" for one in self.violations))


def can_be_told(story: Story) -> bool:
    return story.backend == "sqlite" or postgres_answers()


async def tell_all(
    seeds: Sequence[int], *, folder: Path, at_once: int = AT_ONCE, tell: Callable[[Told], None] = lambda _: None
) -> list[Told]:
    places = asyncio.Semaphore(at_once)

    async def one(seed: int) -> Told:
        async with places:
            story = story_for(seed)
            told = Told(story)
            try:
                told.seen = await asyncio.to_thread(play, story, folder / f"alarm-{seed}")
                told.violations = violations(told.seen)
            except (RuntimeError, OSError) as error:  # no server could be had; the other stories go on
                told.violations = [f"was not told to its end: {error}"]
            tell(told)
            return told

    return list(await asyncio.gather(*(one(seed) for seed in seeds)))


def play(story: Story, folder: Path) -> Seen:
    folder.mkdir(parents=True)
    port, box = free_port(), Box()
    with ExitStack() as stack:
        database: Database = SQLite(folder / "var" / "emostudy.sqlite3")
        if story.backend == "postgres":
            name = f"test_emostudy_alarm_{os.getpid()}_{story.seed}"
            database = stack.enter_context(Postgres.made(name))
        mail = f"smtp://127.0.0.1:{port}/?from=study@example.org"
        server = stack.enter_context(serving(folder, EMAIL_URL=mail, **database.environment))
        code, session = come_in(server, folder)
        with in_the_way(story, port):
            frames = asyncio.run(say_something_grave(server, session))
            time.sleep(story.after)
            server.kill9()
        early = box.recipients()
        stack.enter_context(mail_server(box, port))
        server.start()
        mailed = collect(box, 0)
        manage(server, LET_TIME_PASS)
        climbed = collect(box, len(mailed))
        return Seen(
            frames=frames,
            early=early,
            mailed=mailed,
            climbed=climbed,
            events=len(database.rows("SELECT id FROM dialogue_riskevent WHERE subject = ?", code)),
            unsent=len(database.rows("SELECT id FROM studies_alarm WHERE sent_at IS NULL")),
            acts=[row["kind"] for row in database.rows("SELECT kind FROM studies_safetyact ORDER BY at, id")],
            traces=server.log.read_text(encoding="utf-8").count("Traceback"),
            words=any("kill" in source.partition("\n\n")[2] for _to, source in box.mails),
        )


def collect(box: Box, known: int) -> list[str]:
    """Return to whom further mails went: wait for the first one, and then whether another one comes."""
    give_up = time.monotonic() + PATIENCE
    while len(box.mails) == known and time.monotonic() < give_up:
        time.sleep(0.1)
    time.sleep(AFTERWARDS)
    return box.recipients()[known:]


@contextmanager
def in_the_way(story: Story, port: int) -> Iterator[None]:
    with socket.socket() as silent:
        if story.mail == "silent":
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            silent.bind(("127.0.0.1", port))
            silent.listen()
        yield


def come_in(server: Server, folder: Path) -> tuple[str, str]:
    """Return the code of someone who stands before their first conversation, and the key of their session."""
    study = tomllib.loads((ROOT / "fixtures" / "studies" / "demo.toml").read_text(encoding="utf-8"))
    contacts = [{"name": "Ann", "email": FIRST}, {"name": "Ben", "email": SECOND}]
    study |= {"key": "alarms", "safety": {"oncall": contacts}}
    path = folder / "alarms.toml"
    path.write_text(tomlkit.dumps(study), encoding="utf-8")
    code, session = json.loads(manage(server, COME_IN.replace("__FILE__", str(path))).splitlines()[-1])
    return code, session


def manage(server: Server, code: str) -> str:
    told = server.manage("shell", "-c", code)
    if told.returncode:
        raise RuntimeError(told.stderr)
    return told.stdout


async def say_something_grave(server: Server, session: str) -> list[str]:
    """Return the types of the frames up to the one that holds the conversation."""
    cookies = {"emostudy_session": session}
    frames: list[str] = []
    async with aiohttp.ClientSession(cookies=cookies, cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        async with browser.get(f"{server.base_url}/study/") as page:
            conversation = read_page(await page.text()).conversation
        address = f"{server.base_url.replace('http', 'ws', 1)}/ws/chat/{conversation}/"
        async with browser.ws_connect(address, origin=server.base_url) as chat:
            await chat.send_json({"type": "resume", "after": 0})
            text = {"type": "message", "id": "6f1d3b0a-0000-4000-8000-000000000001", "text": "I want to kill myself"}
            await chat.send_json(text)
            while "held" not in frames:
                frames.append((await chat.receive_json(timeout=20))["type"])
    return frames
