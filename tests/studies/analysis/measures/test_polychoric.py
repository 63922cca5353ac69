import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal  # noqa: TID253

from studies.analysis.measures.polychoric import both_below, correlation, correlations, thresholds
from studies.analysis.rows import Undefined

# Olsson 1979, Psychometrika 44:443, as the help of R's psych::polychoric quotes it: r = .49, thresholds -1.77 and -.14
# of the rows, -.69 and .67 of the columns.
OLSSON = np.array([[13, 6, 0], [69, 113, 22], [41, 132, 104]], dtype=float)
# UCLA, "How do I compute tetrachoric/polychoric correlations in SAS?", honors by female: PROC FREQ prints .2362.
HONORS = np.array([[73, 74], [18, 35]], dtype=float)


def test_correlation_is_that_of_olssons_example() -> None:
    assert round(correlation(OLSSON), 2) == 0.49
    assert thresholds(OLSSON.sum(axis=1)).round(2).tolist() == [-1.77, -0.14]
    assert thresholds(OLSSON.sum(axis=0)).round(2).tolist() == [-0.69, 0.67]


def test_correlation_of_two_by_two_is_the_tetrachoric_one_that_sas_prints() -> None:
    assert round(correlation(HONORS), 4) == 0.2362


@pytest.mark.parametrize("r", [-0.99, -0.6, 0.0, 0.3, 0.95, 0.998])
def test_both_below_is_the_chance_that_scipy_gives(r: float) -> None:
    x, y = np.array([-2.5, -1.0, 0.0, 0.7]), np.array([-2.0, 0.71, 0.0, 1.9])
    law = multivariate_normal([0, 0], [[1, r], [r, 1]])
    expected = [law.cdf([one, other]) for one, other in zip(x, y, strict=True)]
    assert both_below(x, y, r) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("planted", [-0.7, 0.2, 0.85])
def test_correlation_behind_skewed_points_comes_back_where_pearsons_is_too_small(planted: float) -> None:
    random = np.random.default_rng(4)
    behind = random.multivariate_normal([0, 0], [[1, planted], [planted, 1]], 8000)
    points = np.column_stack(
        [np.digitize(one, cuts) for one, cuts in zip(behind.T, ([0.5, 1, 1.8], [-2, -1]), strict=True)]
    )
    assert correlations(points.astype(float))[0, 1] == pytest.approx(planted, abs=0.04)
    assert abs(np.corrcoef(points.T)[0, 1]) < abs(planted) - 0.02


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(1, 40), min_size=12, max_size=12))
def test_correlation_turns_its_sign_with_the_scale_and_does_not_mind_the_side(counts: list[int]) -> None:
    table = np.array(counts, dtype=float).reshape(3, 4)
    assert correlation(table.T) == pytest.approx(correlation(table), abs=1e-5)
    assert correlation(table[::-1]) == pytest.approx(-correlation(table), abs=1e-5)


def test_points_may_be_named_as_one_likes_so_long_as_they_are_whole() -> None:
    random = np.random.default_rng(6)
    scores = np.clip(np.rint(random.normal(3, 1, (60, 1)) + random.normal(0, 0.7, (60, 3))), 1, 5)
    assert correlations(scores**2) == pytest.approx(correlations(scores))
    with pytest.raises(Undefined, match="not whole numbers"):
        correlations(scores / 2)


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        (np.column_stack([np.arange(30.0), np.arange(30.0)]), "more than 10 categories"),
        (np.column_stack([np.arange(30) % 3, np.arange(30) % 3]).astype(float), "at its bound"),
        (np.column_stack([np.arange(30) % 3, np.ones(30)]), "an item does not vary"),
    ],
)
def test_correlations_are_undefined_where_categories_tell_nothing(scores: np.ndarray, reason: str) -> None:
    with pytest.raises(Undefined, match=reason):
        correlations(scores)
