"""Two workers on a job of judging and one of simulating, against a real model server; one of them is killed."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import redis
import tomli_w

from tests.faults.database import Database, Postgres, SQLite
from tests.faults.kills import ANSWERED, Dialogue, Kill, Seen, kill_for, violations
from tests.faults.run import fetched, moment
from tests.llm_server import running
from tests.server import NOT_INHERITED, ROOT

AT_ONCE = 3  # kills; each waits most of its time for a lease to run out
CONVERSATIONS, PROFILES = 6, 2
PATIENCE = 90.0  # seconds
AT_WORK = {"sqlite": 8, "postgres": 16}  # calls at once, by one worker
MODEL = "counted-10-kill"  # a word each 10 ms
REDIS = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/0")
KEY = "kills"
PLAN = """
from django.core.management import call_command
call_command("migrate", verbosity=0, interactive=False)
call_command("load_study", "__FOLDER__/kills.toml", verbosity=0)
call_command("import_conversations", "kills", "__FOLDER__/kills.jsonl", verbosity=0)
call_command("judge", "kills", judge="judge", strategy="state_aware", background=True, verbosity=0)
call_command("simulate", "kills", seeker="average", max_turns=3, limit=__DIALOGUES__, background=True, verbosity=0)
"""

Process = subprocess.Popen[bytes]


@dataclass
class Killed:
    kill: Kill
    seen: Seen
    violations: list[str]

    def __str__(self) -> str:
        seconds = "never" if self.seen.seconds is None else f"{self.seen.seconds:.1f} s"
        told = f"{self.kill}: {self.seen.in_flight} in flight, {self.seen.repeats} repeated, all done after {seconds}"
        return told + "".join(f"\n  {violation}" for violation in self.violations)


def redis_answers() -> bool:
    try:
        return bool(redis.from_url(REDIS, socket_connect_timeout=3).ping())
    except redis.RedisError:
        return False


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


def killed_on(kill: Kill, folder: Path) -> Killed:
    folder.mkdir(parents=True)
    with ExitStack() as stack:
        url = stack.enter_context(running())
        site = stack.enter_context(planned(kill, folder, url))
        processes = [site.begin(*command) for command in site.commands()]
        stack.callback(end, processes)
        dies = site.victim(processes[:2])
        dies.kill()
        dies.wait()
        when = datetime.now(UTC)
        in_flight = site.in_flight(dies.pid)
        is_done = ended(next(one for one in reversed(processes) if one is not dies))
        seen = site.seen(in_flight, when if is_done else None, requests(url))
    return Killed(kill, seen, violations(seen))


def ended(worker: Process) -> bool:
    """One that was told to stay until nothing is left to be done."""
    try:
        return worker.wait(PATIENCE) == 0
    except subprocess.TimeoutExpired:
        return False


def end(workers: Sequence[Process]) -> None:
    for worker in workers:
        if worker.poll() is None:
            worker.send_signal(signal.SIGTERM)
    for worker in workers:
        try:
            worker.wait(20)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


class Site:
    """A database with two jobs in it, and the processes that work on them."""

    def __init__(self, kill: Kill, folder: Path, database: Database) -> None:
        self.kill, self.folder, self.database = kill, folder, database
        self.prefix = f"test_emostudy_kill_{os.getpid()}_{kill.seed}"
        broker = {"CELERY_BROKER_URL": REDIS, "CELERY_QUEUE": self.prefix, "REDIS_PREFIX": self.prefix}
        kept = {name: value for name, value in os.environ.items() if name.removesuffix("_FILE") not in NOT_INHERITED}
        given = {"VAR_DIR": str(folder / "var"), **database.environment}
        self.env = kept | given | (broker if kill.backend == "postgres" else {})

    def plan(self, url: str) -> None:
        (self.folder / "kills.toml").write_text(tomli_w.dumps(study(url)), encoding="utf-8")
        (self.folder / "kills.jsonl").write_text("\n".join(map(json.dumps, conversations())), encoding="utf-8")
        code = PLAN.replace("__FOLDER__", str(self.folder)).replace("__DIALOGUES__", str(2 * PROFILES))
        told = subprocess.run(
            [sys.executable, "manage.py", "shell", "-c", code], cwd=ROOT, env=self.env, capture_output=True, text=True
        )
        if told.returncode:
            raise RuntimeError(told.stderr)

    def commands(self) -> list[list[str]]:
        """The two workers; and with Celery, who sends them their work."""
        at_once = {backend: str(number) for backend, number in AT_WORK.items()}
        runner = ["manage.py", "run_jobs", "--until-done", "--concurrency", at_once["sqlite"]]
        if self.kill.backend == "sqlite":
            return [runner, runner]
        celery = ["-m", "celery", "-A", "emostudy.celery", "worker", "--pool", "threads", "-c", at_once["postgres"]]
        return [[*celery, "-l", "WARNING", "-n", "one@%h"], [*celery, "-l", "WARNING", "-n", "two@%h"], runner]

    def begin(self, *command: str) -> Process:
        with (self.folder / "workers.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *command], cwd=ROOT, env=self.env, stdout=log, stderr=subprocess.STDOUT
            )

    def victim(self, workers: Sequence[Process]) -> Process:
        """When it is to die. Two may begin far apart, so the one that was drawn may have nothing under way yet."""
        drawn = [workers[self.kill.victim], workers[1 - self.kill.victim]]
        give_up = time.monotonic() + PATIENCE
        while time.monotonic() < give_up:
            if self.calls_begun() >= self.kill.after:
                for one in drawn:
                    if self.in_flight(one.pid):
                        return one
            time.sleep(0.02)
        raise RuntimeError(f"{self.kill} did not come to be:\n{(self.folder / 'workers.log').read_text()}")

    # What the rows tell

    def count(self, query: str, *parameters: Any) -> dict[Any, int]:
        """The rows' first columns, each with how often it is there."""
        return Counter("/".join(map(str, row.values())) for row in self.database.rows(query, *parameters))

    def calls_begun(self) -> int:
        return int(self.database.rows("SELECT count(*) AS number FROM dialogue_call")[0]["number"])

    def in_flight(self, pid: int) -> int:
        """At most: of the rows that are open, some may still wait for their place at the endpoint."""
        rows = self.database.rows(
            "SELECT count(*) AS number FROM dialogue_call c JOIN dialogue_jobitem i ON i.id = c.item_id"
            " WHERE c.status = 'started' AND i.owner LIKE ?",
            f"{pid}-%",
        )
        return min(int(rows[0]["number"]), AT_WORK[self.kill.backend])

    def seen(self, in_flight: int, killed_at: datetime | None, requests: Mapping[str, int]) -> Seen:
        items = self.database.rows("SELECT role, state, done_at FROM dialogue_jobitem")
        seconds = None
        if killed_at and all(row["done_at"] for row in items):
            seconds = (max(moment(row["done_at"]) for row in items) - killed_at).total_seconds()
        return Seen(
            in_flight=in_flight,
            seconds=seconds,
            items=Counter((row["role"], row["state"]) for row in items),
            judged=self.count(
                "SELECT s.rater_id, s.run_id, s.instrument, s.moment, s.turn, s.replicate FROM studies_response s"
                " JOIN studies_rater r ON r.id = s.rater_id WHERE r.kind = 'judge'"
            ),
            thoughts=self.count("SELECT conversation_id, turn, source FROM dialogue_innerstate"),
            dialogues=list(self.dialogues()),
            calls=self.count("SELECT status FROM dialogue_call"),
            answers=self.count("SELECT key FROM dialogue_call WHERE status IN (?, ?)", *ANSWERED),
            requests=requests,
        )

    def dialogues(self) -> Iterator[Dialogue]:
        conversations = self.database.rows(
            "SELECT id, status FROM dialogue_conversation WHERE seeker_kind = 'simulated' ORDER BY id"
        )
        for row in conversations:
            turns = self.database.rows(
                "SELECT number FROM dialogue_turn WHERE conversation_id = ? ORDER BY number", row["id"]
            )
            ratings = self.database.rows(
                "SELECT s.id FROM studies_response s JOIN studies_armrun r ON r.id = s.run_id"
                " WHERE r.conversation_id = ?",
                row["id"],
            )
            yield Dialogue(row["status"], [turn["number"] for turn in turns], len(ratings))


@contextmanager
def planned(kill: Kill, folder: Path, url: str) -> Iterator[Site]:
    with ExitStack() as stack:
        database: Database = SQLite(folder / "var" / "emostudy.sqlite3")
        if kill.backend == "postgres":
            name = f"test_emostudy_kill_{os.getpid()}_{kill.seed}"
            database = stack.enter_context(Postgres.made(name))
        site = Site(kill, folder, database)
        if kill.backend == "postgres":
            stack.callback(forget, site.prefix)
        site.plan(url)
        yield site


def forget(prefix: str) -> None:
    server = redis.from_url(REDIS)
    for key in server.scan_iter(f"{prefix}*"):
        server.delete(key)


def requests(url: str) -> dict[str, int]:
    bodies = json.loads(fetched(url.removesuffix("/v1") + "/asked"))
    return Counter(json.dumps(body, sort_keys=True) for body in bodies)


def study(url: str) -> dict[str, Any]:
    """The demonstration's texts, with a real server behind seekers, judge and two arms."""
    whole = tomllib.loads((ROOT / "fixtures" / "studies" / "demo.toml").read_text(encoding="utf-8"))
    model = {"kind": "openai_compatible", "base_url": url, "model": MODEL, "provider": "Test Lab"}
    whole |= {"key": KEY, "languages": ["en"], "steps": [{"kind": kind} for kind in ("consent", "chats", "debrief")]}
    whole["consent"]["providers"] = ["Test Lab"]
    whole["chat"] = {"min_turns": 1, "max_turns": 8, "final_instruments": ["emoharbor_10"]}
    whole["seeker"] = model
    whole["judges"] = [{"key": "judge", "title": "A judge", **model}]
    whole["arms"] = [
        {"key": key, "title": key, "prompt": "supporter", "temperature": temperature, **model}
        for key, temperature in (("cool", 0.1), ("warm", 0.9))
    ]
    return whole


def conversations() -> Iterator[dict[str, Any]]:
    for number in range(CONVERSATIONS):
        turns = [{"seeker": f"I feel low ({number}, {turn}).", "supporter": "Tell me more."} for turn in (1, 2)]
        yield {"id": f"c{number}", "arm": "cool", "profile": f"A person of {20 + number}.", "turns": turns}
