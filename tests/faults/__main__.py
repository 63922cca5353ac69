"""`python -m tests.faults`: schedules of faults on real servers; workers that are killed or fall asleep; alarms on
their way when the server is killed."""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.faults.alarms import can_be_told, story_for, tell_all
from tests.faults.database import postgres_answers
from tests.faults.kills import SLEEPERS, kill_for
from tests.faults.run import AT_ONCE, Outcome, Round, run_all
from tests.faults.schedule import backend_of, companions, rounds_of
from tests.faults.workers import Killed, can_be_run, kill_all
from tests.llm_server import running

USUAL = 300
ALARM_EVERY = 30  # the server is killed before one mail for so many schedules
KILL_EVERY = 6  # one worker is killed for so many schedules
SLEEP_EVERY = 5  # and one falls asleep for so many that are killed


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--count", type=int, default=USUAL, help=f"the seeds from 1 to this one (default {USUAL})")
    which.add_argument("--seeds", type=int, nargs="+", metavar="SEED", help="these seeds")
    which.add_argument("--seed", type=int, help="this one and those of its round, and all that happened in it")
    which.add_argument(
        "--kills",
        type=int,
        nargs="+",
        metavar="SEED",
        help=f"no people, and these workers killed; above {SLEEPERS} they sleep",
    )
    which.add_argument("--alarms", type=int, nargs="+", metavar="SEED", help="these alarms, and nothing else")
    parser.add_argument("--alone", action="store_true", help="with --seed: without the others of its round")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, metavar="N", help=f"rounds at once (default {AT_ONCE})")
    parser.add_argument("--folder", type=Path, help="where servers write; kept (default: a new one, kept on failure)")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="emostudy-faults."))
    people = 0 if given.kills or given.alarms else walk_people(given, folder)
    return max(people, kill_workers(kills_from(given), folder), send_alarms(alarms_from(given), folder))


def walk_people(given: argparse.Namespace, folder: Path) -> int:
    seeds = seeds_from(given)
    there = postgres_answers()
    left_out = [seed for seed in seeds if backend_of(seed) == "postgres" and not there]
    started = time.monotonic()
    with running() as url:
        wanted = [seed for seed in seeds if seed not in left_out]
        work = run_all(list(rounds_of(wanted)), llm_url=url, folder=folder, at_once=given.at_once, tell=tell_round)
        rounds = asyncio.run(work)
    if given.seed and rounds and given.seed in rounds[0].outcomes:
        tell_story(rounds[0].outcomes[given.seed])
    return tell(rounds, left_out, time.monotonic() - started, folder)


def seeds_from(given: argparse.Namespace) -> Sequence[int]:
    if given.seed:
        return [given.seed] if given.alone else companions(given.seed)
    return given.seeds or range(1, given.count + 1)


def kills_from(given: argparse.Namespace) -> Sequence[int]:
    if given.seed or given.seeds or given.alarms:
        return []
    kills = given.count // KILL_EVERY
    return given.kills or [*range(1, kills + 1), *range(SLEEPERS + 1, SLEEPERS + 1 + kills // SLEEP_EVERY)]


def kill_workers(seeds: Sequence[int], folder: Path) -> int:
    wanted = [seed for seed in seeds if can_be_run(kill_for(seed))]
    killed = asyncio.run(kill_all(wanted, folder=folder, tell=lambda one: print(one, flush=True)))
    wrong = [one.kill.seed for one in killed if one.violations]
    if killed:
        print(f"\n{len(killed)} workers killed or asleep, {len(wrong)} with violations; {told_of(killed)}")
    for seed in wrong:
        print(f"  replay it: python -m tests.faults --kills {seed}")
    if len(wanted) < len(seeds):
        print(f"*** SKIPPED {len(seeds) - len(wanted)} kills: PostgreSQL, Redis or RabbitMQ does not answer ***")
    return 1 if wrong else 0


def alarms_from(given: argparse.Namespace) -> Sequence[int]:
    if given.seed or given.seeds or given.kills:
        return []
    return given.alarms or range(1, given.count // ALARM_EVERY + 1)


def send_alarms(seeds: Sequence[int], folder: Path) -> int:
    wanted = [seed for seed in seeds if can_be_told(story_for(seed))]
    told = asyncio.run(tell_all(wanted, folder=folder, tell=lambda one: print(one, flush=True)))
    wrong = [one.story.seed for one in told if one.violations]
    if told:
        print(f"\n{len(told)} alarms on their way when the server was killed, {len(wrong)} with violations")
    for seed in wrong:
        print(f"  replay it: python -m tests.faults --alarms {seed}")
    if len(wanted) < len(seeds):
        print(f"*** SKIPPED {len(seeds) - len(wanted)} alarms: no PostgreSQL answered on its standard port ***")
    return 1 if wrong else 0


def told_of(killed: Sequence[Killed]) -> str:
    seconds = [one.seen.seconds for one in killed if one.seen.seconds is not None]
    in_flight, repeats = (sum(getattr(one.seen, name) for one in killed) for name in ("in_flight", "repeats"))
    waited = (
        f"all done after {statistics.median(seconds):.1f} s (median), {max(seconds):.1f} s at most" if seconds else ""
    )
    return f"{in_flight} calls in flight, {repeats} repeated; {waited}"


def tell_round(done: Round) -> None:
    wrong = [seed for seed, outcome in done.outcomes.items() if outcome.violations]
    said = f"FAILED {wrong}" if wrong else "ok"
    if done.violations:
        said += f"; SERVER: {'; '.join(done.violations)}"
    print(
        f"seeds {done.seeds[0]}-{done.seeds[-1]} on {backend_of(done.seeds[0])}: {said}"
        f" ({len(done.outcomes)} schedules, {done.deaths} deaths, {done.seconds:.0f} s)",
        flush=True,
    )


def tell_story(outcome: Outcome) -> None:
    print(f"\n{outcome.walk.schedule}\n")
    print("\n".join(outcome.walk.log))
    print("\nviolations: " + ("\n  ".join(["", *outcome.violations]) or "none") + "\n")


def tell(rounds: Sequence[Round], left_out: Sequence[int], seconds: float, folder: Path) -> int:
    outcomes = [outcome for done in rounds for outcome in done.outcomes.values()]
    met = Counter(type(fault).__name__ for outcome in outcomes for fault in outcome.walk.met)
    wrong = [outcome for outcome in outcomes if outcome.violations]
    for outcome in wrong:
        schedule = outcome.walk.schedule
        print(f"\n{schedule}\n  first difference: {outcome.violations[0]}")
        print(f"  {len(outcome.violations)} in all; replay it: python -m tests.faults --seed {schedule.seed}")
    print(f"\n{len(outcomes)} schedules, {len(wrong)} with violations, in {seconds:.0f} s; servers wrote to {folder}")
    print("faults met: " + ", ".join(f"{name} {number}" for name, number in sorted(met.items())))
    if left_out:
        print(f"*** SKIPPED {len(left_out)} schedules: no PostgreSQL answered on its standard port ***")
    return 1 if wrong or any(done.violations for done in rounds) else 0


if __name__ == "__main__":
    sys.exit(main())
