import numpy as np
import pytest
import statsmodels.api as sm  # noqa: TID253
from scipy import stats  # noqa: TID253

from studies.analysis.measures import mixed
from studies.analysis.measures.carry_over import Model, fit
from studies.analysis.rows import Undefined
from tests.studies.analysis.measures.test_paired import SLEEP
from tests.studies.analysis.published import SHROUT_FLEISS


def unbalanced(*, users: int, own: float, seed: int) -> Model:
    """An arm's indicators and a slope, whose effects are 3, 4 and .5."""
    random = np.random.default_rng(seed)
    of_user = np.repeat(np.arange(users), random.integers(2, 6, users))
    arm = random.integers(0, 2, len(of_user))
    fixed = np.column_stack([np.eye(2)[arm], random.normal(0, 1, len(of_user))])
    level = random.normal(0, own, users)[of_user]
    return Model(fixed @ [3, 4, 0.5] + level + random.normal(0, 1, len(of_user)), fixed, of_user)


def test_fit_is_the_restricted_one_of_mixed() -> None:
    model = unbalanced(users=25, own=1.0, seed=9)
    found, reference = fit(model), mixed.fit(model.scores, model.fixed, {"user": model.users})
    best = model.least_deviance_ratio()
    assert model.deviance(best) == pytest.approx(reference.criterion, abs=1e-6)
    for place, estimate in enumerate(reference.fixed_effects()):
        assert found.coefficients[place] == pytest.approx(estimate.estimate, rel=1e-6)
        error = (estimate.high - estimate.low) / 2 / stats.t.ppf(0.975, estimate.df)
        assert found.covariance[place, place] ** 0.5 == pytest.approx(error, rel=1e-6)


def test_effect_of_two_arms_is_students_paired_t() -> None:
    """Additional sleep by two drugs: t = -4.0621, 9 degrees of freedom, p = .002833 (R, help of `sleep`)."""
    arm, user = np.indices(SLEEP.shape)
    found = fit(Model(SLEEP.ravel(), np.eye(2)[arm.ravel()], user.ravel()))
    effect = found.effect(np.array([1.0, -1.0]))
    assert (found.df, round(effect.p, 6)) == (9, 0.002833)
    interval = stats.ttest_rel(*SLEEP).confidence_interval()
    assert (effect.low, effect.high) == pytest.approx((interval.low, interval.high))


def test_test_of_two_arms_is_students_t_squared() -> None:
    arm, user = np.indices(SLEEP.shape)
    found = fit(Model(SLEEP.ravel(), np.eye(2)[arm.ravel()], user.ravel())).test(np.array([[1.0, -1.0]]))
    assert (found.numerator, found.df) == (1, 9)
    assert (round(found.f, 3), round(found.p, 6)) == (16.501, 0.002833)  # 4.0621 squared


def test_test_of_several_arms_is_that_of_repeated_measures() -> None:
    """Shrout & Fleiss 1979, table 3: judges' mean square 32.49 over the error's 1.02, with 3 and 15 degrees of
    freedom."""
    target, judge = np.indices(SHROUT_FLEISS.shape)
    contrasts = np.column_stack([np.eye(3), -np.ones(3)])
    found = fit(Model(SHROUT_FLEISS.ravel(), np.eye(4)[judge.ravel()], target.ravel())).test(contrasts)
    assert (found.numerator, found.df) == (3, 15)
    assert found.f == pytest.approx(31.8665, abs=1e-3)
    assert found.p == pytest.approx(stats.f.sf(31.8665, 3, 15), rel=1e-3)


def test_test_without_variance_of_users_is_that_of_least_squares() -> None:
    model = unbalanced(users=12, own=0.0, seed=12)
    contrasts = np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
    assert fit(model).test(contrasts).f == pytest.approx(
        float(sm.OLS(model.scores, model.fixed).fit().f_test(contrasts).fvalue)
    )


def test_users_without_variance_leave_least_squares() -> None:
    model = unbalanced(users=12, own=0.0, seed=12)
    assert model.least_deviance_ratio() == 0
    theirs = sm.OLS(model.scores, model.fixed).fit()
    assert fit(model).coefficients == pytest.approx(theirs.params)
    assert np.sqrt(np.diag(fit(model).covariance)) == pytest.approx(theirs.bse)


@pytest.mark.parametrize(
    "model",
    [
        Model(np.array([1.0, 2.0, 4.0]), np.ones((3, 1)), np.arange(3)),
        Model(np.array([1.0, 2.0, 2.0, 3.0]), np.eye(2)[[0, 1, 0, 1]], np.array([0, 0, 1, 1])),
    ],
)
def test_fit_is_undefined_without_an_error(model: Model) -> None:
    with pytest.raises(Undefined, match="no residual error is left to estimate"):
        fit(model)
