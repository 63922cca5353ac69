"""r of a judge with means over raters, where raters differ between conversations: people and raters are left out.

Whoever rates decides by their strictness on how far conversations are apart, so r tells of other raters only if raters
are left out too. Without a rater, a conversation's mean is over the others; a conversation that no one else rated is
left out.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array, fisher_z, pair_moments, sum_by_cluster
from studies.analysis.jackknife import Jackknifed, jackknife_of_parts, refuse_one
from studies.analysis.notes import Note

Numbers = NDArray[np.intp]
PEOPLE_AND_RATERS = Note("people_and_raters")
ENOUGH_RATERS = 8  # below, leaving them out says too little about how raters differ


@dataclass(frozen=True)
class Ratings:
    """Scores of raters, with the conversation (target) and rater of each, numbered from 0 without gaps."""

    scores: Array
    targets: Numbers
    raters: Numbers

    def count(self) -> int:
        """Return how many raters there are."""
        return int(self.raters.max()) + 1

    def differ(self, clusters: Numbers) -> bool:
        """Return whether conversations differ in their raters, and these have conversations of several clusters."""
        complete = len(self.scores) == (int(self.targets.max()) + 1) * self.count()
        met = np.unique(np.stack([self.raters, clusters[self.targets]]), axis=1).shape[1]
        return not complete and self.count() > 1 and met > self.count()


def without_people_and_raters(ratings: Ratings, judge: Array, clusters: Numbers) -> Jackknifed:
    """Leave out each person, each rater, and each rater of each person; the statistic is Fisher's z of r.

    `judge` and `clusters`: of each target.
    """
    number = np.bincount(ratings.targets).astype(float)
    total = np.bincount(ratings.targets, weights=ratings.scores)
    means = total / number
    moments = pair_moments(means, judge)
    of_rating = _fall(ratings, number, means, judge)
    cells = ratings.raters * (clusters.max() + 1) + clusters[ratings.targets]
    parts = [
        sum_by_cluster(moments, clusters),
        sum_by_cluster(of_rating, ratings.raters),
        sum_by_cluster(of_rating, np.unique(cells, return_inverse=True)[1]),
    ]
    jackknife = jackknife_of_parts(fisher_z, moments.sum(axis=0), parts, PEOPLE_AND_RATERS)
    refuse_one(jackknife)
    return jackknife


def _fall(ratings: Ratings, number: Array, means: Array, judge: Array) -> Array:
    """Return by how much the moments fall without each rating."""
    targets = ratings.targets
    others = np.maximum(number[targets] - 1, 1)
    left = (means[targets] * number[targets] - ratings.scores) / others
    x, y = means - means.mean(), judge - judge.mean()
    without, beside = left - means.mean(), y[targets]
    is_left = (number[targets] > 1)[:, np.newaxis]
    after = np.column_stack([np.ones_like(without), without, beside, without**2, beside**2, without * beside])
    before = np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y])[targets]
    return np.asarray(before - np.where(is_left, after, 0.0))
