from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats  # noqa: TID253

from studies.analysis.measures.paired import (
    d_z,
    rank_biserial,
    t_test,
    welch,
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


def test_t_test_is_that_of_students_sleep() -> None:
    """R's `t.test(extra ~ group, data = sleep, paired = TRUE)` prints -2.4598858 -0.7001142 for these."""
    found = t_test(SLEEP[0] - SLEEP[1])
    assert (found.low, found.high) == pytest.approx((-2.4598858, -0.7001142), abs=5e-8)
    assert round(found.p, 6) == 0.002833


def test_welch_is_that_of_students_sleep_as_two_groups() -> None:
    """R's `t.test(extra ~ group, data = sleep)` prints t = -1.8608, p-value = 0.07939 and -3.3654832 0.2054832."""
    found = welch(SLEEP[1], SLEEP[0])
    assert (found.low, found.high) == pytest.approx((-3.3654832, 0.2054832), abs=5e-8)
    assert round(found.p, 5) == 0.07939
    with pytest.raises(Undefined, match="fewer than two clusters in one of the groups"):
        welch(SLEEP[0][:1], SLEEP[1])


@pytest.mark.parametrize(("differences", "reason"), [([0.5], "one pair"), ([1.0] * 4, "the differences do not vary")])
def test_t_test_of_one_pair_or_one_difference_does_not_exist(differences: list[float], reason: str) -> None:
    with pytest.raises(Undefined, match=reason):
        t_test(np.array(differences))


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
