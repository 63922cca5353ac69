"""Runs schedules, a round of them at a time on a server of its own, and compares what was told with what is stored."""

import asyncio
import json
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from os import getpid
from pathlib import Path
from typing import Any

from tests.faults.check import Around, Call, Response, Stored, Turn, violations
from tests.faults.database import Database
from tests.faults.house import House, housed
from tests.faults.person import Person, Walk
from tests.faults.schedule import backend_of, schedule_for
from tests.faults.study import people_for

LEFT = ("emostudy_sockets_attached", "emostudy_replies_in_progress")
AT_ONCE = 3  # rounds; each waits for its server half of the time
PATIENCE = 15.0  # seconds until a server without visitors has nothing left to do

numbers = count(1)


@dataclass
class Outcome:
    walk: Walk
    violations: list[str]


@dataclass
class Round:
    seeds: Sequence[int]
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)  # of the server, not of one person
    deaths: int = 0
    seconds: float = 0.0


async def run_all(
    rounds: Sequence[Sequence[int]],
    *,
    llm_url: str,
    folder: Path,
    at_once: int = AT_ONCE,
    tell: Callable[[Round], None] = lambda _round: None,
) -> list[Round]:
    places = asyncio.Semaphore(at_once)

    async def one(seeds: Sequence[int]) -> Round:
        async with places:
            try:
                done = await run_round(seeds, llm_url=llm_url, folder=folder / f"from-{seeds[0]}")
            except RuntimeError as error:  # no server could be had; the other rounds go on
                done = Round(seeds, violations=[f"the round was not run to its end: {error}"])
            tell(done)
            return done

    return list(await asyncio.gather(*(one(seeds) for seeds in rounds)))


async def run_round(seeds: Sequence[int], *, llm_url: str, folder: Path) -> Round:
    started = time.monotonic()
    done = Round(seeds)
    name = f"test_emostudy_faults_{getpid()}_{next(numbers)}"
    async with housed(made(folder), backend_of(seeds[0]), name) as house:
        schedules = [schedule_for(seed) for seed in seeds]
        invited = await asyncio.to_thread(people_for, house.server, schedules, folder, llm_url)
        people = [Person(schedule, invited[schedule.seed], house) for schedule in schedules]
        walks = await asyncio.gather(*(person.go() for person in people))
        await house.quiet()
        done.violations = await left_behind(house)
        done.outcomes = await asyncio.to_thread(compared, house, walks, llm_url)
        done.deaths = len(house.deaths)
    for outcome in done.outcomes.values():
        write_log(folder, outcome)
    done.seconds = time.monotonic() - started
    return done


def compared(house: House, walks: Sequence[Walk], llm_url: str) -> dict[int, Outcome]:
    around = Around(tuple(house.deaths), requests_by_text(llm_url))
    return {
        walk.schedule.seed: Outcome(walk, violations(walk, stored_of(house.database, walk), around)) for walk in walks
    }


def made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def write_log(folder: Path, outcome: Outcome) -> None:
    walk = outcome.walk
    said = [str(walk.schedule), *walk.log, *(f"VIOLATION {violation}" for violation in outcome.violations), ""]
    (folder / f"seed-{walk.schedule.seed}.log").write_text("\n".join(said), encoding="utf-8")


async def left_behind(house: House) -> list[str]:
    """Sockets and replies that a server still holds although everyone has gone."""
    give_up = time.monotonic() + PATIENCE
    while True:
        left = {name: value for name, value in (await metrics(house)).items() if name in LEFT and value}
        if not left or time.monotonic() > give_up:
            return [f"{name} is {value:g} after everyone has left" for name, value in left.items()]
        await asyncio.sleep(0.2)


async def metrics(house: House) -> dict[str, float]:
    text = (await asyncio.to_thread(fetched, f"{house.server.base_url}/metrics")).decode()
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines}


def requests_by_text(llm_url: str) -> dict[str, int]:
    """How often the model was asked each message."""
    asked: dict[str, int] = {}
    for body in json.loads(fetched(llm_url.removesuffix("/v1") + "/asked")):
        text = body["messages"][-1]["content"]
        asked[text] = asked.get(text, 0) + 1
    return asked


def fetched(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=30) as response:
        return response.read()


# What is stored


def stored_of(database: Database, walk: Walk) -> Stored:
    runs = database.rows(
        "SELECT c.id, c.status, c.end_reason FROM studies_armrun r"
        " JOIN studies_participation p ON p.id = r.participation_id"
        " JOIN dialogue_conversation c ON c.id = r.conversation_id WHERE p.code = ?",
        walk.code,
    )
    consents = database.rows(
        "SELECT c.id FROM studies_consent c JOIN studies_participation p ON p.id = c.participation_id WHERE p.code = ?",
        walk.code,
    )
    if not runs:
        return Stored(consents=len(consents))
    return Stored(
        conversations=len(runs),
        status=runs[-1]["status"],
        end_reason=runs[-1]["end_reason"],
        consents=len(consents),
        turns=turns_of(database, runs[-1]["id"]),
        calls=calls_of(database, runs[-1]["id"]),
        responses=responses_of(database, walk.code),
    )


def turns_of(database: Database, conversation: int) -> list[Turn]:
    rows = database.rows(
        "SELECT number, client_id, text, state, seq, reply, reply_seq, attempts FROM dialogue_turn"
        " WHERE conversation_id = ? ORDER BY number",
        conversation,
    )
    return [Turn(**row) for row in rows]


def calls_of(database: Database, conversation: int) -> list[Call]:
    rows = database.rows(
        "SELECT turn, attempt, status, response, created_at FROM dialogue_call WHERE conversation_id = ? ORDER BY id",
        conversation,
    )
    return [Call(**row | {"created_at": moment(row["created_at"])}) for row in rows]


def moment(value: Any) -> datetime:
    """SQLite's are text without a zone, in UTC."""
    return value if isinstance(value, datetime) else datetime.fromisoformat(value).replace(tzinfo=UTC)


def responses_of(database: Database, code: str) -> list[Response]:
    rows = database.rows(
        "SELECT s.id, s.moment, s.turn FROM studies_response s JOIN studies_rater r ON r.id = s.rater_id"
        " WHERE r.code = ? ORDER BY s.id",
        code,
    )
    return [Response(form_of(row["moment"]), row["turn"], answers_of(database, row["id"])) for row in rows]


def form_of(moment: str) -> str:
    return "rating" if moment == "final" else moment


def answers_of(database: Database, response: int) -> dict[str, float]:
    rows = database.rows("SELECT item, value FROM studies_answer WHERE response_id = ? AND value IS NOT NULL", response)
    return {row["item"]: row["value"] for row in rows}
