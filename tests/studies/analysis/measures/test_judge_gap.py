from collections.abc import Callable

import numpy as np
import pytest

from studies.analysis.bootstrap import sum_by_cluster, weights
from studies.analysis.measures import correlation, judge_gap

# Bland & Altman 1986 (doi 10.1016/S0140-6736(86)90837-8), table 1: peak flow (l/min) of 17 people, first measurement
# by the Wright meter and by the mini Wright meter. Printed: mean difference -2.1, standard deviation 38.8.
WRIGHT = np.array([494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427], dtype=float)
MINI = np.array([512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451], dtype=float)
PEOPLE, CHATS, ARMS = 12, 5, np.array(["a", "b", "c", "d", ""])


@pytest.fixture
def rows() -> dict[str, np.ndarray]:
    """Five conversations of each of twelve people, one with each of four arms and one of which the arm is not known."""
    random = np.random.default_rng(6)
    people = np.repeat(np.arange(PEOPLE), CHATS)
    human = random.integers(1, 6, len(people)) + random.normal(size=PEOPLE)[people]
    judge = human + random.normal(0.5, 1, len(people))
    return {"people": people, "human": human, "judge": judge, "arms": np.tile(ARMS, PEOPLE)}


def test_limits_are_those_of_bland_and_altman() -> None:
    bias, low, high = judge_gap.bias_and_limits(MINI, WRIGHT)
    assert bias == pytest.approx(-2.1, abs=0.05)
    assert (high - bias) / 1.959963984540054 == pytest.approx(38.8, abs=0.05)
    assert bias - low == pytest.approx(high - bias)


def test_one_difference_has_no_limits() -> None:
    bias, *limits = judge_gap.bias_and_limits(MINI[:1], WRIGHT[:1])
    assert bias == WRIGHT[0] - MINI[0]
    assert np.isnan(limits).all()


def test_statistics_of_resamples_are_those_of_rows_drawn_again_one_by_one(rows: dict[str, np.ndarray]) -> None:
    human, judge, people, arms = (rows[name] for name in ("human", "judge", "people", "arms"))
    drawn = weights(PEOPLE, 20, 1)

    def resampled(statistic: Callable[[np.ndarray], np.ndarray], values: np.ndarray) -> list[float]:
        return statistic(drawn @ sum_by_cluster(values, people)).tolist()

    ccc = resampled(judge_gap.concordance_z, judge_gap.common_moments(human, judge))
    between = resampled(judge_gap.arm_means_z, judge_gap.arm_sums(human, judge, arms))
    for place, counts in enumerate(drawn):
        again = np.repeat(np.arange(len(people)), counts[people].astype(int))
        assert np.tanh(ccc[place]) == pytest.approx(correlation.concordance(human[again], judge[again]))
        of_arms = correlation.arm_means_correlation(human[again], judge[again], arms[again])
        assert np.tanh(between[place]) == pytest.approx(of_arms)


def test_between_arms_is_nothing_where_an_arm_was_not_drawn() -> None:
    sums = judge_gap.arm_sums(np.array([1.0, 2, 3]), np.array([1.0, 3, 2]), np.array(["a", "b", "c"]))
    assert np.isfinite(judge_gap.arm_means_z(sums.sum(axis=0)))
    assert np.isnan(judge_gap.arm_means_z(sums[:2].sum(axis=0)))
