"""Krippendorff's alpha and its resampling. Coincidences add up over conversations, so clusters of them do too.

Krippendorff, Content Analysis (4th ed. 2019), chapter 12.
"""

from dataclasses import dataclass
from typing import Literal

import krippendorff  # noqa: TID253
import numpy as np

from studies.analysis.bootstrap import Array, Bootstrap, Resampled, ResampledTogether, sum_by_cluster
from studies.analysis.rows import Undefined

Level = Literal["ordinal", "interval"]
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
        return bootstrap.resample(lambda rows: alpha_from_sums(rows, self.levels, level), self._sums(clusters))

    def resample_nominal(self, clusters: np.ndarray, bootstrap: Bootstrap) -> ResampledTogether:
        """Resample the share of agreeing pairs and, if all units have the same number of ratings, Fleiss' kappa."""
        return bootstrap.resample_together(lambda rows: nominal_from_sums(rows, len(self.levels)), self._sums(clusters))

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


def nominal_from_sums(sums: Array, levels: int) -> Array:
    """Return the share of agreeing pairs and Fleiss' kappa: (…, flattened coincidences) → (…, 2).

    Kappa follows from this share and the shares of the levels (Fleiss 1971, doi 10.1037/h0031619); nan where only one
    level is left.
    """
    coincidences = sums.reshape(*sums.shape[:-1], levels, levels)
    marginals = coincidences.sum(axis=-1)
    total = marginals.sum(axis=-1)
    agreed = np.trace(coincidences, axis1=-2, axis2=-1) / total
    chance = ((marginals / total[..., np.newaxis]) ** 2).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([agreed, np.where(chance < 1 - _EXACT, (agreed - chance) / (1 - chance), np.nan)], axis=-1)


def alpha_from_sums(sums: Array, levels: Array, level: Level) -> Array:
    """Return alpha of each flattened coincidence matrix in `sums`; nan where only one level is left."""
    coincidences = sums.reshape(*sums.shape[:-1], len(levels), len(levels))
    marginals = coincidences.sum(axis=-1)
    total = marginals.sum(axis=-1)
    # The ordinal distance of two levels is that of their midpoints on the cumulated counts.
    places = np.cumsum(marginals, axis=-1) - marginals / 2 if level == "ordinal" else levels
    distances = (places[..., :, np.newaxis] - places[..., np.newaxis, :]) ** 2
    observed = (coincidences * distances).sum(axis=(-1, -2))
    expected = (marginals[..., :, np.newaxis] * marginals[..., np.newaxis, :] * distances).sum(axis=(-1, -2))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > 0, 1 - (total - 1) * observed / expected, np.nan)
