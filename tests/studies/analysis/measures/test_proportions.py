import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.analysis.measures.proportions import (
    add_by_clusters,
    add_wilson,
    effective,
    effective_by_jackknife,
    wilson,
)
from studies.analysis.rows import Row, Undefined


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # Newcombe 1998, Statistics in Medicine 17:857, table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_is_the_printed_interval(successes: int, n: int, low: float, high: float) -> None:
    assert [round(bound, 4) for bound in wilson(successes / n, n)] == [low, high]


@given(st.integers(0, 40), st.integers(1, 40))
def test_wilson_of_the_others_mirrors_it(successes: int, n: int) -> None:
    share = min(successes, n) / n
    low, high = wilson(share, n)
    assert 0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1
    assert wilson(1 - share, n) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@pytest.mark.parametrize("n", [3, 17, 40, 12.5])
def test_wilson_of_none_and_of_all_ends_there(n: float) -> None:
    assert wilson(0.0, n)[0] == 0
    assert wilson(1.0, n)[1] == 1


def test_wilson_of_nobody_is_undefined() -> None:
    with pytest.raises(Undefined, match="nothing to take a share of"):
        wilson(0.0, 0)


def test_effective_n_of_answers_that_are_alike_within_clusters_is_about_the_clusters() -> None:
    hits = np.repeat([5.0, 0.0], [300, 100])
    assert effective(hits, np.full(400, 5.0)) == pytest.approx(400, rel=0.01)


def test_effective_n_of_answers_that_have_nothing_to_do_with_clusters_is_about_the_answers() -> None:
    hits = np.random.default_rng(1).binomial(5, 0.4, size=4000)
    assert effective(hits, np.full(4000, 5)) == pytest.approx(20_000, rel=0.05)


def test_effective_n_is_never_more_than_the_answers() -> None:
    """Each of ten has one right and one wrong, which leaves next to no variance between them."""
    assert effective(np.array([1.0] * 9 + [2.0]), np.full(10, 2.0)) == 20


def test_effective_n_of_a_plain_share_is_the_same_by_the_jackknife() -> None:
    hits = np.random.default_rng(3).binomial(4, 0.3, size=30)
    without = (hits.sum() - hits) / (4 * 29)
    found = effective_by_jackknife(float(hits.mean() / 4), without, 120)
    assert found == pytest.approx(effective(hits, np.full(30, 4)))


def test_effective_n_of_clusters_that_are_all_alike_is_their_number() -> None:
    assert effective_by_jackknife(0.1 + 0.2, np.full(7, 0.1 + 0.2), 70) == 7


@pytest.mark.parametrize(
    ("hits", "of", "n"),
    [
        ([1, 0, 1], [1, 1, 1], 3),
        ([2, 2, 0], [2, 2, 0], 2),
        ([1, 1], [2, 2], 2),
        ([0, 0, 0], [4, 1, 1], 3),
        ([3], [5], 1),
    ],
)
def test_effective_n_is_that_of_clusters_where_they_say_no_more(hits: list[int], of: list[int], n: int) -> None:
    assert effective(np.array(hits), np.array(of)) == n


def test_effective_n_of_two_clusters_is_at_least_one() -> None:
    row = Row()
    add_by_clusters(row, np.array([3.0, 0.0]), np.array([3.0, 3.0]))
    assert (row.values["low"], row.values["high"]) == wilson(0.5, 1)


def test_add_by_clusters_of_no_answers_is_undefined() -> None:
    with pytest.raises(Undefined, match="nothing to take a share of"):
        add_by_clusters(Row(), np.zeros(3), np.zeros(3))


def test_add_wilson_takes_clusters_for_independent() -> None:
    row = Row(n=526, clusters=263)
    add_wilson(row, 81 / 263)
    assert [round(row.values[name], 4) for name in ("estimate", "low", "high")] == [0.308, 0.2553, 0.3662]
    assert str(row.values["method"]) == "Wilson, n = clusters"
