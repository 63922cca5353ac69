import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.measures import clustered, variance
from studies.analysis.rows import Undefined
from tests.coverage.simulated import people, ratings_of_people

BOOTSTRAP = Bootstrap(4000, 1)
FORMS = variance.FORMS


def study(count: int, raters: int = 3, seed: int = 1) -> np.ndarray:
    return ratings_of_people(np.random.default_rng(seed), count, raters)


def half(left_out: list[float]) -> float:
    """Student's t of the jackknife, as any textbook has it."""
    count = len(left_out)
    error = np.sqrt((count - 1) / count * ((np.array(left_out) - np.mean(left_out)) ** 2).sum())
    return float(stats.t.ppf(0.975, count - 1) * error)


def test_consistency_is_by_the_jackknife_of_the_logarithm_of_the_ratio() -> None:
    scores, clusters = study(12), people(12)
    squares = [variance.mean_squares(scores[clusters != cluster]) for cluster in range(12)]
    move = half([float(np.log(one.targets / one.residual)) for one in squares])
    whole = variance.mean_squares(scores)
    ratio = whole.targets / whole.residual
    found = clustered.two_way(variance.two_way(scores), scores, clusters, BOOTSTRAP)
    for sign, bound in ((-1, found["icc_c_1"].low), (1, found["icc_c_1"].high)):
        moved = ratio * np.exp(sign * move)
        assert bound == pytest.approx((moved - 1) / (moved + 2))
    assert found["icc_c_k"].low == pytest.approx(1 - np.exp(move) / ratio)


def test_one_way_of_a_complete_table_is_the_two_way_tables_one_way_form() -> None:
    scores, clusters = study(12), people(12)
    targets = np.repeat(np.arange(len(scores)), 3)
    forms = clustered.two_way(variance.two_way(scores), scores, clusters, BOOTSTRAP)
    found = clustered.one_way(variance.one_way(scores.ravel(), targets), scores.ravel(), targets, clusters).forms()
    for form, icc in found.items():
        assert (icc.estimate, icc.low, icc.high) == pytest.approx(
            (forms[form].estimate, forms[form].low, forms[form].high)
        )


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(3, 30))
def test_one_way_of_mean_is_icc_1_k_of_the_analysis_of_variance(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    targets = np.concatenate([np.arange(count), random.integers(count, size=2 * count)])
    scores = 2 * random.normal(size=count)[targets] + random.normal(size=len(targets))
    expected = variance.one_way(scores, targets).mean.estimate
    [found] = clustered.one_way_of_mean(clustered.one_way_sums(scores, targets).sum(axis=0)[np.newaxis])
    assert found == pytest.approx(expected) if expected > 0 else np.isnan(found)


def test_one_way_of_mean_is_nothing_without_repeated_scores() -> None:
    sums = clustered.one_way_sums(np.array([1.0, 2, 4]), np.arange(3)).sum(axis=0)
    assert np.isnan(clustered.one_way_of_mean(sums[np.newaxis])).all()


def test_estimates_stay_and_lie_within() -> None:
    scores = study(30)
    usual = variance.two_way(scores)
    for form, icc in clustered.two_way(usual, scores, people(30), BOOTSTRAP).items():
        assert icc.estimate == usual[form].estimate
        assert icc.low < icc.estimate < icc.high


def test_intervals_grow_with_what_conversations_of_a_person_share() -> None:
    """F would count every conversation four times, as would clusters of one."""
    scores, clusters = np.repeat(study(10), 4, axis=0), np.repeat(people(10), 4)
    usual = variance.two_way(scores)
    alone = clustered.two_way(usual, scores, np.arange(len(scores)), BOOTSTRAP)["icc_c_1"]
    together = clustered.two_way(usual, scores, clusters, BOOTSTRAP)["icc_c_1"]
    assert together.high - together.low > 1.7 * (alone.high - alone.low)


def test_agreement_of_two_raters_is_as_unsure_as_their_variance() -> None:
    scores = study(200, raters=2)
    forms = clustered.two_way(variance.two_way(scores), scores, people(200), BOOTSTRAP)
    lengths = {form: icc.high - icc.low for form, icc in forms.items()}
    assert lengths["icc_a_1"] > 2 * lengths["icc_c_1"]
    assert forms["icc_a_k"].low == pytest.approx(2 * forms["icc_a_1"].low / (1 + forms["icc_a_1"].low))


def test_order_of_rows_names_of_clusters_and_a_constant_do_not_matter() -> None:
    scores, clusters = study(12), people(12)
    order = np.random.default_rng(3).permutation(len(scores))
    before = clustered.two_way(variance.two_way(scores), scores, clusters, BOOTSTRAP)
    moved = scores[order] + 7
    after = clustered.two_way(variance.two_way(moved), moved, 11 - clusters[order], BOOTSTRAP)
    for form in FORMS:
        assert (after[form].low, after[form].high) == pytest.approx((before[form].low, before[form].high), rel=1e-6)


def with_gaps(count: int, raters: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, targets, raters: two of them rated each conversation."""
    scores = study(count, raters)
    order = np.argsort(np.random.default_rng(5).random(scores.shape), axis=1)
    targets, whose = np.nonzero(order < 2)
    return scores[targets, whose], targets, whose


def test_components_without_a_cluster_are_those_of_a_fit_without_it() -> None:
    scores, targets, raters = with_gaps(30, 5)
    clusters = people(30)
    found = variance.components(scores, targets, raters)
    logs, _curvature = clustered.jackknife_logs(clustered.Criterion(found, clusters), np.log(found.relative))
    assert logs is not None
    spread = logs.left_out.std(axis=0)
    for cluster in range(0, 30, 7):
        there = clusters[targets] != cluster
        numbered = np.unique(targets[there], return_inverse=True)[1]
        refitted = np.log(variance.components(scores[there], numbered, raters[there]).relative)
        assert np.abs(refitted - logs.left_out[cluster]).max() < 0.1 * spread.max()


def test_by_components_keeps_estimates_and_widens_intervals() -> None:
    scores, targets, raters = with_gaps(60, 6)
    usual = variance.two_way_by_components(scores, targets, raters, 2.0)
    alone = clustered.two_way_by_components(scores, targets, raters, 2.0, np.arange(240))
    together = clustered.two_way_by_components(scores, targets, raters, 2.0, people(60))
    for form, icc in usual.items():
        assert together[form].estimate == pytest.approx(icc.estimate)
        # The jackknife of single conversations gives about what the curvature does.
        assert alone[form].high - alone[form].low == pytest.approx(icc.high - icc.low, rel=0.25)
    assert together["icc_c_1"].high - together["icc_c_1"].low > usual["icc_c_1"].high - usual["icc_c_1"].low


def test_raters_who_do_not_differ_leave_agreement_and_consistency_alike() -> None:
    random = np.random.default_rng(8)
    scores = random.normal(size=(80, 1)) + random.normal(size=(80, 4))
    scores -= scores.mean(axis=0)
    scores[:, :2] += 1e-9
    there = np.ones((80, 4), dtype=bool)
    there[::5, 0] = False
    targets, raters = np.nonzero(there)
    found = clustered.two_way_by_components(scores[there], targets, raters, 3.8, people(20))
    for of in "1k":
        agreed, consistent = found[f"icc_a_{of}"], found[f"icc_c_{of}"]
        assert (agreed.low, agreed.high) == pytest.approx((consistent.low, consistent.high))


def test_one_cluster_has_no_interval() -> None:
    scores = study(1)
    with pytest.raises(Undefined, match="fewer than two clusters"):
        clustered.two_way(variance.two_way(scores), scores, people(1), BOOTSTRAP)


def test_perfect_consistency_has_no_interval() -> None:
    scores = study(6)[:, :1] + np.array([0.0, 1.0, 2.0])
    forms = clustered.two_way(variance.two_way(scores), scores, people(6), BOOTSTRAP)
    assert all(np.isnan(forms[form].low) for form in ("icc_c_1", "icc_c_k", "icc_a_1", "icc_a_k"))
    assert forms["icc_1_1"].low < forms["icc_1_1"].high
