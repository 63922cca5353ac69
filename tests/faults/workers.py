"""Two workers on a job of judging and one of simulating, with a real model server; one of them is killed, or sleeps."""

import asyncio
import json
import os
import signal
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tomlkit

from tests.faults.database import Database
from tests.faults.kills import SLEEP, TURNS, Dialogue, Kill, Seen, kill_for, violations
from tests.faults.run import fetched, moment
from tests.faults.site import AT_WORK, Process, Site, ended, is_there, site_on
from tests.llm_server import running
from tests.server import ROOT

AT_ONCE = 3  # kills; each waits most of its time for a lease to run out
CONVERSATIONS, PROFILES = 6, 2
ARMS = {"cool": 0.1, "warm": 0.9}  # temperatures
PATIENCE = 300.0  # seconds, on a slow machine that does other things too
MODEL = "counted-10-{}"  # a word each 10 ms; what stands last it says itself
KEY = "kills"
PLAN = """
from django.core.management import call_command
call_command("migrate", verbosity=0, interactive=False)
call_command("load_study", "__FOLDER__/kills.toml", verbosity=0)
call_command("import_conversations", "kills", "__FOLDER__/kills.jsonl", verbosity=0)
call_command("judge", "kills", judge="judge", strategy="state_aware", background=True, verbosity=0)
call_command(
    "simulate", "kills", seeker="average", max_turns=__TURNS__, limit=__DIALOGUES__, background=True, verbosity=0
)
"""


@dataclass
class Killed:
    kill: Kill
    seen: Seen
    violations: list[str]

    def __str__(self) -> str:
        seconds = "never" if self.seen.seconds is None else f"{self.seen.seconds:.1f} s"
        told = f"{self.kill}: {self.seen.in_flight} in flight, {self.seen.repeats} repeated, all done after {seconds}"
        return told + "".join(f"\n  {violation}" for violation in self.violations)


async def kill_all(
    seeds: Sequence[int], *, folder: Path, at_once: int = AT_ONCE, tell: Callable[[Killed], None] = lambda _: None
) -> list[Killed]:
    places = asyncio.Semaphore(at_once)

    async def one(seed: int) -> Killed:
        async with places:
            kill = kill_for(seed)
            try:
                killed = await asyncio.to_thread(killed_on, kill, folder / f"kill-{seed}")
            except (RuntimeError, OSError) as error:  # no workers, or no model server; the other kills go on
                killed = Killed(kill, Seen(), [f"was not run to its end: {error}"])
            tell(killed)
            return killed

    return list(await asyncio.gather(*(one(seed) for seed in seeds)))


def can_be_run(kill: Kill) -> bool:
    return is_there(kill.backend, kill.broker)


def killed_on(kill: Kill, folder: Path) -> Killed:
    with ExitStack() as stack:
        url = stack.enter_context(running())
        name = f"test_emostudy_kill_{os.getpid()}_{kill.seed}"
        site = stack.enter_context(site_on(kill.backend, folder, name, kill.broker))
        plan(site, url)
        processes = stack.enter_context(site.working(site.commands()))
        struck = victim(site, kill, processes[:2])
        strike(kill, struck)
        when = datetime.now(UTC)
        in_flight = calls_in_flight(site, struck.pid)
        if kill.sleeps:
            wake(struck)
        is_done = ended(next(one for one in reversed(processes) if one is not struck), PATIENCE)
        if kill.sleeps:
            see_out(site.database)
        seen = seen_in(site.database, in_flight, when if is_done else None, requests(url))
    seen = replace(seen, slept=kill.sleeps)
    return Killed(kill, seen, violations(seen))


def strike(kill: Kill, worker: Process) -> None:
    if kill.sleeps:
        worker.send_signal(signal.SIGSTOP)
    else:
        worker.kill()
        worker.wait()


def wake(sleeper: Process) -> None:
    time.sleep(SLEEP)
    sleeper.send_signal(signal.SIGCONT)


def see_out(database: Database) -> None:
    """Of what is done already the sleeper may still have calls under way."""
    give_up = time.monotonic() + PATIENCE
    while counted(database, "SELECT status FROM dialogue_call")["started"] and time.monotonic() < give_up:
        time.sleep(0.1)


def plan(site: Site, url: str) -> None:
    (site.folder / "kills.toml").write_text(tomlkit.dumps(study(url)), encoding="utf-8")
    (site.folder / "kills.jsonl").write_text("\n".join(map(json.dumps, conversations())), encoding="utf-8")
    given = {"FOLDER": site.folder, "TURNS": TURNS, "DIALOGUES": len(ARMS) * PROFILES}
    code = PLAN
    for name, value in given.items():
        code = code.replace(f"__{name}__", str(value))
    site.run(code)


def victim(site: Site, kill: Kill, workers: Sequence[Process]) -> Process:
    """When it is to die. Two may begin far apart, so the one that was drawn may have nothing under way yet."""
    drawn = [workers[kill.victim], workers[1 - kill.victim]]
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        if calls_begun(site.database) >= kill.after:
            for one in drawn:
                if calls_in_flight(site, one.pid):
                    return one
        time.sleep(0.02)
    raise RuntimeError(f"{kill} did not come to be:\n{site.said()}")


# What the rows tell


def calls_begun(database: Database) -> int:
    return int(database.rows("SELECT count(*) AS number FROM dialogue_call")[0]["number"])


def calls_in_flight(site: Site, pid: int) -> int:
    """At most: of the rows that are open, some may still wait for their place at their model."""
    rows = site.database.rows(
        "SELECT count(*) AS number FROM dialogue_call c JOIN dialogue_jobitem i ON i.id = c.item_id"
        " WHERE c.status = 'started' AND i.owner LIKE ? GROUP BY c.model",
        f"{pid}-%",
    )
    return sum(min(int(row["number"]), AT_WORK[site.backend]) for row in rows)


def seen_in(database: Database, in_flight: int, killed_at: datetime | None, requests: Mapping[str, int]) -> Seen:
    items = database.rows("SELECT role, state, done_at FROM dialogue_jobitem")
    seconds = None
    if killed_at and all(row["done_at"] for row in items):
        seconds = (max(moment(row["done_at"]) for row in items) - killed_at).total_seconds()
    return Seen(
        in_flight=in_flight,
        seconds=seconds,
        items=Counter((row["role"], row["state"]) for row in items),
        judged=counted(
            database,
            "SELECT s.rater_id, s.run_id, s.instrument, s.moment, s.turn, s.replicate FROM studies_response s"
            " JOIN studies_rater r ON r.id = s.rater_id WHERE r.kind = 'judge'",
        ),
        thoughts=counted(database, "SELECT conversation_id, turn, source FROM dialogue_innerstate"),
        dialogues=list(dialogues(database)),
        calls=counted(database, "SELECT status FROM dialogue_call"),
        answers=counted(database, "SELECT key FROM dialogue_call WHERE status = 'ok'"),
        requests=requests,
    )


def counted(database: Database, query: str) -> Counter[str]:
    """The rows' columns, each with how often they are there."""
    return Counter("/".join(map(str, row.values())) for row in database.rows(query))


def dialogues(database: Database) -> Iterator[Dialogue]:
    conversations = database.rows(
        "SELECT id, status FROM dialogue_conversation WHERE seeker_kind = 'simulated' ORDER BY id"
    )
    for row in conversations:
        number = row["id"]
        turns = database.rows("SELECT number FROM dialogue_turn WHERE conversation_id = ? ORDER BY number", number)
        thoughts = database.rows(
            "SELECT turn FROM dialogue_innerstate WHERE conversation_id = ? AND source = 'seeker' ORDER BY turn", number
        )
        ratings = database.rows(
            "SELECT s.id FROM studies_response s JOIN studies_armrun r ON r.id = s.run_id WHERE r.conversation_id = ?",
            number,
        )
        yield Dialogue(
            row["status"], [turn["number"] for turn in turns], [one["turn"] for one in thoughts], len(ratings)
        )


def requests(url: str) -> dict[str, int]:
    bodies = json.loads(fetched(url.removesuffix("/v1") + "/asked"))
    return Counter(json.dumps(body, sort_keys=True) for body in bodies)


def study(url: str) -> dict[str, Any]:
    """The demonstration's texts, with a real server behind seekers, judge and two arms."""
    whole = tomllib.loads((ROOT / "fixtures" / "studies" / "demo.toml").read_text(encoding="utf-8"))
    model = {"kind": "openai_compatible", "base_url": url, "model": MODEL.format("calm"), "provider": "Test Lab"}
    whole |= {"key": KEY, "languages": ["en"], "steps": [{"kind": kind} for kind in ("consent", "chats", "debrief")]}
    whole["consent"]["providers"] = ["Test Lab"]
    whole["chat"] = {"min_turns": 1, "max_turns": 8, "final_instruments": ["emoharbor_10"]}
    whole["seeker"] = model
    whole["judges"] = [{"key": "judge", "title": "A judge", **model}]
    whole["arms"] = [
        {
            "key": key,
            "title": key,
            "prompt": "supporter",
            "temperature": temperature,
            **model,
            "model": MODEL.format(key),
        }
        for key, temperature in ARMS.items()
    ]
    return whole


def conversations() -> Iterator[dict[str, Any]]:
    for number in range(CONVERSATIONS):
        turns = [{"seeker": f"I feel low ({number}, {turn}).", "supporter": "Tell me more."} for turn in (1, 2)]
        yield {"id": f"c{number}", "arm": "cool", "profile": f"A person of {20 + number}.", "turns": turns}
