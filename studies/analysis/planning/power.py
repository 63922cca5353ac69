"""The power of a study with a given number of people, by simulated studies.

Two judges on the same conversations: three variables, normal, of which each study's correlations are drawn at once (the
decomposition of Bartlett 1933, doi 10.1017/S0370164600015996), and Williams' test. Several conversations of one person
count as as many independent ones as the design effect leaves.

Pairs of models: EmoHarbor's pairwise share (arXiv:2601.01530, equation 14) as discrimination.csv has it: Wilcoxon's
signed-rank test, paired by person, Holm over the pairs. The models' means lie at even distances.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import ceil, floor, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit  # noqa: TID253

from studies.analysis import Progress
from studies.analysis.bootstrap import Array
from studies.analysis.measures import paired
from studies.analysis.measures.dependent import williams_t
from studies.analysis.measures.proportions import wilson
from studies.analysis.planning import Chance, PairPower, Size, Wish, is_possible
from studies.analysis.planning.sample_size import design_effect, require_valid

SIZES = (0.5, 0.75, 1.0, 1.5, 2.0)  # of a study, as shares of the people that are asked about
FEWEST_ROWS = 4  # that Williams' test takes
_Z = 1.959964
_AT_ONCE = 2_000_000  # differences


def chance(wish: Wish, on_progress: Progress = lambda *_: None) -> Chance:
    """Return the power for a question of SIMULATED. Raises ValueError with a line for each fault of the wish."""
    require_valid(wish)
    return _of_two_judges(wish, on_progress) if wish.question == "dependent" else _of_models(wish, on_progress)


def _sizes(wish: Wish) -> list[int]:
    return [ceil(wish.people * share) for share in SIZES]


def _people_to_invite(wish: Wish) -> int:
    return ceil(round(wish.people / (1 - wish.dropout), 9))


# Two judges


def _of_two_judges(wish: Wish, on_progress: Progress) -> Chance:
    if not is_possible(wish.r, wish.r2, wish.between):
        raise ValueError("r, r2, between: there are no three variables with such correlations")
    sizes = {}
    for place, people in enumerate(_sizes(wish)):
        on_progress(place, len(SIZES), f"{people} people")
        if independent_rows(wish, people) >= FEWEST_ROWS:
            sizes[people] = _size_of_two_judges(wish, people)
    on_progress(len(SIZES), len(SIZES), "done")
    return Chance(
        asked=sizes[wish.people],
        invited=_people_to_invite(wish),
        design_effect=design_effect(wish.per_person, wish.within),
        least=least_difference(wish),
        pairs=[],
        sizes=list(sizes.values()),
        studies=wish.studies,
        seed=wish.seed,
    )


def independent_rows(wish: Wish, people: int) -> int:
    conversations = people * wish.per_person
    return floor(round(conversations / design_effect(wish.per_person, wish.within), 9))


def _correlations(wish: Wish) -> Array:
    """Return the correlations of people, one judge and the other."""
    return np.array([[1, wish.r, wish.r2], [wish.r, 1, wish.between], [wish.r2, wish.between, 1]])


def _size_of_two_judges(wish: Wish, people: int) -> Size:
    rows = independent_rows(wish, people)
    draws = draw_correlations(_correlations(wish), rows, wish.studies, np.random.default_rng((wish.seed, people)))
    power = float(np.mean(np.abs(williams_t(*draws, rows)) > stdtrit(rows - 3, 1 - wish.alpha / 2)))
    return Size(people, people * wish.per_person, rows, power, *wilson(power, wish.studies))


def draw_correlations(
    correlations: Array, rows: int, studies: int, random: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Draw r12, r13 and r23 of so many rows, for each study."""
    triangle = np.tril(random.normal(size=(studies, 3, 3)), -1)
    triangle[:, range(3), range(3)] = np.sqrt(random.chisquare(rows - 1 - np.arange(3), (studies, 3)))
    factor = np.linalg.cholesky(correlations) @ triangle
    factor /= np.linalg.norm(factor, axis=2, keepdims=True)
    matrices = factor @ factor.transpose(0, 2, 1)
    return matrices[:, 0, 1], matrices[:, 0, 2], matrices[:, 1, 2]


def least_difference(wish: Wish) -> float:
    """Return the smallest difference of two correlations that Williams' test finds, equally far above and below the
    middle of r and r2.

    It is his t solved for the difference.
    """
    middle, between, rows = (wish.r + wish.r2) / 2, wish.between, independent_rows(wish, wish.people)
    square = float(stdtrit(rows - 3, 1 - wish.alpha / 2)) ** 2
    without = (1 - between) * (1 + between - 2 * middle**2)  # the determinant, were there no difference
    spread = 2 * (rows - 1) / (rows - 3) * without + middle**2 * (1 - between) ** 3
    return sqrt(square * spread / ((rows - 1) * (1 + between) * (1 + square / (rows - 3))))


# Pairs of models


def _of_models(wish: Wish, on_progress: Progress) -> Chance:
    if wish.within == 1:
        raise ValueError("within: at 1 every difference of two models is the same for all people")
    means, sizes = means_of(wish.models, wish.separation), _sizes(wish)
    batches_by_people: dict[int, list[NDArray[np.bool_]]] = {people: [] for people in sizes}
    done, random = 0, np.random.default_rng(wish.seed)
    for studies in _batches(wish):
        on_progress(done, wish.studies, "studies")
        scores = means + sqrt(_error(wish)) * random.normal(size=(studies, max(sizes), wish.models))
        for people in sizes:
            batches_by_people[people].append(significant_pairs(scores[:, :people], wish.alpha))
        done += studies
    on_progress(done, wish.studies, "done")
    significant = {people: np.concatenate(batches) for people, batches in batches_by_people.items()}
    at = {people: _size_of_models(wish, people, each.mean(axis=1)) for people, each in significant.items()}
    return Chance(
        asked=at[wish.people],
        invited=_people_to_invite(wish),
        design_effect=None,
        least=None,
        pairs=list(_by_steps(wish, means, significant[wish.people])),
        sizes=list(at.values()),
        studies=wish.studies,
        seed=wish.seed,
    )


def means_of(models: int, separation: float) -> Array:
    """Return model means at even distances with the variance `separation` (over their number)."""
    steps = np.linspace(-1, 1, models)
    return np.asarray(steps * np.sqrt(separation / steps.var()))


def _error(wish: Wish) -> float:
    """Return the variance of a person's mean with a model, in units of that of single conversations.

    The person's own level cancels out, because it is the same in all their means.
    """
    return (1 - wish.within) / wish.per_person


def _batches(wish: Wish) -> Iterator[int]:
    """Yield numbers of studies that fit into memory together."""
    most = max(1, _AT_ONCE // (max(_sizes(wish)) * wish.models * (wish.models - 1) // 2))
    for start in range(0, wish.studies, most):
        yield min(most, wish.studies - start)


def significant_pairs(scores: Array, alpha: float) -> NDArray[np.bool_]:
    """Return studies × pairs of models, in the order of `combinations`, that the test distinguishes.

    `scores`: studies × people × models, without ties.
    """
    one, other = np.array(list(combinations(range(scores.shape[2]), 2))).T
    p_values = wilcoxon_p((scores[..., other] - scores[..., one]).transpose(0, 2, 1))
    order = np.argsort(p_values, axis=1)
    ordered = np.take_along_axis(p_values, order, axis=1) * np.arange(len(one), 0, -1)
    is_significant = np.empty(p_values.shape, dtype=bool)
    np.put_along_axis(is_significant, order, np.maximum.accumulate(ordered, axis=1) < alpha, axis=1)
    return is_significant


def wilcoxon_p(differences: Array) -> Array:
    """Return the two-sided p along the last axis, as `paired.wilcoxon` without ties and zeros."""
    size = differences.shape[-1]
    order = np.argsort(np.abs(differences), axis=-1)
    sums = np.take_along_axis(differences > 0, order, axis=-1) @ np.arange(1.0, size + 1)
    smaller = np.minimum(sums, size * (size + 1) / 2 - sums)
    if size > paired.EXACT:
        spread = sqrt(size * (size + 1) * (2 * size + 1) / 24)
        return np.asarray(2 * ndtr((smaller - size * (size + 1) / 4) / spread))
    cumulated = np.cumsum(paired.rank_sum_chances(np.arange(1, size + 1)))
    return np.asarray(np.minimum(1, 2 * cumulated[smaller.astype(int)]))


def _size_of_models(wish: Wish, people: int, shares: Array) -> Size:
    """Return the power with so many people; `shares`: of pairs, in each study."""
    share, half = float(shares.mean()), _Z * float(shares.std(ddof=1)) / sqrt(len(shares))
    bounds = max(0.0, share - half), min(1.0, share + half)
    return Size(people, people * wish.models * wish.per_person, people, share, *bounds)


def _by_steps(wish: Wish, means: Array, significant: NDArray[np.bool_]) -> Iterator[PairPower]:
    pairs: Sequence[tuple[int, int]] = list(combinations(range(wish.models), 2))
    for steps in range(1, wish.models):
        power = float(significant[:, [other - one == steps for one, other in pairs]].mean())
        d = float(means[steps] - means[0]) / sqrt(2 * _error(wish))
        yield PairPower(steps, d, power, *wilson(power, wish.studies))
