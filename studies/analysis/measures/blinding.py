"""How well people guess which arm they met, from tables of counts that can be summed over clusters.

Counts: (…, arms, guesses): of each arm's conversations, how many were taken for each arm, and last how many for none
("I cannot tell").
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.rows import Undefined

_Z = float(norm.ppf(0.975))


@dataclass(frozen=True)
class Index:
    estimate: float
    low: float
    high: float


def bang(counts: Array, arm: int) -> Index:
    """Right minus wrong guesses over all answers of an arm: 1 all right, 0 as by chance, below 0 the other way round.

    Of two arms the index of Bang, Ni and Davis 2004 (doi 10.1016/j.cct.2003.10.016) with its normal interval; of more a
    wrong guess weighs one over the number of wrong arms, so that 0 stays what chance gives. `counts`: arms × guesses.
    """
    answers = counts[arm].sum()
    if not answers:
        raise Undefined("nobody answered")
    right = counts[arm, arm] / answers
    wrong = (counts[arm, :-1].sum() - counts[arm, arm]) / answers
    weight = 1 / (len(counts) - 1)
    estimate = float(right - weight * wrong)
    half = _Z * float(np.sqrt(max(right + weight**2 * wrong - estimate**2, 0) / answers))
    return Index(estimate, max(estimate - half, -1.0), min(estimate + half, 1.0)) if half else _exact(estimate)


def _exact(estimate: float) -> Index:
    return Index(estimate, np.nan, np.nan)


def james(counts: Array) -> Array:
    """0 all right, .5 as by chance, 1 all wrong or nobody can tell (James et al. 1996, doi
    10.1002/(SICI)1097-0258(19960715)15:13<1421::AID-SIM266>3.0.CO;2-H; weights 0, .5 and 1 as there).

    nan where one arm alone was met and guessed.
    """
    answers, guesses = counts.sum(axis=(-2, -1)), counts[..., :-1]
    named = guesses.sum(axis=(-2, -1))
    right = np.trace(guesses, axis1=-2, axis2=-1)
    by_chance = (guesses.sum(axis=-1) * guesses.sum(axis=-2)).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        cannot_tell = 1 - named / answers
        beyond_chance = (1 - right / named) / (1 - by_chance / named**2) - 1
        index = (1 + cannot_tell + (1 - cannot_tell) * beyond_chance) / 2
    return np.where(named > 0, index, np.where(answers > 0, 1.0, np.nan))


def one_against_rest(counts: Array, arm: int) -> Array:
    """How often an arm was named where it was met, minus how often where another was met; -1 to 1, 0 by chance."""
    answers = counts.sum(axis=-1)
    others = answers.sum(axis=-1) - answers[..., arm]
    elsewhere = counts[..., arm].sum(axis=-1) - counts[..., arm, arm]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(counts[..., arm, arm] / answers[..., arm] - elsewhere / others)


def accuracy(counts: Array) -> float:
    """Right guesses over those that named an arm; `counts`: arms × guesses."""
    named = counts[:, :-1].sum()
    if not named:
        raise Undefined("nobody named an arm")
    return float(np.trace(counts[:, :-1]) / named)


def beyond_chance(share: float, arms: int) -> float:
    """1 where all is right, 0 where as much as by chance among so many arms."""
    return (share - 1 / arms) / (1 - 1 / arms)
