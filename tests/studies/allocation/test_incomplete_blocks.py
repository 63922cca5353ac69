"""Which k of n arms people meet: arms equally often, pairs of arms where a design is known to exist."""

from collections import Counter
from itertools import combinations
from math import comb

import pytest

from studies.allocation.incomplete_blocks import Set, full_round, incomplete_blocks

# The smallest b for which bk/n = r and r(k-1)/(n-1) are whole, b at least n; designs of these sizes are known to exist.
KNOWN = {
    (4, 2): 6,
    (5, 2): 10,
    (5, 3): 10,
    (6, 3): 10,
    (6, 4): 15,
    (7, 3): 7,
    (7, 4): 7,
    (8, 4): 14,
    (9, 3): 12,
    (9, 4): 18,
    (9, 6): 12,
    (10, 3): 30,
    (10, 4): 15,
    (11, 5): 11,
    (11, 6): 11,
    (13, 3): 26,
    (13, 4): 13,
    (13, 9): 13,
}


def meetings(sets: tuple[Set, ...]) -> Counter[Set]:
    return Counter(pair for one in sets for pair in combinations(one, 2))


@pytest.mark.parametrize(("n", "k"), KNOWN)
def test_pairs_of_arms_come_equally_often_where_a_design_is_known(n: int, k: int) -> None:
    sets = incomplete_blocks(n, k, 1)
    together = len(sets) * comb(k, 2) // comb(n, 2)
    assert len(sets) == KNOWN[n, k]
    assert meetings(sets) == dict.fromkeys(combinations(range(n), 2), together)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", range(1, 10))
def test_every_size_up_to_nine_arms_is_balanced_with_any_seed(n: int, seed: int) -> None:
    for k in range(1, n + 1):
        sets = incomplete_blocks(n, k, seed)
        assert all(len(set(one)) == k for one in sets)
        assert len(set(Counter(arm for one in sets for arm in one).values())) == 1
        assert len({meetings(sets)[pair] for pair in combinations(range(n), 2)}) <= 1


@pytest.mark.parametrize(("n", "k", "spread"), [(10, 5, 2), (12, 5, 1), (20, 3, 1), (30, 4, 1)])
def test_arms_come_equally_often_and_pairs_nearly_where_no_design_is_found(n: int, k: int, spread: int) -> None:
    sets = incomplete_blocks(n, k, 1)
    assert len(set(Counter(arm for one in sets for arm in one).values())) == 1
    often = [meetings(sets)[pair] for pair in combinations(range(n), 2)]
    assert 0 < max(often) - min(often) <= spread


def test_a_round_is_never_too_long_for_a_search() -> None:
    assert all(full_round(n, k) <= max(120, n) for n in range(1, 61) for k in range(1, n + 1))


def test_another_seed_brings_other_sets() -> None:
    assert incomplete_blocks(7, 3, 1) == incomplete_blocks(7, 3, 1)
    assert incomplete_blocks(7, 3, 1) != incomplete_blocks(7, 3, 2)
