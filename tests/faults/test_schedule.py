"""Schedules and rounds as values."""

from collections import Counter

import pytest

from tests.faults.schedule import (
    AtForm,
    DatabaseAway,
    Fault,
    InTurn,
    Schedule,
    backend_of,
    companions,
    rounds_of,
    schedule_for,
)

ALL = range(1, 301)


def faults_of(seeds: range) -> list[tuple[Schedule, Fault]]:
    return [(schedule, fault) for schedule in map(schedule_for, seeds) for fault in schedule.faults]


@pytest.mark.parametrize("seed", [1, 17, 300])
def test_same_seed_draws_the_same_schedule(seed: int) -> None:
    assert schedule_for(seed) == schedule_for(seed)


def test_every_kind_of_fault_comes_many_times_in_300() -> None:
    kinds = Counter(type(fault) for _, fault in faults_of(ALL))
    assert set(kinds) == set(Fault.__subclasses__())
    assert min(kinds.values()) >= 10


def test_the_twenty_of_the_usual_test_run_have_every_kind_of_fault() -> None:
    assert {type(fault) for _, fault in faults_of(range(1, 21))} == set(Fault.__subclasses__())


def test_faults_lie_on_the_way_of_their_person() -> None:
    for schedule, fault in faults_of(ALL):
        assert isinstance(fault.when, AtForm | InTurn)
        assert not isinstance(fault.when, InTurn) or 1 <= fault.when.turn <= schedule.turns


def test_only_a_database_that_can_go_away_does() -> None:
    assert {schedule.backend for schedule, fault in faults_of(ALL) if isinstance(fault, DatabaseAway)} == {"postgres"}


def test_round_has_one_database_and_each_seed_once() -> None:
    rounds = list(rounds_of(ALL))
    assert sorted(seed for seeds in rounds for seed in seeds) == list(ALL)
    assert all(len({backend_of(seed) for seed in seeds}) == 1 for seeds in rounds)


@pytest.mark.parametrize("seed", [1, 10, 11, 20, 155])
def test_companions_of_a_seed_are_those_of_its_round(seed: int) -> None:
    assert list(companions(seed)) in [list(seeds) for seeds in rounds_of(ALL)]
