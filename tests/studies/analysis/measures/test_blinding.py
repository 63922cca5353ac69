import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multinomial  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.measures.blinding import (
    accuracy,
    bang,
    beyond_chance,
    james,
    james_by_chance,
    one_against_rest,
)
from studies.analysis.measures.proportions import wilson
from studies.analysis.rows import Undefined

# Bang, Ni & Davis 2004, Controlled Clinical Trials 25:143, table 7 (CRISP): guesses drug, placebo, don't know of those
# on the drug, then of those on placebo; counts as the R package BI has them. The indices follow to both digits.
CRISP = np.array([[82, 25, 170], [27, 29, 83]], dtype=float)
# Houweling et al. 2014, Clinical Trials 11:547, table 2: investigators, research coordinators, patients.
HOUWELING = [
    np.array([[48, 4, 330], [22, 30, 319]], dtype=float),
    np.array([[94, 11, 289], [52, 44, 284]], dtype=float),
    np.array([[143, 14, 188], [104, 57, 175]], dtype=float),
]
TABLES = st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=3, max_size=3).map(
    lambda rows: np.array(rows, float)
)


def james_by_weights(counts: np.ndarray) -> float:
    """James et al. 1996 as written for two arms: a weight for each cell, 0 right, .5 wrong, 1 don't know."""
    share = counts.T / counts.sum()
    unknown = share[2].sum()
    weights = np.array([[0, 0.5], [0.5, 0]])
    observed = (weights * share[:2]).sum() / (1 - unknown)
    expected = (weights * np.outer(share[:2].sum(axis=1), share[:2].sum(axis=0))).sum() / (1 - unknown) ** 2
    return float((1 + unknown + (1 - unknown) * (observed - expected) / expected) / 2)


def test_indices_of_crisp_are_the_printed_ones() -> None:
    assert [round(bang(CRISP, arm).estimate, 2) for arm in (0, 1)] == [0.21, 0.01]
    assert round(float(james(CRISP)), 2) == 0.75


def test_interval_of_two_arms_is_the_printed_one_of_tango() -> None:
    """Fagerland, Lydersen & Laake 2014, Statistics in Medicine 33:2850, of 21 children before and after a stem cell
    transplantation (Bentur et al. 2009): 1 worse, 7 better, -.517 to -.026."""
    index = bang(np.array([[1.0, 7.0, 13.0], [0, 0, 1]]), 0)
    assert [round(value, 3) for value in (index.estimate, index.low, index.high)] == [-0.286, -0.517, -0.026]


def test_interval_of_many_answers_nears_that_of_the_published_variance() -> None:
    many = 100 * CRISP
    right, wrong, n = 82 / 277, 25 / 277, 27700
    variance = (right * (1 - right) + wrong * (1 - wrong) + 2 * right * wrong) / n
    index = bang(many, 0)
    assert index.high - index.estimate == pytest.approx(1.959964 * variance**0.5, rel=0.01)
    assert index.estimate - index.low == pytest.approx(1.959964 * variance**0.5, rel=0.01)


@given(st.integers(0, 12), st.integers(1, 12))
def test_interval_where_all_name_an_arm_is_wilsons(right: int, wrong: int) -> None:
    """Then the index is a share of right guesses among five, moved to 0 at chance."""
    n = right + wrong
    index = bang(np.array([[right, wrong, 0, 0, 0, 0], *np.zeros((4, 6))]), 0)
    low, high = wilson(right / n, n)
    assert (index.low, index.high) == pytest.approx(((5 * low - 1) / 4, (5 * high - 1) / 4), abs=1e-6)


@pytest.mark.parametrize("beyond", [0, 0.2])
@pytest.mark.parametrize("cannot_tell", [0.65, 0.4])
@pytest.mark.parametrize("n", [12, 20, 36])
def test_interval_holds_the_index_as_often_as_it_says(n: int, cannot_tell: float, beyond: float) -> None:
    """Exact: the chances of all answers of an arm among five whose interval holds the index. The normal interval held 0
    in 68 to 92 % of these."""
    answers = [(right, wrong, n - right - wrong) for right in range(n + 1) for wrong in range(n + 1 - right)]
    wrong = (1 - cannot_tell - beyond) / 1.25
    chances = multinomial.pmf(answers, n, [1 - cannot_tell - wrong, wrong, cannot_tell])
    intervals = [
        bang(np.array([[right, wrong, 0, 0, 0, none], *np.zeros((4, 6))]), 0) for right, wrong, none in answers
    ]
    held = [index.low - 1e-9 <= beyond <= index.high + 1e-9 for index in intervals]
    assert 0.94 <= float(chances[held].sum()) <= 0.97


def test_no_right_guess_of_eight_may_be_chance() -> None:
    """One arm of five, 8 of 20 named one: so many wrong guesses have a chance of .8^8 = .17 if there is no index."""
    index = bang(np.array([[0, 8, 0, 0, 0, 12.0], *np.zeros((4, 6))]), 0)
    assert index.estimate == -0.1
    assert index.low < -0.1 < 0 < index.high


def test_answers_that_are_not_independent_widen_the_interval() -> None:
    half = bang(2 * CRISP, 0, independent=0.5)
    assert (half.low, half.high) == pytest.approx((bang(CRISP, 0).low, bang(CRISP, 0).high))


@pytest.mark.parametrize("counts", [CRISP, *HOUWELING])
def test_james_is_what_its_weights_give(counts: np.ndarray) -> None:
    assert float(james(counts)) == pytest.approx(james_by_weights(counts))


@pytest.mark.parametrize("counts", HOUWELING)
def test_bang_is_right_minus_wrong_over_all(counts: np.ndarray) -> None:
    for arm, row in enumerate(counts):
        assert bang(counts, arm).estimate == pytest.approx((row[arm] - row[1 - arm]) / row.sum())


def test_indices_where_all_are_right_wrong_or_nobody_can_tell() -> None:
    right, wrong, unknown = np.diag([5.0, 5.0]), 5 * (1 - np.eye(2)), np.zeros((2, 2))
    tables = [np.column_stack([guesses, nobody]) for guesses, nobody in ((right, [0, 0]), (wrong, [0, 0]))]
    tables.append(np.column_stack([unknown, [5, 5]]))
    assert [bang(counts, 0).estimate for counts in tables] == [1, -1, 0]
    assert [float(james(counts)) for counts in tables] == [0, 1, 1]
    assert [bang(counts, 0).high for counts in tables[:2]] == [1, pytest.approx(-bang(tables[0], 0).low)]
    assert bang(tables[2], 0).low == pytest.approx(-bang(tables[2], 0).high)


def test_indices_of_guesses_by_chance_among_five_arms_are_those_of_chance() -> None:
    counts = np.column_stack([np.full((5, 5), 4.0), np.full(5, 10.0)])
    assert [bang(counts, arm).estimate for arm in range(5)] == pytest.approx([0] * 5)
    assert float(one_against_rest(counts, 2)) == pytest.approx(0)
    assert beyond_chance(accuracy(counts), 5) == pytest.approx(0)
    assert float(james(counts)) == pytest.approx((1 + 1 / 3) / 2)
    assert james_by_chance(counts) == pytest.approx((1 + 1 / 3) / 2)


def test_james_by_chance_by_hand() -> None:
    """Two arms, 10 answers each: 4 cannot tell, 3 and 3 as by chance; all wrong among five arms is not 1."""
    counts = np.array([[3.0, 3, 4], [3, 3, 4]])
    assert float(james(counts)) == pytest.approx(0.7)  # (1 + .4) / 2
    assert james_by_chance(counts) == pytest.approx(0.7)
    assert james_by_chance(np.array([[9.0, 1, 0], [2, 8, 0]])) == 0.5
    assert james_by_chance(np.array([[0.0, 0, 4], [0, 0, 6]])) == 1
    all_wrong = np.column_stack([5.0 * (1 - np.eye(5)), np.zeros(5)])
    assert float(james(all_wrong)) == pytest.approx(0.625)


def test_one_against_rest_is_hits_minus_false_alarms() -> None:
    assert float(one_against_rest(CRISP, 0)) == pytest.approx(82 / 277 - 27 / 139)


def test_beyond_chance_is_one_where_all_is_right() -> None:
    assert (beyond_chance(1, 5), beyond_chance(0, 5)) == pytest.approx((1, -0.25))


@given(TABLES, st.permutations(range(3)))
def test_indices_ignore_the_names_of_arms(counts: np.ndarray, order: list[int]) -> None:
    renamed = counts[order][:, [*order, 3]]
    assert np.array(james(renamed)) == pytest.approx(np.array(james(counts)), nan_ok=True)
    for place, arm in enumerate(order):
        if counts[arm].sum():
            assert bang(renamed, place).estimate == pytest.approx(bang(counts, arm).estimate)


@given(TABLES)
def test_james_is_never_below_zero(counts: np.ndarray) -> None:
    index = float(james(counts))
    assert np.isnan(index) or index >= 0


def test_james_of_one_arm_is_undefined() -> None:
    assert np.isnan(james(np.array([[3.0, 0.0, 1.0], [0.0, 0.0, 0.0]])))


def test_james_of_resamples_is_near_its_normal_interval() -> None:
    """James et al. take the answers for independent; a bootstrap over them has the same standard error in large
    samples: that of the delta method, here with numerical slopes."""
    cells = [(arm, guess) for (arm, guess), count in np.ndenumerate(CRISP) for _ in range(int(count))]
    single = np.zeros((len(cells), 6))
    single[np.arange(len(cells)), [3 * arm + guess for arm, guess in cells]] = 1
    found = Bootstrap(2000, 1).resample(lambda sums: james(sums.reshape(*sums.shape[:-1], 2, 3)), single)
    shares = CRISP.ravel() / CRISP.sum()
    step = np.eye(6) * 1e-6
    slope = np.array(
        [float(james((shares + move).reshape(2, 3)) - james((shares - move).reshape(2, 3))) for move in step]
    )
    slope /= 2e-6
    error = np.sqrt(((slope**2 * shares).sum() - (slope * shares).sum() ** 2) / CRISP.sum())
    assert found.replicates.std() == pytest.approx(error, rel=0.1)


def test_indices_of_no_answers_are_undefined() -> None:
    with pytest.raises(Undefined, match="no one answered"):
        bang(np.zeros((2, 3)), 0)
    with pytest.raises(Undefined, match="no one named an arm"):
        accuracy(np.array([[0.0, 0.0, 4.0], [0.0, 0.0, 2.0]]))
