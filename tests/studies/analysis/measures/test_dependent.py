from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.analysis.bootstrap import pair_moments, sum_by_cluster, weights
from studies.analysis.measures import dependent
from studies.analysis.rows import Undefined

# r12, r13, r23 and n.
CASE_A = (0.4, 0.5, 0.1, 103)  # Steiger 1980, Psychological Bulletin 87:249
DEPCOR = (0.3, 0.4, 0.5, 100)  # Silver, Hittner & May 2006, doi 10.1177/0146621605277132
OVERLAPPING = [dependent.williams, dependent.steiger, dependent.meng, dependent.zou]


# r12, r34, r13, r14, r23, r24 and n, of two correlations without a common variable.
CASE_B = (0.5, 0.6, 0.7, 0.5, 0.5, 0.8, 103)  # Steiger 1980, page 249, as the help of `r.test` in the R package psych
DEPCOR_APART = (0.3, 0.4, 0.5, 0.8, 0.6, 0.7, 100)


def matrix(r12: float, r34: float, r13: float, r14: float, r23: float, r24: float) -> np.ndarray:
    return np.array([[1, r12, r13, r14], [r12, 1, r23, r24], [r13, r23, 1, r34], [r14, r24, r34, 1]])


def correlations(seed: int, n: int) -> tuple[float, float, float, int]:
    random = np.random.default_rng(seed)
    r = np.asarray(np.corrcoef(random.normal(size=(3, 3)) @ random.normal(size=(3, n))))
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


@pytest.mark.parametrize(("inputs", "z"), [(CASE_B, -1.4050), (DEPCOR_APART, -1.0744)])
def test_steiger_of_case_b_is_that_of_the_r_package_cocor(inputs: tuple[float, ...], z: float) -> None:
    """In its tests, which have it of DEPCOR too; the article prints -1.4045 for its own example."""
    *r, n = inputs
    assert dependent.steiger_apart(matrix(*r), int(n)).statistic == pytest.approx(z, abs=5e-5)


def test_p_of_case_b_is_that_of_the_program_depcor() -> None:
    *r, n = DEPCOR_APART
    assert dependent.steiger_apart(matrix(*r), int(n)).p == pytest.approx(0.2827, abs=5e-5)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 200))
def test_case_b_turns_with_the_two_correlations_and_not_with_their_sides(seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    r = np.asarray(np.corrcoef(random.normal(size=(4, 4)) @ random.normal(size=(4, n + 4))))
    tested, turned = (dependent.steiger_apart(r[np.ix_(order, order)], n) for order in ([0, 1, 2, 3], [2, 3, 0, 1]))
    assert (turned.statistic, turned.p) == pytest.approx((-tested.statistic, tested.p))
    assert dependent.steiger_apart(r[np.ix_([1, 0, 3, 2], [1, 0, 3, 2])], n).statistic == pytest.approx(
        tested.statistic
    )


def test_case_b_says_what_is_so_by_chance_as_often_as_it_should() -> None:
    """Equal correlations of independent rows: 5 % of 2,000 tests, give or take three standard errors."""
    random = np.random.default_rng(5)
    rows = random.multivariate_normal(np.zeros(4), matrix(0.5, 0.5, 0.6, 0.3, 0.3, 0.6), size=(2000, 60))
    found = [dependent.steiger_apart(np.corrcoef(sample.T), 60).p < 0.05 for sample in rows]
    assert np.mean(found) == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize(
    ("r", "n", "why"),
    [
        ((0.1, 0.2, 0, 0, 0, 0), 3, "fewer than four rows"),
        ((1, 0.2, 0, 0, 0, 0), 50, "a correlation is 1 or -1"),
        ((0.1, -1, 0, 0, 0, 0), 50, "a correlation is 1 or -1"),
        ((0.3, 0.3, 1, 0.3, 0.3, 1), 50, "the difference has no variance"),
    ],
)
def test_what_has_no_test_of_case_b_says_why(r: tuple[float, ...], n: int, why: str) -> None:
    with pytest.raises(Undefined, match=why):
        dependent.steiger_apart(matrix(*r), n)


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


def test_differences_of_r_are_those_of_rows_drawn_again_one_by_one() -> None:
    random = np.random.default_rng(3)
    scores = random.normal(size=(3, 2, 40)) + random.normal(size=40)
    clusters = np.arange(40) // 4
    sums = sum_by_cluster(np.hstack([pair_moments(*sides) for sides in scores]), clusters)
    drawn, first, second = weights(10, 25, 1), np.array([0, 0, 1]), np.array([1, 2, 2])
    found = dependent.differences_of_r(drawn @ sums, first, second)
    for counts, differences in zip(drawn, found, strict=True):
        rows = np.repeat(np.arange(40), counts[clusters].astype(int))
        r = np.array([np.corrcoef(sides[:, rows])[0, 1] for sides in scores])
        assert differences == pytest.approx(r[first] - r[second], abs=1e-11)


def test_difference_of_r_is_nothing_where_one_side_does_not_vary() -> None:
    human, constant = np.array([1.0, 2, 4]), np.zeros(3)
    assert np.isnan(dependent.difference_of_r(sums_of(human, human, constant).sum(axis=0)))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(-5, 5), st.floats(0.1, 10))
def test_difference_of_r_is_exactly_0_of_the_same_scores_in_another_unit(seed: int, origin: float, unit: float) -> None:
    human, first = np.random.default_rng(seed).normal(size=(2, 20))
    second = origin + unit * first
    assert dependent.difference_of_r(sums_of(human, first, second - second.mean()).sum(axis=0)) == 0
