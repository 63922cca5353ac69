"""Many model calls side by side: emostudy's jobs and other ways to ask as many at once, in one run.

    var/bench/venv/bin/python -m bench.run_batch [--rounds 3] [--only emostudy raw …]

Judging: 500 calls of 200 ms, 64 at once, after 50 to warm up; emostudy stores ledger and verdict, on PostgreSQL where
BENCH_POSTGRES names a server (a database is made and dropped), and on SQLite. Many: 8,000 calls, 200 at once, of 500 ms
(what it costs beside the ideal) and of 200 ms (how many one worker makes in a second). Simulating: 200 dialogues of 15
turns, up to three calls of 500 ms a turn, 100 at once. Medians, as multiples of the ideal time; a missed target is no
failure.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.processes import clean_environment
from bench.run_chat import mock_llm
from bench.systems import PROJECT, ROOT, VENVS

OUT = VENVS / "batch.jsonl"
INSPECT = VENVS / "inspect" / "bin" / "python"
POSTGRES = os.environ.get("BENCH_POSTGRES", "postgresql://postgres@127.0.0.1:5432/postgres")
DIALOGUES, TURNS = 200, 15


@dataclass(frozen=True)
class Load:
    """`calls` of so many ms each, so many at once; `calls` is None where only the run itself tells."""

    calls: int | None
    at_once: int
    latency: int

    def ideal(self, calls: float) -> float:
        """Seconds."""
        return calls * self.latency / 1000 / self.at_once


USUAL = Load(500, 64, 200)
LOADS = {
    "emostudy": USUAL,
    "emostudy-sqlite": USUAL,
    "raw": USUAL,
    "aiohttp": USUAL,
    "openai-aio": USUAL,
    "threads": USUAL,
    "inspect": USUAL,
    "emostudy-200": Load(8000, 200, 500),
    "emostudy-rate": Load(8000, 200, 200),
    "simulate": Load(None, 100, 500),
}
COMPARED = ("threads", "inspect")  # with emostudy, whose load they share


@contextlib.contextmanager
def database(kind: str, folder: Path) -> Iterator[dict[str, str]]:
    """The environment that names a new and empty one."""
    env = {"VAR_DIR": str(folder / "var")}
    if kind == "sqlite":
        yield env
        return
    name = f"bench_emostudy_{uuid.uuid4().hex[:10]}"
    on_server(f'CREATE DATABASE "{name}"')
    try:
        yield env | {"DATABASE_URL": urlsplit(POSTGRES)._replace(path=f"/{name}").geturl()}
    finally:
        on_server(f'DROP DATABASE "{name}" WITH (FORCE)')


def on_server(statement: str) -> None:
    code = "import psycopg, sys; psycopg.connect(sys.argv[1], autocommit=True).execute(sys.argv[2])"
    subprocess.run([str(PROJECT), "-c", code, POSTGRES, statement], check=True)


def emostudy(kind: str, *arguments: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="emostudy-bench-") as folder, database(kind, Path(folder)) as env:
        return figures([str(PROJECT), "-m", "bench.emostudy_jobs", *arguments], env)


def figures(command: list[str], env: dict[str, str]) -> dict[str, Any]:
    whole = clean_environment() | {"OPENBLAS_NUM_THREADS": "1"} | env
    done = subprocess.run(command, cwd=ROOT, env=whole, stdout=subprocess.PIPE, text=True, check=True, timeout=600)
    told: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return told


def judged(way: str, url: str) -> dict[str, Any]:
    load = LOADS[way]
    common = ["--url", url, "--calls", str(load.calls), "--at-once", str(load.at_once), "--model"]
    if way.startswith("emostudy"):
        kind = "sqlite" if way.endswith("sqlite") else "postgres"
        return emostudy(kind, "judge", *common, f"scores-f{load.latency}")
    python = INSPECT if way == "inspect" else PROJECT
    return figures([str(python), "-m", "bench.batch_methods", way, *common, f"judge-f{load.latency}"], {})


def simulated(url: str) -> dict[str, Any]:
    load = LOADS["simulate"]
    sizes = ["--dialogues", str(DIALOGUES), "--turns", str(TURNS), "--at-once", str(load.at_once)]
    return emostudy("postgres", "simulate", "--url", url, *sizes, "--model", f"cast-n28-f{load.latency}-g0")


def runs(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for number in range(options.rounds):
        shift = number % len(options.only)
        for way in options.only[shift:] + options.only[:shift]:
            with tempfile.TemporaryDirectory() as folder, mock_llm(Path(folder)) as url:
                result = simulated(url) if way == "simulate" else judged(way, url)
            result |= {"name": way, "round": number}
            with OUT.open("a") as out:
                out.write(json.dumps(result) + "\n")
            yield result


def report(found: list[dict[str, Any]]) -> None:
    """A line for each way, and what emostudy takes of the others' time."""
    ways = {way: [one for one in found if one["name"] == way] for way in dict.fromkeys(one["name"] for one in found)}
    for way, ours in ways.items():
        load = LOADS[way]
        calls = load.calls or median(ours, "calls")
        wall, cpu, peak = (median(ours, name) for name in ("wall_s", "cpu_s", "peak_mb"))
        print(
            f"{way:16} wall {wall:7.2f} s = {wall / load.ideal(calls):5.2f} x ideal   {calls / wall:5.0f} a second   "
            f"CPU {1000 * cpu / calls:6.2f} ms a call   peak {peak:6.1f} MB   good {min(one['good'] for one in ours)}"
        )
    for way in [way for way in COMPARED if {way, "emostudy"} <= ways.keys()]:
        wall, cpu = (median(ways["emostudy"], name) / median(ways[way], name) for name in ("wall_s", "cpu_s"))
        print(f"emostudy / {way:9} wall {wall:.3f}   CPU {cpu:.3f}")


def median(rounds: list[dict[str, Any]], figure: str) -> float:
    return float(statistics.median(one[figure] for one in rounds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=LOADS, default=[*LOADS])
    options = parser.parse_args()
    if "inspect" in options.only and not INSPECT.exists():
        parser.error("inspect_ai is not installed: sh bench/peers.sh inspect")
    VENVS.mkdir(parents=True, exist_ok=True)
    report(list(runs(options)))


if __name__ == "__main__":
    main()
