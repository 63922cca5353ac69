"""Strengths of contestants from paired comparisons (Bradley & Terry 1952, doi 10.2307/2334029).

A tie counts as half a win for either side. The strengths of highest likelihood are found by minorisation and
maximisation, which goes uphill at every step (Hunter 2004, doi 10.1214/aos/1079120141), for many tables at once.
"""

import numpy as np
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array

STEPS = 10_000
EXACT = 1e-11  # of a log strength; below it a step changes nothing


def log_strengths(wins: Array) -> Array:
    """Return the log strengths, tables × contestants, with mean 0 in each table.

    `wins`: tables × contestants × contestants, how often (or by what weight) the row was preferred to the column. A
    table without finite strengths gives nan (see `has_strengths`).
    """
    strengths = np.full(wins.shape[:-1], np.nan)
    left = np.flatnonzero(has_strengths(wins))
    wins = wins * (1 - np.eye(wins.shape[-1]))
    logs = np.zeros((len(left), wins.shape[-1]))
    for _ in range(STEPS):
        if not left.size:
            break
        better = _step(logs, wins[left])
        settled = np.abs(better - logs).max(axis=1) < EXACT
        strengths[left[settled]] = better[settled]
        left, logs = left[~settled], better[~settled]
    return strengths


def _step(logs: Array, wins: Array) -> Array:
    strengths = np.exp(logs)
    met = wins + np.swapaxes(wins, 1, 2)
    pulls = (met / (strengths[:, :, np.newaxis] + strengths[:, np.newaxis, :])).sum(axis=2)
    better = np.log(wins.sum(axis=2) / pulls)
    centred: Array = better - better.mean(axis=1, keepdims=True)
    return centred


def has_strengths(wins: Array) -> NDArray[np.bool_]:
    """Return whether wins or ties lead from every contestant to every other (Ford 1957, doi 10.2307/2308513).

    Otherwise some contestants beat all others, or never met them, and no finite strength is the most likely.
    """
    return _reaches_all(wins > 0)


def is_connected(wins: Array) -> NDArray[np.bool_]:
    """Return whether all contestants met, directly or through others."""
    return _reaches_all(wins + np.swapaxes(wins, 1, 2) > 0)


def _reaches_all(steps: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether every contestant reaches every other; squaring doubles the length of known ways each time."""
    ways = (steps | np.eye(steps.shape[-1], dtype=bool)).astype(np.float64)
    for _ in range(int(steps.shape[-1]).bit_length()):
        ways = np.sign(ways @ ways)
    return np.asarray((ways > 0).all(axis=(1, 2)))
