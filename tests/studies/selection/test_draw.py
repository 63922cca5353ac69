"""A draw within strata: how many, from where, and that it can be repeated."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.selection.draw import Candidate, Rule, draw

SCORES = st.none() | st.integers(0, 8).map(float)
STRATA = st.sampled_from([("work", "en"), ("work", "zh"), ("family", "en"), ("loss", ""), ()])
POOLS = st.lists(st.tuples(STRATA, SCORES), max_size=40).map(
    lambda rows: [Candidate(f"P{number}", *row) for number, row in enumerate(rows)]
)
RULES = st.builds(Rule, st.integers(1, 50), st.integers(0, 99), st.booleans(), SCORES)


def pool(**sizes: int) -> list[Candidate]:
    return [Candidate(f"{name}{number}", (name,), 5.0) for name, size in sizes.items() for number in range(size)]


def counts(drawn: list[Candidate]) -> dict[str, int]:
    return dict(Counter(one.stratum[0] for one in drawn))


@given(POOLS, RULES)
def test_draws_as_many_as_asked_for_or_as_there_are_and_nobody_twice(people, rule):
    able = [one for one in people if rule.minimum is None or (one.score is not None and one.score >= rule.minimum)]
    drawn = draw(people, rule)
    assert len(drawn) == min(rule.size, len(able))
    assert len(set(drawn)) == len(drawn)
    assert set(drawn) <= set(able)


@given(POOLS, RULES, st.randoms())
def test_same_seed_gives_the_same_draw_in_whatever_order_people_stand(people, rule, random):
    shuffled = random.sample(people, len(people))
    assert draw(shuffled, rule) == draw(people, rule)


@given(POOLS, st.integers(1, 50), st.integers(0, 99))
def test_equal_shares_differ_by_one_at_most_where_strata_are_not_used_up(people, size, seed):
    sizes = Counter(one.stratum for one in people)
    drawn = Counter(one.stratum for one in draw(people, Rule(size, seed)))
    most = max(drawn.values(), default=0)
    assert all(drawn[stratum] >= min(most - 1, sizes[stratum]) for stratum in sizes)


@given(POOLS, st.integers(1, 50), st.integers(0, 99))
def test_proportional_shares_are_less_than_one_place_from_exact(people, size, seed):
    sizes = Counter(one.stratum for one in people)
    drawn = Counter(one.stratum for one in draw(people, Rule(size, seed, proportional=True)))
    places = min(size, len(people))
    assert all(abs(drawn[stratum] - places * sizes[stratum] / len(people)) < 1 for stratum in sizes)


@pytest.mark.parametrize(
    ("rule", "drawn"),
    [
        (Rule(9, 1), {"work": 3, "family": 3, "loss": 3}),
        (Rule(12, 1), {"work": 5, "family": 4, "loss": 3}),
        (Rule(10, 1, proportional=True), {"work": 6, "family": 3, "loss": 1}),
    ],
)
def test_places_of_strata(rule, drawn):
    found = counts(draw(pool(work=20, family=10, loss=3), rule))
    if rule.size == 12:  # chance gives the last place to work or to family
        assert found in (drawn, {"work": 4, "family": 5, "loss": 3})
    else:
        assert found == drawn


def test_another_seed_gives_another_draw():
    people = pool(work=100)
    assert len({tuple(draw(people, Rule(5, seed))) for seed in range(20)}) == 20


def test_everybody_has_the_same_chance():
    people = pool(work=4)
    drawn = Counter(one.code for seed in range(4000) for one in draw(people, Rule(1, seed)))
    assert all(900 < drawn[one.code] < 1100 for one in people)
