import numpy as np
import pandas as pd  # noqa: TID253
import pytest
from scipy import stats  # noqa: TID253
from statsmodels.regression.linear_model import OLS  # noqa: TID253
from statsmodels.stats.sandwich_covariance import cov_cluster_2groups  # noqa: TID253

from studies.analysis.bootstrap import (
    Bootstrap,
    Resampled,
    fisher_z,
    mean,
    pair_moments,
    sum_by_cell,
    sum_by_cluster,
    weights,
)
from studies.analysis.notes import INTERVAL, Note
from studies.analysis.rows import Undefined


@pytest.fixture
def clustered() -> pd.DataFrame:
    """Nine people with one to four conversations each."""
    random = np.random.default_rng(4)
    cluster = np.repeat(np.arange(9), random.integers(1, 5, size=9))
    human = random.integers(1, 6, size=len(cluster)).astype(float)
    return pd.DataFrame({"cluster": cluster, "human": human, "judge": human + random.normal(size=len(cluster))})


def pair_sums(data: pd.DataFrame) -> np.ndarray:
    x, y = (data[side].to_numpy() - data[side].mean() for side in ("human", "judge"))
    return sum_by_cluster(np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y]), data["cluster"].to_numpy())


def test_fisher_z_equals_a_plain_loop_replicate_by_replicate(clustered: pd.DataFrame) -> None:
    fast = fisher_z(weights(9, 50, 7) @ pair_sums(clustered))
    people = [part for _, part in clustered.groupby("cluster")]
    random = np.random.default_rng(7)
    drawn = [
        pd.concat([people[person] for person in people_drawn]) for people_drawn in random.integers(9, size=(50, 9))
    ]
    slow = [np.arctanh(sample["human"].corr(sample["judge"])) for sample in drawn]
    assert fast == pytest.approx(slow, rel=1e-10)


def test_weights_count_one_whole_draw_however_it_is_cut() -> None:
    drawn = np.random.default_rng(5).integers(700, size=(300, 700))
    assert weights(700, 300, 5).tolist() == [np.bincount(row, minlength=700).tolist() for row in drawn]
    assert weights(70_000, 2, 5).sum(axis=1).tolist() == [70_000, 70_000]


def test_fisher_z_of_pair_moments_is_that_of_pearsons_r(clustered: pd.DataFrame) -> None:
    human, judge = (clustered[side].to_numpy() + 1e4 for side in ("human", "judge"))
    z = fisher_z(pair_moments(human, judge).sum(axis=0))
    assert z == pytest.approx(np.arctanh(stats.pearsonr(human, judge).statistic), rel=1e-9)


def test_resample_two_way_equals_plain_loops_replicate_by_replicate() -> None:
    """Seven counsellors, five arms, no conversation in one of the cells and two in each of the others."""
    random = np.random.default_rng(3)
    met = pd.DataFrame([(row, column) for row in range(7) for column in range(5)], columns=["row", "column"]).drop(9)
    data = pd.concat([met, met])
    data = data.assign(human=random.normal(size=len(data)), judge=random.normal(size=len(data)))
    values = pair_moments(data["human"].to_numpy(), data["judge"].to_numpy())
    cells = sum_by_cell(values, data["row"].to_numpy(), data["column"].to_numpy())
    fast = Bootstrap(60, 7).resample_two_way(fisher_z, cells)

    for place, by in enumerate(["row", "column", ["row", "column"]]):
        parts = [part for _, part in data.groupby(by)]
        draws = np.random.default_rng((7, place)).integers(len(parts), size=(60, len(parts)))
        samples = [pd.concat([parts[number] for number in drawn]) for drawn in draws]
        slow = [np.arctanh(sample["human"].corr(sample["judge"])) for sample in samples]
        assert fast.counts[place] == len(parts)
        assert fast.replicates[place] == pytest.approx(slow, rel=1e-9)
    assert fast.estimate == pytest.approx(np.arctanh(data["human"].corr(data["judge"])))
    assert fast.notes(INTERVAL) == [Note("few_clusters", count="7 × 5").on(INTERVAL)]


def cells_of(values: np.ndarray) -> np.ndarray:
    """One value in each cell, for `mean`."""
    return np.stack([np.ones_like(values), values], axis=-1)


def test_two_way_variance_of_a_mean_is_that_of_the_expected_mean_squares() -> None:
    """Balanced: the variances of the three draws are those of the means of rows, of columns and of single values, and
    so the interval is that of the analysis of variance with Satterthwaite's degrees of freedom."""
    random = np.random.default_rng(5)
    values = random.normal(size=(30, 1)) + random.normal(size=(1, 12)) + random.normal(size=(30, 12))
    rows, columns, cells = (np.var(part, ddof=1) / part.size for part in (values.mean(1), values.mean(0), values))
    variance = rows + columns - cells
    freedom = variance**2 / (rows**2 / 29 + columns**2 / 11 + cells**2 / 359)
    expected = stats.t.interval(0.95, freedom, values.mean(), variance**0.5)

    found = Bootstrap(40_000, 1).resample_two_way(mean, cells_of(values))
    assert found.spread().error == pytest.approx(variance**0.5, rel=0.01)
    assert found.spread().freedom == pytest.approx(freedom, rel=0.03)
    interval = found.interval()
    assert (interval.low, interval.high) == pytest.approx(expected, abs=0.01)
    assert found.p_value() == pytest.approx(2 * stats.t.sf(abs(values.mean()) / variance**0.5, freedom), abs=0.01)


def test_two_way_variance_of_a_mean_is_right_over_many_random_effects() -> None:
    """Var(mean) = 1/20 + 0.5/15 + 2/300. The single values, whose variance is taken off, differ by rows and columns
    too, so a little more is: their expected mean squares over n (n - 1)."""
    taken_off = (15 * 19 * 1 + 20 * 14 * 0.5) / (300 * 299)
    found = []
    for seed in range(300):
        random = np.random.default_rng(seed)
        rows, columns = random.normal(size=(20, 1)), 0.5**0.5 * random.normal(size=(1, 15))
        values = rows + columns + 2**0.5 * random.normal(size=(20, 15))
        found.append(Bootstrap(200, seed).resample_two_way(mean, cells_of(values)).spread().error ** 2)
    assert np.mean(found) == pytest.approx(1 / 20 + 0.5 / 15 + 2 / 300 - taken_off, rel=0.02)


def test_two_way_variance_is_that_of_statsmodels_where_clusters_are_unequal() -> None:
    """Cameron, Gelbach & Miller (2011) with their correction, c / (c - 1) of each kind."""
    random = np.random.default_rng(2)
    rows, columns = np.nonzero(random.random((60, 40)) < 0.3)
    values = random.normal(size=60)[rows] + random.normal(size=40)[columns] + random.normal(size=len(rows))
    cells = sum_by_cell(np.column_stack([np.ones_like(values), values]), rows, columns)
    fitted = OLS(values, np.ones_like(values)).fit()
    both, of_rows, of_columns = cov_cluster_2groups(fitted, rows, columns)
    found = Bootstrap(20_000, 1).resample_two_way(mean, cells)
    assert found.spread().error == pytest.approx(both.item() ** 0.5, rel=0.03)
    assert both.item() > max(of_rows.item(), of_columns.item())


def test_two_way_variance_is_not_below_that_of_one_kind() -> None:
    """Each row falls by as much as it rises, so that rows and columns are alike and the cells differ."""
    values = np.random.default_rng(4).normal(size=(10, 10))
    values -= values.mean(axis=0) + values.mean(axis=1, keepdims=True) - values.mean()
    values[0] += 1e-3
    found = Bootstrap(200, 1).resample_two_way(mean, cells_of(values))
    rows, columns, cells = (part.var() for part in found.replicates)
    assert rows + columns < cells
    assert found.spread().error == pytest.approx((max(rows, columns) * 10 / 9) ** 0.5)
    assert found.spread().freedom == 9


def test_two_way_replicates_that_are_alike_test_nothing() -> None:
    same = Bootstrap(20, 1).resample_two_way(mean, cells_of(np.zeros((4, 4))))
    assert (same.interval().low, same.interval().high) == (0, 0)
    for value in (0, 1):
        with pytest.raises(Undefined, match="all resamples are alike"):
            Bootstrap(20, 1).resample_two_way(mean, cells_of(np.full((4, 4), value))).p_value()


def test_resample_two_way_counts_replicates_without_variance() -> None:
    cells = sum_by_cell(
        pair_moments(np.array([1.0, 1, 2, 3]), np.array([1.0, 2, 2, 3])), *np.indices((2, 2)).reshape(2, 4)
    )
    found = Bootstrap(400, 1).resample_two_way(fisher_z, cells)
    assert found.undefined > 0
    assert found.n_replicates() + found.undefined == 1200
    left_out = Note("resamples_without_variance", count=found.undefined, all=1200)
    assert found.notes(INTERVAL)[1] == left_out.on(INTERVAL)


def test_resample_two_way_needs_two_of_each_kind() -> None:
    with pytest.raises(Undefined, match="fewer than two clusters of a kind"):
        Bootstrap(10, 1).resample_two_way(mean, np.ones((5, 1, 2)))


def test_fisher_z_of_a_constant_column_is_undefined() -> None:
    data = pd.DataFrame({"cluster": [0, 1, 2], "human": [3.3, 3.3, 3.3], "judge": [1.0, 2.0, 4.0]})
    assert np.isnan(fisher_z(pair_sums(data).sum(axis=0)))


def test_interval_is_the_bca_of_scipy_when_each_row_is_a_cluster() -> None:
    # scipy draws rows as we draw clusters, so the same seed gives the same resamples.
    values = np.random.default_rng(2).exponential(size=25)
    sums = sum_by_cluster(np.column_stack([np.ones(25), values]), np.arange(25))
    ours = Bootstrap(999, 5).resample(mean, sums).interval()
    theirs = stats.bootstrap((values,), np.mean, n_resamples=999, method="BCa", rng=np.random.default_rng(5))
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval), rel=1e-9)
    assert ours.method == Note("bca")


def test_interval_of_a_correlation_is_the_bca_of_scipy(clustered: pd.DataFrame) -> None:
    data = clustered.assign(cluster=np.arange(len(clustered)))
    ours = Bootstrap(999, 5).resample(fisher_z, pair_sums(data)).interval()
    theirs = stats.bootstrap(
        (data["human"], data["judge"]),
        lambda x, y, axis: np.arctanh(stats.pearsonr(x, y, axis=axis).statistic),
        paired=True,
        n_resamples=999,
        method="BCa",
        rng=np.random.default_rng(5),
    )
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval), rel=1e-9)


def test_interval_falls_back_to_percentiles_where_no_replicate_lies_below() -> None:
    resampled = Resampled(0.0, np.arange(1.0, 102.0), np.array([0.0, 1.0]), undefined=0)
    assert resampled.interval().method == Note("percentile")
    assert (resampled.interval().low, resampled.interval().high) == pytest.approx((3.5, 98.5))


def test_p_value_is_of_students_t_over_the_standard_error_of_the_replicates() -> None:
    """Variance of the replicates 3, of four clusters 3 × 4/3 = 4, so t = 6.364 / 2 = 3.182 with 3 degrees of freedom,
    which tables have for p = .05."""
    replicates = np.array([-1.5, 0.0, 1.5] * 20) * 2**0.5 + 6.364
    assert replicates.var() == pytest.approx(3)
    assert Resampled(6.364, replicates, np.zeros(4), undefined=0).p_value() == pytest.approx(0.05, abs=1e-4)
    assert Resampled(0.0, replicates, np.zeros(4), undefined=0).p_value() == 1


def test_p_value_is_that_of_the_t_test_of_a_mean_and_may_lie_below_one_in_all_resamples() -> None:
    values = np.random.default_rng(3).normal(0.8, 1, 40)
    found = Bootstrap(4000, 1).resample(mean, np.column_stack([np.ones(40), values])).p_value()
    assert np.log10(found) == pytest.approx(np.log10(stats.ttest_1samp(values, 0).pvalue), abs=0.3)
    assert found < 1 / 4001


@pytest.mark.parametrize("value", [0.0, 0.5])
def test_a_statistic_without_spread_has_no_p_value(value: float) -> None:
    with pytest.raises(Undefined, match="all resamples are alike"):
        Resampled(value, np.full(5, value), np.full(3, value), undefined=0).p_value()


def test_an_r_of_1_has_no_interval_though_rounding_moves_its_z() -> None:
    high = np.arctanh(1 - 1e-12)
    rounded = np.linspace(high - 0.5, high, 9)
    with pytest.raises(Undefined, match="all resamples are alike"):
        Resampled(high, rounded, rounded, undefined=0).interval_of_r()
    found = Resampled(0.5, np.linspace(0, 1, 41), np.linspace(0.4, 0.6, 9), undefined=0)
    assert found.interval_of_r().low == np.tanh(found.interval().low)


def test_resample_counts_replicates_without_variance() -> None:
    data = pd.DataFrame({"cluster": [0, 0, 1, 1], "human": [1, 1, 2, 3], "judge": [1, 2, 2, 3]})
    resampled = Bootstrap(400, 1).resample(fisher_z, pair_sums(data))
    # Person 0, whose human scores are constant, was drawn twice.
    alone = int((weights(2, 400, 1)[:, 0] == 2).sum())
    assert resampled.undefined == alone > 0
    assert len(resampled.replicates) == 400 - alone
    assert resampled.notes(INTERVAL) == [
        Note("few_clusters", count="2").on(INTERVAL),
        Note("resamples_without_variance", count=alone, all=400).on(INTERVAL),
    ]


def test_resample_needs_two_clusters() -> None:
    with pytest.raises(Undefined, match="fewer than two clusters"):
        Bootstrap(10, 1).resample(mean, np.ones((1, 2)))


def test_resample_covers_as_often_as_a_cluster_bootstrap_must() -> None:
    """Five equal rows a person must not narrow the interval: it equals that of one row a person."""
    values = np.random.default_rng(8).normal(size=30)
    once = sum_by_cluster(np.column_stack([np.ones(30), values]), np.arange(30))
    five = sum_by_cluster(np.column_stack([np.ones(150), np.repeat(values, 5)]), np.repeat(np.arange(30), 5))
    bootstrap = Bootstrap(200, 3)
    narrow, wide = bootstrap.resample(mean, five).interval(), bootstrap.resample(mean, once).interval()
    assert (narrow.low, narrow.high) == pytest.approx((wide.low, wide.high))
