"""Indices of blinding: how well people guess their arm, from counts that can be summed over clusters.

Counts: (…, arms, guesses): of each arm's conversations, how many were taken for each arm, and last how many for none
("I cannot tell").
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq  # noqa: TID253
from scipy.stats import norm  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.rows import Undefined

_Z = float(norm.ppf(0.975))
_EDGE = 1e-12  # at the very ends of the scale there is no variance


@dataclass(frozen=True)
class Index:
    estimate: float
    low: float
    high: float


def bang(counts: Array, arm: int, *, independent: float = 1.0) -> Index:
    """Return right minus wrong guesses over all answers of an arm: 1 all right, 0 by chance, below 0 the opposite.

    Of two arms the index of Bang, Ni and Davis 2004 (doi 10.1016/j.cct.2003.10.016); of more a wrong guess weighs one
    over the number of wrong arms, so that 0 stays what chance gives. The interval is the score interval, which of two
    arms is that of Tango 1998 (Statistics in Medicine 17:891) for a difference of two shares of the same people. Bang's
    own normal one is far too narrow where an answer is rare. `counts`: arms × guesses; `independent`: which share of
    the answers counts as independent.
    """
    answers = float(counts[arm].sum())
    if not answers:
        raise Undefined("nobody_answered")
    right = float(counts[arm, arm])
    wrong = float(counts[arm, :-1].sum()) - right
    weight = 1 / (len(counts) - 1)
    estimate = (right - weight * wrong) / answers
    guesses = Answers(right * independent, wrong * independent, answers * independent, weight)
    return Index(estimate, guesses.find_bound(-weight, estimate, _Z), guesses.find_bound(1.0, estimate, -_Z))


@dataclass(frozen=True)
class Answers:
    """The answers of one arm; counts need not be whole numbers. `weight`: the weight of a wrong guess."""

    right: float
    wrong: float
    n: float
    weight: float

    def find_bound(self, end: float, estimate: float, z: float) -> float:
        """Return where the score is `z` between `end` of the scale and the estimate, or `end` if it is nowhere."""
        inside = end + _EDGE if end < estimate else end - _EDGE
        if abs(estimate - end) <= _EDGE or abs(self.standard_score(inside)) <= abs(z):
            return end
        return float(brentq(lambda index: self.standard_score(index) - z, *sorted((inside, estimate))))

    def standard_score(self, index: float) -> float:
        """Return how many standard errors the estimate lies above `index`, with errors and shares as if `index` were
        true."""
        variance = self.n * (index * (1 - index) + self.weight * (1 + self.weight) * self._wrong(index))
        beyond = self.right - self.weight * self.wrong - self.n * index
        return float(beyond / np.sqrt(variance)) if variance > 0 else 0.0  # at an estimate at the end of the scale

    def _wrong(self, index: float) -> float:
        """Return the most likely share of wrong guesses under this index.

        It is the greater root of a quadratic, as in Tango for a weight of 1.
        """
        weight = self.weight
        square = self.n * weight * (1 + weight)
        linear = weight * (1 - index) * (self.right + self.wrong) - (1 + weight) * index * (self.n - self.right)
        constant = self.wrong * index * (1 - index)
        root = (linear + np.sqrt(max(linear**2 + 4 * square * constant, 0.0))) / (2 * square)
        return float(np.clip(root, max(0.0, -index / weight), (1 - index) / (1 + weight)))


def james(counts: Array) -> Array:
    """Return James' index: 0 all right, 1 no one can tell (James et al. 1996, doi
    10.1002/(SICI)1097-0258(19960715)15:13<1421::AID-SIM266>3.0.CO;2-H; weights 0, .5 and 1 as there). Guesses by chance
    give `james_by_chance`; all wrong gives 1 with two arms, less with more.

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


def james_by_chance(counts: Array) -> float:
    """Return `james` for guesses unrelated to the arm: .5 if all name one, 1 if no one does."""
    return float(1 + counts[:, -1].sum() / counts.sum()) / 2


def one_against_rest(counts: Array, arm: int) -> Array:
    """Return how often an arm was named by people who met it, minus how often by others; -1 to 1, 0 by chance."""
    answers = counts.sum(axis=-1)
    others = answers.sum(axis=-1) - answers[..., arm]
    elsewhere = counts[..., arm].sum(axis=-1) - counts[..., arm, arm]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(counts[..., arm, arm] / answers[..., arm] - elsewhere / others)


def accuracy(counts: Array) -> float:
    """Return right guesses over those that named an arm; `counts`: arms × guesses."""
    named = counts[:, :-1].sum()
    if not named:
        raise Undefined("nobody_named_an_arm")
    return float(np.trace(counts[:, :-1]) / named)


def beyond_chance(share: float, arms: int) -> float:
    """Return the share of right guesses rescaled to 1 if all are right and 0 by chance among so many arms."""
    return (share - 1 / arms) / (1 - 1 / arms)
