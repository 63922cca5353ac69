"""A served study with everyone who walks it, and a copy of it in which the arms have changed places."""

import asyncio
import re
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin

from studies.bots.answers import Person
from tests.leaks import markers
from tests.leaks.betraying_server import betraying
from tests.leaks.markers import Marker
from tests.leaks.recorder import Heard, Recorder, unpacked
from tests.leaks.scan import DIGITS
from tests.leaks.walkers import Prowler, Stranger, Twin, WatchedBot, stranger, until_closed
from tests.server import Server, free_port, serving

SETUP = """
from django.core.management import call_command
from studies.participation import chats, enrolment
from studies.models import Study
from tests.factories import acknowledged_drill
for path in {studies!r}:
    call_command("load_study", path, verbosity=0)
    Study.objects.update(stage="open")
    study = Study.objects.order_by("pk").last()
    acknowledged_drill(study)  # before real people may come
    spec = study.current().spec()
    for arm in spec.arms:
        for language in spec.languages:
            chats.freeze_supporter(arm, language)
for name, key, track, language, place in {people!r}:
    person, token = enrolment.invite(Study.objects.get(key=key), track=track, is_test=not name.startswith("twin"))
    if place:
        enrolment.start(person)
        person.language = language
        person.status = "active" if place == "chat" else place
        person.save()
    if place == "chat":
        person.position = next(n for n, step in enumerate(person.plan) if step["kind"] == "chats")
        enrolment.draw_order(person)
        person.position += 1
        person.save()
    print("person", name, person.code, token)
"""
PAUSE = """
from django.contrib.auth.models import User
from studies.models import Participation
from studies.participation import board_acts
person = Participation.objects.get(code={code!r})
board_acts.pause_person(person, by=User.objects.first(), reason="A test needs it.")
"""


class Who(NamedTuple):
    name: str
    study: str
    track: str
    language: str
    place: str = ""  # a status, or `chat`, for those who do not begin at the beginning


PROWLERS = (
    Who("prowler1", "rooms", "participant", "zh"),
    Who("prowler2", "rooms", "counsellor", "en"),
    Who("prowler3", "halls", "participant", "en"),
    Who("prowler4", "halls", "counsellor", "zh"),
)
TWINS = (Who("twin1", "twins-plain", "participant", "en"), Who("twin2", "twins-guess", "counsellor", "zh"))
STRANGERS = (
    Who("endangered", "rooms", "participant", "en", "chat"),
    Who("stopped", "rooms", "participant", "zh", "chat"),
    Who("playing", "rooms", "counsellor", "en", "chat"),
    Who("unlucky", "rooms", "participant", "en", "chat"),
    Who("waiting", "rooms", "participant", "zh", "in_review"),
    Who("declined", "rooms", "participant", "en", "screened_out"),
    Who("late", "rooms", "counsellor", "zh", "timed_out"),
    Who("ended", "rooms", "participant", "zh", "ended"),
    Who("resting", "rooms", "participant", "en", "chat"),
)
# They read what the prowlers have said.
REVIEWERS = (Who("reviewer1", "rooms", "reviewer", "zh"), Who("reviewer2", "halls", "reviewer", "en"))
PEOPLE = {who.name: who for who in (*PROWLERS, *TWINS, *STRANGERS, *REVIEWERS)}

ANYBODY = (
    "/", "/study/", "/help/", "/pause/", "/leave/", "/j/no-such-link/", "/no/such/page/", "/favicon.ico", "/robots.txt",
    "/healthz", "/readyz", "/metrics", "/open/no-such-study/", "/open/rooms/?track=reviewer", "/ws/chat/NOSUCH/",
    "/study/step-out/",
    "/research/", "/research/rooms/", "/research/rooms/design/study.toml", "/admin/", "/static/no-such-file.js",
    "/api/v1/studies/", "/api/v1/studies/rooms/", "/api/v1/studies/rooms/progress/",
    "/api/v1/studies/rooms/ratings.csv", "/api/v1/schema/",
)  # fmt: skip
HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}
ELSEWHERE = "elsewhere.example"
STATIC = re.compile(r'(?:href|src)="(/static/[^"]+)"')
PART_OF_STATIC = re.compile(r"""(?:from|import|url\()\s*["']?(\.{0,2}/[^"')]+)""")


@dataclass
class World:
    """A server, the people of its studies by name, and what they were told."""

    server: Server
    people: dict[str, tuple[str, str]] = field(default_factory=dict)  # code and token
    recorder: Recorder = field(default_factory=Recorder)
    bots: dict[str, WatchedBot] = field(default_factory=dict)

    def bot(self, who: Who, kind: type[WatchedBot], **options: Any) -> WatchedBot:
        person = Person(self.code(who.name), who.language, f"leaks {who.name}", who.track)
        base_url, link = self.server.base_url, self.link(who.name)
        bot = kind(person, base_url, link, markers.MIN_TURNS, recorder=self.recorder, **options)
        return self.bots.setdefault(who.name, bot)

    def code(self, name: str) -> str:
        return self.people[name][0]

    def link(self, name: str) -> str:
        return f"/j/{self.people[name][1]}/"

    def change(self, query: str) -> None:
        with closing(sqlite3.connect(self.server.database, timeout=20)) as database, database:
            database.execute(query)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.server.database}?mode=ro", uri=True)) as database:
            return database.execute(query).fetchall()

    def everything_stored(self) -> str:
        with closing(sqlite3.connect(f"file:{self.server.database}?mode=ro", uri=True)) as database:
            return "\n".join(database.iterdump())


@dataclass
class Walked:
    here: World
    there: World  # a copy, in which the twins meet their arms in the other order
    stored: str = ""  # all rows of `here`, before they were broken
    asked: list[dict[str, Any]] = field(default_factory=list)  # of the models

    def markers(self) -> list[Marker]:
        """With the digests by which the server itself tells the settings of arms apart."""
        digests = self.here.rows("SELECT digest FROM dialogue_supporter")
        return [*markers.markers(), *(Marker("settings", digest[:DIGITS]) for (digest,) in digests)]

    def heard(self, *, by_twins: bool) -> list[Heard]:
        twins = [self.here.code(who.name) for who in TWINS]
        every = [one for world in (self.here, self.there) for one in (*world.recorder.heard, *world.recorder.joined())]
        return [one for one in every if (one.who in twins) == by_twins]


def walked_worlds(folder: Path) -> Walked:
    """When all have been through; the servers are gone, their databases stay."""
    port = free_port()
    with ExitStack() as stack:
        (folder / "here").mkdir()
        here = World(stack.enter_context(serving(folder / "here", **markers.key_variables())))
        here.people = set_up(here.server, folder, f"http://127.0.0.1:{port}")
        copied(here.server, folder / "there" / "var")
        there = World(stack.enter_context(serving(folder / "there", **markers.key_variables())), here.people)
        walked = Walked(here, there)
        asyncio.run(walk(walked, port))
    return walked


def set_up(server: Server, folder: Path, url: str) -> dict[str, tuple[str, str]]:
    studies = [
        markers.write_study(folder, url, "rooms", markers.ROOMS, reveal_arms=False),
        markers.write_study(folder, url, "halls", markers.HALLS, reveal_arms=False),
        markers.write_study(folder, url, "twins-plain", markers.TWINS, reveal_arms=True),
        markers.write_study(folder, url, "twins-guess", markers.TWINS, guess=True, reveal_arms=True),
    ]
    people = [tuple(who) for who in PEOPLE.values()]
    told = server.manage("shell", "-c", SETUP.format(studies=[str(path) for path in studies], people=people))
    made = re.findall(r"^person (\S+) (\S+) (\S+)$", told.stdout, re.MULTILINE)
    assert len(made) == len(PEOPLE), told.stderr[-3000:]
    return {name: (code, token) for name, code, token in made}


def copied(server: Server, folder: Path) -> None:
    """The same people, keys and numbers. Only the order of the arms is drawn otherwise."""
    shutil.copytree(server.folder, folder, ignore=shutil.ignore_patterns("*.sqlite3*"))
    with (
        closing(sqlite3.connect(server.database)) as source,
        closing(sqlite3.connect(folder / server.database.name)) as copy,
        copy,
    ):
        source.backup(copy)
        copy.execute(f"UPDATE studies_protocol SET design = json_set(design, '$.order.seed', {markers.OTHER_SEED})")


async def walk(walked: Walked, port: int) -> None:
    here, there = walked.here, walked.there
    seen: set[tuple[str, str]] = set()
    async with betraying(port) as asked:
        async with asyncio.TaskGroup() as group:
            for who in PROWLERS:
                group.create_task(here.bot(who, Prowler, seen=seen).walk())
            for who in TWINS:
                group.create_task(here.bot(who, Twin).walk())
                group.create_task(there.bot(who, Twin).walk())
            for name, act in ACTS.items():
                group.create_task(as_stranger(here, name, act))
        walked.asked += asked
    await asyncio.to_thread(plan_reviewers_work, here.server)
    for who in REVIEWERS:
        await here.bot(who, Prowler, seen=seen).walk()
    walked.stored = here.everything_stored()
    await as_stranger(here, "unlucky", break_down)
    await as_stranger(here, "anybody", fetch_static_files)
    here.recorder.heard += [
        Heard("the server", "session", "row", unpacked(data))
        for (data,) in here.rows("SELECT session_data FROM django_session")
    ]


def plan_reviewers_work(server: Server) -> None:
    for study in (who.study for who in REVIEWERS):
        for command in (
            ("plan_reviews", study, "--instruments", "emoharbor_10,worst_case_4", "--source", "all"),
            ("plan_pairs", study, "--instrument", "pairwise_support", "--between", "arms"),
        ):
            planned = server.manage(*command, "--name", "zqplan", "--include-tests")
            assert planned.returncode == 0, planned.stderr


# Strangers and what they do

Act = Callable[[World, Stranger], Awaitable[None]]


async def as_stranger(world: World, name: str, act: Act) -> None:
    language = PEOPLE[name].language if name in PEOPLE else "en"
    async with stranger(name, world.server.base_url, world.recorder, language) as someone:
        await act(world, someone)


async def look_around(_world: World, someone: Stranger) -> None:
    for path in ANYBODY:
        await someone.look(path)
    await someone.look("/study/", "POST", data={"step": "consent"})
    await someone.look("/healthz", headers={"Host": ELSEWHERE})
    await someone.look("/ws/chat/NOSUCH/", headers=HANDSHAKE)
    await someone.look("/ws/chat/NOSUCH/", headers={**HANDSHAKE, "Origin": f"http://{ELSEWHERE}"})
    for track in ("participant", "counsellor"):
        door = f"/open/rooms/?track={track}"
        page = await someone.look(door)
        await someone.look(door)
        await someone.post(page, door)
        page = await someone.look(door)
        await someone.post(page, door, act="continue")


async def only_look(world: World, someone: Stranger) -> None:
    await someone.come_in(world.link(someone.name))
    await someone.look("/study/")


async def be_held_and_leave(world: World, someone: Stranger) -> None:
    page = await someone.come_in(world.link(someone.name))
    await someone.flood(page)
    await someone.say(page, "I want to die.", "Hello?")
    page = await someone.look("/study/")
    await someone.post(page, "/study/safe/", answer="no")
    page = await someone.look("/study/")
    await someone.post(page, "/leave/", choice="delete")
    await someone.look("/study/")


async def be_stopped(world: World, someone: Stranger) -> None:
    page = await someone.come_in(world.link(someone.name))
    await someone.say(page, "我写好了遗书。", "在吗？")
    page = await someone.look("/study/")
    await someone.post(page, "/study/safe/", answer="hard")
    page = await someone.look("/study/")
    await someone.post(page, "/study/unsafe/")
    await someone.look("/study/care/")


async def play_and_leave(world: World, someone: Stranger) -> None:
    page = await someone.come_in(world.link(someone.name))
    await someone.say(page, "I want to die.")
    await someone.post(page, "/study/flag/", act="save", turn="1", reason="harsh", note="Cold.")
    await someone.look("/study/")
    await someone.post(page, "/study/step-out/", act="out")
    await someone.look("/study/step-out/")
    await someone.post(page, "/study/role/", answer="me", turn="1")
    page = await someone.look("/study/")
    await someone.post(page, "/leave/", choice="keep")


async def be_paused(world: World, someone: Stranger) -> None:
    """Paused by the team in the middle of a conversation."""
    page = await someone.come_in(world.link(someone.name))
    await someone.say(page, "I feel low since the move.")
    paused = world.server.manage("shell", "-c", PAUSE.format(code=world.code(someone.name)))
    assert paused.returncode == 0, paused.stderr[-3000:]
    await someone.look("/study/")
    await someone.say(page, "Is anyone there?")


ACTS: dict[str, Act] = {
    "resting": be_paused,
    "anybody": look_around,
    "endangered": be_held_and_leave,
    "stopped": be_stopped,
    "playing": play_and_leave,
    **dict.fromkeys(("waiting", "declined", "late", "ended"), only_look),
}


async def break_down(world: World, someone: Stranger) -> None:
    """What a person sees of faults of our own, with the arms in the memory of what failed."""
    page = await someone.come_in(world.link(someone.name))
    async with someone.socket(page) as wire:
        world.change("DELETE FROM dialogue_conversation")
        await wire.send_json({"type": "resume", "after": 0})
        await until_closed(wire)
    world.change("UPDATE studies_protocol SET design = '{\"key\": 1}'")
    for path in ("/study/", "/help/", "/open/rooms/"):
        await someone.look(path)


async def fetch_static_files(world: World, someone: Stranger) -> None:
    """All files that a page links, and those that these ask for."""
    bodies = [heard.text for heard in world.recorder.heard if heard.part == "body"]
    due = {path for body in bodies for path in STATIC.findall(body)}
    done: set[str] = set()
    while due - done:
        path = min(due - done)
        done.add(path)
        due |= {urljoin(path, part) for part in PART_OF_STATIC.findall(await someone.text(path))}
