"""The checks themselves; and three workers killed on real jobs, and one asleep (`make faults`: 50 and 10)."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.amounts import choose
from tests.faults.kills import SLEEPERS, Dialogue, Seen, kill_for, violations
from tests.faults.workers import Killed, can_be_run, kill_all

# On SQLite; on PostgreSQL with Redis, and with RabbitMQ; asleep, with Redis.
SEEDS = choose(usual=(1, 2, 4, SLEEPERS + 2), full=(*range(1, 9), SLEEPERS + 2, SLEEPERS + 3))
NOT_THERE = "PostgreSQL, Redis or RabbitMQ did not answer on its standard port: no worker was killed on it"

TALK = Dialogue("closed", (1, 2, 3, 4), thoughts=(1, 2, 3, 4), ratings=1)
WHOLE = Seen(
    in_flight=1,
    seconds=12.0,
    items={("judge", "done"): 2, ("simulation", "done"): 1},
    judged={"a": 1, "b": 1},
    thoughts={"x": 1},
    dialogues=[TALK],
    calls={"ok": 3, "stopped": 1},
    answers={"k": 1, "l": 1, "m": 1},
    requests={"one": 2, "two": 1, "three": 1},
)
DAMAGES: dict[str, dict[str, Any]] = {
    "did not come to its end": {"seconds": None},
    "1 items of the role judge are working": {"items": {**WHOLE.items, ("judge", "working"): 1}},
    "there are no items": {"items": {}},
    "2 times the response a": {"judged": {"a": 2, "b": 1}},
    "2 times the inner state x": {"thoughts": {"x": 2}},
    "1 responses are stored": {"judged": {"a": 1}},
    "2 conversations are stored": {"dialogues": [TALK, TALK]},
    "has the turns [1, 3]": {"dialogues": [replace(TALK, turns=(1, 3))]},
    "has the turns [1, 2]": {"dialogues": [replace(TALK, turns=(1, 2))]},
    "has the inner states [1, 1, 2]": {"dialogues": [replace(TALK, thoughts=(1, 1, 2))]},
    "is open and has 0 ratings": {"dialogues": [replace(TALK, status="open", ratings=0)]},
    "2 requests were repeated, 1": {"requests": {"one": 2, "two": 2}},
    "5 requests, 4 rows": {"requests": {"one": 2, "two": 1, "three": 1, "four": 1}},
    "2 answers to the question k": {"answers": {"k": 2}},
    "calls that are started": {"calls": {"ok": 3, "started": 1}},
}


def test_whole_story_has_no_violation() -> None:
    assert violations(WHOLE) == []


@pytest.mark.parametrize("words", DAMAGES)
def test_damage_is_seen(words: str) -> None:
    found = violations(replace(WHOLE, **DAMAGES[words]))
    assert [said for said in found if words in said], found


def test_who_slept_has_its_own_answers_too() -> None:
    slept = replace(WHOLE, slept=True, answers={"k": 2, "l": 1}, calls={"ok": 3, "timeout": 1}, requests={"one": 3})
    assert violations(slept) == []
    assert violations(replace(slept, requests={"one": 4})) == [
        "3 requests were repeated, 1 were in flight when it fell asleep"
    ]
    assert violations(replace(slept, calls={"ok": 3, "started": 1})) == ["the ledger has calls that are started"]


def test_same_seed_draws_the_same_kill_and_half_are_with_celery() -> None:
    kills = [kill_for(seed) for seed in range(1, 51)]
    assert kills == [kill_for(seed) for seed in range(1, 51)]
    assert [kill.backend for kill in kills].count("postgres") == 25
    assert [kill.broker for kill in kills if kill.backend == "postgres"].count("rabbitmq") == 12
    assert {kill.victim for kill in kills} == {0, 1}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Killed]:
    seeds = [seed for seed in SEEDS if can_be_run(kill_for(seed))]
    return {one.kill.seed: one for one in asyncio.run(kill_all(seeds, folder=tmp_path_factory.mktemp("kills")))}


@pytest.mark.parametrize("seed", SEEDS)
def test_everything_is_done_once_though_a_worker_was_killed_or_slept(seed: int, killed: dict[int, Killed]) -> None:
    if seed not in killed:
        pytest.skip(NOT_THERE)
    assert killed[seed].violations == [], str(killed[seed])
