from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa  # noqa: TID253

from studies.analysis.measures import kappa
from studies.analysis.measures.correlation import concordance
from studies.analysis.rows import Undefined

# Cohen 1968, Psychological Bulletin 70:213, table 1: shares of 200 cases, as R's psych::cohen.kappa has them.
COHEN = np.array([[0.44, 0.07, 0.09], [0.05, 0.20, 0.05], [0.01, 0.03, 0.06]])
CASES = np.repeat(np.argwhere(COHEN > 0), (200 * COHEN).round().astype(int).ravel(), axis=0)
# Two raters of 20 subjects on a scale of 1 to 6: `anxiety` of R's irr, first two columns.
ANXIETY = np.array(
    [
        [3, 3, 3, 4, 5, 5, 2, 3, 5, 2, 2, 6, 1, 5, 2, 2, 1, 2, 4, 3],
        [3, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4],
    ]
).T
# Of the help page of psych::cohen.kappa.
NINE = np.array([[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 3, 1, 6, 1, 5, 5, 6, 7]]).T
WEIGHTS = {kappa.nominal: None, kappa.linear: "linear", kappa.quadratic: "quadratic"}


def of_scores(scores: np.ndarray, weigh: Callable[[np.ndarray], np.ndarray]) -> tuple[float, float]:
    given, levels = kappa.places(scores)
    return kappa.kappa(given, weigh(levels), np.arange(len(scores)))


@pytest.mark.parametrize(
    ("weights", "printed"),
    [
        (1 - np.eye(3), 0.492),
        (np.array([[0, 1, 3], [1, 0, 6], [3, 6, 0]]), 0.348),
        (np.array([[0, 1, 4], [1, 0, 6], [2, 2, 0]]), 0.353),
    ],
)
def test_kappa_is_that_of_cohen_1968(weights: np.ndarray, printed: float) -> None:
    assert round(kappa.kappa(CASES, weights, np.arange(200))[0], 3) == printed


def test_error_gives_the_bounds_that_psych_prints_of_cohens_cases() -> None:
    """Its help page: unweighted kappa 0.39 0.49 0.59."""
    estimate, error = of_scores(CASES, kappa.nominal)
    assert [round(estimate + 1.96 * move * error, 2) for move in (-1, 0, 1)] == [0.39, 0.49, 0.59]


@pytest.mark.parametrize("scores", [CASES, ANXIETY])
@pytest.mark.parametrize("weigh", WEIGHTS)
def test_kappas_and_errors_are_those_of_statsmodels_by_fleiss_cohen_and_everitt(
    scores: np.ndarray, weigh: Callable[[np.ndarray], np.ndarray]
) -> None:
    table = np.zeros((len(np.unique(scores)),) * 2)
    np.add.at(table, tuple(kappa.places(scores)[0].T), 1)
    theirs = cohens_kappa(table, wt=WEIGHTS[weigh])
    assert of_scores(scores, weigh) == pytest.approx((theirs.kappa, theirs.std_kappa))


def test_error_counts_clusters_and_not_their_copies() -> None:
    given, levels = kappa.places(ANXIETY)
    weights, once = kappa.linear(levels), np.arange(20)
    estimate, error = kappa.kappa(given, weights, once)
    assert kappa.kappa(np.tile(given, (3, 1)), weights, np.tile(once, 3)) == pytest.approx((estimate, error))
    assert kappa.kappa(np.tile(given, (3, 1)), weights, np.arange(60))[1] == pytest.approx(error / 3**0.5)


def test_kappa_weighted_by_squares_is_what_irr_prints_of_its_anxiety_ratings() -> None:
    assert round(of_scores(ANXIETY, kappa.quadratic)[0], 3) == 0.297


def test_kappas_of_many_levels_are_what_psych_prints() -> None:
    assert of_scores(NINE, kappa.nominal)[0] == pytest.approx(0, abs=1e-12)
    assert round(of_scores(NINE, kappa.quadratic)[0], 2) == 0.68


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=3, max_size=30))
def test_kappas_are_sklearns_on_all_levels_and_lins_concordance(pairs: list[tuple[int, int]]) -> None:
    scores = np.array(pairs)
    if len(np.unique(scores)) < 2:
        return
    every = [1, 2, 3, 4, 5]  # sklearn would leave out levels that no one gave, and weigh by the places of the others
    for weigh, named in WEIGHTS.items():
        expected = cohen_kappa_score(*scores.T, labels=every, weights=named)
        assert of_scores(scores, weigh)[0] == pytest.approx(expected, abs=1e-12)
    expected = concordance(*scores.astype(float).T)
    assert of_scores(scores, kappa.quadratic)[0] == pytest.approx(expected, abs=1e-12)


def test_kappa_is_undefined_where_nothing_varies_or_levels_are_too_many() -> None:
    with pytest.raises(Undefined, match="the scores do not vary"):
        of_scores(np.full((4, 2), 3), kappa.quadratic)
    with pytest.raises(Undefined, match="different scores"):
        kappa.places(np.arange(122).reshape(-1, 2))
