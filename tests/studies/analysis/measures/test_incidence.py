import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.duration.survfunc import CumIncidenceRight, SurvfuncRight  # noqa: TID253

from studies.analysis.measures.incidence import CENSORED, counts, incidence, median, restricted_mean, still_open

# Freireich et al. 1963, Blood 21:699 (as in Cox & Oakes 1984, table 1.1): weeks of remission under 6-mercaptopurine;
# the second list is censored.
ENDED = [6, 6, 6, 7, 10, 13, 16, 22, 23]
BROKEN_OFF = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
FREIREICH = np.array(ENDED + BROKEN_OFF), np.array([0] * len(ENDED) + [CENSORED] * len(BROKEN_OFF))

CHATS = st.lists(st.tuples(st.integers(0, 12), st.sampled_from([CENSORED, 0, 1, 2])), min_size=1, max_size=40)


def counted(turns: np.ndarray, ends: np.ndarray, kinds: int = 1) -> np.ndarray:
    """Each conversation its own cluster, summed."""
    return counts(turns, ends, np.arange(len(turns)), kinds).sum(axis=0)


def test_still_open_is_the_published_curve_of_freireich() -> None:
    curve = still_open(counted(*FREIREICH))
    assert curve[[6, 7, 10, 13, 16, 22, 23]] == pytest.approx(
        [0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448], abs=5e-4
    )
    assert median(counted(*FREIREICH)) == 23


@settings(deadline=None)
@given(CHATS)
def test_curves_are_those_of_statsmodels(chats: list[tuple[int, int]]) -> None:
    turns, ends = np.array(chats).T
    turns = turns + 1  # statsmodels takes no time of 0
    found = counted(turns, ends, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its standard errors divide by 0
        theirs = SurvfuncRight(turns, ends != CENSORED)
        competing = CumIncidenceRight(turns, np.where(ends == CENSORED, 0, ends + 1))
    assert still_open(found)[theirs.surv_times.astype(int)] == pytest.approx(theirs.surv_prob)
    for kind, curve in enumerate(competing.cinc):
        assert incidence(found, kind)[competing.times.astype(int)] == pytest.approx(curve)


@settings(deadline=None)
@given(CHATS)
def test_shares_of_all_ends_and_of_what_is_open_add_up_to_one(chats: list[tuple[int, int]]) -> None:
    found = counted(*np.array(chats).T, kinds=3)
    total = still_open(found) + sum(incidence(found, kind) for kind in range(3))
    assert total == pytest.approx(np.ones_like(total))


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(1, 12))
def test_restricted_mean_without_censoring_is_that_of_the_turns_cut_off(turns: list[int], horizon: int) -> None:
    found = counted(np.array(turns), np.zeros(len(turns), dtype=int))
    assert restricted_mean(found, horizon) == pytest.approx(np.minimum(turns, horizon).mean())


def test_counts_of_clusters_weigh_like_their_conversations_repeated() -> None:
    random = np.random.default_rng(3)
    turns, ends, clusters = random.integers(1, 8, 40), random.integers(-1, 2, 40), np.arange(40) % 6
    found = counts(turns, ends, clusters, 2)
    drawn = np.array([2, 0, 1, 1, 0, 2])
    again = np.repeat(np.arange(40), drawn[clusters])
    repeated = counted(turns[again], ends[again], 2)
    weighted = np.einsum("c,cst->st", drawn, found)
    assert still_open(weighted)[: len(repeated[0])] == pytest.approx(still_open(repeated))


def test_all_censored_stay_open_and_have_no_median() -> None:
    found = counted(np.array([3, 3, 5]), np.full(3, CENSORED))
    assert still_open(found).tolist() == [1] * 6
    assert incidence(found, 0).tolist() == [0] * 6
    assert median(found) == np.inf
    assert restricted_mean(found, 5) == 5


def test_what_nobody_tells_is_not_known() -> None:
    """A resample of conversations that were all censored at turn 2, of data that go on."""
    found = np.array([[2.0, 2, 2, 0], [0, 0, 0, 0]])
    assert still_open(found)[:3].tolist() == [1, 1, 1]
    assert np.isnan([still_open(found)[3], incidence(found, 0)[3], restricted_mean(found, 4)]).all()
