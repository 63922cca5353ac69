import numpy as np
import pandas as pd  # noqa: TID253
import pingouin  # noqa: TID253
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats  # noqa: TID253
from scipy.special import expit, logit  # noqa: TID253

from studies.analysis.measures import mixed
from studies.analysis.measures.variance import mean_squares, one_way, spearman_brown, two_way, two_way_by_components
from studies.analysis.rows import Undefined
from studies.analysis.tables.reliability import cronbach_alpha
from tests.studies.analysis.published import SHROUT_FLEISS

PINGOUIN = {f"ICC({form},{of})": f"icc_{form.lower()}_{of}" for form in "1AC" for of in "1k"}


@pytest.mark.parametrize(
    ("form", "printed", "low", "high"),
    [
        # Estimates from their table 4; intervals as R's psych::ICC prints them for the same data.
        ("icc_1_1", 0.17, -0.13, 0.72),
        ("icc_a_1", 0.29, 0.02, 0.76),
        ("icc_c_1", 0.71, 0.34, 0.95),
        ("icc_1_k", 0.44, -0.88, 0.91),
        ("icc_a_k", 0.62, 0.07, 0.93),
        ("icc_c_k", 0.91, 0.68, 0.99),
    ],
)
def test_two_way_is_that_of_shrout_and_fleiss(form: str, printed: float, low: float, high: float) -> None:
    icc = two_way(SHROUT_FLEISS)[form]
    assert (round(icc.estimate, 2), round(icc.low, 2), round(icc.high, 2)) == (printed, low, high)


def test_two_way_follows_from_the_printed_mean_squares() -> None:
    # Their table 3: between targets 11.24, within 6.26, between judges 32.49, residual 1.02.
    squares = mean_squares(SHROUT_FLEISS)
    found = squares.targets, squares.within, squares.raters, squares.residual
    assert [round(square, 2) for square in found] == [11.24, 6.26, 32.49, 1.02]


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning:pingouin")  # where F has no finite quantile
@settings(deadline=None, max_examples=20)
@example(targets=3, raters=2, seed=3, spread=0.25)
@example(targets=3, raters=2, seed=4, spread=0.01)
@given(targets=st.integers(3, 40), raters=st.integers(2, 6), seed=st.integers(0, 1000), spread=st.floats(0.01, 100))
def test_two_way_equals_pingouin(targets: int, raters: int, seed: int, spread: float) -> None:
    random = np.random.default_rng(seed)
    noise = random.normal(size=(targets, raters))
    scores = 3 + spread * random.normal(size=(targets, 1)) + random.normal(size=raters) + noise
    rows, columns = np.indices(scores.shape)
    long = pd.DataFrame({"target": rows.ravel(), "rater": columns.ravel(), "score": scores.ravel()})
    theirs = pingouin.intraclass_corr(long, "target", "rater", "score").set_index("Type")
    for name, form in PINGOUIN.items():
        ours, (low, high) = two_way(scores)[form], theirs.at[name, "CI95"]
        if theirs.at[name, "ICC"] > 1:  # theirs divides by less than 0
            assert form == "icc_a_k"
            assert np.isnan(ours.estimate)
            continue
        assert ours.estimate == pytest.approx(theirs.at[name, "ICC"], abs=1e-9)
        if low > ours.estimate + 0.005:  # as above
            low = -np.inf
        assert (low, high) == pytest.approx((ours.low, ours.high), abs=0.00501, nan_ok=True)  # rounded to two decimals


def test_two_way_of_raters_further_apart_than_by_chance_has_no_agreement_of_their_mean() -> None:
    """(A,1) is at most -1 here, where Spearman–Brown divides by nothing."""
    forms = two_way(np.array([[1.0, 3.0], [3.0, 2.0], [2.0, 1.0]]))
    assert forms["icc_a_1"].estimate == -1
    assert np.isnan(forms["icc_a_k"].estimate)
    assert forms["icc_a_k"].low == -np.inf


def test_of_mean_at_the_least_of_all_agreement() -> None:
    assert spearman_brown(-0.5, 3) == -np.inf
    assert spearman_brown(-0.4, 3) == pytest.approx(-6)


def test_two_way_of_raters_who_differ_by_a_constant_is_consistent_without_interval() -> None:
    scores = np.array([[0.1], [0.4], [0.7], [0.2]]) + np.array([0.0, 0.3, 0.1])
    forms = two_way(scores)
    assert forms["icc_c_1"].estimate == 1
    assert 0 < forms["icc_a_1"].estimate < 1
    assert all(np.isnan(forms[name].low) for name in ("icc_c_1", "icc_c_k", "icc_a_1", "icc_a_k"))
    assert forms["icc_1_1"].low < forms["icc_1_1"].estimate < forms["icc_1_1"].high


def test_cronbach_alpha_is_the_consistency_of_the_mean() -> None:
    # Judges taken for items: alpha = ICC(C,k) = .909.
    assert round(cronbach_alpha(SHROUT_FLEISS), 3) == 0.909
    assert cronbach_alpha(SHROUT_FLEISS) == pytest.approx(two_way(SHROUT_FLEISS)["icc_c_k"].estimate, abs=1e-12)


@settings(deadline=None, max_examples=5)
@given(st.permutations(range(4)), st.permutations(range(6)))
def test_two_way_ignores_the_order_of_raters_and_targets(raters: list[int], targets: list[int]) -> None:
    for form, icc in two_way(SHROUT_FLEISS[targets][:, raters]).items():
        assert icc.estimate == pytest.approx(two_way(SHROUT_FLEISS)[form].estimate, abs=1e-12)


def test_two_way_of_a_strict_rater_lowers_agreement_alone() -> None:
    strict = SHROUT_FLEISS - np.array([0, 3, 0, 0])
    before, after = two_way(SHROUT_FLEISS), two_way(strict)
    assert after["icc_c_1"].estimate == pytest.approx(before["icc_c_1"].estimate, abs=1e-12)
    assert after["icc_a_1"].estimate < before["icc_a_1"].estimate


def test_two_way_under_perfect_agreement_is_one_without_interval() -> None:
    for icc in two_way(np.array([[1.0, 1.0], [2.0, 2.0], [5.0, 5.0]])).values():
        assert icc.estimate == 1
        assert np.isnan([icc.low, icc.high]).all()


@pytest.mark.parametrize(
    ("matrix", "reason"),
    [
        ([[1.0, 2.0]], "fewer than two conversations that all raters rated"),
        ([[3.0, 3.0], [3.0, 3.0]], "the conversations' means do not differ"),
        ([[1.0, 3.0], [3.0, 1.0]], "the conversations' means do not differ"),
    ],
)
def test_two_way_is_undefined_without_differences(matrix: list[list[float]], reason: str) -> None:
    with pytest.raises(Undefined, match=reason):
        two_way(np.array(matrix))


def test_one_way_of_a_complete_table_is_the_two_way_tables_one_way_form() -> None:
    found = one_way(SHROUT_FLEISS.ravel(), np.repeat(np.arange(6), 4))
    forms = two_way(SHROUT_FLEISS)
    assert found.raters == 4
    for ours, theirs in ((found.single, forms["icc_1_1"]), (found.mean, forms["icc_1_k"])):
        assert (ours.estimate, ours.low, ours.high) == pytest.approx((theirs.estimate, theirs.low, theirs.high))


def test_one_way_of_uneven_targets_follows_the_analysis_of_variance() -> None:
    groups = [[1.0, 2.0], [4.0, 5.0, 3.0], [2.0], [5.0, 5.0]]
    f = stats.f_oneway(*groups).statistic
    found = one_way(np.concatenate(groups), np.repeat(np.arange(4), [2, 3, 1, 2]))
    k0 = (8 - (4 + 9 + 1 + 4) / 8) / 3
    assert found.raters == pytest.approx(k0)
    assert found.single.estimate == pytest.approx((f - 1) / (f + k0 - 1))
    assert found.mean.estimate == pytest.approx(1 - 1 / f)


def test_one_way_needs_a_target_with_several_scores() -> None:
    with pytest.raises(Undefined, match="no target with several scores"):
        one_way(np.array([1.0, 2.0]), np.array([0, 1]))


@pytest.mark.parametrize("of_raters", [0.25, 0.0])
def test_by_components_is_the_fit_of_mixed_with_its_delta_interval(of_raters: float) -> None:
    random = np.random.default_rng(9)
    whole = random.normal(size=(60, 1)) + np.sqrt(of_raters) * random.normal(size=4) + 0.9 * random.normal(size=(60, 4))
    targets, raters = np.nonzero(random.random(whole.shape) > 0.2)
    scores = whole[targets, raters]
    found = two_way_by_components(scores, targets, raters, 3.2)
    fit = mixed.fit(scores, np.ones((len(scores), 1)), {"target": targets, "rater": raters})
    names = [name for name, value in fit.variances.items() if value]
    assert fit.covariance is not None
    for form, ratings in (("a_1", 1.0), ("c_1", 1.0), ("a_k", 3.2), ("c_k", 3.2)):

        def share(kept: np.ndarray, form: str = form, ratings: float = ratings) -> float:
            of = dict(zip(names, kept, strict=True))
            error = of["residual"] + (of.get("rater", 0.0) if form[0] == "a" else 0.0)
            return float(logit(of["target"] / (of["target"] + error / ratings)))

        slope = mixed.gradient(share, fit.positive_variances)
        half = 1.959964 * np.sqrt(slope @ fit.covariance @ slope)
        expected = [expit(share(fit.positive_variances) + move) for move in (0, -half, half)]
        icc = found[f"icc_{form}"]
        assert (icc.estimate, icc.low, icc.high) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ([1.0, 1.0, 1.0, 1.0, 1.0], "the scores do not vary"),
        ([1.0, 2.0, 2.0, 3.0, 3.0], "the error's variance comes out as 0"),
    ],
)
def test_by_components_is_undefined_where_nothing_is_to_be_told(scores: list[float], reason: str) -> None:
    targets, raters = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0])
    with pytest.raises(Undefined, match=reason):
        two_way_by_components(np.array(scores), targets, raters, 1.7)


def test_by_components_of_thousands_of_targets_needs_no_matrix_of_them() -> None:
    random = np.random.default_rng(1)
    whole = random.normal(size=(20_000, 1)) + 0.5 * random.normal(size=4) + random.normal(size=(20_000, 4))
    rated, raters = np.nonzero(random.random(whole.shape) > 0.1)
    targets = np.unique(rated, return_inverse=True)[1]
    icc = two_way_by_components(whole[rated, raters], targets, raters, 3.6)["icc_c_1"]
    assert icc.estimate == pytest.approx(0.5, abs=0.02)
    assert icc.low < icc.estimate < icc.high < icc.low + 0.03
