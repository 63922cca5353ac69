import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # noqa: TID253

from studies.analysis.measures.pingouin_adapter import intraclass
from studies.analysis.measures.variance import one_way, two_way
from studies.analysis.rows import Undefined
from studies.analysis.tables.reliability import cronbach_alpha
from tests.studies.analysis.published import SHROUT_FLEISS


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
    ratios = intraclass(SHROUT_FLEISS)[1]
    assert ratios.one_way == pytest.approx(11.24 / 6.26, abs=0.002)
    assert ratios.two_way == pytest.approx(11.24 / 1.02, abs=0.03)
    assert ratios.raters(6) == pytest.approx(32.49 / 1.02, abs=0.1)


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
