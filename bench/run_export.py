"""The researcher's ratings.csv of 1,000,000 ratings: emostudy beside the fastest that the database can do, in one run.

    .venv/bin/python -m bench.run_export [--rounds 3] [--only postgres sqlite]

The limit is COPY on PostgreSQL and a bare cursor with csv.writer on SQLite, both of the very SELECT that the export
makes. Each way is a process of its own, in turns that change from round to round; a figure is the median of the rounds.
CPU is that of the process and of PostgreSQL's for it; the targets are held against the ratio of that, which other work
on the machine moves least.
PostgreSQL is expected on 127.0.0.1:5432 with the role `postgres` (BENCH_POSTGRES names another); a database
`emostudy_bench_export` is made there and dropped. A missed target is no failure.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "var" / "bench" / "export.jsonl"
POSTGRES = os.environ.get("BENCH_POSTGRES", "postgresql://postgres@127.0.0.1:5432/postgres")
DATABASE = "emostudy_bench_export"
FOREIGN = ("REDIS_URL", "CELERY_BROKER_URL", "EMAIL_URL", "DJANGO_SETTINGS_MODULE", "DEBUG", "VAR_DIR", "DATABASE_URL")
WAYS = {"postgres": ("emostudy", "copy", "cursor"), "sqlite": ("emostudy", "cursor")}
LIMIT = {"postgres": "copy", "sqlite": "cursor"}
MOST = {"postgres": 8.0, "sqlite": 2.5}
MOST_MB = 30
FIGURES = ("wall_s", "cpu_s", "idle_mb", "peak_mb")


@contextlib.contextmanager
def database(kind: str) -> Iterator[dict[str, str]]:
    """The environment that names a new and empty one."""
    with tempfile.TemporaryDirectory(prefix="emostudy-bench-") as folder:
        env = {name: value for name, value in os.environ.items() if name.removesuffix("_FILE") not in FOREIGN}
        env |= {"VAR_DIR": folder, "BENCH_OUT": str(Path(folder) / "ratings.csv")}
        if kind == "sqlite":
            yield env
            return
        on_server(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)", f"CREATE DATABASE {DATABASE}")
        try:
            yield env | {"DATABASE_URL": urlsplit(POSTGRES)._replace(path=f"/{DATABASE}").geturl()}
        finally:
            on_server(f"DROP DATABASE {DATABASE} WITH (FORCE)")


def on_server(*statements: str) -> None:
    with psycopg.connect(POSTGRES, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def figures(env: dict[str, str], *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.export_methods", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=True)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def runs(kind: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    ways = WAYS[kind]
    with database(kind) as env:
        print(f"\n{kind}: {figures(env, 'fill', '--rows', str(options.rows))['rows']} ratings", flush=True)
        for number in range(options.rounds):
            shift = number % len(ways)
            for way in ways[shift:] + ways[:shift]:
                yield {"database": kind, "name": way, "round": number, **figures(env, way)}


def report(kind: str, found: list[dict[str, Any]]) -> None:
    for way in WAYS[kind]:
        own = [one for one in found if one["name"] == way]
        wall, cpu, idle, peak = (statistics.median(one[key] for one in own) for key in FIGURES)
        of_cpu, of_wall = (ratio(found, way, LIMIT[kind], key) for key in ("cpu_s", "wall_s"))
        print(
            f"  {way:9} CPU {cpu:6.2f} s = {of_cpu:5.2f} x {LIMIT[kind]}   wall {wall:6.2f} s = {of_wall:5.2f} x   "
            f"{own[0]['rows'] / wall:9.0f} rows/s   idle {idle:4.0f} MB + {peak - idle:.0f}"
        )
    ours = ratio(found, "emostudy", LIMIT[kind])
    more = max(one["peak_mb"] - one["idle_mb"] for one in found if one["name"] == "emostudy")
    print(f"  {ours:.2f} x {LIMIT[kind]}, at most {MOST[kind]:g}: {verdict(ours <= MOST[kind])}")
    print(f"  {more:.0f} MB over idle, at most {MOST_MB}: {verdict(more <= MOST_MB)}")


def ratio(found: list[dict[str, Any]], way: str, limit: str, key: str = "cpu_s") -> float:
    """The median over the rounds of the ratio within each."""
    of, to = ([one[key] for one in found if one["name"] == name] for name in (way, limit))
    return statistics.median(ours / theirs for ours, theirs in zip(of, to, strict=True))


def verdict(met: bool) -> str:
    return "met" if met else "NOT MET"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="+", choices=tuple(WAYS), default=tuple(WAYS))
    options = parser.parse_args()
    OUT.parent.mkdir(parents=True, exist_ok=True)
    for kind in options.only:
        found = []
        for result in runs(kind, options):
            found.append(result)
            with OUT.open("a") as out:
                out.write(json.dumps(result) + "\n")
        report(kind, found)


if __name__ == "__main__":
    main()
