import numpy as np
import pandas as pd  # noqa: TID253
import pytest
from pingouin import intraclass_corr  # noqa: TID253
from scipy import stats  # noqa: TID253

from studies.analysis.bootstrap import fisher_z, pair_moments
from studies.analysis.measures import variance
from studies.analysis.measures.attenuation import Ceiling, Reliability, reliability_of
from studies.analysis.notes import Note
from tests.amounts import choose
from tests.studies.analysis.published import SHROUT_FLEISS


def flat(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    targets, raters = np.nonzero(~np.isnan(matrix))
    return matrix[targets, raters], targets, raters


def of(matrix: np.ndarray) -> Reliability:
    return reliability_of(*flat(matrix), np.arange(len(matrix)))


def test_same_raters_have_the_consistency_of_shrout_and_fleiss() -> None:
    """Shrout & Fleiss 1979, table 4: ICC(3,4) = .91; so the highest r of their means is its root, .954."""
    found = of(SHROUT_FLEISS)
    assert found.method == Note("reliability_by_consistency")
    assert round(found.estimate, 4) == 0.9093
    assert round(Ceiling((found,)).estimate, 3) == 0.954


def test_consistency_and_its_values_without_a_target_are_those_of_pingouin() -> None:
    random = np.random.default_rng(3)
    matrix = random.normal(size=(9, 1)) + 2 * random.normal(size=3) + random.normal(size=(9, 3))

    def theirs(rows: np.ndarray) -> float:
        scores, targets, raters = flat(rows)
        table = pd.DataFrame({"target": targets, "rater": raters, "score": scores})
        found = intraclass_corr(table, targets="target", raters="rater", ratings="score").set_index("Type")
        return float(found.at["ICC(C,k)", "ICC"])

    found = of(matrix)
    assert found.estimate == pytest.approx(theirs(matrix), rel=1e-9)
    assert found.left_out == pytest.approx([theirs(np.delete(matrix, row, 0)) for row in range(9)], rel=1e-9)


def test_raters_who_differ_count_as_error() -> None:
    """Each target has two of four raters: variance components, with the raters' in the error (A,k)."""
    random = np.random.default_rng(1)
    matrix = random.normal(size=(60, 1)) + random.normal(size=4) + random.normal(size=(60, 4))
    for row, (first, second) in enumerate(random.permuted(np.tile(np.arange(4), (60, 1)), axis=1)[:, :2]):
        matrix[row, [first, second]] = np.nan
    found = of(matrix)
    scores, targets, raters = flat(matrix)
    forms = variance.two_way_by_components(scores, targets, raters, 2.0)
    assert found.method == Note("reliability_by_components")
    assert found.estimate == pytest.approx(forms["icc_a_k"].estimate, rel=1e-6)
    assert found.estimate < forms["icc_c_k"].estimate
    assert found.beside > 0


def test_components_without_a_cluster_are_near_those_fitted_anew() -> None:
    random = np.random.default_rng(2)
    matrix = random.normal(size=(40, 1)) + 0.7 * random.normal(size=5) + random.normal(size=(40, 5))
    matrix[random.random(matrix.shape) < 0.4] = np.nan
    matrix = matrix[(~np.isnan(matrix)).sum(axis=1) > 0]
    found = of(matrix)
    left_out, anew = range(0, len(matrix), choose(usual=2, full=1)), []
    for row in left_out:
        rest = np.delete(matrix, row, 0)
        share = float((1 / (~np.isnan(rest)).sum(axis=1)).mean())
        scores, targets, raters = flat(rest)
        anew.append(variance.two_way_by_components(scores, targets, raters, 1 / share)["icc_a_k"].estimate)
    near = found.left_out[left_out]
    assert near.std() == pytest.approx(np.std(anew), rel=0.15)
    assert np.corrcoef(near, anew)[0, 1] > 0.95


def test_raters_with_conversations_of_their_own_are_one_way() -> None:
    scores = np.array([1.0, 2, 4, 5, 2, 3])
    targets, raters = np.repeat(np.arange(3), 2), np.arange(6)
    found = reliability_of(scores, targets, raters, np.arange(3))
    assert found.method == Note("reliability_one_way")
    assert found.estimate == pytest.approx(variance.one_way(scores, targets).mean.estimate)


def test_a_judge_who_knows_the_worth_is_not_above_the_highest_r() -> None:
    """Three raters who differ in strictness scored all; by ICC(1,k) such a judge was above it in most studies."""
    above, by_one_way, gaps = 0, 0, []
    for seed in range(300):
        random = np.random.default_rng(seed)
        worth = random.normal(size=100)
        matrix = worth[:, np.newaxis] + 0.7 * random.normal(size=3) + random.normal(size=(100, 3))
        r, ceiling = stats.pearsonr(worth, matrix.mean(axis=1))[0], Ceiling((of(matrix),)).estimate
        above += r > ceiling
        gaps.append(r - ceiling)
        scores, targets, _raters = flat(matrix)
        by_one_way += r > variance.one_way(scores, targets).mean.estimate ** 0.5
    assert 0.4 < above / 300 < 0.6
    assert abs(np.mean(gaps)) < 0.005
    assert by_one_way / 300 > 0.75


def test_the_interval_is_a_jackknife_of_r_over_the_ceiling() -> None:
    random = np.random.default_rng(8)
    matrix = random.normal(size=(25, 1)) + random.normal(size=(25, 3))
    judge = matrix.mean(axis=1) + random.normal(size=25)
    ceiling = Ceiling((of(matrix),))
    found = ceiling.interval_of_corrected(
        lambda sums: np.tanh(fisher_z(sums)), pair_moments(matrix.mean(axis=1), judge)
    )

    def corrected(rows: np.ndarray) -> float:
        return float(stats.pearsonr(matrix[rows].mean(axis=1), judge[rows])[0] / np.sqrt(of(matrix[rows]).estimate))

    left_out = np.array([corrected(np.delete(np.arange(25), row)) for row in range(25)])
    half = stats.t.ppf(0.975, 24) * np.sqrt(24 / 25 * ((left_out - left_out.mean()) ** 2).sum())
    whole = corrected(np.arange(25))
    assert found == pytest.approx((whole - half, whole + half), rel=1e-9)
