"""Twenty schedules of faults on real servers, one test for each seed; `make faults` runs 300."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.amounts import choose
from tests.faults.database import postgres_answers
from tests.faults.run import Round, run_all
from tests.faults.schedule import backend_of, rounds_of
from tests.llm_server import running

SEEDS = range(1, choose(usual=16, full=61))
NO_POSTGRES = "no PostgreSQL answered on its standard port: faults ran on SQLite alone"


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Round]]:
    there = postgres_answers()
    seeds = [seed for seed in SEEDS if there or backend_of(seed) == "sqlite"]
    with running() as url:
        yield asyncio.run(run_all(list(rounds_of(seeds)), llm_url=url, folder=tmp_path_factory.mktemp("faults")))


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_or_twice_and_the_person_goes_on_under_schedule(seed: int, rounds: list[Round]) -> None:
    done = next((one for one in rounds if seed in one.seeds), None)
    if done is None:
        pytest.skip(NO_POSTGRES)
    outcome = done.outcomes[seed]
    assert outcome.violations == [], f"{outcome.walk.schedule}\n" + "\n".join(outcome.walk.log)


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_server_holds_nothing_of_people_who_have_left(backend: str, rounds: list[Round]) -> None:
    done = [one for one in rounds if backend_of(one.seeds[0]) == backend]
    if not done:
        pytest.skip(NO_POSTGRES)
    assert [violation for one in done for violation in one.violations] == []
