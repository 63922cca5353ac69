import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, f  # noqa: TID253
from statsmodels.duration.survfunc import survdiff  # noqa: TID253

from studies.analysis.measures.log_rank import Ends, log_rank, p_of_clusters
from studies.analysis.rows import Undefined
from tests.studies.analysis.measures.test_incidence import FREIREICH

# Freireich et al. 1963, Blood 21:699: weeks of remission under placebo, of whom none is censored.
PLACEBO = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]
CHATS = st.lists(
    st.tuples(st.integers(0, 6), st.booleans(), st.integers(0, 2), st.integers(0, 2)), min_size=8, max_size=40
)


def one_stratum(turns: np.ndarray, ended: np.ndarray, arms: np.ndarray) -> Ends:
    return Ends(turns, ended, arms, np.zeros(len(turns), dtype=int))


def freireich() -> Ends:
    turns, kinds = FREIREICH
    ended = np.concatenate([kinds == 0, np.ones(len(PLACEBO), dtype=bool)])
    return one_stratum(np.concatenate([turns, PLACEBO]), ended, np.repeat([0, 1], [len(turns), len(PLACEBO)]))


def numbered(names: np.ndarray) -> np.ndarray:
    return np.unique(names, return_inverse=True)[1]


def test_log_rank_of_freireich_is_the_published_one() -> None:
    """Kleinbaum & Klein 2012, Survival Analysis, 3rd edition, chapter 2: 19.25 and 10.75 ends expected, log-rank 16.79
    with one degree of freedom."""
    ends, found = freireich(), log_rank(freireich())
    observed = ends.ends.sum(axis=(0, 2))
    assert observed.tolist() == [9, 21]
    assert np.round(observed - ends.beyond_expected(), 2).tolist() == [19.25, 10.75]
    assert (round(found.statistic, 2), found.df) == (16.79, 1)
    assert found.p == pytest.approx(chi2.sf(16.793, 1), rel=1e-3)


@settings(deadline=None)
@given(CHATS, st.booleans())
def test_log_rank_is_that_of_statsmodels(chats: list[tuple[int, bool, int, int]], is_stratified: bool) -> None:
    turns, ended, arms, strata = map(np.array, zip(*chats, strict=True))
    assume(len(set(arms)) > 1)
    ends = Ends(turns, ended.astype(bool), numbered(arms), numbered(strata) if is_stratified else 0 * strata)
    try:
        found = log_rank(ends)
    except Undefined:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # statsmodels takes no time of 0
        statistic, p = survdiff(turns + 1, ended, arms, strata=strata if is_stratified else None)
    assert (found.statistic, found.p) == pytest.approx((float(statistic), float(p)), rel=1e-6, abs=1e-8)


def test_variance_of_clusters_by_hand() -> None:
    """Arm 0 ends after turns 1 and 2, arm 1 after 2 and 3. Of 4 that are open, 2 of each arm, one ends after turn 1;
    of 3, 1 and 2, two after turn 2; then the last. What each conversation brings to arm 0: observed less what was open
    of it, less the hazard it was exposed to, (own - mixture) × hazard for each of its turns."""
    ends = one_stratum(np.array([1, 2, 2, 3]), np.ones(4, dtype=bool), np.array([0, 0, 1, 1]))
    after = [(1 / 2, 1 / 4), (1 / 3, 2 / 3), (0, 1)]  # of arm 0: its share of what is open; the hazard
    exposed = [[(own - share) * hazard for share, hazard in after] for own in (1, 0)]
    brought = [
        1 - 1 / 2 - sum(exposed[0][:1]),
        1 - 1 / 3 - sum(exposed[0][:2]),
        0 - 1 / 3 - sum(exposed[1][:2]),
        0 - 0 - sum(exposed[1]),
    ]
    assert ends.beyond_expected()[0] == pytest.approx(sum(brought))
    assert ends.beyond_expected()[0] == pytest.approx(2 - 1 / 2 - 2 / 3)
    clusters = np.array([0, 1, 0, 1])
    variance = (brought[0] + brought[2]) ** 2 + (brought[1] + brought[3]) ** 2
    assert ends.variance_by_cluster(clusters)[0, 0] == pytest.approx(variance)
    assert log_rank(ends, clusters).statistic == pytest.approx(sum(brought) ** 2 / variance)


def test_conversations_written_twice_in_one_cluster_tell_no_more() -> None:
    """Every conversation and its copy are a cluster: the test is that of the single ones, each its own cluster."""
    once = freireich()
    twice = one_stratum(*(np.tile(part, 2) for part in (once.turns, once.ended, once.arms)))
    single = np.arange(len(once.turns))
    assert log_rank(twice, np.tile(single, 2)).statistic == pytest.approx(log_rank(once, single).statistic)
    assert log_rank(twice).statistic > 1.9 * log_rank(once).statistic


def test_what_conversations_bring_adds_up_in_strata_too() -> None:
    random = np.random.default_rng(5)
    arms, strata = random.integers(0, 3, 60), random.integers(0, 4, 60)
    ends = Ends(random.integers(1, 8, 60), random.random(60) < 0.7, arms, strata)
    assert ends._contributions().sum(axis=0) == pytest.approx(ends.beyond_expected())
    assert ends.beyond_expected().sum() == pytest.approx(0)


def test_names_of_arms_and_order_of_rows_change_nothing() -> None:
    random = np.random.default_rng(7)
    turns, ended, arms, clusters = (
        random.integers(1, 9, 50),
        random.random(50) < 0.6,
        np.arange(50) % 3,
        np.arange(50) // 5,
    )
    shuffled = random.permutation(50)
    first = log_rank(one_stratum(turns, ended, arms), clusters)
    again = log_rank(one_stratum(turns[shuffled], ended[shuffled], 2 - arms[shuffled]), clusters[shuffled])
    assert again.statistic == pytest.approx(first.statistic)


def test_p_of_clusters_with_one_arm_each_is_hotellings() -> None:
    """Hotelling's T² of the clusters' sums against 0, computed from their covariance around the mean."""
    random = np.random.default_rng(11)
    clusters, arms = np.repeat(np.arange(12), 4), np.repeat(np.arange(12) % 3, 4)
    ends = one_stratum(random.integers(1, 9, 48), random.random(48) < 0.7, arms)
    sums = np.stack([ends._contributions()[clusters == number].sum(axis=0)[:2] for number in range(12)])
    mean = sums.mean(axis=0)
    t_squared = 12 * mean @ np.linalg.solve(np.cov(sums.T), mean)
    assert log_rank(ends, clusters).p == pytest.approx(f.sf(t_squared * (12 - 2) / (2 * 11), 2, 10))


def test_p_where_clusters_met_several_arms_is_that_of_the_chi_square() -> None:
    random = np.random.default_rng(12)
    ends = one_stratum(random.integers(1, 9, 48), random.random(48) < 0.7, np.tile(np.arange(3), 16))
    found = log_rank(ends, np.repeat(np.arange(16), 3))
    assert found.p == pytest.approx(chi2.sf(found.statistic, 2))


@pytest.mark.parametrize(("statistic", "df", "clusters"), [(1.0, 3, 3), (4.0, 3, 4), (7.0, 2, 7)])
def test_p_of_too_few_clusters_is_undefined(statistic: float, df: int, clusters: int) -> None:
    with pytest.raises(Undefined, match=f"{clusters} clusters are too few to test so many arms"):
        p_of_clusters(statistic, df, clusters)


def test_log_rank_without_ends_or_with_too_few_clusters_is_undefined() -> None:
    turns, arms = np.array([2, 3, 4]), np.array([0, 1, 2])
    with pytest.raises(Undefined, match="no conversation ended in a way that counts"):
        log_rank(one_stratum(turns, np.zeros(3, dtype=bool), arms))
    with pytest.raises(Undefined, match="too few ends, or too few clusters"):
        log_rank(one_stratum(turns, np.ones(3, dtype=bool), arms), np.array([0, 0, 0]))
