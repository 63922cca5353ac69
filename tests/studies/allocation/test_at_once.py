"""Many people who come at once: their orders are even, and no one is refused or waits for ever."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import perf_counter
from typing import Any

import pytest
from django.db import connection, connections

from studies.allocation.orders import orders_of
from studies.allocation.replay import replay_draws
from studies.design.spec import OrderSpec
from studies.models import Participation, Study
from studies.participation import enrolment, progress
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)

PLAN = [{"kind": "debrief", "key": "before"}, {"kind": "chats", "key": "chats"}]
ARMS = ("amber", "birch", "cedar", "delta", "ember")


@pytest.fixture
def own_connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each thread has a connection of its own, where usually all share a pool of eight."""
    connections.close_all()
    if connection.vendor == "postgresql":
        monkeypatch.setitem(connections["default"].settings_dict["OPTIONS"], "pool", None)
    yield
    connections.close_all()


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    def say(message: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{message}\n")

    return say


def arrive_at_once(people: list[Participation], *, threads: int) -> list[float]:
    """Let all leave the step before the conversations; return the seconds that each took."""
    together = Barrier(threads)

    def arrive(some: list[Participation]) -> list[float]:
        try:
            together.wait(timeout=30)
            return [leave_step(person) for person in some]
        finally:
            connection.close()

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(arrive, [people[number::threads] for number in range(threads)]))
    return [seconds for some in found for seconds in some]


def leave_step(person: Participation) -> float:
    started = perf_counter()
    fresh = Participation.objects.get(pk=person.pk)
    assert progress.advance(fresh, done=fresh.steps()[0])
    return perf_counter() - started


def newcomers(study: Study, count: int, **fields: Any) -> list[Participation]:
    return [factories.person(study, **{"plan": PLAN, "order": [], **fields}) for _ in range(count)]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="of PostgreSQL: SQLite has one writer at a time")
def test_two_hundred_who_join_at_once_over_ten_connections_get_even_orders(own_connections, tell):
    study = factories.study("crowd", order=OrderSpec("williams", seed=3), gone_after_days=30)
    people = newcomers(study, 200)

    started = perf_counter()
    seconds = arrive_at_once(people, threads=10)
    took = perf_counter() - started

    drawn = list(study.participations.values_list("order", "order_index"))
    used = Counter(tuple(order) for order, _index in drawn)
    rows = orders_of("williams", ARMS, {}, seed=3, number=0)
    assert sorted(index for _order, index in drawn) == list(range(200))
    assert set(used) == set(rows)
    assert max(used.values()) - min(used.values()) <= 1
    assert not any(replayed.differences for replayed in replay_draws(study))
    tell(f"200 draws over 10 connections: {took:.1f} s, the longest {max(seconds):.2f} s; used {sorted(used.values())}")


def test_those_who_come_at_once_share_places_evenly_while_others_time_out(own_connections):
    study = factories.study("mixed", order=OrderSpec("blocks", 2, 3), gone_after_days=30)
    for person in newcomers(study, 10):
        progress.advance(person, done=person.steps()[0])
    gone = study.participations.order_by("pk")[:5]
    Participation.objects.filter(pk__in=[person.pk for person in gone]).update(
        started_at="2026-01-01T00:00Z", last_seen_at="2026-01-01T00:00Z", awaited_since=None
    )
    arrive_at_once(newcomers(study, 15), threads=5)

    holders = study.participations.filter(status="active")
    assert (study.participations.filter(status="timed_out").count(), holders.count()) == (5, 20)
    used = Counter(arm for order in holders.values_list("order", flat=True) for arm in order)
    assert used == dict.fromkeys(ARMS, 8)
    assert set(Counter(frozenset(order) for order in holders.values_list("order", flat=True)).values()) == {2}


@pytest.mark.skipif(connection.vendor != "postgresql", reason="of PostgreSQL: SQLite has one writer at a time")
def test_as_many_begin_as_there_are_places_where_all_come_at_once(own_connections):
    study = factories.study("limited", order=OrderSpec(participants=20), gone_after_days=30)
    people = [enrolment.invite(study)[0] for _ in range(40)]

    def begin(some: list[Participation]) -> None:
        try:
            for person in some:
                enrolment.start(person)
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(begin, [people[number::10] for number in range(10)]))
    assert Counter(study.participations.values_list("status", flat=True)) == {"applied": 20, "invited": 20}
