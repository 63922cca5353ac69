"""The elimination of the largest term, against matrices as large as the data. Estimates: test_rater_effects.py."""

import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

from studies.analysis.measures import mixed
from studies.analysis.rows import Undefined

Terms = dict[str, NDArray[np.intp]]


def indicators(levels: NDArray[np.intp]) -> np.ndarray:
    return np.eye(levels.max() + 1)[levels]


def scattered(sizes: dict[str, int], rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, Terms]:
    """Scores, two arms and a slope, and terms of unequal counts; each level is met."""
    random = np.random.default_rng(seed)
    drawn = {name: np.r_[:size, random.integers(0, size, rows - size)] for name, size in sizes.items()}
    terms = {name: random.permutation(levels) for name, levels in drawn.items()}
    effects = [random.normal(size=sizes[name])[levels] for name, levels in terms.items()]
    fixed = np.column_stack([np.eye(2)[random.integers(0, 2, rows)], random.normal(size=rows)])
    return random.normal(3, 1, rows) + np.sum(effects, axis=0), fixed, terms


def restricted_likelihood(data: mixed.Data, variances: np.ndarray) -> float:
    """-2 log of it, from the covariance matrix of all rows (Harville 1977, doi 10.1080/01621459.1977.10480998)."""
    rows, fixed = len(data.scores), data.fixed
    covariance = variances[-1] * np.eye(rows)
    for variance, levels in zip(variances, data.terms.values(), strict=False):
        covariance += variance * indicators(levels) @ indicators(levels).T
    weight = np.linalg.inv(covariance)
    coefficients = np.linalg.solve(fixed.T @ weight @ fixed, fixed.T @ weight @ data.scores)
    left = data.scores - fixed @ coefficients
    determinants = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(fixed.T @ weight @ fixed)[1]
    return float((rows - fixed.shape[1]) * np.log(2 * np.pi) + determinants + left @ weight @ left)


def henderson(found: mixed.Fit) -> tuple[np.ndarray, np.ndarray]:
    """Of all terms' levels in the order of the terms: predictions and error variances, from all equations at once."""
    data, residual = found.data, found.variances["residual"]
    columns = np.column_stack([*(indicators(levels) for levels in data.terms.values()), data.fixed])
    ratios = [np.full(levels.max() + 1, residual / found.variances[name]) for name, levels in data.terms.items()]
    inverse = np.linalg.inv(columns.T @ columns + np.diag(np.r_[*ratios, np.zeros(data.fixed.shape[1])]))
    return inverse @ columns.T @ data.scores, np.diag(inverse) * residual


@pytest.mark.parametrize(
    "sizes", [{"one": 40}, {"one": 4, "other": 30}, {"one": 30, "other": 4}, {"one": 5, "other": 40, "third": 9}]
)
def test_criterion_is_the_likelihood_of_all_rows(sizes: dict[str, int]) -> None:
    data = mixed.Data(*scattered(sizes, 150, 1))
    for variances in np.random.default_rng(2).uniform(0.05, 3, (5, len(sizes) + 1)):
        expected = restricted_likelihood(data, variances)
        assert mixed.criterion(data, variances) == pytest.approx(expected, abs=1e-8)


def test_effects_and_their_intervals_are_those_of_all_equations() -> None:
    found = mixed.fit(*scattered({"few": 5, "many": 40, "some": 9}, 300, 3))
    assert found.absent == ()
    effects = [effect for term in ("few", "many", "some") for effect in found.effects(term)]
    predicted, spread = henderson(found)
    assert [effect.estimate for effect in effects] == pytest.approx(predicted[:54], abs=1e-8)
    halves = [(effect.high - effect.low) / 2 for effect in effects]
    assert halves == pytest.approx(1.959964 * np.sqrt(spread[:54]), abs=1e-6)


def test_fit_hangs_neither_on_the_order_of_terms_nor_on_that_of_rows() -> None:
    scores, fixed, terms = scattered({"few": 5, "many": 40}, 200, 5)
    turned = np.random.default_rng(1).permutation(200)
    other = mixed.fit(scores[turned], fixed[turned], {name: terms[name][turned] for name in ("many", "few")})
    found = mixed.fit(scores, fixed, terms)
    assert other.variances == pytest.approx(found.variances, abs=1e-6)
    assert other.criterion == pytest.approx(found.criterion, abs=1e-8)


def test_twenty_thousand_conversations_of_eight_reviewers_are_fitted_in_little_memory() -> None:
    random = np.random.default_rng(1)
    conversation, reviewer = np.repeat(np.arange(20_000), 8), np.tile(np.arange(8), 20_000)
    strict, arm = np.linspace(-0.5, 0.5, 8), conversation % 2
    own = random.normal(0, 0.7, 20_000)[conversation] + random.normal(0, 0.6, 160_000)
    scores = 3 + 0.2 * arm + strict[reviewer] + own
    tracemalloc.start()
    found = mixed.fit(scores, np.eye(2)[arm], {"reviewer": reviewer, "conversation": conversation})
    arms, reviewers, conversations = found.fixed(), found.effects("reviewer"), found.effects("conversation")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6
    assert found.variances["conversation"] == pytest.approx(0.49, abs=0.015)
    assert found.variances["residual"] == pytest.approx(0.36, abs=0.005)
    assert [effect.estimate for effect in reviewers] == pytest.approx(strict, abs=0.02)
    assert arms[1].estimate - arms[0].estimate == pytest.approx(0.2, abs=0.03)
    assert 6.9 < arms[0].df < 7.3  # hangs on the eight reviewers, not on the 160,000 scores
    assert len(conversations) == 20_000


def test_two_thousand_people_with_few_cards_are_fitted() -> None:
    random = np.random.default_rng(2)
    person = np.repeat(np.arange(2000), 3)
    card = random.integers(0, 6, 6000)
    scores = random.normal(0, 0.5, 2000)[person] + np.linspace(-1, 1, 6)[card] + random.normal(size=6000)
    found = mixed.fit(scores, np.ones((6000, 1)), {"person": person, "card": card})
    assert found.variances["person"] == pytest.approx(0.25, abs=0.06)
    assert len(found.effects("person")) == 2000


def test_fit_refuses_too_many_levels_beside_those_of_the_largest_term() -> None:
    one, other = np.arange(3000) % 1501, np.arange(3000) % 1502
    with pytest.raises(Undefined, match="1501 levels beside those of the largest term; no more than 1500 are fitted"):
        mixed.fit(np.sin(np.arange(3000.0)), np.ones((3000, 1)), {"one": one, "other": other})


@pytest.mark.parametrize(("third", "saturated"), [(0.0, True), (0.01, False)])
def test_fit_sees_whether_an_error_is_left(third: float, saturated: bool) -> None:
    conversation, reviewer = np.repeat(np.arange(400), 3), np.tile(np.arange(3), 400)
    scores = np.sin(np.arange(400.0))[conversation] + reviewer + third * np.random.default_rng(1).normal(size=1200)
    fixed, terms = np.ones((1200, 1)), {"conversation": conversation, "reviewer": reviewer}
    if saturated:
        with pytest.raises(Undefined, match="nothing is left to estimate the error of"):
            mixed.fit(scores, fixed, terms)
    else:
        assert mixed.fit(scores, fixed, terms).variances["residual"] == pytest.approx(third**2, rel=0.1)
