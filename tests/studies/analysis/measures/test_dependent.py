from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.analysis.bootstrap import sum_by_cluster, weights
from studies.analysis.measures import dependent
from studies.analysis.rows import Undefined

# r12, r13, r23 and n.
CASE_A = (0.4, 0.5, 0.1, 103)  # Steiger 1980, Psychological Bulletin 87:249
DEPCOR = (0.3, 0.4, 0.5, 100)  # Silver, Hittner & May 2006, doi 10.1177/0146621605277132
OVERLAPPING = [dependent.williams, dependent.steiger, dependent.meng, dependent.zou]


def correlations(seed: int, n: int) -> tuple[float, float, float, int]:
    random = np.random.default_rng(seed)
    r = np.corrcoef(random.normal(size=(3, 3)) @ random.normal(size=(3, n)))
    return float(r[0, 1]), float(r[0, 2]), float(r[1, 2]), n


def sums_of(human: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    products = [human * human, first * first, second * second, human * first, human * second]
    return np.column_stack([np.ones_like(human), human, first, second, *products])


def test_williams_of_steigers_case_a() -> None:
    tested = dependent.williams(*CASE_A)
    assert tested.statistic == pytest.approx(-0.8913, abs=5e-5)
    assert tested.p == pytest.approx(0.37, abs=0.005)  # so in the help of `r.test` in the R package psych


def test_williams_and_steiger_of_the_program_depcor() -> None:
    tested = dependent.williams(*DEPCOR), dependent.steiger(*DEPCOR), dependent.meng(*DEPCOR)[0]
    assert [test.statistic for test in tested] == pytest.approx([-1.0767, -1.0718, -1.0707], abs=5e-5)
    assert [test.p for test in tested] == pytest.approx([0.2843, 0.2838, 0.2843], abs=5e-5)


def test_steiger_of_case_a_is_that_of_the_r_package_cocor() -> None:
    """In its tests. With the covariance rounded to .0042, as the article prints it, -.8904 would follow."""
    assert dependent.steiger(*CASE_A).statistic == pytest.approx(-0.8887185, abs=5e-8)


def test_meng_rosenthal_and_rubins_own_example() -> None:
    """1992, Psychological Bulletin 111:173: z 1.68, one-sided p .047, interval -.129 to 1.671 (1.672 unrounded)."""
    tested, interval = dependent.meng(0.63, -0.03, -0.19, 15)
    assert (tested.statistic, tested.p / 2) == (pytest.approx(1.68, abs=0.005), pytest.approx(0.047, abs=0.0005))
    assert interval == pytest.approx((-0.129, 1.6715), abs=0.0006)


@pytest.mark.parametrize(
    ("r12", "r13", "printed"),
    [
        (0.5, 0.2, [1.62, 1.70, 1.80, 1.91, 2.06, 2.245, 2.50, 2.87, 3.50]),
        (0.7, 0.4, [2.03, 2.10, 2.20, 2.32, 2.47, 2.66, 2.94, 3.35, 4.05]),
    ],
)
def test_meng_of_may_and_hittners_table(r12: float, r13: float, printed: list[float]) -> None:
    """1997, Psychological Reports 80:475, n = 50 and r23 from 0 to .8; 2.24 is printed for 2.2451."""
    found = [dependent.meng(r12, r13, tenths / 10, 50)[0].statistic for tenths in range(9)]
    assert found == pytest.approx(printed, abs=0.0051)


def test_zous_own_example_of_overlapping_correlations() -> None:
    """2007, Psychological Methods 12:410."""
    assert dependent.zou(0.396, 0.179, 0.088, 66) == pytest.approx((-0.093, 0.517), abs=5e-4)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 200))
def test_tests_and_intervals_turn_with_the_two_correlations(seed: int, n: int) -> None:
    r12, r13, r23, n = correlations(seed, n)
    for test in (dependent.williams, dependent.steiger):
        tested, turned = test(r12, r13, r23, n), test(r13, r12, r23, n)
        assert (turned.statistic, turned.p) == pytest.approx((-tested.statistic, tested.p))
    low, high = dependent.zou(r12, r13, r23, n)
    assert dependent.zou(r13, r12, r23, n) == pytest.approx((-high, -low))
    assert low < r12 - r13 < high


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 200))
def test_mengs_interval_is_without_0_where_the_test_says_so(seed: int, n: int) -> None:
    tested, (low, high) = dependent.meng(*correlations(seed, n))
    assert (low > 0 or high < 0) == (tested.p < 0.05)


@pytest.mark.parametrize("test", OVERLAPPING)
def test_few_rows_and_perfect_correlations_have_no_test(test: Callable[[float, float, float, int], object]) -> None:
    with pytest.raises(Undefined, match="fewer than four rows"):
        test(0.1, 0.2, 0.3, 3)
    for perfect in [(1.0, 0.2, 0.2), (0.2, -1.0, -0.2), (0.2, 0.2, 1.0)]:
        with pytest.raises(Undefined, match="a correlation is 1 or -1"):
            test(*perfect, 50)


def test_scores_that_determine_one_another_have_no_williams() -> None:
    # The first is the difference of the other two, which do not correlate: |R| and the mean of both r are 0.
    with pytest.raises(Undefined, match="no variance"):
        dependent.williams(0.5**0.5, -(0.5**0.5), 0.0, 20)


def test_difference_of_r_is_that_of_rows_drawn_again_one_by_one() -> None:
    random = np.random.default_rng(3)
    human, first, second = random.normal(size=(3, 40)) + random.normal(size=40)
    clusters = np.arange(40) // 4
    drawn = weights(10, 25, 1)
    found = dependent.difference_of_r(drawn @ sum_by_cluster(sums_of(human, first, second), clusters))
    for counts, difference in zip(drawn, found, strict=True):
        rows = np.repeat(np.arange(40), counts[clusters].astype(int))
        r = np.corrcoef([human[rows], first[rows], second[rows]])
        assert difference == pytest.approx(r[0, 1] - r[0, 2], abs=1e-11)


def test_difference_of_r_is_nothing_where_one_side_does_not_vary() -> None:
    human, constant = np.array([1.0, 2, 4]), np.zeros(3)
    assert np.isnan(dependent.difference_of_r(sums_of(human, human, constant).sum(axis=0)))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(-5, 5), st.floats(0.1, 10))
def test_difference_of_r_is_exactly_0_of_the_same_scores_in_another_unit(seed: int, origin: float, unit: float) -> None:
    human, first = np.random.default_rng(seed).normal(size=(2, 20))
    second = origin + unit * first
    assert dependent.difference_of_r(sums_of(human, first, second - second.mean()).sum(axis=0)) == 0
