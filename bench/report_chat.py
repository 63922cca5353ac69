"""Medians over the rounds, ratios to the bare consumer within each round, and the targets, from run_chat.py's lines.

python -m bench.report_chat var/bench/chat.jsonl
"""

import argparse
import json
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REFERENCE = "bare"
Run = dict[str, Any]
DAMAGE = ("lost", "repeated", "misordered", "strayed", "empty")

COLUMNS = (
    ("added p50", "added.p50"),
    ("added p95", "added.p95"),
    ("token p95", "token.p95"),
    ("tail p95", "tail.p95"),
    ("page p95", "page.p95"),
    ("socket p95", "socket.p95"),
    ("CPU ms/opening", "cpu_ms_per_opening"),
    ("CPU ms/turn", "cpu_ms_per_turn"),
    ("with opening", "cpu_ms_per_turn_with_opening"),
    ("idle MB", "idle_mb"),
    ("peak MB", "peak_mb"),
)


@dataclass(frozen=True)
class Target:
    """`key` of one system, divided by that of another in the same round, is at most `most`."""

    name: str
    key: str
    n: int
    most: float
    other: str = REFERENCE


TARGETS = (
    Target("C1", "added.p95", 50, 0.5),
    Target("C1", "added.p95", 50, 0.1, "gradio"),
    Target("C1", "added.p95", 50, 0.5, "otree"),
    Target("C2", "added.p95", 200, 0.1),
    Target("C2", "added.p95", 200, 0.02, "gradio"),
    Target("C2", "added.p95", 200, 10, "relay"),
    Target("C3", "token.p95", 200, 0.05, "chainlit"),
    Target("C3", "token.p95", 200, 0.05, "otree"),
    Target("C4", "cpu_ms_per_turn", 50, 0.75),
    Target("C4", "cpu_ms_per_turn", 200, 0.75),
    Target("C4", "cpu_ms_per_turn", 200, 4, "relay"),
    Target("C5", "peak_mb", 200, 1.3),
    Target("C5", "peak_mb", 200, 1, "gradio"),
    Target("C7", "socket.p95", 200, 2),
    Target("C7", "page.p95", 200, 0.5, "otree"),
)


def value(run: Run, key: str) -> float | None:
    """`added.p95` is the entry `p95` of `added`; `None` where this system has no such figure."""
    found: Any = run
    for part in key.split("."):
        found = found.get(part) if found else None
    return found


def median(runs: Iterable[Run], key: str) -> float | None:
    values = [found for run in runs if (found := value(run, key)) is not None]
    return statistics.median(values) if values else None


def ratio(runs: list[Run], key: str, *, of: str, to: str) -> float | None:
    """The median over the rounds of the ratio within each."""
    references = {run["round"]: value(run, key) for run in runs if run["name"] == to}
    pairs = [(value(run, key), references.get(run["round"])) for run in runs if run["name"] == of]
    ratios = [ours / theirs for ours, theirs in pairs if ours is not None and theirs]
    return statistics.median(ratios) if ratios else None


def harm(run: Run) -> int:
    """Tokens and rows that are lost, doubled, moved or another's; openings and turns that failed untold."""
    told = run["errors"].get("turn: told", 0)
    untold = sum(run["errors"].values()) - told
    return untold + sum(run[kind] for kind in DAMAGE) + sum(run.get("rows", {}).values())


def report(results: list[Run]) -> str:
    good = [run for run in results if "failed" not in run]
    sizes = sorted({run["n"] for run in good})
    return "\n".join([*(part for n in sizes for part in table(n, good)), "", *targets(good)])


def table(n: int, results: list[Run]) -> Iterator[str]:
    runs = [run for run in results if run["n"] == n]
    heads = ["system", "rounds", *(head for head, _ in COLUMNS), "p95 /bare", "CPU /bare", "told", "lost or repeated"]
    yield f"\nn = {n} (medians; milliseconds)"
    yield f"| {' | '.join(heads)} |"
    yield "|---|" + "---:|" * (len(heads) - 1)
    for name in dict.fromkeys(run["name"] for run in runs):
        yield f"| {' | '.join(cells(name, runs))} |"


def cells(name: str, runs: list[Run]) -> Iterator[str]:
    own = [run for run in runs if run["name"] == name]
    yield from (name, str(len(own)))
    for _, key in COLUMNS:
        yield number(median(own, key), 1)
    for key in ("added.p95", "cpu_ms_per_turn"):
        yield number(ratio(runs, key, of=name, to=REFERENCE), 2)
    yield str(sum(run["errors"].get("turn: told", 0) for run in own))
    yield str(sum(harm(run) for run in own))


def number(found: float | None, digits: int) -> str:
    return "-" if found is None else f"{found:.{digits}f}"


def targets(results: list[Run]) -> Iterator[str]:
    yield "Targets for emostudy (ratios within a round, medians of the rounds)"
    for target in TARGETS:
        runs = [run for run in results if run["n"] == target.n]
        found = ratio(runs, target.key, of="emostudy", to=target.other)
        if found is not None:
            what = f"{target.name} n={target.n} {target.key} / {target.other}"
            yield f"{what:<44}{found:8.3f}  at most {target.most:<5g} {verdict(found <= target.most)}"
    own = [run for run in results if run["name"] == "emostudy"]
    if own:
        found = sum(harm(run) for run in own)
        yield f"{'C6 tokens, rows and sockets lost or repeated':<44}{found:8d}  at most 0     {verdict(found == 0)}"


def verdict(met: bool) -> str:
    return "met" if met else "NOT MET"


def line(run: Run) -> str:
    if "failed" in run:
        return f"{run['name']:<10} n={run['n']:<4} FAILED: {run['failed']}"
    keys = [(head, number(value(run, key), 1)) for head, key in COLUMNS]
    told = f"ok={run['turns_ok']} harm={harm(run)} errors={run['errors']} anew={run['begun_anew']}"
    return f"{run['name']:<10} n={run['n']:<4} {told} " + " ".join(f"{head}={shown}" for head, shown in keys)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    lines = [line for file in parser.parse_args().files for line in file.read_text().splitlines()]
    print(report([json.loads(one) for one in lines]))


if __name__ == "__main__":
    main()
