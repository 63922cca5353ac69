"""Chats side by side: each system in turn, in several rounds, on one machine.

Every run starts a mock LLM and a server of its own on free loopback ports, lets chat_load.py talk to it, and ends both.
The order rotates from round to round. One JSON line for each run is appended to --out; at the end report_chat.py prints
the medians, the ratios, and the targets that they meet. A benchmark measures: a missed target is no failure.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import report_chat
from bench.processes import PeakMemory, Server, clean_environment, free_port, memory_mb
from bench.systems import PROJECT, ROOT, SYSTEMS, TOOLS, VENVS, Place, System

DEFAULT = ("bare", "emostudy")
CHECKED = ("emostudy", "emostudy-watched")  # afterwards, what they stored


@contextmanager
def mock_llm(folder: Path) -> Iterator[str]:
    port = free_port()
    command = [str(TOOLS), "-m", "bench.mock_llm", "--port", str(port)]
    server = Server(command, cwd=ROOT, env=clean_environment(), log=folder / "mock.txt")
    try:
        server.wait_for(f"http://127.0.0.1:{port}/health")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop()


@contextmanager
def started(system: System, place: Place) -> Iterator[Server | None]:
    server = system.start(place) if system.start else None
    try:
        yield server
    finally:
        if server:
            server.stop()


def one_run(name: str, n: int, options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="emostudy-bench-") as folder, mock_llm(Path(folder)) as mock:
        place = Place(Path(folder), mock, model_name(options), n, second_line=options.second_line)
        with started(SYSTEMS[name], place) as server:
            return {"name": name, **measured(name, server, place, options)}


def measured(name: str, server: Server | None, place: Place, options: argparse.Namespace) -> dict[str, Any]:
    system = SYSTEMS[name]
    if server is None:
        figures = talk(system, place.mock, None, place, options)
        return figures | {"mock": told(place.mock, "stats")}
    warm_up(system, place, server)
    told(place.mock, "reset")
    idle, peak = memory_mb(server.pid), PeakMemory(server.pid)
    peak.start()
    figures = talk(system, place.url, server.pid, place, options)
    peak.stopped.set()
    figures |= {"idle_mb": idle, "peak_mb": peak.mb, "mock": told(place.mock, "stats")}
    return figures | (checked(place, figures) if name in CHECKED else {})


def warm_up(system: System, place: Place, server: Server) -> None:
    """Two short turns, so that lazy imports and first connections are not measured."""
    load = ["--system", system.adapter, "--url", place.url, "--pid", str(server.pid), "-n", "2", "--turns", "1"]
    command = [
        str(TOOLS),
        "-m",
        "bench.chat_load",
        *load,
        "--think",
        "0",
        "0",
        "--ramp",
        "0",
        "--timeout",
        "20",
        "--label",
        "warm",
    ]
    env = place.env(BENCH_PEOPLE=str(place.folder / "warm.json"))
    subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, timeout=60, check=True)


def talk(system: System, url: str, pid: int | None, place: Place, options: argparse.Namespace) -> dict[str, Any]:
    load = ["--system", system.adapter, "--url", url, "-n", str(place.n), "--turns", str(options.turns)]
    load += ["--expect", str(options.tokens), "--think", *map(str, options.think), "--ramp", str(options.ramp)]
    load += ["--timeout", str(options.timeout), "--transcript", str(place.folder / "transcript.jsonl")]
    load += ["--pid", str(pid)] if pid else []
    load += ["--not-before", str(options.second_line)] if system is SYSTEMS["emostudy-watched"] else []
    env = place.env(BENCH_PEOPLE=str(place.folder / "people.json"))
    command = [str(TOOLS), "-m", "bench.chat_load", *load]
    done = subprocess.run(
        command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, timeout=options.limit, check=True
    )
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def checked(place: Place, figures: dict[str, Any]) -> dict[str, Any]:
    """What emostudy stored, against what the participants saw and the mock served."""
    transcript = str(place.folder / "transcript.jsonl")
    command = [str(PROJECT), "-m", "bench.emostudy_rows", "check", transcript, str(figures["mock"]["requests"])]
    env = place.env(VAR_DIR=str(place.folder / "var"))
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return {"rows": json.loads(done.stdout)}


def told(mock: str, what: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{mock}/{what}") as response:
        answer: dict[str, Any] = json.load(response)
    return answer


def model_name(options: argparse.Namespace) -> str:
    name = f"mock-n{options.tokens}-f{options.first}-g{options.gap}"
    return f"{name}-{options.fault}" if options.fault else name


def chosen(options: argparse.Namespace) -> list[str]:
    missing = [name for name in options.only if not SYSTEMS[name].is_installed()]
    for name in missing:
        print(f"{name} is not installed and left out; make bench-peers installs it", file=sys.stderr)
    return [name for name in options.only if name not in missing]


def runs(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    names = chosen(options)
    for round_ in range(options.rounds):
        for n in options.n:
            shift = round_ % len(names)
            for name in names[shift:] + names[:shift]:
                yield {**attempted(name, n, options), "round": round_, "model": model_name(options)}


def attempted(name: str, n: int, options: argparse.Namespace) -> dict[str, Any]:
    try:
        return one_run(name, n, options)
    except (RuntimeError, subprocess.SubprocessError, OSError) as error:
        return {"name": name, "n": n, "failed": f"{type(error).__name__}: {error}"}


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=SYSTEMS, default=list(DEFAULT), help="systems, in this order")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-n", type=int, nargs="+", default=[50, 200], help="participants at once")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=40, help="of one answer")
    parser.add_argument("--first", type=int, default=200, help="milliseconds to the first token")
    parser.add_argument("--gap", type=int, default=25, help="milliseconds between tokens")
    parser.add_argument("--second-line", type=int, default=150, help="milliseconds, of emostudy-watched")
    parser.add_argument("--fault", default="", help="for example x429-p10 (see mock_llm.py)")
    parser.add_argument("--think", type=float, nargs=2, default=(1, 3), help="seconds between turns, from to")
    parser.add_argument("--ramp", type=float, default=2, help="seconds within which all join")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one turn")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one run")
    parser.add_argument("--out", type=Path, default=VENVS / "chat.jsonl")
    return parser.parse_args(arguments)


def main() -> None:
    options = parsed()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    results = []
    for result in runs(options):
        results.append(result)
        with options.out.open("a") as out:
            out.write(json.dumps(result) + "\n")
        print(report_chat.line(result), flush=True)
    print(report_chat.report(results))


if __name__ == "__main__":
    main()
