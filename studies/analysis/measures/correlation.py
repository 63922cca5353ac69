"""Agreement of two columns of scores. Each function raises `Undefined` where its statistic does not exist."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # noqa: TID253

from studies.analysis.bootstrap import Array, Interval, Statistic
from studies.analysis.notes import Note
from studies.analysis.rows import Undefined

MOST_PAIRS = 2000
MOST_COMPARED = 500  # each with each, for every cluster that is left out
_ROUNDING = 1e-12
_DECIMALS = 12  # beyond lies what rounding leaves of a person's equal scores
_TAIL = 0.975


def pearson(human: Array, judge: Array) -> float:
    return _coefficient(stats.pearsonr, human, judge)


def spearman(human: Array, judge: Array) -> float:
    return _coefficient(stats.spearmanr, level(human), level(judge))


def refuse_perfect(rho: float) -> None:
    """Raise `Undefined` for ranks that never disagree, because no interval follows from them."""
    if abs(rho) > 1 - _ROUNDING:
        raise Undefined("orders_the_same")


def bonett_wright(rho: float, rows: int) -> tuple[Interval, float]:
    """Return the 95 % interval of Spearman's coefficient of independent rows, and its two-sided p from the same error,
    on Fisher's z (Bonett & Wright 2000, doi 10.1007/BF02294183)."""
    refuse_perfect(rho)
    if rows < 4:
        raise Undefined("under_four_rows")
    error = np.sqrt((1 + rho**2 / 2) / (rows - 3))
    half = stats.norm.ppf(_TAIL) * error
    low, high = (float(np.tanh(np.arctanh(rho) + move)) for move in (-half, half))
    return Interval(low, high, Note("bonett_wright")), float(2 * stats.norm.sf(abs(np.arctanh(rho)) / error))


@dataclass(frozen=True)
class ScorePairs:
    """The distinct pairs of scores.

    `of_row` is the pair of each row; `human` and `judge` are the places of each pair's scores among those of their
    side.
    """

    of_row: NDArray[np.intp]
    human: NDArray[np.intp]
    judge: NDArray[np.intp]

    def indicators(self) -> Array:
        """Return the rows that `spearman_z` sums: rows × pairs."""
        return np.eye(len(self.human))[self.of_row]

    def spearman_z(self) -> Statistic:
        """Return Fisher's z of Spearman's coefficient as a statistic of how often each pair came."""
        human, judge = _ranking(self.human), _ranking(self.judge)

        def z(counts: Array) -> Array:
            of_human, of_judge = human(counts), judge(counts)
            together = (counts * of_human * of_judge).sum(axis=-1)
            spread = (counts * of_human**2).sum(axis=-1) * (counts * of_judge**2).sum(axis=-1)
            with np.errstate(divide="ignore", invalid="ignore"):
                rho = np.where(spread > _ROUNDING, together / np.sqrt(spread), np.nan)
            return np.asarray(np.arctanh(np.clip(rho, -1 + _ROUNDING, 1 - _ROUNDING)))

        return z

    def kendall_z(self) -> Statistic:
        """Return Fisher's z of tau-b as a statistic of how often each pair came.

        Raises `Undefined` with more than MOST_COMPARED different pairs.
        """
        if len(self.human) > MOST_COMPARED:
            raise Undefined("too_many_pairs_of_scores", most=MOST_COMPARED)
        human, judge = (np.sign(np.subtract.outer(places, places)) for places in (self.human, self.judge))
        orders = human * judge, np.abs(human), np.abs(judge)

        def z(counts: Array) -> Array:
            together, of_human, of_judge = (((counts @ order) * counts).sum(axis=-1) for order in orders)
            with np.errstate(divide="ignore", invalid="ignore"):
                tau = together / np.sqrt(of_human * of_judge)
            return np.asarray(np.arctanh(np.clip(tau, -1 + _ROUNDING, 1 - _ROUNDING)))

        return z


def level(scores: Array) -> Array:
    """Return the scores with equal means as equal numbers, however they were added up: they share a rank."""
    return np.asarray(np.round(scores, _DECIMALS))


def score_pairs(human: Array, judge: Array) -> ScorePairs:
    """Return the distinct pairs of scores. Raises `Undefined` with more than MOST_PAIRS different pairs."""
    places = [np.unique(level(scores), return_inverse=True)[1] for scores in (human, judge)]
    pairs, of_row = np.unique(np.column_stack(places), axis=0, return_inverse=True)
    if len(pairs) > MOST_PAIRS:
        raise Undefined("too_many_pairs_of_scores", most=MOST_PAIRS)
    return ScorePairs(of_row.reshape(-1), pairs[:, 0], pairs[:, 1])


def _ranking(places: NDArray[np.intp]) -> Callable[[Array], Array]:
    """Return a function from counts of pairs (…, pairs) to the centred midranks of their scores, as
    shares of all rows."""
    order = np.argsort(places, kind="stable")
    starts = np.unique(places[order], return_index=True)[1]

    def ranks(counts: Array) -> Array:
        sizes = np.add.reduceat(counts[..., order], starts, axis=-1)
        middles = np.cumsum(sizes, axis=-1) - sizes / 2
        return np.asarray((middles / counts.sum(axis=-1, keepdims=True) - 0.5)[..., places])

    return ranks


def kendall(human: Array, judge: Array) -> float:
    """Return Kendall's tau-b."""
    return _coefficient(stats.kendalltau, level(human), level(judge))


@dataclass(frozen=True)
class WithinPersons:
    """Values centred per person, 0 for persons with one row.

    `freedom` is N - U - 1, with N rows and U persons that have several rows.
    """

    human: Array
    judge: Array
    freedom: int

    def r(self) -> float:
        if self.freedom < 1:
            raise Undefined("under_three_rows")
        return pearson(self.human, self.judge)


def within_persons(human: Array, judge: Array, persons: np.ndarray) -> WithinPersons:
    """Centre the scores of persons with two rows or more (Bland & Altman 1995, BMJ 310:446)."""
    names, numbers, counts = np.unique(persons, return_inverse=True, return_counts=True)
    several = (counts > 1) & (names != "")
    if not several.any():
        raise Undefined("no_person_twice")
    of_several = several[numbers]
    x, y = (np.where(of_several, _centre_by_person(scores, numbers, len(names)), 0.0) for scores in (human, judge))
    return WithinPersons(x, y, freedom=int(of_several.sum() - several.sum()) - 1)


def arm_means_correlation(human: Array, judge: Array, arms: np.ndarray) -> float:
    """Return Pearson's r of the means of the arms."""
    names, numbers = np.unique(arms[arms != ""], return_inverse=True)
    if len(names) < 3:
        raise Undefined("under_three_arms")
    return pearson(*(_means(scores[arms != ""], numbers, len(names)) for scores in (human, judge)))


def concordance(human: Array, judge: Array) -> float:
    """Return Lin's coefficient with moments over n (Lin 1989, doi 10.2307/2532051)."""
    spread = human.var() + judge.var() + (human.mean() - judge.mean()) ** 2
    if spread == 0:
        raise Undefined("both_sides_alike")
    return float(2 * np.mean((human - human.mean()) * (judge - judge.mean())) / spread)


def quadratic_kappa(human: Array, judge: Array) -> float:
    """Return Cohen's kappa with quadratic weights.

    For whole numbers, weighted by the squared distance of the scores themselves, it is Lin's coefficient, whichever
    levels were used (Krippendorff 1970; Fleiss & Cohen 1973); so a level that no one chose changes nothing.
    """
    if not all(np.array_equal(scores, np.rint(scores)) for scores in (human, judge)):
        raise Undefined("scores_not_whole")
    return concordance(human, judge)


def _coefficient(test: Callable[[Array, Array], tuple[float, float]], human: Array, judge: Array) -> float:
    if len(human) < 3:
        raise Undefined("under_three_rows")
    for alike, scores in (("human_scores_alike", human), ("judge_scores_alike", judge)):
        if np.ptp(scores) <= 1e-12 * np.abs(scores).max():
            raise Undefined(alike)
    return float(test(human, judge)[0])


def _means(scores: Array, numbers: np.ndarray, count: int) -> Array:
    sizes = np.bincount(numbers, minlength=count)
    return np.bincount(numbers, weights=scores, minlength=count) / np.maximum(sizes, 1)


def _centre_by_person(scores: Array, numbers: np.ndarray, count: int) -> Array:
    return np.asarray(np.round(scores - _means(scores, numbers, count)[numbers], _DECIMALS))
