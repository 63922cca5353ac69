"""What is simulated: FAMILIES names seeds, numbers of clusters and planted values, written down before any run.

Values of scores on a scale and of frail seekers have no formula; they are those of `from_draws(1_000_000)`. A cell with
fewer than 50 clusters (of either kind, where two are crossed) is shown and not judged: below 30 the report warns.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd  # noqa: TID253
from scipy.stats import norm, rankdata  # noqa: TID253

from studies.analysis.bootstrap import (
    Array,
    Bootstrap,
    Inference,
    fisher_z,
    mean,
    pair_moments,
    sum_by_cell,
    sum_by_cluster,
)
from studies.analysis.jackknife import infer, infer_r
from studies.analysis.measures import (
    blinding,
    carry_over,
    clustered,
    coincidence,
    dependent,
    gwet,
    incidence,
    mixed,
)
from studies.analysis.measures.attenuation import Ceiling, reliability_of
from studies.analysis.measures.correlation import concordance, kendall
from studies.analysis.measures.discrimination import separation_without_noise
from studies.analysis.measures.paired import d_z
from studies.analysis.measures.proportions import effective, effective_by_jackknife, wilson
from studies.analysis.measures.ranks import concordance_interval
from studies.analysis.measures.variance import one_way, two_way, two_way_by_components
from studies.analysis.rows import Undefined
from studies.analysis.tables import agreement_intervals as intervals
from studies.analysis.tables.agreement_intervals import Measured, Sampling
from studies.analysis.tables.pairs import TAILS
from studies.analysis.tables.verdicts import WIN, Group
from tests.coverage import simulated as drawn
from tests.coverage.simulated import CHATS, LEVELS, Random

JUDGED_FROM = 50  # clusters
OF_TRUTHS = 20_261_122
USUAL, OF_MIXED_MODELS, OF_R = 2_000, 500, 4_000  # simulated studies
WANTED, WANTED_OF_R = (0.935, 0.965), (0.94, 0.96)
OPEN_AFTER, HORIZON = 8, 12  # turns
PLANTED_R = drawn.OF_PEOPLE * drawn.BETWEEN + (1 - drawn.OF_PEOPLE) * drawn.WITHIN
PLANTED_CROSSED_R = (
    drawn.OF_COUNSELLORS * drawn.BETWEEN
    + drawn.OF_ARMS * drawn.BETWEEN_ARMS
    + (1 - drawn.OF_COUNSELLORS - drawn.OF_ARMS) * drawn.WITHIN
)
PLANTED_WINS = float(norm.cdf(drawn.PREFERENCE - drawn.TIE_BELOW))
PLANTED_MSR = float(drawn.MODELS.var())
PLANTED_TAU = float(2 / np.pi * np.arcsin(PLANTED_R))  # Kendall 1949, doi 10.1093/biomet/36.1-2.177
HIGHER = norm.cdf(drawn.MODELS[:, np.newaxis] - drawn.MODELS)  # the chance of one model's score against another's
PLANTED_CONCORDANCE = float(((HIGHER.sum(axis=1) - len(HIGHER) / 2) ** 2).sum() * 12 / (len(HIGHER) ** 3 - len(HIGHER)))
MIDDLE = 3.0  # of the scale
PLANTED_D = 0.5
RAISED = 0.1  # the second judge's correlations
RIGHT = float(np.mean(drawn.INSIGHT))  # of the guesses that name an arm
NAMED = 1 - drawn.CANNOT_TELL

CROSSED = (50, 5), (8, 20), (20, 20), (50, 20), (50, 50), (100, 50)
PEOPLE = 20, 50, 100
OF_PEOPLE = "ICC({}), 2 raters, 4 conversations of each person"
OF_OTHERS = "ICC({}), 2 raters of its own for each of a person's 4 conversations"
WITH_GAPS = "ICC({}), 2 of 4 raters for each of a person's 4 conversations"
JUDGED_BY = (4, 50), (8, 50), (50, 100), (100, 100)

Bounds = tuple[float, float]
Clusters = int | tuple[int, int]  # two numbers where two kinds are crossed


@dataclass(frozen=True)
class Family:
    """The same kind of study with different numbers of clusters: people, targets, pairs or users. `bounds` draws one
    with so many clusters (of each kind) and gives the interval that the analysis would."""

    key: str
    what: str
    clusters: tuple[Clusters, ...]
    seed: int
    truth: float
    bounds: Callable[..., Bounds]
    studies: int = USUAL
    wanted: tuple[float, float] = WANTED  # where the coverage itself must lie


@dataclass(frozen=True)
class Cell:
    family: Family
    clusters: Clusters

    @property
    def key(self) -> str:
        return f"{self.family.key}-{'x'.join(map(str, self.kinds()))}"

    def kinds(self) -> tuple[int, ...]:
        """How many clusters there are, of one kind or of two."""
        return self.clusters if isinstance(self.clusters, tuple) else (self.clusters,)

    def is_judged(self) -> bool:
        return min(self.kinds()) >= JUDGED_FROM

    def holds(self, study: int, replicates: int) -> bool | None:
        """Whether the interval of the study of this number holds what was planted; None where there is no interval."""
        random = np.random.default_rng((self.family.seed, *self.kinds(), study))
        try:
            low, high = self.family.bounds(random, *self.kinds(), Bootstrap(replicates, study))
        except Undefined:
            return None
        return bool(low <= self.family.truth <= high) if np.isfinite([low, high]).all() else None


def bounds_of(resampled: Inference) -> Bounds:
    interval = resampled.interval()
    return interval.low, interval.high


def bounds_of_r(inference: Inference) -> Bounds:
    interval = inference.interval_of_r()
    return interval.low, interval.high


def pearson_bounds(pairs: Array, bootstrap: Bootstrap) -> Bounds:
    sums = sum_by_cluster(pair_moments(pairs[:, 0], pairs[:, 1]), drawn.people(len(pairs) // CHATS))
    return bounds_of_r(infer_r(fisher_z, sums, bootstrap))


def pearson(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
    return pearson_bounds(drawn.human_and_judges(random, count), bootstrap)


def pairs_on_scale(random: Random, count: int) -> Array:
    return drawn.on_scale(drawn.human_and_judges(random, count), middle=drawn.ARM_MEAN)


def pearson_on_scale(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
    return pearson_bounds(pairs_on_scale(random, count), bootstrap)


def difference_of_r(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
    """Two judges of the same conversations, from the same draws."""
    human, first, second = drawn.human_and_judges(random, count, (0.0, RAISED)).T
    people = drawn.people(count)
    sums = [sum_by_cluster(pair_moments(human, judge), people) for judge in (first, second)]
    width = sums[0].shape[1]
    return bounds_of(
        infer(
            lambda both: np.tanh(fisher_z(both[..., width:])) - np.tanh(fisher_z(both[..., :width])),
            np.hstack(sums),
            bootstrap,
        )
    )


def crossed_pearson(random: Random, counsellors: int, arms: int, bootstrap: Bootstrap) -> Bounds:
    """Counsellors' own conversations; counsellors and arms are both drawn."""
    met = drawn.own_conversations(random, counsellors, arms)
    cells = sum_by_cell(pair_moments(*met.values.T), met.rows, met.columns)
    return bounds_of_r(infer_r(fisher_z, cells, bootstrap))


def crossed_difference_of_r(random: Random, counsellors: int, arms: int, bootstrap: Bootstrap) -> Bounds:
    met = drawn.own_conversations(random, counsellors, arms, (RAISED, 0.0))
    x, y, z = (met.values - met.values.mean(axis=0)).T
    sums = np.column_stack([np.ones_like(x), x, y, z, x * x, y * y, z * z, x * y, x * z])
    cells = sum_by_cell(sums, met.rows, met.columns)
    return bounds_of(infer(dependent.difference_of_r, cells, bootstrap))


def wins(random: Random, raters: int, participants: int, bootstrap: Bootstrap) -> Bounds:
    """Raters and participants are both drawn."""
    met = drawn.verdicts(random, raters, participants)
    group = Group(pd.DataFrame({"rater": met.rows, "cluster": met.columns}))
    sums = group.resample_sums(np.column_stack([np.ones_like(met.values), met.values == WIN]), bootstrap)
    low, high = np.quantile(sums[:, 1] / sums[:, 0], TAILS)
    return float(low), float(high)


def arm_mean(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
    scores = drawn.arm_scores(random, count)
    sums = sum_by_cluster(np.column_stack([np.ones_like(scores), scores]), drawn.people(count))
    return bounds_of(bootstrap.resample(mean, sums))


def mixed_mean(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
    """Mixed model, Satterthwaite; the first arm."""
    scores = drawn.counsellors_and_arms(random, count)
    counsellors, arms = (place.ravel() for place in np.indices(scores.shape))
    found = mixed.fit(scores.ravel(), np.eye(scores.shape[1])[arms], {"counsellor": counsellors}).fixed_effects()[0]
    return found.low, found.high


def paired_effect(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
    _d, low, high = d_z(PLANTED_D + random.normal(size=count))
    return low, high


def icc(form: str) -> Callable[[Random, int, Bootstrap], Bounds]:
    def bounds(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
        found = two_way(drawn.ratings(random, count))[form]
        return found.low, found.high

    return bounds


def icc_one_way(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
    """Each target with raters of its own, two to four of them."""
    targets = np.repeat(np.arange(count), random.integers(2, 5, size=count))
    scores = random.normal(size=count)[targets] + random.normal(size=len(targets))
    found = one_way(scores, targets).single
    return found.low, found.high


def icc_with_gaps(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
    """One rating in four is missing, so by the variance components of a mixed model."""
    scores = drawn.ratings(random, count)
    targets, raters = np.nonzero(random.random(scores.shape) > 0.25)
    targets_there = np.unique(targets, return_inverse=True)[1]
    found = two_way_by_components(scores[targets, raters], targets_there, raters, 3.0)["icc_c_1"]
    return found.low, found.high


def icc_of_people(form: str) -> Callable[[Random, int, Bootstrap], Bounds]:
    """Of two raters, several conversations of each person."""

    def bounds(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
        scores = drawn.ratings_of_people(random, count, 2)
        found = clustered.two_way(two_way(scores), scores, drawn.people(count), bootstrap)[form]
        return found.low, found.high

    return bounds


def icc_one_way_of_people(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
    """Two raters of its own for each conversation."""
    scores = drawn.levels_of_people(random, count)[:, np.newaxis] + random.normal(size=(count * CHATS, 2))
    targets = np.repeat(np.arange(len(scores)), 2)
    found = clustered.one_way(one_way(scores.ravel(), targets), scores.ravel(), targets, drawn.people(count)).single
    return found.low, found.high


def icc_of_people_with_gaps(form: str) -> Callable[[Random, int, Bootstrap], Bounds]:
    """Each conversation is rated by two of four raters."""

    def bounds(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
        scores = drawn.ratings_of_people(random, count, 4)
        targets, raters = np.nonzero(np.argsort(random.random(scores.shape), axis=1) < 2)
        rated = scores[targets, raters]
        found = clustered.two_way_by_components(rated, targets, raters, 2.0, drawn.people(count))[form]
        return found.low, found.high

    return bounds


def alpha(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
    counted = counts_of(drawn.second_ratings(random, count))
    return bounds_of(counted.resample_alpha("ordinal", drawn.people(count, 2), bootstrap))


def counts_of(scores: Array) -> coincidence.Counts:
    return coincidence.counts(scores.ravel(), np.repeat(np.arange(len(scores)), scores.shape[1]))


def ac2(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
    levels = counted_levels(drawn.second_ratings(random, count))
    return bounds_of(gwet.resample(levels, gwet.quadratic(LEVELS), drawn.people(count, 2), bootstrap))


def counted_levels(scores: Array) -> Array:
    return gwet.counts(scores.ravel(), np.repeat(np.arange(len(scores)), scores.shape[1]), LEVELS)


def separation(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
    found = separation_without_noise(drawn.users_and_models(random, count), bootstrap).interval
    return found.low, found.high


def agreement_of_ranks(found_in: Callable[[Random, int], Array]) -> Callable[[Random, int, Bootstrap], Bounds]:
    """Kendall's W falls with the number of users, so it is brought to the mean correlation of two of them."""

    def bounds(random: Random, count: int, _bootstrap: Bootstrap) -> Bounds:
        low, high = concordance_interval(found_in(random, count))
        return (count * low - 1) / (count - 1), (count * high - 1) / (count - 1)

    return bounds


def mean_correlation_of_ranks(scores: Array) -> float:
    """Of two users out of very many."""
    ranks = rankdata(scores, axis=1) - (scores.shape[1] + 1) / 2
    return float((ranks.mean(axis=0) ** 2).sum() / (ranks**2).sum(axis=1).mean())


def slope(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
    ordered = drawn.in_order(random, count)
    fitted = carry_over.fit(carry_over.Model(ordered.scores, ordered.fixed, ordered.users))
    found = fitted.effect(np.eye(ordered.fixed.shape[1])[-1])
    return found.low, found.high


def mean_of_turns(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
    found = drawn.followed(random, count)
    shape = found.shape[1:]
    resampled = bootstrap.resample(
        lambda sums: incidence.restricted_mean(sums.reshape(*sums.shape[:-1], *shape), HORIZON),
        found.reshape(count, -1),
    )
    return bounds_of(resampled)


def share_of(
    found_in: Callable[[Random, int], Array], share: Callable[[Array], Array]
) -> Callable[[Random, int, Bootstrap], Bounds]:
    """Wilson's interval as in survival.csv."""

    def bounds(random: Random, count: int, _bootstrap: Bootstrap) -> Bounds:
        found = found_in(random, count)
        total = found.sum(axis=0)
        estimate, without = float(share(total)), share(total - found)
        n = count if estimate in (0, 1) else effective_by_jackknife(estimate, without, count * CHATS)
        return wilson(estimate, n)

    return bounds


def open_after(found: Array) -> Array:
    return np.asarray(incidence.still_open(found)[..., OPEN_AFTER])


def bounds_of_measured(one: Measured, people: drawn.Numbers, bootstrap: Bootstrap) -> Bounds:
    """`people`: whose each conversation is."""
    found = one.infer(Sampling(people, None, bootstrap)).interval()
    return float(one.to_scale(found.low)), float(one.to_scale(found.high))


def tau_b(found_in: Callable[[Random, int], Array]) -> Callable[[Random, int, Bootstrap], Bounds]:
    def bounds(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
        human, judge = found_in(random, count).T
        return bounds_of_r(intervals.inference_of_kendall(human, judge, Sampling(drawn.people(count), None, bootstrap)))

    return bounds


def quadratic_kappa(middle: float) -> Callable[[Random, int, Bootstrap], Bounds]:
    """Of whole scores, so Lin's coefficient too."""

    def bounds(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
        measured = intervals.concordance(*drawn.human_and_lenient_judge(random, count, middle).T)
        return bounds_of_measured(measured, drawn.people(count), bootstrap)

    return bounds


def system_r(correlation: float) -> Callable[[Random, int, Bootstrap], Bounds]:
    """Of five arms, which stay."""

    def bounds(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
        scores = drawn.arms_by_both(random, count, correlation)
        human, judge = scores.reshape(-1, 2).T
        arms = np.tile(np.array(list("abcde")), count)
        measured = intervals.between_arms(human, judge, arms)
        return bounds_of_measured(measured, drawn.people(count, len(drawn.MERITS)), bootstrap)

    return bounds


def corrected_r(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
    """Both sides score each conversation several times."""
    scored = enumerate(drawn.human_and_judges(random, count).T)
    sides = [drawn.scored_again(random, scores, side) for side, scores in scored]
    people = drawn.people(count)
    ceiling = Ceiling(
        tuple(
            reliability_of(scores.ravel(), np.repeat(np.arange(len(scores)), scores.shape[1]), None, people)
            for scores in sides
        )
    )
    moments = sum_by_cluster(pair_moments(*(scores.mean(axis=1) for scores in sides)), people)
    return ceiling.interval_of_corrected(lambda sums: np.tanh(fisher_z(sums)), moments)


def ended_in(kind: int) -> Callable[[Array], Array]:
    return lambda found: np.asarray(incidence.incidence(found, kind)[..., OPEN_AFTER])


def usual_guesses(random: Random, count: int, arms: int) -> Array:
    return drawn.guesses(random, count, arms, drawn.INSIGHT, drawn.CANNOT_TELL)


def bang(arms: int) -> Callable[[Random, int, Bootstrap], Bounds]:
    """Of the first arm, which each person met once."""

    def bounds(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
        index = blinding.bang(usual_guesses(random, count, arms).sum(axis=0), 0)
        return index.low, index.high

    return bounds


def bang_by_chance(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
    """Of five arms, where most cannot tell and the others guess."""
    index = blinding.bang(drawn.guesses(random, count, 5, (0.2, 0.2), 0.65).sum(axis=0), 0)
    return index.low, index.high


def of_guesses(statistic: Callable[[Array], Array], arms: int) -> Callable[[Random, int, Bootstrap], Bounds]:
    """Over all arms, each of which each person met once."""

    def bounds(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
        counts = usual_guesses(random, count, arms)
        shape = counts.shape[1:]
        resampled = bootstrap.resample(
            lambda sums: statistic(sums.reshape(*sums.shape[:-1], *shape)), counts.reshape(count, -1)
        )
        return bounds_of(resampled)

    return bounds


def accuracy(random: Random, count: int, bootstrap: Bootstrap) -> Bounds:
    """Of five arms."""
    named = usual_guesses(random, count, 5)[..., :-1]
    right, of = np.trace(named, axis1=1, axis2=2), named.sum(axis=(1, 2))
    return wilson(float(right.sum() / of.sum()), effective(right, of))


def from_draws(draws: int) -> dict[str, float]:
    """The values that have no formula, by family."""
    random = np.random.default_rng(OF_TRUTHS)
    people = draws // CHATS
    pairs = pairs_on_scale(random, people)
    ratings = drawn.second_ratings(random, draws // 6)
    lasting = drawn.turns(random, people)
    last, ends = drawn.ended(random, people)
    of_arm = drawn.arm_scores(random, people)
    lenient = drawn.human_and_lenient_judge(random, people, MIDDLE)
    of_models = drawn.whole_scores_of_models(random, draws // len(drawn.MODELS))
    crowded = drawn.human_and_lenient_judge(random, people, drawn.CROWDED)
    return {
        "r-scale": float(np.corrcoef(pairs.T)[0, 1]),
        "mean": float(of_arm.mean()),
        "alpha": counts_of(ratings).alpha("ordinal"),
        "ac2": gwet.agreement(counted_levels(ratings), gwet.quadratic(LEVELS)),
        "kendall-scale": kendall(*pairs.T),
        "kappa-quadratic": concordance(*lenient.T),
        "kappa-quadratic-crowded": concordance(*crowded.T),
        "kendall-w-scale": mean_correlation_of_ranks(of_models),
        "open": float((lasting > OPEN_AFTER).mean()),
        "turns": float(np.minimum(lasting, HORIZON).mean()),
        "walked-out": float(((last <= OPEN_AFTER) & (ends == drawn.WALKED_OUT)).mean()),
        "stopped": float(((last <= OPEN_AFTER) & (ends == drawn.STOPPED)).mean()),
    }


FAMILIES = (
    Family("r", "Pearson's r, normal scores", (20, 50, 100, 200), 1000, PLANTED_R, pearson, OF_R, WANTED_OF_R),
    Family(
        "r-scale", "Pearson's r, scores of 1 to 5", (20, 50, 100, 200), 2000, 0.4217, pearson_on_scale, OF_R,
        WANTED_OF_R,
    ),
    Family(
        "r-difference", "difference of two judges' r", (20, 50, 100), 3000, RAISED, difference_of_r, OF_R, WANTED_OF_R
    ),
    Family("mean", "mean of an arm, scores of 1 to 5", (12, 50, 100), 4000, 3.7429, arm_mean),
    Family("mean-mixed", "mean of an arm, mixed model of counsellors", (8, 50), 5000, 2.7, mixed_mean, OF_MIXED_MODELS),
    Family("d", "d_z of paired differences", (12, 50), 6000, PLANTED_D, paired_effect),
    Family("icc-a1", "ICC(A,1), 4 raters", (20, 50, 100), 7000, 0.5, icc("icc_a_1")),
    Family("icc-c1", "ICC(C,1), 4 raters", (20, 50), 8000, 4 / 7, icc("icc_c_1")),
    Family("icc-11", "ICC(1,1), 2 to 4 ratings each", (20, 50), 9000, 0.5, icc_one_way),
    Family("icc-gaps", "ICC(C,1), one rating in four missing", (60,), 10_000, 4 / 7, icc_with_gaps, OF_MIXED_MODELS),
    Family("icc-clustered-c1", OF_PEOPLE.format("C,1"), PEOPLE, 25_000, 4 / 7, icc_of_people("icc_c_1")),
    Family("icc-clustered-a1", OF_PEOPLE.format("A,1"), PEOPLE, 26_000, 0.5, icc_of_people("icc_a_1")),
    Family("icc-clustered-11", OF_OTHERS.format("1,1"), PEOPLE, 27_000, 0.5, icc_one_way_of_people),
    Family(
        "icc-clustered-gaps-c1", WITH_GAPS.format("C,1"), PEOPLE, 28_000, 4 / 7, icc_of_people_with_gaps("icc_c_1"),
        OF_MIXED_MODELS,
    ),
    Family(
        "icc-clustered-gaps-a1", WITH_GAPS.format("A,1"), PEOPLE, 29_000, 0.5, icc_of_people_with_gaps("icc_a_1"),
        OF_MIXED_MODELS,
    ),
    Family("alpha", "ordinal alpha, 3 raters", (20, 50, 100), 11_000, 0.5055, alpha),
    Family("ac2", "Gwet's AC2, 3 raters", (20, 50, 100), 12_000, 0.6547, ac2),
    Family("msr", "model separation ratio, corrected", (20, 50, 100), 13_000, PLANTED_MSR, separation),
    Family("slope", "order: points per position", (20, 50), 14_000, drawn.SLOPE, slope, OF_MIXED_MODELS),
    Family(
        "open", f"share open after turn {OPEN_AFTER}", (20, 50, 100), 15_000, 0.4993,
        share_of(drawn.followed, open_after),
    ),
    Family("turns", f"mean turns up to {HORIZON}", (20, 50, 100), 16_000, 7.742, mean_of_turns),
    Family("r-crossed", "Pearson's r, counsellors × arms", CROSSED, 17_000, PLANTED_CROSSED_R, crossed_pearson),
    Family(
        "r-difference-crossed", "difference of two judges' r, counsellors × arms", CROSSED, 18_000, RAISED,
        crossed_difference_of_r,
    ),
    Family("system-r", "Pearson's r of five arms' means", PEOPLE, 41_000, 0.6, system_r(0.6)),
    Family("system-r-high", "the same, nearer to 1", PEOPLE, 42_000, 0.9, system_r(0.9)),
    Family(
        "disattenuated", "Pearson's r, corrected for unreliability", PEOPLE, 32_000, PLANTED_R,
        corrected_r,
    ),
    Family(
        "walked-out", f"share walked out after turn {OPEN_AFTER}, competing ends", PEOPLE, 33_000, 0.4841,
        share_of(drawn.ended_so_far, ended_in(drawn.WALKED_OUT)),
    ),
    Family(
        "stopped", f"share of rare safety stops after turn {OPEN_AFTER}, competing ends", PEOPLE, 34_000, 0.0210,
        share_of(drawn.ended_so_far, ended_in(drawn.STOPPED)),
    ),
    Family("bang", "Bang's index, two arms", PEOPLE, 35_000, NAMED * (2 * RIGHT - 1), bang(2)),
    Family("bang-5", "Bang's index, five arms", PEOPLE, 36_000, NAMED * (RIGHT - (1 - RIGHT) / 4), bang(5)),
    Family("bang-chance", "Bang's index by chance, five arms, 65 % cannot tell", PEOPLE, 37_000, 0.0, bang_by_chance),
    Family(
        "one-vs-rest", "an arm named where it was met, minus elsewhere, five arms", PEOPLE, 38_000,
        NAMED * (RIGHT - (1 - RIGHT) / 4), of_guesses(lambda counts: blinding.one_against_rest(counts, 0), 5),
    ),
    Family(
        "james", "James's index, five arms", PEOPLE, 39_000, (2 - NAMED + NAMED * ((1 - RIGHT) / (1 - 1 / 5) - 1)) / 2,
        of_guesses(blinding.james, 5),
    ),
    Family("accuracy", "share of right guesses, five arms", PEOPLE, 40_000, RIGHT, accuracy),
    Family("kendall", "Kendall's tau-b, normal scores", PEOPLE, 43_000, PLANTED_TAU, tau_b(drawn.human_and_judges)),
    Family("kendall-scale", "Kendall's tau-b, scores of 1 to 5", PEOPLE, 44_000, 0.3580, tau_b(pairs_on_scale)),
    Family("kappa-quadratic", "quadratic kappa, scores of 1 to 5", PEOPLE, 46_000, 0.4125, quadratic_kappa(MIDDLE)),
    Family(
        "kappa-quadratic-crowded", "the same, two in three of them 5", PEOPLE, 57_000, 0.3346,
        quadratic_kappa(drawn.CROWDED),
    ),
    Family(
        "kendall-w", "Kendall's W, five models, as mean correlation of two users", PEOPLE, 53_000, PLANTED_CONCORDANCE,
        agreement_of_ranks(drawn.users_and_models),
    ),
    Family(
        "kendall-w-scale", "the same, scores of 1 to 5", PEOPLE, 54_000, 0.2444,
        agreement_of_ranks(drawn.whole_scores_of_models),
    ),
    Family("win", "share of wins, raters × participants", JUDGED_BY, 19_000, PLANTED_WINS, wins),
)  # fmt: skip
CELLS = tuple(Cell(family, clusters) for family in FAMILIES for clusters in family.clusters)
