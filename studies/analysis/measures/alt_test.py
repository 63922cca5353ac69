"""The alternative annotator test: may a judge stand in for a rater? (Calderon, Reichart & Dror 2025, arXiv:2501.10970)

Each rater in turn is left out. The test compares who is nearer to the other raters: the judge or the rater left out.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.rows import Undefined

FALSE_DISCOVERY_RATE = 0.05
ROUNDED = 9  # decimals: scores that differ by less are a tie

Score = Callable[[Array, Array], Array]


def accuracy(answers: Array, others: Array) -> Array:
    """Return for each item the share of the other raters who gave the same answer; `others`: items × raters, nan where
    one gave none."""
    return _mean_of_others(others == answers[:, np.newaxis], others)


def negative_rmse(answers: Array, others: Array) -> Array:
    """Return for each item minus the root of the mean squared distance from the other raters."""
    return np.asarray(-np.sqrt(_mean_of_others((others - answers[:, np.newaxis]) ** 2, others)))


@dataclass(frozen=True)
class Comparison:
    """One rater and the judge on the items that this rater and at least one other scored; both win a tie."""

    items: NDArray[np.intp]  # their places
    judge_wins: NDArray[np.bool_]
    rater_wins: NDArray[np.bool_]

    def advantages(self) -> Array:
        """Return the rater's advantage on each item: 1, 0 for a tie, or -1."""
        return self.rater_wins.astype(float) - self.judge_wins

    def is_constant(self) -> bool:
        """Return whether several comparisons all came out alike, so that no test of their mean exists."""
        return len(self.items) > 1 and bool(np.ptp(self.advantages()) == 0)

    def p_value(self, epsilon: float) -> float:
        """Return the one-sided p of a t test that the rater's mean advantage is below `epsilon`.

        An advantage that is always the same decides by itself. Raises `Undefined` for fewer than two items.
        """
        advantages = self.advantages()
        if len(advantages) < 2:
            raise Undefined("under_two_shared_conversations")
        if self.is_constant():
            return 0.0 if advantages[0] < epsilon else 1.0
        return float(stats.ttest_1samp(advantages, epsilon, alternative="less").pvalue)


def compare(annotations: Array, judge: Array, score: Score) -> list[Comparison]:
    """Compare the judge with each rater. `annotations`: items × raters, nan where one gave none; `judge`: its answer to
    each item."""
    return [_compare(annotations, judge, rater, score) for rater in range(annotations.shape[1])]


def adjust_p_values(p_values: Array) -> Array:
    """Adjust p values for the false discovery rate under any dependence (Benjamini & Yekutieli 2001, doi
    10.1214/aos/1013699998)."""
    return np.asarray(stats.false_discovery_control(p_values, method="by"))


def winning_rate(adjusted_p: Array) -> float:
    """Return the share of raters whom the judge does not fall behind; from .5 on the judge passes."""
    return float(np.mean(adjusted_p <= FALSE_DISCOVERY_RATE))


def advantage(sums: Array) -> Array:
    """Return the mean over raters of the share of items on which the judge wins.

    `sums`: items of each rater, then wins over each. Raters without an item are left out.
    """
    items, wins = np.split(sums, 2, axis=-1)
    shares = np.divide(wins, items, out=np.zeros_like(wins), where=items > 0)
    return np.asarray(shares.sum(axis=-1) / (items > 0).sum(axis=-1))


def _compare(annotations: Array, judge: Array, rater: int, score: Score) -> Comparison:
    others = np.delete(annotations, rater, axis=1)
    shared = ~np.isnan(annotations[:, rater]) & ~np.isnan(others).all(axis=1)
    of_rater, of_judge = (
        np.round(score(answers[shared], others[shared]), ROUNDED) for answers in (annotations[:, rater], judge)
    )
    return Comparison(np.flatnonzero(shared), of_judge >= of_rater, of_rater >= of_judge)


def _mean_of_others(values: Array | NDArray[np.bool_], others: Array) -> Array:
    is_rated = ~np.isnan(others)
    return np.asarray(np.where(is_rated, values, 0).sum(axis=1) / is_rated.sum(axis=1))
