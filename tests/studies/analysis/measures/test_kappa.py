from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from studies.analysis.bootstrap import Bootstrap, weights
from studies.analysis.measures import kappa
from studies.analysis.measures.correlation import concordance
from studies.analysis.rows import Undefined
from tests.studies.analysis.measures.test_coincidence import FLEISS_DIAGNOSES
from tests.studies.analysis.published import SHROUT_FLEISS

# Cohen 1968, Psychological Bulletin 70:213, table 1: shares of 200 cases, as R's psych::cohen.kappa has them.
COHEN = np.array([[0.44, 0.07, 0.09], [0.05, 0.20, 0.05], [0.01, 0.03, 0.06]]).ravel()
# Two raters of 20 subjects on a scale of 1 to 6: `anxiety` of R's irr, first two columns.
ANXIETY = np.array(
    [
        [3, 3, 3, 4, 5, 5, 2, 3, 5, 2, 2, 6, 1, 5, 2, 2, 1, 2, 4, 3],
        [3, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4],
    ]
).T
# Of the help page of psych::cohen.kappa.
NINE = np.array([[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 3, 1, 6, 1, 5, 5, 6, 7]]).T


def of_scores(scores: np.ndarray, weigh: Callable[[np.ndarray], np.ndarray]) -> float:
    levels = np.unique(scores)
    tables = kappa.tables(scores, levels, np.zeros(len(scores), dtype=np.intp))
    return kappa.kappa(tables[0], weigh(levels))


@pytest.mark.parametrize(
    ("weights", "printed"),
    [
        (1 - np.eye(3), 0.492),
        (np.array([[0, 1, 3], [1, 0, 6], [3, 6, 0]]), 0.348),
        (np.array([[0, 1, 4], [1, 0, 6], [2, 2, 0]]), 0.353),
    ],
)
def test_kappa_is_that_of_cohen_1968(weights: np.ndarray, printed: float) -> None:
    assert round(kappa.kappa(COHEN, weights), 3) == printed


def test_kappa_weighted_by_squares_is_what_irr_prints_of_its_anxiety_ratings() -> None:
    assert round(of_scores(ANXIETY, kappa.quadratic), 3) == 0.297


def test_kappas_of_many_levels_are_what_psych_prints() -> None:
    assert of_scores(NINE, kappa.nominal) == 0
    assert round(of_scores(NINE, kappa.quadratic), 2) == 0.68


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=3, max_size=30))
def test_kappas_are_sklearns_on_all_levels_and_lins_concordance(pairs: list[tuple[int, int]]) -> None:
    scores = np.array(pairs)
    if len(np.unique(scores)) < 2:
        return
    every = [1, 2, 3, 4, 5]  # sklearn would leave out levels that nobody gave, and weigh by the places of the others
    for weigh, named in ((kappa.nominal, None), (kappa.quadratic, "quadratic")):
        expected = cohen_kappa_score(*scores.T, labels=every, weights=named)
        assert of_scores(scores, weigh) == pytest.approx(expected, abs=1e-12)
    expected = concordance(*scores.astype(float).T)
    assert of_scores(scores, kappa.quadratic) == pytest.approx(expected, abs=1e-12)


def test_kappa_is_undefined_where_nothing_varies() -> None:
    with pytest.raises(Undefined, match="the scores do not vary"):
        of_scores(np.full((4, 2), 3), kappa.quadratic)


def test_kappa_of_raters_who_always_agree_has_no_interval() -> None:
    scores = np.repeat(np.arange(1, 5), 2).reshape(-1, 2)
    levels = np.unique(scores)
    tables = kappa.tables(scores, levels, np.arange(4))
    assert kappa.kappa(tables.sum(axis=0), kappa.quadratic(levels)) == 1
    with pytest.raises(Undefined, match="all resamples agree alike"):
        kappa.resample(tables, kappa.quadratic(levels), Bootstrap(100, 1))


def test_kappa_of_each_resample_is_that_of_its_rows() -> None:
    levels, clusters = np.unique(ANXIETY), np.repeat(np.arange(5), 4)
    tables = kappa.tables(ANXIETY, levels, clusters)
    found = kappa.resample(tables, kappa.quadratic(levels), Bootstrap(100, 1))
    left_out = [of_scores(ANXIETY[clusters != cluster], kappa.quadratic) for cluster in range(5)]
    assert found.jackknife == pytest.approx(np.array(left_out))
    interval = found.interval()
    assert interval.low < found.estimate < interval.high


def test_conger_is_the_printed_exact_kappa_of_fleiss_1971() -> None:
    # Conger 1980, and R's irr: kappam.fleiss(diagnoses, exact = TRUE) prints .442, Fleiss' own .430.
    diagnoses = np.array([[float(digit) for digit in patient] for patient in FLEISS_DIAGNOSES.split()])
    assert round(kappa.conger(diagnoses), 3) == 0.442


def test_conger_of_two_raters_is_cohens_kappa() -> None:
    scores = SHROUT_FLEISS[:, 2:] // 3
    expected = cohen_kappa_score(scores[:, 0].astype(int), scores[:, 1].astype(int))
    assert kappa.conger(scores) == pytest.approx(expected)


@settings(deadline=None, max_examples=30)
@given(st.permutations(range(6)), st.permutations(range(30)), st.integers(-5, 5))
def test_conger_ignores_names_order_and_a_constant(raters: list[int], patients: list[int], constant: int) -> None:
    diagnoses = np.array([[float(digit) for digit in patient] for patient in FLEISS_DIAGNOSES.split()])
    assert kappa.conger(diagnoses[patients][:, raters] + constant) == pytest.approx(kappa.conger(diagnoses))


def test_conger_of_duplicate_raters_is_one_and_needs_all_ratings() -> None:
    assert kappa.conger(np.array([[1.0, 1.0], [2.0, 2.0], [5.0, 5.0]])) == 1
    with pytest.raises(Undefined, match="not every rater rated every conversation"):
        kappa.conger(np.array([[1.0, np.nan], [2.0, 2.0]]))


def test_conger_is_that_of_conversations_drawn_again_one_by_one() -> None:
    diagnoses = np.array([[float(digit) for digit in patient] for patient in FLEISS_DIAGNOSES.split()])
    clusters = np.arange(30) // 3
    found = kappa.resample_conger(diagnoses, clusters, Bootstrap(25, 1))
    drawn = [np.repeat(np.arange(30), counts[clusters].astype(int)) for counts in weights(10, 25, 1)]
    assert found.replicates.tolist() == pytest.approx([kappa.conger(diagnoses[rows]) for rows in drawn])


def test_conger_of_many_levels_has_no_interval_and_of_alike_resamples_none() -> None:
    many = np.arange(122.0).reshape(61, 2)
    with pytest.raises(Undefined, match="more than 60 different scores"):
        kappa.resample_conger(many, np.arange(61), Bootstrap(25, 1))
    with pytest.raises(Undefined, match="all resamples agree alike"):
        kappa.resample_conger(np.array([[1.0, 1], [2, 2], [1, 1], [2, 2]]), np.arange(4), Bootstrap(25, 1))
