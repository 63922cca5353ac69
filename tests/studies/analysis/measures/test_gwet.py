import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.analysis.bootstrap import Bootstrap, weights
from studies.analysis.measures import coincidence, gwet
from studies.analysis.rows import Undefined
from studies.analysis.tables.reliability import _fleiss
from tests.studies.analysis.measures.test_coincidence import FOUR_OBSERVERS, table

FIVE = np.arange(1.0, 6.0)
# Gwet 2014, Handbook of Inter-Rater Reliability, table of two abstractors who classified a hundred pregnancy visits
# (ectopic, abnormal and normal intrauterine), as the author's package irrCAC has it (`cont3x3abstractors`).
ABSTRACTORS = np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]])


def counted(scores: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """`scores`: units × raters, nan where not rated."""
    units, raters = np.nonzero(~np.isnan(scores))
    return gwet.counts(scores[units, raters], units, levels)


def ac2(scores: np.ndarray, levels: np.ndarray) -> float:
    return gwet.agreement(counted(scores, levels), gwet.quadratic(levels))


def two_raters(contingency: np.ndarray) -> np.ndarray:
    cells = [[row + 1, column + 1] for (row, column), count in np.ndenumerate(contingency) for _ in range(count)]
    return np.array(cells, dtype=float)


def test_agreement_of_four_raters_is_the_authors() -> None:
    # 12 units, 4 raters, 5 categories with gaps: the worked example of Gwet 2014 (AC1 .775) and of irrCAC 0.4.4
    # (`raw_4raters`: AC1 .77544, with quadratic weights .91400).
    data = counted(table(FOUR_OBSERVERS), FIVE)
    assert gwet.agreement(data, np.eye(5)) == pytest.approx(0.77544, abs=5e-6)
    assert gwet.agreement(data, gwet.quadratic(FIVE)) == pytest.approx(0.91400, abs=5e-6)


def test_agreement_of_two_raters_is_the_authors() -> None:
    # irrCAC 0.4.4 prints AC1 .84933 and with quadratic weights .94024.
    scores, levels = two_raters(ABSTRACTORS), np.arange(1.0, 4.0)
    assert gwet.agreement(counted(scores, levels), np.eye(3)) == pytest.approx(0.84933, abs=5e-6)
    assert ac2(scores, levels) == pytest.approx(0.94024, abs=5e-6)


def test_agreement_at_one_end_of_the_scale_is_high_where_kappa_is_none() -> None:
    scores = np.full((20, 2), 5.0)
    scores[0, 1] = 4
    units = np.repeat(np.arange(20), 2)
    assert _fleiss(coincidence.counts(scores.ravel(), units)) < 0
    assert ac2(scores, FIVE) > 0.99


def test_agreement_counts_levels_that_nobody_gave() -> None:
    scores = np.array([[1.0, 2.0], [5.0, 5.0], [2.0, 2.0], [1.0, 5.0], [2.0, 1.0]])
    used = np.array([1.0, 2.0, 5.0])
    assert ac2(scores, FIVE) != pytest.approx(ac2(scores, used), abs=0.01)
    # By hand: disagreements in sixteenths 1, 0, 0, 16, 1; shares .3, .4, 0, 0, .3 of five levels; the weights sum to
    # 25 - 100 / 16.
    chance = (25 - 100 / 16) / 20 * (0.3 * 0.7 + 0.4 * 0.6 + 0.3 * 0.7)
    assert ac2(scores, FIVE) == pytest.approx((1 - 18 / 16 / 5 - chance) / (1 - chance))


@settings(deadline=None, max_examples=50)
@given(st.permutations(range(4)), st.permutations(range(12)), st.integers(-3, 3))
def test_agreement_ignores_the_order_of_raters_and_units_and_a_constant(
    raters: list[int], units: list[int], constant: int
) -> None:
    shuffled = table(FOUR_OBSERVERS)[units][:, raters] + constant
    assert ac2(shuffled, FIVE + constant) == pytest.approx(ac2(table(FOUR_OBSERVERS), FIVE), abs=1e-12)


@given(st.lists(st.integers(1, 5), min_size=2, max_size=20), st.integers(2, 4))
def test_agreement_of_duplicate_raters_is_one(scores: list[int], raters: int) -> None:
    assert ac2(np.repeat(np.array(scores, float)[:, np.newaxis], raters, axis=1), FIVE) == pytest.approx(1)


def test_resampled_draws_clusters_of_units() -> None:
    data, square = counted(table(FOUR_OBSERVERS), FIVE), gwet.quadratic(FIVE)
    clusters = np.arange(12) // 3
    found = gwet.resample(data, square, clusters, Bootstrap(25, 3))
    assert found.estimate == pytest.approx(gwet.agreement(data, square))
    for replicate, times in zip(found.replicates, weights(4, 25, 3).astype(int), strict=True):
        again = np.repeat(data, times[clusters], axis=0)
        assert replicate == pytest.approx(gwet.agreement(again, square), abs=1e-12)


def test_counts_refuses_what_is_no_level() -> None:
    with pytest.raises(Undefined, match="between the levels"):
        counted(np.array([[1.0, 2.5], [1.0, 2.0]]), FIVE)
    with pytest.raises(Undefined, match="one level only"):
        counted(np.array([[3.0, 3.0]]), np.array([3.0]))


def test_agreement_needs_two_units_with_several_ratings() -> None:
    with pytest.raises(Undefined, match="fewer than two conversations"):
        ac2(np.array([[1.0, 2.0], [3.0, np.nan]]), FIVE)


def test_resampled_without_differences_has_no_interval() -> None:
    data = counted(np.full((4, 2), 5.0), FIVE)
    with pytest.raises(Undefined, match="all resamples show the same agreement"):
        gwet.resample(data, gwet.quadratic(FIVE), np.arange(4), Bootstrap(20, 1))
