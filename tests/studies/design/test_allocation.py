from collections import Counter
from itertools import pairwise, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.design.allocation import order_for, williams

designs = st.sampled_from(["williams", "blocks", "random"])
seeds = st.integers(0, 2**31)


def names(n: int) -> list[str]:
    return [f"arm{number}" for number in range(n)]


def block_size(design: str, n: int) -> int:
    return len(williams(n)) if design == "williams" else n


def block_of(design: str, n: int, *, seed: int, count: int, block: int) -> list[tuple[str, ...]]:
    size = block_size(design, n)
    people = range(block * size, (block + 1) * size)
    return [order_for(design, names(n), index=index, seed=seed, per_person=count) for index in people]


def test_williams_of_four_is_the_cyclic_zigzag() -> None:
    assert williams(4) == [(0, 3, 1, 2), (1, 0, 2, 3), (2, 1, 3, 0), (3, 2, 0, 1)]


@pytest.mark.parametrize("n", range(2, 10))
def test_williams_has_every_ordered_pair_equally_often(n: int) -> None:
    pairs = Counter(pair for row in williams(n) for pair in pairwise(row))
    assert pairs == dict.fromkeys(permutations(range(n), 2), 1 if n % 2 == 0 else 2)


@pytest.mark.parametrize("n", range(1, 10))
def test_williams_has_every_number_equally_often_in_every_place(n: int) -> None:
    rows = williams(n)
    assert len(rows) == (n if n % 2 == 0 else 2 * n)
    for place in range(n):
        assert Counter(row[place] for row in rows) == dict.fromkeys(range(n), len(rows) // n)


@pytest.mark.parametrize("design", ["williams", "blocks", "random"])
def test_order_is_the_same_again_and_other_with_another_seed(design: str) -> None:
    def orders(seed: int) -> list[tuple[str, ...]]:
        return [order_for(design, names(5), index=index, seed=seed, per_person=None) for index in range(20)]

    assert orders(1) == orders(1)
    assert orders(1) != orders(2)


def test_order_stays_what_it_was_in_earlier_versions() -> None:
    """A study under way must not draw anew: these are the first orders as they were first released."""
    arms = ("amber", "birch", "cedar", "delta", "ember")
    drawn = {
        design: [">".join(order_for(design, arms, index=index, seed=1, per_person=None)) for index in (0, 11)]
        for design in ("williams", "blocks", "random")
    }
    assert drawn == {
        "williams": ["amber>ember>birch>delta>cedar", "delta>cedar>ember>birch>amber"],
        "blocks": ["ember>cedar>amber>delta>birch", "birch>delta>amber>ember>cedar"],
        "random": ["birch>cedar>ember>amber>delta", "delta>birch>cedar>amber>ember"],
    }


@given(n=st.integers(2, 7), seed=seeds, block=st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_williams_order_uses_each_sequence_once_in_a_block(n: int, seed: int, block: int) -> None:
    orders = block_of("williams", n, seed=seed, count=n, block=block)
    assert sorted(orders) == sorted(tuple(f"arm{number}" for number in row) for row in williams(n))


@given(design=designs, n=st.integers(1, 7), data=st.data(), seed=seeds, block=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_order_uses_arms_equally_often_over_a_block(
    design: str, n: int, data: st.DataObject, seed: int, block: int
) -> None:
    count = data.draw(st.integers(1, n))
    orders = block_of(design, n, seed=seed, count=count, block=block)
    assert all(len(set(order)) == len(order) == count for order in orders)
    used = Counter(arm for order in orders for arm in order)
    assert used == dict.fromkeys(names(n), count * len(orders) // n)


@given(design=st.sampled_from(["williams", "blocks"]), n=st.integers(1, 7), data=st.data(), seed=seeds)
@settings(max_examples=40, deadline=None)
def test_order_puts_arms_first_equally_often_over_a_block(design: str, n: int, data: st.DataObject, seed: int) -> None:
    count = data.draw(st.integers(1, n))
    orders = block_of(design, n, seed=seed, count=count, block=0)
    for place in range(count):
        assert Counter(order[place] for order in orders) == dict.fromkeys(names(n), len(orders) // n)


def test_order_of_few_arms_brings_all_pairs_together_over_blocks() -> None:
    orders = [order_for("williams", names(6), index=index, seed=1, per_person=2) for index in range(120)]
    assert {frozenset(order) for order in orders} == {frozenset(pair) for pair in permutations(names(6), 2)}


@pytest.mark.parametrize("per_person", [0, 4, -1])
def test_order_refuses_an_impossible_number_of_arms(per_person: int) -> None:
    with pytest.raises(ValueError, match="out of 3"):
        order_for("random", names(3), index=0, seed=1, per_person=per_person)


def test_order_refuses_an_unknown_design() -> None:
    with pytest.raises(ValueError, match='"latin" is none of williams, blocks, random'):
        order_for("latin", names(3), index=0, seed=1, per_person=None)
