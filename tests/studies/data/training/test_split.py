"""Who is on which side: a matter of the seeker, the seed and the share alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.data.training.split import TEST, TRAIN, side_of

SEEKERS = [f"participant:P{number}" for number in range(2000)]


def sides(seekers: list[str], *, seed: int = 1, test_share: float = 0.1) -> dict[str, str]:
    return {seeker: side_of(seeker, seed=seed, test_share=test_share) for seeker in seekers}


@given(st.lists(st.text(), min_size=1).flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))))
def test_a_seeker_is_on_one_side_whatever_the_order_of_rows(rows):
    given_order, another = rows
    together = [(seeker, side_of(seeker, seed=1, test_share=0.5)) for seeker in given_order + another]
    assert dict(together) == sides(given_order, test_share=0.5)
    assert len(set(together)) == len(set(given_order))


@given(st.text(), st.integers(), st.floats(0, 1), st.floats(0, 1))
def test_a_larger_share_takes_nobody_out_of_the_test(seeker, seed, one, another):
    small, large = sorted((one, another))
    if side_of(seeker, seed=seed, test_share=small) == TEST:
        assert side_of(seeker, seed=seed, test_share=large) == TEST


def test_the_share_is_about_what_was_asked_for():
    """2000 draws of 0.1: the standard error is 0.0067; four of them."""
    drawn = list(sides(SEEKERS).values())
    assert abs(drawn.count(TEST) / len(drawn) - 0.1) < 0.027


def test_another_seed_draws_others():
    assert sides(SEEKERS, seed=1) != sides(SEEKERS, seed=2)


def test_without_a_share_all_are_for_training():
    assert set(sides(SEEKERS, test_share=0).values()) == {TRAIN}


@pytest.mark.parametrize(("seeker", "digits"), [("P2", 0x8BBB2FEFAB604ED4), ("P4", 0x5CED87DDC9628AF3)])
def test_the_draw_is_the_same_in_later_versions(seeker, digits):
    """printf '1 participant:P2' | sha256sum | cut -c1-16, as a share of 2**64."""
    share = digits / 2**64
    assert side_of(f"participant:{seeker}", seed=1, test_share=share - 1e-9) == TRAIN
    assert side_of(f"participant:{seeker}", seed=1, test_share=share + 1e-9) == TEST
