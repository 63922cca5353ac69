"""The counsellors' block plan: what holds for every size, and what is refused."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.design.blocks import Row, block_plan
from studies.design.colouring import even_colouring

SIZES = [(17, 8, 3), (5, 7, 3), (8, 8, 3), (16, 8, 3), (5, 5, 5), (20, 12, 6), (20, 12, 12), (2, 6, 3), (1, 3, 3)]


def names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def plan_of(arms: int, counsellors: int, raters: int, cards: int = 6, *, seed: int = 1, block: int = 0) -> list[Row]:
    drawn = block_plan(
        names("arm", arms),
        counsellors=counsellors,
        raters_per_arm=raters,
        cards=names("card", cards),
        seed=seed,
        block=block,
    )
    return list(drawn)


def assert_sound(plan: list[Row], arms: int, counsellors: int, raters: int, cards: int) -> None:
    """All that the protocol asks of a plan of these sizes, whatever they are."""
    lengths = [len(row) for row in plan]
    assert len(plan) == counsellors
    assert max(lengths) - min(lengths) <= 1
    assert Counter(place.arm for row in plan for place in row) == dict.fromkeys(names("arm", arms), raters)
    assert all(len({place.arm for place in row}) == len(row) for row in plan)
    for position in range(max(lengths)):
        assert_even([row[position].arm for row in plan if position < len(row)], names("arm", arms))
    if cards:
        assert_cards_sound(plan, arms, raters, cards)


def assert_cards_sound(plan: list[Row], arms: int, raters: int, cards: int) -> None:
    assert_even([place.card for row in plan for place in row], names("card", cards))
    for row in plan:
        assert_as_varied_as_can_be([place.card for place in row], cards)
    for arm in names("arm", arms):
        assert_as_varied_as_can_be([place.card for row in plan for place in row if place.arm == arm], cards)


def assert_even(used: list[str], known: list[str]) -> None:
    counts = [used.count(name) for name in known]
    assert max(counts) - min(counts) <= 1


def assert_as_varied_as_can_be(used: list[str], known: int) -> None:
    assert max(Counter(used).values()) == -(-len(used) // known)


def meetings(plan: list[Row], arms: int) -> list[int]:
    """How often each pair of arms stands in one row."""
    found = Counter(frozenset(pair) for row in plan for pair in combinations([place.arm for place in row], 2))
    return [found[frozenset(pair)] for pair in combinations(names("arm", arms), 2)]


sizes = st.tuples(st.integers(1, 20), st.integers(1, 12), st.integers(1, 12)).filter(
    lambda size: size[2] <= size[1] <= size[0] * size[2]
)


@given(size=sizes, cards=st.integers(0, 14), seed=st.integers(0, 2**31), block=st.integers(0, 2))
@settings(max_examples=120, deadline=None)
def test_plan_is_sound_for_every_size(size: tuple[int, int, int], cards: int, seed: int, block: int) -> None:
    arms, counsellors, raters = size
    plan = plan_of(arms, counsellors, raters, cards, seed=seed, block=block)
    assert_sound(plan, arms, counsellors, raters, cards)


@pytest.mark.parametrize("size", SIZES)
def test_plan_is_sound_for_the_sizes_of_studies(size: tuple[int, int, int]) -> None:
    assert_sound(plan_of(*size), *size, cards=6)


@pytest.mark.parametrize(
    ("size", "spread"),
    [((7, 7, 3), 0), ((9, 12, 4), 0), ((8, 8, 3), 1), ((5, 7, 3), 1), ((20, 12, 3), 1), ((17, 8, 3), 2)],
)
def test_pairs_of_arms_meet_about_equally_often(size: tuple[int, int, int], spread: int) -> None:
    """7 arms in 7 rows of 3 is the Fano plane and 9 in 12 rows of 3 the affine plane of order 3, where all pairs meet
    once: the search finds both."""
    found = meetings(plan_of(*size), size[0])
    assert max(found) - min(found) <= spread


def test_plan_is_the_same_again_and_other_with_another_seed_or_block() -> None:
    assert plan_of(8, 8, 3) == plan_of(8, 8, 3)
    assert plan_of(8, 8, 3) != plan_of(8, 8, 3, seed=2)
    assert plan_of(8, 8, 3) != plan_of(8, 8, 3, block=1)


def test_plan_stays_what_it_was_in_earlier_versions() -> None:
    """A study under way must not plan anew: this is a plan as it was first released."""
    plan = block_plan(["a", "b", "c", "d"], counsellors=4, raters_per_arm=2, cards=["x", "y"], seed=1)
    assert [" ".join(f"{arm}{card}" for arm, card in row) for row in plan] == ["ax dy", "bx cy", "cx ay", "dx by"]


def test_arms_of_a_row_do_not_depend_on_the_cards() -> None:
    def arms(cards: int) -> list[list[str]]:
        return [[place.arm for place in row] for row in plan_of(8, 8, 3, cards)]

    assert arms(0) == arms(3) == arms(12)


def test_plan_without_cards_gives_none() -> None:
    assert {place.card for row in plan_of(5, 7, 3, 0) for place in row} == {""}


@pytest.mark.parametrize(
    ("size", "wrong"),
    [
        ((5, 2, 3), "3 raters an arm, but only 2 counsellors"),
        ((2, 8, 3), "2 arms with 3 raters each leave nothing for some of 8 counsellors"),
        ((0, 8, 3), "arms, counsellors and raters per arm must be at least 1 each"),
        ((5, 8, 0), "arms, counsellors and raters per arm must be at least 1 each"),
    ],
)
def test_plan_refuses_impossible_sizes(size: tuple[int, int, int], wrong: str) -> None:
    with pytest.raises(ValueError, match=f"^{wrong}$"):
        plan_of(*size)


@pytest.mark.parametrize(("arms", "cards"), [(["a", "a", "b"], []), (["a", "b", "c"], ["x", "x"])])
def test_plan_refuses_what_is_listed_twice(arms: list[str], cards: list[str]) -> None:
    with pytest.raises(ValueError, match="listed twice"):
        block_plan(arms, counsellors=3, raters_per_arm=2, cards=cards, seed=1)


@given(edges=st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1), spare=st.integers(0, 3))
@settings(deadline=None)
def test_colouring_is_proper_and_even(edges: set[tuple[int, int]], spare: int) -> None:
    listed = sorted(edges)
    ends = Counter(end for left, right in listed for end in ((0, left), (1, right)))
    colours = max(ends.values()) + spare
    found = even_colouring(listed, colours)
    seen = [(side, edge[side], colour) for edge, colour in zip(listed, found, strict=True) for side in (0, 1)]
    assert len(seen) == len(set(seen))
    used = [found.count(colour) for colour in range(colours)]
    assert max(used) - min(used) <= 1
