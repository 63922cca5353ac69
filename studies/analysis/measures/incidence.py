"""Kaplan–Meier and Aalen–Johansen estimates from counts that can be summed over clusters.

Counts: (…, 1 + kinds, turns from 0): how many conversations had at least so many turns, and how many of them ended
after that many, by kind of end. Conversations that stopped for another reason (censored) count up to their last turn.
Aalen and Johansen 1978, Scandinavian Journal of Statistics 5:141; Kaplan and Meier 1958, doi 10.2307/2281868.
"""

import numpy as np
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array

CENSORED = -1
_HALF = 0.5 + 1e-12


def counts(turns: NDArray[np.intp], ends: NDArray[np.intp], clusters: NDArray[np.intp], kinds: int) -> Array:
    """Count conversations and ends: clusters × (1 + kinds) × turns.

    `ends`: the kind of each conversation's end from 0, or CENSORED; `clusters`: numbered from 0.
    """
    sums = np.zeros((clusters.max() + 1, 1 + kinds, turns.max() + 1))
    np.add.at(sums, (clusters, np.zeros_like(turns), turns), 1)
    sums[:, 0] = sums[:, 0, ::-1].cumsum(axis=-1)[:, ::-1]
    ended = ends != CENSORED
    np.add.at(sums, (clusters[ended], 1 + ends[ended], turns[ended]), 1)
    return sums


def still_open(counts: Array) -> Array:
    """Return the Kaplan–Meier share open after each turn, (…, turns); nan where no one is left at risk."""
    at_risk, open_after = counts[..., 0, :], _product(counts)
    return np.where((at_risk > 0) | (open_after == 0), open_after, np.nan)


def incidence(counts: Array, kind: int) -> Array:
    """Return the Aalen–Johansen share that has ended in this way after each turn, (…, turns)."""
    open_after = _product(counts)
    open_before = np.concatenate([np.ones_like(open_after[..., :1]), open_after[..., :-1]], axis=-1)
    ended = np.cumsum(open_before * _share(counts[..., 1 + kind, :], counts[..., 0, :]), axis=-1)
    return np.where(np.isnan(still_open(counts)), np.nan, ended)


def restricted_mean(counts: Array, horizon: int) -> Array:
    """Return the mean number of turns up to the horizon, (…): the area under `still_open`.

    After its last turn an estimate of 0 stays 0.
    """
    open_after = still_open(counts)[..., :horizon]
    return np.asarray(open_after.sum(axis=-1))


def median(counts: Array) -> Array:
    """Return the first number of turns after which at most half are open, (…); infinite if never."""
    at_most_half = still_open(counts) <= _HALF  # false for nan
    first = np.argmax(at_most_half, axis=-1).astype(float)
    return np.where(at_most_half.any(axis=-1), first, np.inf)


def _product(counts: Array) -> Array:
    ended = counts[..., 1:, :].sum(axis=-2)
    return np.asarray(np.cumprod(1 - _share(ended, counts[..., 0, :]), axis=-1))


def _share(ended: Array, at_risk: Array) -> Array:
    """Return the share that ended of those at risk; 0 where no one was at risk."""
    return np.divide(ended, at_risk, out=np.zeros_like(ended), where=at_risk > 0)
