from itertools import product

import numpy as np
import pingouin  # noqa: TID253
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats  # noqa: TID253

from studies.analysis.measures.paired import (
    counts_by_sign,
    d_av,
    d_z,
    rank_biserial,
    rank_biserial_of,
    t_interval,
    wilcoxon,
)
from studies.analysis.rows import Undefined

# Hollander & Wolfe 1973, Nonparametric Statistical Methods, page 29: a depression scale of nine patients at the first
# and the second visit after a tranquilliser was begun.
FIRST = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30])
SECOND = np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])
# Student 1908, Biometrika 6:1: additional hours of sleep of ten patients by two drugs.
SLEEP = np.array(
    [[0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0], [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]]
)

# Halves, so that many differences tie and some are 0.
DIFFERENCES = arrays(float, st.integers(2, 9), elements=st.integers(-4, 4).map(lambda half: half / 2))


def test_wilcoxon_and_rank_biserial_of_hollander_and_wolfe() -> None:
    test = wilcoxon(FIRST - SECOND)  # T+ = 40, exact p = .0391
    assert (test.p, test.smallest, test.method.code) == (pytest.approx(0.0390625), 2 / 2**9, "wilcoxon_exact")
    assert rank_biserial(FIRST - SECOND) == pytest.approx((40 - 5) / 45)


def test_t_interval_is_that_of_students_sleep() -> None:
    """R's `t.test(extra ~ group, data = sleep, paired = TRUE)` prints -2.4598858 -0.7001142 for these."""
    assert t_interval(SLEEP[0] - SLEEP[1]) == pytest.approx((-2.4598858, -0.7001142), abs=5e-8)


@pytest.mark.parametrize(("differences", "reason"), [([0.5], "one pair"), ([1.0] * 4, "the differences do not vary")])
def test_t_interval_of_one_pair_or_one_difference_does_not_exist(differences: list[float], reason: str) -> None:
    with pytest.raises(Undefined, match=reason):
        t_interval(np.array(differences))


def test_d_z_and_its_interval_of_students_sleep() -> None:
    """The R package effectsize prints -1.28 [-2.12, -0.41] for these (help of `cohens_d`)."""
    first, second = SLEEP
    assert d_z(first - second) == pytest.approx((-1.28, -2.12, -0.41), abs=0.005)


@pytest.mark.parametrize(("mean", "n"), [(0.0, 5), (0.3, 12), (1.0, 40)])
def test_interval_of_d_z_has_its_tails_in_the_noncentral_t(mean: float, n: int) -> None:
    differences = np.random.default_rng(n).normal(mean, 1, n)
    d, *bounds = d_z(differences)
    tails = [stats.nct.cdf(d * np.sqrt(n), n - 1, bound * np.sqrt(n)) for bound in bounds]
    assert tails == pytest.approx([0.975, 0.025], abs=1e-5)


@settings(deadline=None, max_examples=30)
@given(DIFFERENCES.filter(lambda values: bool(values.any())))
def test_wilcoxon_tries_all_signs_where_there_are_ties(differences: np.ndarray) -> None:
    differing = differences[differences != 0]
    ranks = stats.rankdata(np.abs(differing))
    observed = abs((np.sign(differing) * ranks).sum())
    sums = [abs((np.array(signs) * ranks).sum()) for signs in product((-1, 1), repeat=len(ranks))]
    assert wilcoxon(differences).p == pytest.approx(np.mean(np.array(sums) >= observed - 1e-9))


@settings(deadline=None, max_examples=30)
@given(DIFFERENCES.filter(lambda values: len(np.unique(values)) > 1), st.sampled_from([0.1, 3.0]))
def test_effects_turn_with_the_signs_and_not_with_the_unit(differences: np.ndarray, unit: float) -> None:
    turned = -unit * differences
    assert wilcoxon(turned).p == pytest.approx(wilcoxon(differences).p)
    assert rank_biserial(turned) == pytest.approx(-rank_biserial(differences))
    assert d_z(turned)[0] == pytest.approx(-d_z(differences)[0])
    assert wilcoxon(np.append(differences, 0)) == wilcoxon(differences)


def test_what_computing_means_leaves_is_no_difference_and_no_want_of_a_tie() -> None:
    thirds = np.array([0.1 + 0.2 - 0.3, 1 / 3, 1 - 2 / 3, -2 / 3, 1.0])
    assert wilcoxon(thirds) == wilcoxon(np.array([1.0, 1.0, -2.0, 3.0]))


def test_wilcoxon_says_how_it_was_computed() -> None:
    ties = np.tile([1.0, -2.0, 3.0], 20)
    assert wilcoxon(ties[:50]).method.code == "wilcoxon_exact_with_ties"
    assert wilcoxon(ties).method.code == "wilcoxon_asymptotic"
    assert wilcoxon(np.arange(1.0, 51)).method.code == "wilcoxon_exact"
    assert wilcoxon(np.arange(1.0, 52)).method.code == "wilcoxon_asymptotic"


def test_nothing_is_computed_of_nothing() -> None:
    for statistic in (wilcoxon, rank_biserial):
        with pytest.raises(Undefined, match="no pair differs"):
            statistic(np.zeros(5))
    with pytest.raises(Undefined, match="the differences do not vary"):
        d_z(np.full(3, 0.1))
    with pytest.raises(Undefined, match="one pair"):
        d_z(np.ones(1))


def test_d_av_is_that_of_pingouin_and_of_d_z_where_the_variances_say_so() -> None:
    """pingouin divides paired means so too. Where the differences vary as much as the scores do, d_av is d_z."""
    found = d_av(SECOND, FIRST)
    assert found[0] == pytest.approx(pingouin.compute_effsize(SECOND, FIRST, paired=True, eftype="cohen"))
    first, second = np.array([1.0, 2.0, 3.0, 4.0]), np.array([3.0, 4.0, 2.0, 5.0])
    spread = np.sqrt((5 / 3 + 5 / 3) / 2)
    assert d_av(first, second)[0] == pytest.approx(-1 / spread)
    ratio = (first - second).std(ddof=1) / spread
    assert d_av(first, second) == pytest.approx([ratio * value for value in d_z(first - second)])


def test_d_av_of_one_shift_for_all_has_no_interval() -> None:
    d, low, high = d_av(np.array([2.0, 3.0, 4.0]), np.array([1.0, 2.0, 3.0]))
    assert d == 1
    assert np.isnan([low, high]).all()
    with pytest.raises(Undefined, match="the scores do not vary"):
        d_av(np.full(3, 2.0), np.full(3, 1.0))
    with pytest.raises(Undefined, match="one pair"):
        d_av(np.array([2.0]), np.array([1.0]))


@settings(deadline=None, max_examples=50)
@given(arrays(float, st.integers(1, 12), elements=st.integers(-4, 4).map(float)).filter(lambda values: values.any()))
def test_rank_biserial_of_sums_is_that_of_the_rows(differences: np.ndarray) -> None:
    sums = counts_by_sign(differences)
    twice = np.concatenate([differences, differences[:1]])
    assert rank_biserial_of(sums.sum(axis=0)) == pytest.approx(rank_biserial(differences))
    assert rank_biserial_of(sums.sum(axis=0) + sums[0]) == pytest.approx(rank_biserial(twice))
    assert np.isnan(rank_biserial_of(np.zeros_like(sums[0])))
