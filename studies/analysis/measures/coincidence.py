"""Krippendorff's alpha and its resampling. Coincidences add up over conversations, so clusters of them do too.

Krippendorff, Content Analysis (4th ed. 2019), chapter 12.
"""

from dataclasses import dataclass
from typing import Literal

import krippendorff  # noqa: TID253
import numpy as np

from studies.analysis.bootstrap import Array, Bootstrap, Resampled, sum_by_cluster
from studies.analysis.rows import Undefined

Level = Literal["nominal", "ordinal", "interval", "ratio"]
_EXACT = 1e-12
MOST_LEVELS = 60  # above, a resample's levels × levels tables would fill the memory


@dataclass(frozen=True)
class Counts:
    """The ratings of units. `counts`: units × levels, how many raters gave each level; every unit has two or more."""

    counts: Array
    levels: Array

    def require_variation(self) -> None:
        """Raise `Undefined` where chance agreement, and so any coefficient corrected for it, does not exist."""
        if len(self.counts) < 2:
            raise Undefined("under_two_conversations")
        if len(self.levels) < 2:
            raise Undefined("scores_alike")

    def alpha(self, level: Level) -> float:
        self.require_variation()
        _check(self.levels, level)
        return float(krippendorff.alpha(value_counts=self.counts, value_domain=self.levels, level_of_measurement=level))

    def percent_agreement(self) -> float:
        """Return the share of agreeing pairs of raters, each conversation weighted by its number of ratings; 0–1."""
        coincidences = self.coincidences().sum(axis=0)
        return float(np.trace(coincidences) / coincidences.sum())

    def coincidences(self) -> Array:
        """Return the coincidences: units × levels × levels."""
        pairs = np.einsum("ui,uj->uij", self.counts, self.counts)
        diagonal = np.arange(len(self.levels))
        pairs[:, diagonal, diagonal] -= self.counts
        return np.asarray(pairs / (self.counts.sum(axis=1) - 1)[:, np.newaxis, np.newaxis])

    def resample_alpha(self, level: Level, clusters: np.ndarray, bootstrap: Bootstrap) -> Resampled:
        """Resample alpha; `clusters`: the cluster of each unit, numbered from 0 without gaps."""
        _check(self.levels, level)
        return bootstrap.resample(lambda rows: alpha_from_sums(rows, self.levels, level), self._sums(clusters))

    def error_of_fleiss(self, clusters: np.ndarray) -> float:
        """Return the standard error of Fleiss' kappa by the delta method, the sums of clusters being independent.

        Where each unit is a cluster of its own it is that of Schouten (1982, doi 10.1002/bimj.4710240807) and Gwet
        (2008). `clusters`: the cluster of each unit, numbered from 0 without gaps; all units have as many ratings.
        """
        self.require_variation()
        sizes = self.counts.sum(axis=1)
        shares = self.counts / sizes[:, np.newaxis]
        agreed = (self.counts * (self.counts - 1)).sum(axis=1) / (sizes * (sizes - 1))
        means = shares.mean(axis=0)
        chance, disagreed = float((means**2).sum()), 1 - float(agreed.mean())
        moved = 2 * (shares - means) @ means
        influence = (agreed - agreed.mean()) / (1 - chance) - disagreed * moved / (1 - chance) ** 2
        return error_of_mean(influence, clusters)

    def _sums(self, clusters: np.ndarray) -> Array:
        """Return clusters × flattened coincidences."""
        self.require_variation()
        if len(self.levels) > MOST_LEVELS:
            raise Undefined("too_many_scores", most=MOST_LEVELS)
        return sum_by_cluster(self.coincidences().reshape(len(self.counts), -1), clusters)


def counts(scores: Array, units: np.ndarray) -> Counts:
    """Count the levels in each unit, from one score per row and its unit; units with one score are dropped."""
    levels = np.unique(scores)
    cells = units * len(levels) + np.searchsorted(levels, scores)
    table = np.bincount(cells, minlength=(units.max() + 1) * len(levels)).reshape(-1, len(levels))
    return Counts(table.astype(np.float64), levels)


def error_of_mean(influence: Array, clusters: np.ndarray) -> float:
    """Return the standard error of a coefficient that moves by the mean of `influence`, one value for each unit."""
    of_clusters = np.bincount(clusters, weights=influence)
    return float(np.sqrt((of_clusters**2).sum()) / len(influence))


def alpha_from_sums(sums: Array, levels: Array, level: Level) -> Array:
    """Return alpha of each flattened coincidence matrix in `sums`; nan where only one level is left."""
    coincidences = sums.reshape(*sums.shape[:-1], len(levels), len(levels))
    marginals = coincidences.sum(axis=-1)
    total = marginals.sum(axis=-1)
    distances = _distances(marginals, levels, level)
    observed = (coincidences * distances).sum(axis=(-1, -2))
    expected = (marginals[..., :, np.newaxis] * marginals[..., np.newaxis, :] * distances).sum(axis=(-1, -2))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > 0, 1 - (total - 1) * observed / expected, np.nan)


def _distances(marginals: Array, levels: Array, level: Level) -> Array:
    """Return the squared distance of each two levels; ordinal ones depend on how often each was given."""
    if level == "nominal":
        return 1 - np.eye(len(levels))
    # The ordinal distance of two levels is that of their midpoints on the cumulated counts.
    places = np.cumsum(marginals, axis=-1) - marginals / 2 if level == "ordinal" else levels
    apart = places[..., :, np.newaxis] - places[..., np.newaxis, :]
    if level == "ratio":
        together = levels[:, np.newaxis] + levels
        apart = np.divide(apart, together, out=np.zeros_like(apart), where=together > 0)
    return np.asarray(apart**2)


def _check(levels: Array, level: Level) -> None:
    if level == "ratio" and levels.min() < 0:
        raise Undefined("not_a_ratio_scale")
