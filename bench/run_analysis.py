"""Reading and analysing 1,000,000 ratings: emostudy beside the usual ways and near the limit of numpy, in one run.

    .venv/bin/python -m bench.run_analysis [--rounds 5] [--only reading pearson icc alpha memory]

The ways of a contest take turns, and change places from round to round; a figure is the median of the rounds, a ratio
that of CPU times, which other work on the machine moves least. Before anything is timed, all ways are seen to find the
same. What takes too long is done in part and multiplied, which `x N` says; a missed target is no failure.

The near-limit ways give replicates alone. Ours give, from the same draws, the estimate, the jackknife over people, the
BCa interval and p (pearson, alpha), or all six forms of the ICC with their intervals.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from threadpoolctl import threadpool_limits

from bench import analysis_methods as others
from bench.analysis_methods import ITEMS, Array, Scores
from studies.analysis import frames
from studies.analysis.bootstrap import Bootstrap, Resampled, fisher_z, pair_moments, sum_by_cluster, weights
from studies.analysis.measures import coincidence, variance

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "var" / "bench" / "analysis.jsonl"
REPLICATES, SEED = 2_000, 1
IN_PANDAS = 10  # replicates that pandas is asked for


@dataclass(frozen=True)
class Way:
    """`run` does one part in `parts` of the work."""

    run: Callable[[], Any]
    parts: int = 1


@dataclass(frozen=True)
class Target:
    of: str
    to: str
    bound: float
    faster: bool = False  # then `to` must take `bound` times as long; else `of` at most so


@dataclass(frozen=True)
class Contest:
    """`same`: raises where the ways, given what each returned, did not find the same."""

    what: str
    ways: dict[str, Way]
    targets: tuple[Target, ...]
    same: Callable[[dict[str, Any]], None]


def near(bound: float) -> Target:
    return Target("emostudy", "near limit", bound)


def faster(bound: float) -> Target:
    return Target("emostudy", "usual", bound, faster=True)


# What emostudy does.


def pearson(given: Scores, human: Array) -> list[Resampled]:
    weights.cache_clear()  # drawing is a part of the work
    return [pearson_of(human[:, item], given.judge[:, item], given.person) for item in range(ITEMS)]


def pearson_of(human: Array, judge: Array, person: np.ndarray) -> Resampled:
    both = ~np.isnan(human)
    sums = sum_by_cluster(pair_moments(human[both], judge[both]), person[both])
    return told(Bootstrap(REPLICATES, SEED).resample(fisher_z, sums))


def told(resampled: Resampled) -> Resampled:
    resampled.interval()
    resampled.p_value()
    return resampled


def icc(given: Scores) -> list[float]:
    tables = (others.complete(given.reviewers[:, item]) for item in range(ITEMS))
    return [variance.two_way(table)["icc_a_k"].estimate for table in tables]


def alpha(given: Scores) -> list[Resampled]:
    weights.cache_clear()
    return [alpha_of(given.reviewers[:, item], given.person) for item in range(ITEMS)]


def alpha_of(scores: Array, person: np.ndarray) -> Resampled:
    several = (~np.isnan(scores)).sum(axis=1) > 1
    units, reviewers = np.nonzero(~np.isnan(scores[several]))
    counts = coincidence.counts(scores[several][units, reviewers], units)
    counts.alpha("ordinal")
    return told(counts.resample_alpha("ordinal", person[several], Bootstrap(REPLICATES, SEED)))


# The contests.


def contests(given: Scores, folder: Path) -> dict[str, Contest]:
    human = given.means()
    return {
        "reading": reading_contest(folder),
        "pearson": pearson_contest(given, human),
        "icc": icc_contest(given, folder),
        "alpha": alpha_contest(given),
    }


def reading_contest(folder: Path) -> Contest:
    def same(found: dict[str, Any]) -> None:
        assert np.array_equal(found["emostudy"].ratings["score"], found["usual"]["score"])

    ways = {"emostudy": Way(lambda: frames.load(folder)), "usual": Way(lambda: pd.read_csv(folder / "ratings.csv"))}
    return Contest("reading the folder; usual: pandas.read_csv of ratings.csv", ways, (Target(*ways, 2),), same)


def pearson_contest(given: Scores, human: Array) -> Contest:
    drawn = np.random.default_rng(SEED).integers(others.PEOPLE, size=(IN_PANDAS, others.PEOPLE))
    args = human, given.judge, given.person
    ways = {
        "emostudy": Way(lambda: pearson(given, human)),
        "near limit": Way(lambda: others.pearson_near_limit(*args, REPLICATES, SEED)),
        "usual": Way(lambda: others.pearson_usual(*args, iter(drawn)), parts=REPLICATES // IN_PANDAS),
    }

    def same(found: dict[str, Any]) -> None:
        ours = np.column_stack([np.tanh(one.replicates) for one in found["emostudy"]])
        np.testing.assert_allclose(ours, found["near limit"], rtol=0, atol=1e-9)
        np.testing.assert_allclose(ours[:IN_PANDAS], found["usual"], rtol=0, atol=1e-9)

    what = f"Pearson's r of {ITEMS} items, {REPLICATES} replicates; usual: pandas concat and corr"
    return Contest(what, ways, (near(2), faster(100)), same)


def icc_contest(given: Scores, folder: Path) -> Contest:
    long = pd.read_csv(folder / "ratings.csv", usecols=["conversation", "rater", "rater_kind", "item", "score"])
    ways = {
        "emostudy": Way(lambda: icc(given)),
        "near limit": Way(lambda: others.icc_near_limit(given.reviewers)),
        "usual": Way(lambda: others.icc_usual(long, "item_00"), parts=ITEMS),
    }

    def same(found: dict[str, Any]) -> None:
        np.testing.assert_allclose(found["emostudy"], found["near limit"], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found["emostudy"][0], found["usual"], rtol=0, atol=1e-9)

    what = f"ICC(2,k) of {ITEMS} items; usual: pingouin, from the long table"
    return Contest(what, ways, (near(3), faster(100)), same)


def alpha_contest(given: Scores) -> Contest:
    ways = {
        "emostudy": Way(lambda: alpha(given)),
        "near limit": Way(lambda: others.alpha_near_limit(given.reviewers, given.person, REPLICATES, SEED)),
        "usual": Way(lambda: others.alpha_usual(given.reviewers[:, 0]), parts=ITEMS * REPLICATES),
    }

    def same(found: dict[str, Any]) -> None:
        ours = np.column_stack([one.replicates for one in found["emostudy"]])
        np.testing.assert_allclose(ours, found["near limit"], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found["emostudy"][0].estimate, found["usual"], rtol=0, atol=1e-9)

    what = f"ordinal alpha of {ITEMS} items, {REPLICATES} replicates; usual: the krippendorff package in a loop"
    return Contest(what, ways, (near(2), faster(300)), same)


# Running them.


def runs(key: str, contest: Contest, rounds: int) -> Iterator[dict[str, Any]]:
    contest.same({name: way.run() for name, way in contest.ways.items()})  # and it warms them up
    names = list(contest.ways)
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            yield {"contest": key, "name": name, "round": number, **timed(contest.ways[name])}


def timed(way: Way) -> dict[str, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    way.run()
    return {
        "cpu_s": (time.process_time() - cpu) * way.parts,
        "wall_s": (time.perf_counter() - wall) * way.parts,
    }


def report(contest: Contest, found: list[dict[str, Any]]) -> None:
    print(f"\n{contest.what}")
    for name, way in contest.ways.items():
        cpu, wall = (median(found, name, key) for key in ("cpu_s", "wall_s"))
        print(f"  {name:12} CPU {cpu:10.3f} s   wall {wall:10.3f} s{f'   (x {way.parts})' if way.parts > 1 else ''}")
    for target in contest.targets:
        print(verdict(target, ratio(found, target)))


def median(found: list[dict[str, Any]], name: str, key: str) -> float:
    return statistics.median(one[key] for one in found if one["name"] == name)


def ratio(found: list[dict[str, Any]], target: Target) -> float:
    """The median over the rounds of the ratio within each."""
    of, to = ([one["cpu_s"] for one in found if one["name"] == name] for name in (target.of, target.to))
    return statistics.median(ours / theirs for ours, theirs in zip(of, to, strict=True))


def verdict(target: Target, found: float) -> str:
    if target.faster:
        met, said = found <= 1 / target.bound, f"{1 / found:8.1f} x faster than {target.to}, at least {target.bound:g}"
    else:
        met, said = found <= target.bound, f"{found:8.2f} x {target.to}, at most {target.bound:g}"
    return f"  {said}: {'met' if met else 'NOT MET'}"


# Memory: a process of its own, which does all of the above in emostudy's way alone.


def report_memory(folder: Path) -> None:
    command = [sys.executable, "-m", "bench.run_analysis", "--peak-of", str(folder)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    table = pd.read_csv(folder / "ratings.csv").memory_usage(deep=True).sum() / 1e6
    print(f"\nmemory: peak {found['peak']:.0f} MB, of which the imports are {found['idle']:.0f} MB")
    print(f"  the ratings as pandas reads them {table:.0f} MB, as our DataFrame {found['ours']:.0f} MB")
    print(verdict(Target("", "pandas' DataFrame of the ratings", 4), found["peak"] / table))


def peak_of(folder: Path) -> dict[str, float]:
    """MB of this process: before it began, at its highest, and those of the ratings as they are kept."""
    idle = peak_mb()
    export = frames.load(folder)
    given = others.scores()
    pearson(given, given.means())
    icc(given)
    alpha(given)
    return {"idle": idle, "peak": peak_mb(), "ours": export.ratings.memory_usage(deep=True).sum() / 1e6}


def peak_mb() -> float:
    """From Linux's own account: that of `resource` begins with the peak of the process which started this one."""
    told = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(told["VmHWM"].removesuffix("kB")) * 1024 / 1e6


def run_all(options: argparse.Namespace, folder: Path) -> None:
    given = others.scores()
    print(f"{given.count()} ratings of reviewers and {given.judge.size} of a judge", flush=True)
    others.write_export(folder, given)
    for key, contest in contests(given, folder).items():
        if key in options.only:
            found = list(runs(key, contest, options.rounds))
            with OUT.open("a") as out:
                out.writelines(json.dumps(one) + "\n" for one in found)
            report(contest, found)
    if "memory" in options.only:
        report_memory(folder)


def main() -> None:
    keys = ("reading", "pearson", "icc", "alpha", "memory")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=keys, default=keys)
    parser.add_argument("--peak-of", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # pandas' of mixed types, pingouin's of its own calls
    with threadpool_limits(1):
        if options.peak_of:
            print(json.dumps(peak_of(options.peak_of)))
            return
        OUT.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="emostudy-bench-") as folder:
            run_all(options, Path(folder))


if __name__ == "__main__":
    main()
