from collections.abc import Callable

import numpy as np
import pandas as pd  # noqa: TID253
import pingouin  # noqa: TID253
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap, weights
from studies.analysis.measures.discrimination import (
    TAILS,
    greenhouse_geisser,
    mean_squares,
    separation_without_noise,
)
from studies.analysis.measures.variance import two_way
from studies.analysis.notes import INTERVAL, Note
from studies.analysis.rows import Undefined
from tests.studies.analysis.published import SHROUT_FLEISS

# "One-way analysis of variance", Wikipedia: three groups of six. F = 42 / 4.53 = 9.2647, p = .0024.
WIKIPEDIA = np.array([[6, 8, 13], [8, 12, 9], [4, 9, 11], [5, 11, 8], [3, 6, 7], [4, 8, 12]], dtype=float)
# Whole scores, users × models, of which not all are alike.
SCORES = arrays(float, st.tuples(st.integers(3, 8), st.integers(2, 5)), elements=st.integers(1, 5).map(float)).filter(
    lambda scores: bool(np.ptp(scores, axis=0).any())
)


def planted(users: int, models: int, *, ratio: float, level: float, seed: int) -> np.ndarray:
    """Means of even distance with that ratio; `level`: what of the variance within models is the users' own."""
    random = np.random.default_rng(seed)
    means = np.linspace(-1, 1, models)
    own = random.normal(0, np.sqrt(level), (users, 1))
    return means * np.sqrt(ratio / means.var()) + own + random.normal(0, np.sqrt(1 - level), (users, models))


def with_ratio(ratio: float, users: int, models: int) -> np.ndarray:
    """Scores whose ratio is just that."""
    scores = np.random.default_rng(1).normal(0, 1, (users, models))
    scores = (scores - scores.mean(axis=0)) / scores.std(axis=0, ddof=1)
    means = np.linspace(-1, 1, models)
    return scores + means * np.sqrt(ratio / means.var())


def of_pingouin(scores: np.ndarray) -> pd.Series:
    user, model = np.indices(scores.shape)
    long = pd.DataFrame({"user": user.ravel(), "model": model.ravel(), "score": scores.ravel()})
    return pingouin.rm_anova(long, dv="score", within="model", subject="user", correction=True).iloc[0]


def test_figures_of_emoharbor_follow_from_its_ratio() -> None:
    """Table 2 of arXiv:2601.01530: MSR .745 and MAC .427 with 20 models and 100 users; its F of 112 follows from
    neither formula."""
    squares = mean_squares(with_ratio(0.745, users=100, models=20))
    assert float(squares.separation()) == pytest.approx(0.745)
    assert round(squares.agreement(), 4) == 0.4269
    assert round(squares.f_oneway(), 2) == 78.42
    assert round(squares.f_eq13(), 2) == 77.64


@settings(deadline=None, max_examples=40)
@given(SCORES)
def test_metrics_are_emoharbors_equations(scores: np.ndarray) -> None:
    users, models = scores.shape
    between = np.mean((scores.mean(axis=0) - scores.mean()) ** 2)
    within = np.mean([column.var(ddof=1) for column in scores.T])
    squares = mean_squares(scores)
    assert float(squares.separation()) == pytest.approx(between / within)
    assert squares.agreement() == pytest.approx(between / (between + within))
    assert squares.f_eq13() == pytest.approx(between / (models - 1) / (within / (models * (users - 1))))
    assert squares.f_oneway() == pytest.approx(squares.f_eq13() * users / (users - 1))


def test_f_oneway_is_the_textbooks() -> None:
    assert mean_squares(WIKIPEDIA).f_oneway() == pytest.approx(9.2647, abs=5e-5)
    assert mean_squares(WIKIPEDIA).f_oneway() == pytest.approx(stats.f_oneway(*WIKIPEDIA.T).statistic)


def test_f_repeated_is_that_of_shrout_and_fleiss() -> None:
    """Their table 3: between judges 32.49, residual 1.02."""
    squares = mean_squares(SHROUT_FLEISS)
    assert round(squares.f_repeated(), 2) == 31.87
    assert [round(float(value), 2) for value in (squares.between, squares.of_users, squares.error)] == [
        32.49,
        11.24,
        1.02,
    ]


@pytest.mark.parametrize("scores", [SHROUT_FLEISS, WIKIPEDIA, planted(9, 5, ratio=0.2, level=0.5, seed=3)])
def test_repeated_measures_are_those_of_pingouin(scores: np.ndarray) -> None:
    squares, theirs = mean_squares(scores), of_pingouin(scores)
    epsilon = greenhouse_geisser(scores)
    assert squares.f_repeated() == pytest.approx(theirs["F"])
    assert epsilon == pytest.approx(theirs["eps"])
    assert squares.p_repeated(1) == pytest.approx(theirs["p_unc"])
    assert squares.p_repeated(epsilon) == pytest.approx(theirs["p_GG_corr"])


def test_f_repeated_of_two_models_is_the_square_of_the_paired_t() -> None:
    scores = WIKIPEDIA[:, :2]
    test = stats.ttest_rel(*scores.T)
    assert mean_squares(scores).f_repeated() == pytest.approx(test.statistic**2)
    assert greenhouse_geisser(scores) == pytest.approx(1)
    assert mean_squares(scores).p_repeated(1) == pytest.approx(test.pvalue)


def test_intraclass_correlations_are_those_of_models_rated_by_users() -> None:
    squares, forms = mean_squares(WIKIPEDIA), two_way(WIKIPEDIA.T)
    assert squares.icc_a_1() == pytest.approx(forms["icc_a_1"].estimate)
    assert squares.icc_c_1() == pytest.approx(forms["icc_c_1"].estimate)


@settings(deadline=None, max_examples=30)
@given(SCORES, st.randoms(use_true_random=False), st.sampled_from([-3.0, 0.25, 1000.0]))
def test_nothing_hangs_on_names_order_or_level(scores: np.ndarray, random: object, shift: float) -> None:
    generator = np.random.default_rng(random.randint(0, 99))  # type: ignore[attr-defined]
    turned = generator.permuted(np.arange(scores.shape[1]))
    other = scores[generator.permutation(len(scores))][:, turned] + shift
    one, two = mean_squares(scores), mean_squares(other)
    for figure in ("between", "of_users", "error", "within"):
        assert float(getattr(two, figure)) == pytest.approx(float(getattr(one, figure)), abs=1e-6)
    assert outcome(greenhouse_geisser, other) == pytest.approx(outcome(greenhouse_geisser, scores), rel=1e-5)


def outcome(statistic: Callable[[np.ndarray], float], scores: np.ndarray) -> float:
    try:
        return statistic(scores)
    except Undefined:
        return -1


def test_corrected_ratio_comes_back_where_the_plain_one_is_too_high() -> None:
    studies = [planted(40, 5, ratio=0.035, level=0.4, seed=seed) for seed in range(200)]
    plain = [float(mean_squares(scores).separation()) for scores in studies]
    found = [separation_without_noise(scores, Bootstrap(200, 1)) for scores in studies]
    held = [one.interval.low <= 0.035 <= one.interval.high for one in found]
    assert np.mean([one.estimate for one in found]) == pytest.approx(0.035, abs=0.004)
    assert np.mean(plain) > 0.043
    assert np.mean(held) > 0.9


def test_interval_is_that_of_a_plain_loop_over_resamples() -> None:
    scores = planted(12, 4, ratio=0.3, level=0.3, seed=7)
    users, models = scores.shape
    values = []
    for counts in weights(users, 60, 5):
        again = np.repeat(scores, counts.astype(int), axis=0)
        left = again - again.mean(axis=0) - again.mean(axis=1, keepdims=True) + again.mean()
        # Variances of a resample are too low by (U - 1) / U.
        error = (left**2).sum() / ((models - 1) * (users - 1)) * users / (users - 1)
        within = again.var(axis=0, ddof=1).mean() * users / (users - 1)
        between = again.mean(axis=0).var() - 2 * error * (models - 1) / (models * users)
        values.append(between / within)
    interval = separation_without_noise(scores, Bootstrap(60, 5)).interval
    assert (interval.low, interval.high) == pytest.approx(tuple(np.maximum(np.quantile(values, TAILS), 0)))


def test_correction_below_chance_is_told_as_such() -> None:
    found = separation_without_noise(with_ratio(0.0, users=20, models=3), Bootstrap(100, 1))
    assert found.estimate < 0
    assert found.interval.low == 0
    assert found.notes == [Note("few_clusters", count="20").on(INTERVAL)]


@pytest.mark.parametrize(
    ("scores", "form"),
    [
        ([[1, 1, 1], [2, 2, 2], [3, 4, 2]], ""),
        ([[1, 2], [2, 1]], "icc_a_1"),  # users and models alike, what is left is error
    ],
)
def test_agreement_of_no_variance_is_undefined(scores: list[list[float]], form: str) -> None:
    squares = mean_squares(np.array(scores, dtype=float))
    for name in ("icc_a_1", "icc_c_1"):
        if name == form:
            with pytest.raises(Undefined, match="no variance comes out above 0"):
                getattr(squares, name)()
        else:
            assert np.isfinite(getattr(squares, name)())


@pytest.mark.parametrize(
    ("statistic", "scores", "reason"),
    [
        (mean_squares, np.ones((1, 3)), "fewer than two users or models"),
        (mean_squares, np.ones((3, 1)), "fewer than two users or models"),
        (mean_squares, np.tile([1.0, 2.0], (4, 1)), "the scores within the models do not vary"),
        (greenhouse_geisser, np.add.outer([1.0, 2.0, 4.0], [0.0, 1.0]), "nothing is left beside users and models"),
    ],
)
def test_what_does_not_exist_has_a_reason(
    statistic: Callable[[np.ndarray], float], scores: np.ndarray, reason: str
) -> None:
    with pytest.raises(Undefined, match=reason):
        statistic(scores)


def test_f_repeated_needs_something_beside_users_and_models() -> None:
    squares = mean_squares(np.add.outer([0.1, 0.2, 0.4], [0.0, 1.0, 0.3]))
    with pytest.raises(Undefined, match="nothing is left beside users and models"):
        squares.f_repeated()
