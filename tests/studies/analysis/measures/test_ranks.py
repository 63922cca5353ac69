import numpy as np
import pandas as pd  # noqa: TID253
import pingouin  # noqa: TID253
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats  # noqa: TID253

from studies.analysis.measures.paired import rank_sum_chances
from studies.analysis.measures.ranks import (
    concordance,
    concordance_interval,
    hodges_lehmann,
    pseudomedian,
)
from studies.analysis.rows import Undefined
from tests.studies.analysis.measures.test_paired import FIRST, SECOND

# Hollander & Wolfe 1973, Nonparametric Statistical Methods, page 140: seconds of 22 players to round first base by
# three methods, in hundredths.
ROUNDING = """
540 550 555 585 570 575 520 560 550 555 550 540 590 585 570 545 555 560 540 540 535 545 550 535 525 515 500
585 580 570 525 520 510 565 555 545 560 535 545 505 500 495 550 550 540 545 555 550 555 555 535 545 550 555 550 545 525
565 560 540 570 565 555 630 630 625"""
# Siegel 1956, Nonparametric Statistics, section on W: three executives rank six applicants.
EXECUTIVES = np.array([[1, 6, 3, 2, 5, 4], [1, 5, 6, 4, 2, 3], [6, 3, 2, 5, 4, 1]], dtype=float)
SCORES = arrays(float, st.tuples(st.integers(2, 7), st.integers(2, 5)), elements=st.integers(1, 5).map(float)).filter(
    lambda scores: bool(np.ptp(scores, axis=1).any())
)


def test_concordance_is_friedmans_test_of_hollander_and_wolfe() -> None:
    """R's `friedman.test` prints chi-squared = 11.143, p-value = 0.003805 for these."""
    found = concordance(np.array(ROUNDING.split(), dtype=float).reshape(22, 3))
    assert 22 * 2 * found.w == pytest.approx(11.143, abs=0.0005)
    assert found.p == pytest.approx(0.003805, abs=5e-7)


def test_concordance_is_siegels() -> None:
    assert round(concordance(EXECUTIVES).w, 2) == 0.16


def test_interval_of_the_concordance_is_the_jackknife_of_the_mean_correlation() -> None:
    """W is ((users - 1) × mean Spearman + 1) / users (Siegel 1956); computed here by leaving users out one by one."""
    scores = np.random.default_rng(3).normal(size=(12, 4)) + np.array([0, 1, 2, 3])

    def fisher_z(users: np.ndarray) -> float:
        r = stats.spearmanr(users, axis=1).statistic
        return float(np.arctanh((r.sum() - len(users)) / (len(users) * (len(users) - 1))))

    left_out = np.array([fisher_z(np.delete(scores, user, axis=0)) for user in range(12)])
    half = stats.t.ppf(0.975, 11) * np.sqrt(11 / 12 * ((left_out - left_out.mean()) ** 2).sum())
    expected = [(11 * np.tanh(fisher_z(scores) + move) + 1) / 12 for move in (-half, half)]
    assert concordance_interval(scores) == pytest.approx(expected)
    assert concordance(scores).w == pytest.approx((11 * np.tanh(fisher_z(scores)) + 1) / 12)


def test_interval_of_the_concordance_holds_what_was_planted() -> None:
    random, held = np.random.default_rng(4), 0
    merits = np.array([-0.4, -0.1, 0.1, 0.4])
    planted = concordance(merits + random.normal(size=(40_000, 4))).w  # with so many, the mean correlation
    for _study in range(200):
        low, high = concordance_interval(merits + random.normal(size=(20, 4)))
        held += low <= (19 * planted + 1) / 20 <= high
    assert held >= 178  # in 3,000 studies it held 94 %


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ([[1, 2, 3], [1, 3, 2]], "fewer than three users"),
        ([[1, 2, 3]] * 4, "perfect agreement has no interval"),
        ([[1, 2, 3], [2, 2, 2], [2, 2, 2]], "no interval could be computed"),
    ],
)
def test_concordance_has_no_interval_of_few_users_or_the_same_orders(scores: list[list[float]], reason: str) -> None:
    with pytest.raises(Undefined, match=reason):
        concordance_interval(np.array(scores, dtype=float))


@settings(deadline=None, max_examples=30)
@given(SCORES.filter(lambda scores: scores.shape[1] > 2))
def test_concordance_is_that_of_pingouin_with_ties(scores: np.ndarray) -> None:
    user, arm = np.indices(scores.shape)
    long = pd.DataFrame({"user": user.ravel(), "arm": arm.ravel(), "score": scores.ravel()})
    theirs = pingouin.friedman(long, dv="score", within="arm", subject="user").iloc[0]
    found = concordance(scores)
    assert (found.w, found.p) == pytest.approx((theirs["W"], theirs["p_unc"]), abs=1e-9)


def test_concordance_needs_users_with_an_order() -> None:
    with pytest.raises(Undefined, match="no user puts the arms in any order"):
        concordance(np.array([[1.0, 1.0], [4.0, 4.0]]))
    with pytest.raises(Undefined, match="one user"):
        concordance(np.array([[1.0, 2.0]]))


def test_hodges_lehmann_of_hollander_and_wolfe() -> None:
    """Their examples 3.3 and 3.4: the change is -.46, the interval (of 96.1 %) from -.786 to -.010."""
    assert hodges_lehmann(SECOND - FIRST) == pytest.approx((-0.46, -0.786, -0.010))


@pytest.mark.parametrize("n", [1, 4, 9, 20])
def test_rank_sum_chances_are_those_of_all_signs(n: int) -> None:
    chances = rank_sum_chances(np.arange(1, n + 1))
    assert chances.sum() == pytest.approx(1)
    differences = np.arange(1.0, n + 1)
    differences[: n // 3] *= -1
    observed = int(np.abs(differences[: n // 3]).sum())
    p = stats.wilcoxon(differences, method="exact").pvalue
    assert min(1, 2 * chances[: observed + 1].sum()) == pytest.approx(p)


@pytest.mark.parametrize("n", [6, 12, 50, 51, 120])
def test_interval_of_the_shift_holds_what_the_signed_rank_test_does_not_refuse(n: int) -> None:
    differences = np.random.default_rng(n).normal(0.4, 1, n)
    _estimate, low, high = hodges_lehmann(differences)
    for bound, inwards in ((low, 1), (high, -1)):
        inside, outside = (differences - bound - inwards * step for step in (1e-7, -1e-7))
        method = "exact" if n <= 50 else "asymptotic"
        assert stats.wilcoxon(inside, method=method).pvalue >= 0.05
        assert stats.wilcoxon(outside, method=method).pvalue < 0.05


@settings(deadline=None, max_examples=30)
@given(arrays(float, st.integers(6, 15), elements=st.integers(-4, 4).map(float)), st.integers(-3, 3))
def test_shift_turns_with_the_signs_and_moves_with_a_constant(differences: np.ndarray, constant: int) -> None:
    estimate, low, high = hodges_lehmann(differences)
    assert low <= estimate <= high
    assert hodges_lehmann(-differences) == pytest.approx((-estimate, -high, -low))
    assert hodges_lehmann(differences + constant) == pytest.approx(
        (estimate + constant, low + constant, high + constant)
    )


def test_shift_of_five_pairs_has_no_interval() -> None:
    with pytest.raises(Undefined, match="fewer than six pairs"):
        hodges_lehmann(np.arange(5.0))
    assert pseudomedian(np.array([0.0, 1.0, 2.0, 3.0, 9.0])) == 2  # the eighth of 0, .5, 1, 1, 1.5, 1.5, 2, 2, …
