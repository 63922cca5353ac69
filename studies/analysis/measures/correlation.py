"""Agreement of two columns of scores. Each function raises `Undefined` where its statistic does not exist."""

from collections.abc import Callable

import numpy as np
from scipy import stats  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.rows import Undefined


def pearson(human: Array, judge: Array) -> float:
    return _coefficient(stats.pearsonr, human, judge)


def spearman(human: Array, judge: Array) -> float:
    return _coefficient(stats.spearmanr, human, judge)


def kendall(human: Array, judge: Array) -> float:
    """tau-b."""
    return _coefficient(stats.kendalltau, human, judge)


def within_persons(human: Array, judge: Array, persons: np.ndarray) -> float:
    """Pearson of values centred per person, over persons with two rows or more (Bland & Altman 1995, BMJ 310:446)."""
    names, numbers, counts = np.unique(persons, return_inverse=True, return_counts=True)
    several = (counts[numbers] > 1) & (persons != "")
    if not several.any():
        raise Undefined("no participant has two conversations")
    return pearson(*(_centred(scores[several], numbers[several], len(names)) for scores in (human, judge)))


def between_arms(human: Array, judge: Array, arms: np.ndarray) -> float:
    """Pearson of the means of the arms."""
    names, numbers = np.unique(arms[arms != ""], return_inverse=True)
    if len(names) < 3:
        raise Undefined("fewer than three arms")
    return pearson(*(_means(scores[arms != ""], numbers, len(names)) for scores in (human, judge)))


def concordance(human: Array, judge: Array) -> float:
    """Lin's coefficient with moments over n (Lin 1989, doi 10.2307/2532051)."""
    spread = human.var() + judge.var() + (human.mean() - judge.mean()) ** 2
    if spread == 0:
        raise Undefined("neither side varies")
    return float(2 * np.mean((human - human.mean()) * (judge - judge.mean())) / spread)


def quadratic_kappa(human: Array, judge: Array) -> float:
    """Cohen's kappa with quadratic weights.

    For whole numbers, weighted by the squared distance of the scores themselves, it is Lin's coefficient, whichever
    levels were used (Krippendorff 1970; Fleiss & Cohen 1973); so a level that nobody chose changes nothing.
    """
    if not all(np.array_equal(scores, np.rint(scores)) for scores in (human, judge)):
        raise Undefined("the scores are not whole numbers")
    return concordance(human, judge)


def _coefficient(test: Callable[[Array, Array], tuple[float, float]], human: Array, judge: Array) -> float:
    if len(human) < 3:
        raise Undefined("fewer than three rows")
    for side, scores in (("human", human), ("judge", judge)):
        if np.ptp(scores) <= 1e-12 * np.abs(scores).max():
            raise Undefined(f"the {side} scores do not vary")
    return float(test(human, judge)[0])


def _means(scores: Array, numbers: np.ndarray, count: int) -> Array:
    sizes = np.bincount(numbers, minlength=count)
    return np.bincount(numbers, weights=scores, minlength=count) / np.maximum(sizes, 1)


def _centred(scores: Array, numbers: np.ndarray, count: int) -> Array:
    return np.asarray(scores - _means(scores, numbers, count)[numbers])
