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


def test_williams_of_the_program_depcor() -> None:
    tested = dependent.williams(*DEPCOR)
    assert (tested.statistic, tested.p) == pytest.approx((-1.0767, 0.2843), abs=5e-5)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 200))
def test_williams_turns_with_the_two_correlations(seed: int, n: int) -> None:
    r12, r13, r23, n = correlations(seed, n)
    tested, turned = dependent.williams(r12, r13, r23, n), dependent.williams(r13, r12, r23, n)
    assert (turned.statistic, turned.p) == pytest.approx((-tested.statistic, tested.p))


def test_few_rows_and_perfect_correlations_have_no_williams() -> None:
    with pytest.raises(Undefined, match="fewer than four rows"):
        dependent.williams(0.1, 0.2, 0.3, 3)
    for perfect in [(1.0, 0.2, 0.2), (0.2, -1.0, -0.2), (0.2, 0.2, 1.0)]:
        with pytest.raises(Undefined, match="a correlation is 1 or -1"):
            dependent.williams(*perfect, 50)


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
