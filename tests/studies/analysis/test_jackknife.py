import numpy as np
import pandas as pd  # noqa: TID253
import pytest
from scipy import stats  # noqa: TID253
from statsmodels.regression.linear_model import OLS  # noqa: TID253
from statsmodels.stats.sandwich_covariance import cov_cluster, cov_cluster_2groups  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap, fisher_z, mean, pair_moments, sum_by_cell, sum_by_cluster
from studies.analysis.jackknife import Jackknifed, infer, infer_r, jackknife, jackknife_two_way, method_of_r
from studies.analysis.measures import dependent
from studies.analysis.notes import INTERVAL, Note
from studies.analysis.rows import Undefined

# The law schools of Efron 1982 (The Jackknife, the Bootstrap and Other Resampling Plans, SIAM, table 2.1).
LSAT = np.array([576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594], dtype=float)
GPA = np.array([3.39, 3.30, 2.81, 3.03, 3.44, 3.07, 3.00, 3.43, 3.36, 3.13, 3.12, 2.74, 2.76, 2.88, 2.96])


def test_error_of_a_correlation_is_that_of_efrons_law_schools() -> None:
    """Efron 1982, section 3.1: r = .776, standard error by the jackknife .142."""
    found = jackknife(lambda sums: np.tanh(fisher_z(sums)), pair_moments(LSAT, GPA))
    assert round(found.estimate, 3) == 0.776
    assert found.spread().error == pytest.approx(0.142, abs=0.001)


def test_interval_and_p_of_r_follow_from_one_error() -> None:
    """A plain loop over the same law schools, on Fisher's z."""
    left_out = [np.arctanh(stats.pearsonr(np.delete(LSAT, school), np.delete(GPA, school))[0]) for school in range(15)]
    error = np.sqrt(14 / 15 * ((np.array(left_out) - np.mean(left_out)) ** 2).sum())
    z = np.arctanh(stats.pearsonr(LSAT, GPA)[0])
    half = stats.t.ppf(0.975, 14) * error

    found = infer_r(fisher_z, pair_moments(LSAT, GPA), Bootstrap(1, 1))
    interval = found.interval_of_r()
    assert (interval.low, interval.high) == pytest.approx((np.tanh(z - half), np.tanh(z + half)), rel=1e-9)
    assert found.p_value() == pytest.approx(2 * stats.t.sf(z / error, 14), rel=1e-9)
    assert str(method_of_r(found, interval)) == "jackknife of clusters, Student's t, on Fisher's z"
    assert found.notes(INTERVAL) == []


def test_interval_excludes_0_exactly_where_p_is_below_05() -> None:
    agree = []
    for seed in range(300):
        random = np.random.default_rng(seed)
        x = random.normal(size=40)
        found = infer_r(fisher_z, pair_moments(x, 0.3 * x + random.normal(size=40)), Bootstrap(1, 1))
        agree.append((found.interval_of_r().low <= 0 <= found.interval_of_r().high) == (found.p_value() >= 0.05))
    assert all(agree)


def test_interval_of_a_mean_is_students() -> None:
    values = np.random.default_rng(3).normal(0.8, 1, 12)
    found = jackknife(mean, np.column_stack([np.ones(12), values]))
    theirs = stats.ttest_1samp(values, 0)
    assert (found.interval().low, found.interval().high) == pytest.approx(tuple(theirs.confidence_interval(0.95)))
    assert found.p_value() == pytest.approx(theirs.pvalue)


def test_error_of_a_mean_of_clusters_is_that_of_statsmodels() -> None:
    clusters = np.repeat(np.arange(20), 4)
    values = np.random.default_rng(4).normal(size=20)[clusters] + np.random.default_rng(5).normal(size=80)
    fitted = OLS(values, np.ones_like(values)).fit()
    theirs = cov_cluster(fitted, clusters, use_correction=False).item() * 20 / 19
    found = jackknife(mean, sum_by_cluster(np.column_stack([np.ones(80), values]), clusters))
    assert found.spread().error ** 2 == pytest.approx(theirs, rel=1e-9)


def cells_of(values: np.ndarray) -> np.ndarray:
    """One value in each cell, for `mean`."""
    return np.stack([np.ones_like(values), values], axis=-1)


def test_two_way_variance_of_a_mean_is_that_of_the_expected_mean_squares() -> None:
    """Balanced: the interval of the analysis of variance with Satterthwaite's degrees of freedom."""
    random = np.random.default_rng(5)
    values = random.normal(size=(30, 1)) + random.normal(size=(1, 12)) + random.normal(size=(30, 12))
    rows, columns, cells = (np.var(part, ddof=1) / part.size for part in (values.mean(1), values.mean(0), values))
    variance = rows + columns - cells
    freedom = variance**2 / (rows**2 / 29 + columns**2 / 11 + cells**2 / 359)
    found = jackknife_two_way(mean, cells_of(values))
    assert (found.spread().error, found.spread().freedom) == pytest.approx((variance**0.5, freedom))
    assert (found.interval().low, found.interval().high) == pytest.approx(
        stats.t.interval(0.95, freedom, values.mean(), variance**0.5)
    )
    assert str(found.interval().method) == "two-way jackknife (counsellors × arms), Student's t"
    assert found.clusters() == (30, 12)


def test_two_way_variance_is_near_that_of_statsmodels_where_clusters_are_unequal() -> None:
    random = np.random.default_rng(2)
    rows, columns = np.nonzero(random.random((60, 40)) < 0.3)
    values = random.normal(size=60)[rows] + random.normal(size=40)[columns] + random.normal(size=len(rows))
    cells = sum_by_cell(np.column_stack([np.ones_like(values), values]), rows, columns)
    both = cov_cluster_2groups(OLS(values, np.ones_like(values)).fit(), rows, columns)[0]
    assert jackknife_two_way(mean, cells).spread().error == pytest.approx(both.item() ** 0.5, rel=0.05)


def test_two_way_r_equals_plain_loops() -> None:
    """Seven counsellors, five arms, no conversation in one of the cells and two in each of the others."""
    random = np.random.default_rng(3)
    met = pd.DataFrame([(row, column) for row in range(7) for column in range(5)], columns=["row", "column"]).drop(9)
    data = pd.concat([met, met], ignore_index=True)
    data = data.assign(human=random.normal(size=len(data)), judge=random.normal(size=len(data)))
    values = pair_moments(data["human"].to_numpy(), data["judge"].to_numpy())
    found = jackknife_two_way(fisher_z, sum_by_cell(values, data["row"].to_numpy(), data["column"].to_numpy()))
    for place, by in enumerate(["row", "column", ["row", "column"]]):
        rest = [data.drop(part.index) for _, part in data.groupby(by)]
        slow = [np.arctanh(one["human"].corr(one["judge"])) for one in rest]
        assert found.left_out[place] == pytest.approx(slow, rel=1e-9)


def test_difference_of_r_equals_a_plain_loop() -> None:
    random = np.random.default_rng(6)
    clusters = np.repeat(np.arange(15), 3)
    human, a, b = random.normal(size=(3, 45)) + random.normal(size=45)
    data = pd.DataFrame({"human": human, "a": a, "b": b})
    x, y, z = (data - data.mean()).to_numpy().T
    sums = np.column_stack([np.ones(45), x, z, y, x * x, z * z, y * y, x * z, x * y])
    found = infer(dependent.difference_of_r, sum_by_cluster(sums, clusters), Bootstrap(1, 1))
    rest = [data[clusters != cluster] for cluster in range(15)]
    slow = np.array([one["human"].corr(one["b"]) - one["human"].corr(one["a"]) for one in rest])
    assert isinstance(found, Jackknifed)
    assert found.left_out[0] == pytest.approx(slow, abs=1e-9)
    assert found.spread().error == pytest.approx(np.sqrt(14 / 15 * ((slow - slow.mean()) ** 2).sum()))


def test_resamples_stay_as_an_option() -> None:
    sums = pair_moments(LSAT, GPA)
    found = infer_r(fisher_z, sums, Bootstrap(400, 1, draws_r=True))
    assert found.interval() == Bootstrap(400, 1).resample(fisher_z, sums).interval()
    assert str(method_of_r(found, found.interval())) == "BCa cluster bootstrap on Fisher's z"


@pytest.mark.parametrize(
    ("sums", "reason"),
    [
        ([[1.0, 2]], "fewer than two clusters"),
        ([[1.0, 2], [0, 0]], "it is undefined if one of the clusters is left out"),
        ([[1.0, 2], [1, 2], [1, 2]], "leaving out any one cluster changes nothing"),
    ],
)
def test_jackknife_has_reasons(sums: list[list[float]], reason: str) -> None:
    with pytest.raises(Undefined, match=reason), np.errstate(invalid="ignore"):
        jackknife(mean, np.array(sums))


@pytest.mark.parametrize(
    ("human", "judge", "reason"),
    [
        ([1.0, 2, 4, 5], [2.0, 4, 8, 10], "a correlation is 1 or -1"),
        ([1.0, 2, 4, 5], [1.0, 2, 4, 3], "without one of the clusters the correlation is 1 or -1"),
        ([1.0, 2, 2, 2], [1.0, 2, 3, 4], "it is undefined if one of the clusters is left out"),
    ],
)
def test_r_has_reasons(human: list[float], judge: list[float], reason: str) -> None:
    with pytest.raises(Undefined, match=reason):
        infer_r(fisher_z, pair_moments(np.array(human), np.array(judge)), Bootstrap(50, 1))


def test_few_clusters_are_noted_below_eight() -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 7))
    assert infer_r(fisher_z, pair_moments(x, y), Bootstrap(1, 1)).notes(INTERVAL) == [
        Note("few_clusters", count="7").on(INTERVAL)
    ]


def test_two_way_needs_two_of_each_kind() -> None:
    with pytest.raises(Undefined, match="fewer than two clusters of a kind"):
        jackknife_two_way(mean, np.ones((5, 1, 2)))
