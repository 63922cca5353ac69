"""The elimination of the largest term, against matrices as large as the data. Estimates: test_rater_effects.py."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from statsmodels.regression.mixed_linear_model import MixedLM  # noqa: TID253

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
    arms, reviewers, conversations = found.fixed_effects(), found.effects("reviewer"), found.effects("conversation")
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
        with pytest.raises(Undefined, match="no residual error is left to estimate"):
            mixed.fit(scores, fixed, terms)
    else:
        assert mixed.fit(scores, fixed, terms).variances["residual"] == pytest.approx(third**2, rel=0.1)


# Few ratings, in any pattern

GRID = np.array([0, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 30, 100])


@st.composite
def designs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, Terms]:
    """Scores from 1 to 5 of some conversations (of up to three arms) by some raters; any of both may be constant."""
    raters, conversations = draw(st.integers(1, 12)), draw(st.integers(1, 40))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    met = random.random((raters, conversations)) < draw(st.floats(0.1, 1))
    met[0, 0] = True
    rater, conversation = (np.unique(levels, return_inverse=True)[1] for levels in np.nonzero(met))
    effects = sum(
        draw(st.sampled_from([0, 0.3, 1])) * random.normal(size=levels.max() + 1)[levels]
        for levels in (rater, conversation)
    )
    scores = np.clip(
        np.round(3 + effects + draw(st.sampled_from([0, 0.3, 1, 3])) * random.normal(size=len(rater))), 1, 5
    )
    for levels in (rater, conversation):
        if draw(st.booleans()):
            scores[levels == 0] = draw(st.integers(1, 5))
    arm = np.unique(conversation % draw(st.integers(1, 3)), return_inverse=True)[1]
    return scores, indicators(arm), {"rater": rater, "conversation": conversation}


def fit_or_none(scores: np.ndarray, fixed: np.ndarray, terms: Terms) -> mixed.Fit | None:
    untold = mixed.unidentified_terms(terms)
    try:
        return mixed.fit(scores, fixed, {name: levels for name, levels in terms.items() if name not in untold})
    except Undefined:
        return None


@given(designs())
@settings(max_examples=80, deadline=None)
def test_any_few_ratings_are_fitted_or_refused_with_a_reason(design: tuple[np.ndarray, np.ndarray, Terms]) -> None:
    found = fit_or_none(*design)
    if found is None:
        return
    components = found.components()
    assert all((components[name].estimate == 0) == (name in found.absent) for name in components)
    assert components["residual"].estimate > 0
    effects = [effect for name in found.data.terms for effect in found.effects(name)]
    for one in (*found.fixed_effects(), *effects):
        assert one.low <= one.estimate <= one.high
    bounded = [one for one in components.values() if not np.isnan(one.low)]
    assert all(one.low <= one.estimate <= one.high for one in bounded)


@given(designs())
@settings(max_examples=40, deadline=None)
def test_no_other_variances_are_likelier(design: tuple[np.ndarray, np.ndarray, Terms]) -> None:
    found = fit_or_none(*design)
    if found is None or len(found.variances) == 1:
        return
    scores, fixed, terms = design
    data = mixed.Data(scores, fixed, {name: terms[name] for name in found.variances if name in terms})
    relative = [(found.variances[name] / found.variances["residual"]) ** 0.5 for name in data.terms]
    others = np.stack(np.meshgrid(*[GRID] * len(relative)), axis=-1).reshape(-1, len(relative))
    least = min(mixed.profile_deviance(data, other) for other in others)
    assert mixed.profile_deviance(data, np.array(relative)) <= least + 1e-6


def test_of_two_minima_the_lower_one_is_found() -> None:
    """Twelve ratings whose criterion is 20.656 where both terms vary, and 20.652 where neither does."""
    scores = np.array([3, 3, 3, 3, 3, 3, 2, 2, 1, 4, 3, 5], dtype=float)
    arm = np.array([0, 2, 0, 2, 1, 1, 2, 1, 2, 0, 1, 0])
    rater = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2])
    conversation = np.array([0, 2, 3, 5, 7, 1, 2, 4, 5, 6, 7, 6])
    found = mixed.fit(scores, indicators(arm), {"rater": rater, "conversation": conversation})
    assert found.absent == ("rater", "conversation")


def test_raters_who_differ_a_little_are_not_held_to_be_equal() -> None:
    """14 scores of 7 conversations by 4 raters; statsmodels fits the same variance with the raters alone."""
    met = np.array([[0, 0, 1, 0, 0, 1, 1], [0, 0, 1, 0, 0, 1, 0], [0, 1, 1, 0, 1, 1, 0], [1, 1, 1, 1, 0, 0, 1]])
    rater, conversation = np.nonzero(met)
    scores = np.array([3, 4, 3, 4, 3, 3, 1, 2, 3, 3, 3, 3, 4, 1], dtype=float)
    found = mixed.fit(scores, np.ones((14, 1)), {"rater": rater, "conversation": conversation})
    theirs = MixedLM(scores, np.ones(14), rater).fit(reml=True, method="powell")
    assert found.absent == ("conversation",)
    assert found.variances["rater"] == pytest.approx(float(theirs.cov_re[0, 0]), rel=1e-3)
    assert found.variances["residual"] == pytest.approx(theirs.scale, rel=1e-4)
    assert found.criterion == pytest.approx(-2 * theirs.llf, abs=1e-6)
