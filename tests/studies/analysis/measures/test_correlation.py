from random import Random

import numpy as np
import pingouin  # noqa: TID253
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # noqa: TID253
from sklearn.metrics import cohen_kappa_score

from studies.analysis.measures import correlation
from studies.analysis.rows import Undefined

# Anscombe 1973, The American Statistician 27:17.
ANSCOMBE_X = [10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5]
ANSCOMBE = [
    (ANSCOMBE_X, [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68], 0.8164205),
    (ANSCOMBE_X, [9.14, 8.14, 8.74, 8.77, 9.26, 8.10, 6.13, 3.10, 9.13, 7.26, 4.74], 0.8162365),
    (ANSCOMBE_X, [7.46, 6.77, 12.74, 7.11, 7.81, 8.84, 6.08, 5.39, 8.15, 6.42, 5.73], 0.8162867),
    ([8] * 7 + [19] + [8] * 3, [6.58, 5.76, 7.71, 8.84, 8.47, 7.04, 5.25, 12.50, 5.56, 7.91, 6.89], 0.8165214),
]
COEFFICIENTS = [correlation.pearson, correlation.spearman, correlation.kendall]
scores = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=3, max_size=30).map(
    lambda pairs: np.array(pairs, dtype=float).T
)


def array(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


@pytest.mark.parametrize(("x", "y", "r"), ANSCOMBE)
def test_pearson_is_that_of_anscombes_quartet(x: list[float], y: list[float], r: float) -> None:
    assert correlation.pearson(array(*x), array(*y)) == pytest.approx(r, abs=5e-8)


def test_spearman_is_that_of_wikipedias_iq_and_television() -> None:
    # "Spearman's rank correlation coefficient", Wikipedia: -29/165.
    iq = array(106, 100, 86, 101, 99, 103, 97, 113, 112, 110)
    hours = array(7, 27, 2, 50, 28, 29, 20, 12, 6, 17)
    assert correlation.spearman(iq, hours) == pytest.approx(-29 / 165, abs=1e-12)


def test_bonett_wright_is_the_interval_that_bonett_prints() -> None:
    # D. G. Bonett's own R package statpsych, example of ci.spear: .8699639, from .5840951 to .9638297.
    y = array(21, 4, 9, 12, 35, 18, 10, 22, 24, 1, 6, 8, 13, 16, 19)
    x = array(67, 28, 30, 28, 52, 40, 25, 37, 44, 10, 14, 20, 28, 40, 51)
    rho = correlation.spearman(y, x)
    interval, p = correlation.bonett_wright(rho, len(y))
    assert p == pytest.approx(2 * stats.norm.sf(np.arctanh(rho) / np.sqrt((1 + rho**2 / 2) / 12)))
    assert [round(value, 7) for value in (rho, interval.low, interval.high)] == [0.8699639, 0.5840951, 0.9638297]


@pytest.mark.parametrize(("rho", "rows", "reason"), [(0.5, 3, "fewer than four rows"), (-1.0, 9, "or opposite")])
def test_bonett_wright_is_undefined_without_room_to_vary(rho: float, rows: int, reason: str) -> None:
    with pytest.raises(Undefined, match=reason):
        correlation.bonett_wright(rho, rows)


def test_bonett_wright_holds_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(2)
    truth = 6 / np.pi * np.arcsin(0.6 / 2)  # of normal scores with r = .6
    held = 0
    for _ in range(1000):
        x = random.normal(0, 1, 40)
        rho = correlation.spearman(x, 0.6 * x + 0.8 * random.normal(0, 1, 40))
        interval, _p = correlation.bonett_wright(rho, 40)
        held += interval.low < truth < interval.high
    assert 930 <= held <= 970


@settings(deadline=None)
@given(scores, st.randoms(use_true_random=False))
def test_spearman_from_counts_of_pairs_is_that_of_the_rows_drawn(both: np.ndarray, random: Random) -> None:
    pairs = correlation.score_pairs(*both)
    drawn = random.choices(range(both.shape[1]), k=both.shape[1])
    z = pairs.spearman_z()(pairs.indicators()[drawn].sum(axis=0))
    human, judge = both[:, drawn]
    if np.ptp(human) and np.ptp(judge):
        assert np.tanh(z) == pytest.approx(correlation.spearman(human, judge), abs=1e-9)
    else:
        assert np.isnan(z)


def test_too_many_different_pairs_are_not_resampled() -> None:
    every = np.arange(correlation.MOST_PAIRS + 1.0)
    with pytest.raises(Undefined, match="more than 2000 different pairs"):
        correlation.score_pairs(every, every)


@given(scores, st.randoms(use_true_random=False))
def test_kendall_from_counts_of_pairs_is_that_of_the_rows_drawn(both: np.ndarray, random: Random) -> None:
    pairs = correlation.score_pairs(*both)
    rows = random.choices(range(both.shape[1]), k=both.shape[1])
    found = float(pairs.kendall_z()(pairs.indicators()[rows].sum(axis=0)))
    try:
        expected = correlation.kendall(*both[:, rows])
    except Undefined:
        assert np.isnan(found)
    else:
        assert np.tanh(found) == pytest.approx(expected, abs=1e-9)


def test_kendall_of_very_many_different_pairs_has_no_statistic_of_sums() -> None:
    values = np.arange(501.0)
    with pytest.raises(Undefined, match="more than 500 different pairs of scores are not resampled"):
        correlation.score_pairs(values, values).kendall_z()


def test_kendall_is_tau_b_with_ties() -> None:
    # The example of scipy.stats.kendalltau's documentation.
    tau = correlation.kendall(array(12, 2, 1, 12, 2), array(1, 4, 7, 1, 0))
    assert tau == pytest.approx(-0.47140452079103173, abs=1e-12)


def test_within_persons_is_that_of_bland_and_altman() -> None:
    # Bland & Altman 1995, BMJ 310:446: pH and PaCO2 of eight patients, r = -0.507.
    data = pingouin.read_dataset("rm_corr")
    scores = (data[name].to_numpy() for name in ("pH", "PacO2"))
    within = correlation.within_persons(*scores, data["Subject"].to_numpy(str))
    expected = pingouin.rm_corr(data, "pH", "PacO2", "Subject").iloc[0]
    assert within.r() == pytest.approx(expected["r"], abs=1e-10)
    assert (round(within.r(), 3), within.freedom) == (-0.507, 38)


def test_within_persons_leaves_out_persons_with_one_row_and_rows_without_person() -> None:
    human, judge = array(1, 2, 3, 5, 9, 1), array(2, 4, 3, 9, -7, 50)
    persons = np.array(["a", "a", "b", "b", "c", ""])
    within = correlation.within_persons(human, judge, persons)
    assert within.r() == pytest.approx(correlation.pearson(array(-0.5, 0.5, -1, 1), array(-1, 1, -3, 3)))
    assert (within.human.tolist(), within.freedom) == ([-0.5, 0.5, -1, 1, 0, 0], 1)
    with pytest.raises(Undefined, match="no participant has two conversations"):
        correlation.within_persons(human, judge, np.array(["a", "b", "c", "d", "", ""]))


def test_within_persons_one_pair_of_one_person_is_too_little() -> None:
    within = correlation.within_persons(array(1, 2, 5), array(2, 1, 3), np.array(["a", "a", "b"]))
    with pytest.raises(Undefined, match="fewer than three rows"):
        within.r()


def test_within_persons_scores_that_rounding_alone_makes_differ_do_not_vary() -> None:
    human, persons = np.repeat([0.3 * 3, 3.3 * 3], [5, 7]), np.repeat(["a", "b"], [5, 7])
    within = correlation.within_persons(human, np.arange(12.0) ** 2, persons)
    with pytest.raises(Undefined, match="the human scores do not vary"):
        within.r()


def test_between_arms_correlates_the_means_of_the_arms() -> None:
    human, judge = array(1, 3, 4, 4, 1, 2, 9), array(1, 1, 5, 7, 3, 3, 0)
    arms = np.array(["a", "a", "b", "b", "c", "c", ""])
    assert correlation.arm_means_correlation(human, judge, arms) == pytest.approx(
        correlation.pearson(array(2, 4, 1.5), array(1, 6, 3))
    )
    with pytest.raises(Undefined, match="fewer than three arms"):
        correlation.arm_means_correlation(human, judge, np.array(["a", "a", "b", "b", "b", "b", ""]))


def test_concordance_falls_with_a_shift_that_leaves_r() -> None:
    # By hand: variances and covariance 2/3, shift 1, so 2 · 2/3 / (4/3 + 1).
    assert correlation.concordance(array(1, 2, 3), array(2, 3, 4)) == pytest.approx(4 / 7)
    with pytest.raises(Undefined, match="neither side varies"):
        correlation.concordance(array(2, 2), array(2, 2))


@settings(deadline=None, max_examples=50)
@given(scores)
def test_quadratic_kappa_is_that_of_all_levels(pair: np.ndarray) -> None:
    human, judge = pair
    if human.var() + judge.var() + (human.mean() - judge.mean()) ** 2 > 0:
        expected = cohen_kappa_score(human, judge, weights="quadratic", labels=[1, 2, 3, 4, 5])
        assert correlation.quadratic_kappa(human, judge) == pytest.approx(expected, abs=1e-12)


def test_quadratic_kappa_does_not_move_when_a_level_is_unused() -> None:
    # sklearn alone drops the unused level 4 and sees 5 as next to 3.
    human, judge = array(1, 2, 5, 5, 1, 3), array(1, 1, 5, 3, 2, 5)
    dropped = cohen_kappa_score(human, judge, weights="quadratic")
    kappa = correlation.quadratic_kappa(human, judge)
    assert kappa == pytest.approx(cohen_kappa_score(human, judge, weights="quadratic", labels=[1, 2, 3, 4, 5]))
    assert abs(kappa - dropped) > 0.001


def test_quadratic_kappa_needs_whole_numbers() -> None:
    with pytest.raises(Undefined, match="the scores are not whole numbers"):
        correlation.quadratic_kappa(array(1, 2.5), array(1, 2))


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
@pytest.mark.parametrize(
    ("human", "judge", "reason"),
    [
        ([1, 2], [1, 2], "fewer than three rows"),
        ([3, 3, 3], [1, 2, 3], "the human scores do not vary"),
        ([1, 2, 3], [0.1 + 0.2, 0.3, 0.3], "the judge scores do not vary"),
    ],
)
def test_coefficients_of_a_constant_are_undefined_not_zero(coefficient, human, judge, reason) -> None:
    with pytest.raises(Undefined, match=reason):
        coefficient(array(*human), array(*judge))


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
@settings(deadline=None, max_examples=50)
@given(pair=scores, shift=st.integers(-3, 3), order=st.randoms(use_true_random=False))
def test_coefficients_ignore_row_order_and_a_lenient_judge(coefficient, pair, shift, order) -> None:
    human, judge = pair
    if np.ptp(human) and np.ptp(judge):
        rows = list(range(len(human)))
        order.shuffle(rows)
        moved = coefficient(human[rows], judge[rows] + shift)
        assert moved == pytest.approx(coefficient(human, judge), abs=1e-12)
