"""Contrasts of mixed models: against a textbook, against statsmodels, and where they cannot be had."""

import warnings

import numpy as np
import pandas as pd  # noqa: TID253
import pytest
import statsmodels.api as sm  # noqa: TID253
from scipy import stats  # noqa: TID253

from studies.analysis.measures import mixed
from studies.analysis.measures.contrasts import contrast, joint_test
from tests.studies.analysis.published import CLUTTER, CLUTTER_ANOVA


def cells(levels: np.ndarray) -> np.ndarray:
    return np.eye(levels.max() + 1)[levels]


def numbered(levels: np.ndarray) -> np.ndarray:
    return np.unique(levels, return_inverse=True)[1]


def of_clutter() -> tuple[mixed.Fit, np.ndarray, np.ndarray]:
    """The fit; the effect of the filter in each of the three clutters; all weights over the six cells."""
    clutter, operator, filter_type = (place.ravel() for place in np.indices(CLUTTER.shape))
    found = mixed.fit(CLUTTER.ravel(), cells(2 * clutter + filter_type), {"operator": operator})
    return found, np.kron(np.eye(3), [-1.0, 1.0]), np.kron(np.eye(3), [0.5, 0.5])


def test_tests_of_a_balanced_table_are_those_of_the_textbooks_analysis_of_variance() -> None:
    found, filters, clutters = of_clutter()
    error = CLUTTER_ANOVA["error"][0] / CLUTTER_ANOVA["error"][1]
    for name, weights in (
        ("clutter", clutters[:-1] - clutters[-1]),
        ("filter", filters.mean(axis=0)[np.newaxis]),
        ("clutter × filter", filters[:-1] - filters[-1]),
    ):
        squares, df, printed = CLUTTER_ANOVA[name]
        test = joint_test(found, weights)
        assert (round(test.f, 2), test.numerator, round(test.df, 2)) == (printed, df, 15)
        assert test.f == pytest.approx(squares / df / error, rel=1e-4)
        assert test.p == pytest.approx(stats.f.sf(test.f, df, 15), rel=1e-4)


def test_contrast_of_a_balanced_table_is_a_difference_of_means_with_the_error_of_the_table() -> None:
    found, filters, _clutters = of_clutter()
    effect = contrast(found, filters.mean(axis=0))
    half = stats.t.ppf(0.975, 15) * (166.33 / 15 * 2 / 12) ** 0.5
    assert effect.estimate == pytest.approx((CLUTTER[..., 1] - CLUTTER[..., 0]).mean())
    assert (effect.high - effect.low) / 2 == pytest.approx(half, rel=1e-4)
    assert (effect.estimate / half * stats.t.ppf(0.975, 15)) ** 2 == pytest.approx(96.19, abs=0.01)


def unbalanced(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, cells and profiles; a third of the rows is missing."""
    random = np.random.default_rng(seed)
    cell, profile = (place.ravel() for place in np.indices((6, 20)))
    kept = random.random(120) > 0.33
    scores = random.normal(0, 1, 20)[profile] + 0.4 * cell + random.normal(0, 0.8, 120)
    return scores[kept], cells(cell[kept]), numbered(profile[kept])


@pytest.mark.parametrize("seed", [1, 2])
def test_estimates_and_errors_of_an_unbalanced_table_are_those_of_statsmodels(seed: int) -> None:
    scores, fixed, profile = unbalanced(seed)
    found = mixed.fit(scores, fixed, {"profile": profile})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sm.MixedLM(scores, fixed, groups=profile).fit(reml=True, gtol=1e-10)
    # Its own covariances are of coefficients and variances together; these are least squares' at its variances.
    beside = np.linalg.inv(theirs.scale * np.eye(len(scores)) + theirs.cov_re[0, 0] * np.equal.outer(profile, profile))
    covariance = np.linalg.inv(fixed.T @ beside @ fixed)
    weights = np.kron(np.eye(3), [-1.0, 1.0])
    for one in weights:
        ours = contrast(found, one)
        assert ours.estimate == pytest.approx(float(one @ theirs.fe_params), abs=1e-4)
        error = (ours.high - ours.low) / 2 / stats.t.ppf(0.975, ours.df)
        assert error == pytest.approx(float(one @ covariance @ one) ** 0.5, rel=1e-4)
    several = weights[:-1] - weights[-1]
    apart = several @ theirs.fe_params
    expected = float(apart @ np.linalg.solve(several @ covariance @ several.T, apart))
    assert 2 * joint_test(found, several).f == pytest.approx(expected, rel=1e-4)


def test_difference_between_profiles_has_the_degrees_of_freedom_of_the_profiles() -> None:
    """Each profile has three rows in one of two groups: Student's t of the twenty means."""
    random = np.random.default_rng(4)
    profile = np.repeat(np.arange(20), 3)
    scores = random.normal(0, 1, 20)[profile] + random.normal(0, 0.5, 60)
    group = profile % 2
    effect = contrast(mixed.fit(scores, cells(group), {"profile": profile}), np.array([-1.0, 1.0]))
    means = scores.reshape(20, 3).mean(axis=1)
    expected = stats.ttest_ind(means[1::2], means[::2])
    interval = expected.confidence_interval()
    assert effect.df == pytest.approx(18, rel=1e-3)
    assert effect.p == pytest.approx(expected.pvalue, rel=1e-3)
    assert (effect.low, effect.high) == pytest.approx((interval.low, interval.high), rel=1e-3)


def test_without_a_random_term_it_is_the_f_of_least_squares() -> None:
    scores, fixed, _profile = unbalanced(3)
    data = pd.DataFrame({"score": scores, "cell": fixed.argmax(axis=1)})
    expected = sm.OLS.from_formula("score ~ C(cell)", data).fit()
    test = joint_test(mixed.fit(scores, fixed, {}), np.eye(6)[:-1] - np.eye(6)[-1])
    assert (test.f, test.p) == (pytest.approx(expected.fvalue), pytest.approx(expected.f_pvalue, rel=1e-3))
    assert test.df == pytest.approx(expected.df_resid, rel=1e-3)


def test_joint_test_is_the_same_whichever_contrasts_span_it() -> None:
    scores, fixed, profile = unbalanced(5)
    found = mixed.fit(scores, fixed, {"profile": profile})
    one = joint_test(found, np.eye(6)[:-1] - np.eye(6)[-1])
    other = joint_test(found, np.diff(np.eye(6), axis=0))
    assert other.f == pytest.approx(one.f)
    assert other.p == pytest.approx(one.p, rel=0.05)  # the choice of axes tells a little in df


def test_joint_test_rejects_a_true_hypothesis_about_as_often_as_it_says() -> None:
    p = []
    for seed in range(150):
        random = np.random.default_rng(seed)
        cell, profile = (place.ravel() for place in np.indices((4, 8)))
        kept = random.random(32) > 0.2
        scores = random.normal(0, 1, 8)[profile] + random.normal(0, 0.8, 32)
        found = mixed.fit(scores[kept], cells(cell[kept]), {"profile": numbered(profile[kept])})
        p.append(joint_test(found, np.eye(4)[:-1] - np.eye(4)[-1]).p)
    assert np.mean(np.array(p) < 0.05) < 0.1
    assert np.mean(p) == pytest.approx(0.5, abs=0.08)
