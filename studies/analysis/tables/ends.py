"""The ends of conversations, counted for curves and tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array, number_names
from studies.analysis.measures import incidence

LEAVING = ("walked_out", "early", "satisfied", "safety")
# The cap and people's regular end stop a conversation that might have gone on, and a technical failure is no one's
# choice: of leaving they tell that there was none until then.
REGULAR = "finished"
ENDS = (*LEAVING, REGULAR, "cap", "technical")


def is_end(ways: Sequence[str], ends: NDArray[np.intp]) -> NDArray[np.bool_]:
    return np.isin(ends, [ENDS.index(way) for way in ways])


def leaving(counts: Array) -> Array:
    """Return the counts of the ends in LEAVING, so that all others are censored."""
    return counts[..., : 1 + len(LEAVING), :]


@dataclass(frozen=True)
class Group:
    """Conversations of one arm, condition and kind of seekers."""

    chats: pd.DataFrame

    @cached_property
    def turns(self) -> NDArray[np.intp]:
        return np.asarray(self.chats["turns"], dtype=np.intp)

    @cached_property
    def ends(self) -> NDArray[np.intp]:
        """Return the number of each end in ENDS, or CENSORED."""
        return np.asarray(pd.Index(ENDS).get_indexer(self.chats["end_reason"]), dtype=np.intp)

    @cached_property
    def is_leaver(self) -> NDArray[np.bool_]:
        return is_end(LEAVING, self.ends)

    @cached_property
    def clusters(self) -> NDArray[np.intp]:
        return number_names(self.chats["cluster"])

    @cached_property
    def counts(self) -> Array:
        return incidence.counts(self.turns, self.ends, self.clusters, len(ENDS))

    def sums(self) -> Array:
        return self.counts.reshape(len(self.counts), -1)

    def reshape_sums(self, sums: Array) -> Array:
        return sums.reshape(*sums.shape[:-1], *self.counts.shape[1:])

    def at_risk(self, turn: int) -> int:
        return int((self.turns >= turn).sum())

    def count_followed(self, turn: int, counting: Sequence[str]) -> int:
        """Return the number of clusters with a conversation that was not censored before that turn.

        `counting`: the ends that do not censor.
        """
        is_followed = (self.turns >= turn) | is_end(counting, self.ends)
        return len(np.unique(self.clusters[is_followed]))

    def last_known_turn(self) -> float:
        """Return the last turn at which the curve of leaving is known: infinite where all have left before."""
        at_end = incidence.still_open(leaving(self.counts.sum(axis=0)))[-1]
        return np.inf if at_end == 0 else float(self.turns.max())
