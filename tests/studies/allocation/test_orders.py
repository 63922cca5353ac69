from collections import Counter
from itertools import pairwise, permutations

import pytest

from studies.allocation.orders import Order, Uses, orders_of, williams

NOBODY: Uses = {}


def names(n: int) -> Order:
    return tuple(f"arm{number}" for number in range(n))


def orders(design: str, n: int = 5, uses: Uses = NOBODY, **changes: int) -> list[Order]:
    return list(orders_of(design, names(n), uses, **{"seed": 1, "number": 0, **changes}))


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


def test_one_arm_has_one_order() -> None:
    assert [orders(design, 1) for design in ("williams", "blocks", "random")] == [[("arm0",)]] * 3


def test_blocks_are_latin_squares_one_after_the_other() -> None:
    given: list[Order] = []
    for _square in range(12):
        free = orders("blocks", 4, Counter(given))
        assert all(sorted(column) == list(names(4)) for column in zip(*free, strict=True))
        given += free
    assert 4 < len(set(given)) <= 24


def test_blocks_give_a_row_again_that_somebody_gave_back() -> None:
    given = orders("blocks")
    for _square in range(3):
        given += orders("blocks", uses=Counter(given))
    gone = given.pop(7)
    assert orders("blocks", uses=Counter(given)) == [gone]


def test_blocks_offer_all_rows_of_several_squares_where_strata_choose() -> None:
    assert len(orders("blocks", uses=Counter(orders("blocks")), freely=True)) == 25


def test_a_random_order_is_another_for_each_person() -> None:
    found = {orders("random", number=number)[0] for number in range(50)}
    assert len(found) > 30


@pytest.mark.parametrize("design", ["blocks", "random"])
def test_orders_are_the_same_again_and_others_with_another_seed(design: str) -> None:
    assert orders(design) == orders(design)
    assert orders(design) != orders(design, seed=2)
