"""agreement.csv: how well each judge, under each strategy, agrees with each kind of human rater."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import (
    Array,
    Bootstrap,
    Inference,
    Interval,
    fisher_z,
    number_names,
    pair_moments,
    sum_by_cluster,
)
from studies.analysis.frames import Export
from studies.analysis.jackknife import method_of_r
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import correlation, judge_gap
from studies.analysis.measures.attenuation import Ceiling, Reliability, reliability_of
from studies.analysis.measures.raters_left_out import Ratings
from studies.analysis.notes import INTERVAL, Note
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.raters import JUDGE
from studies.analysis.rows import Cells, Labels, Row, Undefined
from studies.analysis.tables import agreement_intervals as intervals
from studies.analysis.tables.agreement_intervals import Sampling
from studies.analysis.tables.families import adjust
from studies.analysis.tables.inferences import add_inference
from studies.analysis.tables.reliability import by_item, cronbach_alpha, single_ratings
from studies.analysis.tables.scores import mean_of_items
from studies.analysis.tables.table import Parts, Table

COLUMNS = [
    "judge",
    "strategy",
    "human",
    "instrument",
    "item",
    "moment",
    "n",
    "clusters",
    "pearson",
    "pearson_low",
    "pearson_high",
    "p",
    "p_holm",
    "spearman",
    "kendall",
    "within_r",
    "system_r",
    "bias",
    "mae",
    "ccc",
    "kappa_quadratic",
    "ceiling",
    "note",
]
FURTHER = [
    *("spearman_low", "spearman_high", "spearman_p", "kendall_p"),
    *("disattenuated", "disattenuated_low", "disattenuated_high"),
    *(name + bound for name in ("within_r", "system_r", "bias", "ccc") for bound in ("_low", "_high")),
    *("lower_limit", "upper_limit"),
]
METHODS = {
    "pearson": _(
        "Pearson's r over conversations; raters and replicates averaged first; interval (95 %) by a jackknife of "
        "participants (else conversations) on Fisher's z, Student's t with one degree of freedom less than clusters; "
        "where eight raters or more differ between conversations, people, raters, and the raters of each person are "
        "left out, two-way as method says of counsellors' own conversations"
    ),
    "p": _("two-sided: Fisher's z over the standard error of the interval, with its Student's t, so that both agree"),
    "item": _(
        "* is the mean over an instrument's items, of conversations in which a rater scored all that were scored at "
        "that moment; its tests are a family of their own"
    ),
    "p_holm": _("Holm over the items of a judge × strategy × human × moment"),
    "…_low, …_high": _(
        "of within_r, system_r and ccc: interval (95 %) by a jackknife of the same clusters, Student's t, on Fisher's "
        "z; of bias from draws of the same clusters (BCa, or what method says)"
    ),
    "spearman": _(
        "Pearson's r of midranks; interval (95 %) on Fisher's z by the same jackknife, ranked anew; where every row "
        "is a cluster of its own after Bonett and Wright (2000), with variance (1 + ρ²/2) / (n − 3)"
    ),
    "kendall": _("tau-b"),
    "spearman_p, kendall_p": _(
        "two-sided, not adjusted for multiple tests: Fisher's z divided by its standard error, which the same "
        "jackknife gives; spearman_p agrees with the interval of spearman"
    ),
    "within_r": _(
        "Pearson's r of scores centred per participant, over participants with two rows or more (Bland and Altman 1995)"
    ),
    "system_r": _(
        "Pearson's r of the means of the arms; for its interval the arms stay and participants (else conversations) "
        "are left out one by one, so it tells of other people with these arms, not of other arms; the noise of the "
        "means pulls both towards 0"
    ),
    "bias": _("mean difference, judge minus human"),
    "mae": _("mean absolute difference"),
    "lower_limit, upper_limit": _(
        "Bland and Altman's limits of agreement: bias less and plus 1.96 standard deviations of judge minus human"
    ),
    "ccc": _("Lin's concordance, moments over n"),
    "kappa_quadratic": _(
        "Cohen's kappa with quadratic weights. If all scores are whole numbers, it equals ccc. If some are not, "
        "as means over raters, it is empty"
    ),
    "ceiling": _(
        "the largest r that the reliabilities allow: the square root of the product of both sides' "
        "reliabilities. These are ICC(C,k) if all raters scored the same conversations; otherwise they come "
        "from variance components that count the raters' variance as error; for a judge's replicates, ICC(1,k). "
        "If a judge scored only once, only the people's reliability is used, and the ceiling is an upper bound"
    ),
    "disattenuated": _(
        "pearson divided by ceiling: r corrected for the unreliability that the ceiling measures. It can exceed "
        "1. For its jackknife interval, the reliabilities are computed again without each cluster"
    ),
    "method": _(
        "counsellors' own conversations: three sets are left out (or drawn) one at a time: counsellors, arms, and the "
        "conversations of one counsellor with one arm. The variance is the sum of the first two minus the third, and "
        "at "
        "least the larger of the first two (Cameron, Gelbach and Miller 2011); Student's t with Satterthwaite's "
        "degrees "
        "of freedom"
    ),
}
SCALE = ["instrument", "moment", "item"]
UNIT = ["conversation", "turn"]
# A rater of these kinds may rate many people's conversations, so has an agreement of their own.
SEVERAL_RATERS = ("expert", "reviewer", "crowd")
OWN_ROW_FROM = 10  # conversations
NEAR_ONE = 0.9  # from here on the interval of system_r held what was planted in too few simulated studies
SCORED_ONCE = {"rater": "one_rater_each", "replicate": "one_replicate_each"}
UNRELIABLE = {"rater": "raters_unreliable", "replicate": "replicates_unreliable"}
FEW_ARMS = 5  # and below: a correlation of so few means says next to nothing


@dataclass(frozen=True)
class Side:
    """Scores of an item by one rater or one kind of raters, as a series over (conversation, turn)."""

    scores: pd.Series
    single: pd.DataFrame  # the scores that each mean was taken of, columns UNIT and `score`
    by: str  # what these differ in: "rater" or "replicate"


Sides = dict[tuple[str, ...], Side]  # by SCALE


@dataclass(frozen=True)
class Paired:
    """The two sides that a row of agreement.csv compares; `labels` name judge, strategy, human and SCALE."""

    labels: Labels
    human: Side
    judge: Side

    def scores(self) -> pd.DataFrame:
        """Return the columns `human` and `judge`, one row per UNIT that both scored."""
        return _beside(self.human, self.judge)


def agreement(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (`human × judge × strategy`, its rows); p_holm is over those of a moment."""
    humans, judges = _sides(export.ratings, with_means=True)
    opposed = _opposed_alphas(export)
    for (judge, strategy), judged in judges:
        for human, rated in humans:
            judge_and_human = {"judge": judge, "strategy": strategy, "human": human}
            tests = [
                _compare(Paired(judge_and_human | scale, *sides), export.conversations, bootstrap, opposed)
                for scale, *sides in _shared_scales(rated, judged)
            ]
            rows = adjust(tests, lambda row: (row["moment"], row["item"] == ALL_ITEMS))
            yield f"{human} × {judge} {strategy}".rstrip(), rows


def _opposed_alphas(export: Export) -> dict[tuple[str, ...], float]:
    """Return Cronbach's alpha of people's ratings where it is 0 or below, by their kind, instrument and moment."""
    single = single_ratings(export)
    people = single[~single["group"].astype(str).str.startswith(JUDGE)]
    alphas = {}
    for key, rated in people.groupby(["group", "instrument", "moment"], observed=True):
        wide = by_item(rated).dropna()
        if wide.shape[1] > 1:
            with suppress(Undefined):
                alphas[tuple(map(str, key))] = cronbach_alpha(wide.to_numpy(float))
    return {key: alpha for key, alpha in alphas.items() if alpha <= 0}


def both_sides(ratings: pd.DataFrame, *, with_means: bool = False) -> Iterator[tuple[Labels, pd.DataFrame]]:
    """Yield each row of agreement.csv with what it compares: columns `human` and `judge`, one row per UNIT.

    `with_means`: also item `*`, the mean over an instrument's items.
    """
    for paired in paired_sides(ratings, with_means=with_means):
        yield paired.labels, paired.scores()


def paired_sides(ratings: pd.DataFrame, *, with_means: bool = False) -> Iterator[Paired]:
    """Yield what each row of agreement.csv compares."""
    humans, judges = _sides(ratings, with_means)
    for (judge, strategy), judged in judges:
        for human, rated in humans:
            for scale, *sides in _shared_scales(rated, judged):
                yield Paired({"judge": judge, "strategy": strategy, "human": human} | scale, *sides)


@dataclass(frozen=True)
class Unpaired:
    """The scores that a row of agreement.csv would compare; the two sides may share nothing.

    `labels` name judge, strategy, human and SCALE.
    """

    labels: Labels
    human: pd.DataFrame
    judge: pd.DataFrame

    def pair(self) -> pd.DataFrame:
        """Return the columns `human` and `judge`, one row per UNIT that both scored."""
        return _beside(_side(self.human, "rater"), _side(self.judge, "replicate"))


def unpaired_sides(ratings: pd.DataFrame) -> Iterator[Unpaired]:
    """Yield the candidates for a row of agreement.csv, unpaired, as pairing them takes most of the time."""
    humans = [(human, list(rated.groupby(SCALE, observed=True))) for human, rated in _humans(ratings)]
    for (judge, strategy), judged in _judges(ratings):
        by_scale = dict(list(judged.groupby(SCALE, observed=True)))
        for human, scales in humans:
            for key, rated in scales:
                if key in by_scale:
                    scale = dict(zip(SCALE, map(str, key), strict=True))
                    labels = {"judge": str(judge), "strategy": str(strategy), "human": human} | scale
                    yield Unpaired(labels, rated, by_scale[key])


def _beside(human: Side, judge: Side) -> pd.DataFrame:
    return pd.concat({"human": human.scores, "judge": judge.scores}, axis=1, join="inner").sort_index()


def _judges(ratings: pd.DataFrame, with_means: bool = False) -> list[tuple[Any, pd.DataFrame]]:
    judged = ratings[ratings["rater_kind"] == "judge"]
    single = _mean(judged, ["rater", "strategy", *SCALE, *UNIT, "replicate"])
    if with_means:
        single = _with_means(single, ratings)
    return list(single.groupby(["rater", "strategy"], observed=True))


def _with_means(single: pd.DataFrame, ratings: pd.DataFrame) -> pd.DataFrame:
    """Add item `*`, the mean over the items of an instrument that anyone scored at that moment, where all were."""
    scored = ratings.groupby(["instrument", "moment"], observed=True)["item"].nunique()
    items = scored.reindex(pd.MultiIndex.from_frame(single[["instrument", "moment"]].astype(str))).to_numpy()
    several = single[items > 1]
    means = mean_of_items(several.astype({"item": str}), pd.Series(items[items > 1], index=several.index))
    return pd.concat([single.astype({"item": str}), means], ignore_index=True)


def _humans(ratings: pd.DataFrame, with_means: bool = False) -> Iterator[tuple[str, pd.DataFrame]]:
    people = ratings[ratings["rater_kind"] != "judge"]
    single = _mean(people, ["rater_kind", "rater", *SCALE, *UNIT])
    if with_means:
        single = _with_means(single, ratings)
    for kind, rated in single.groupby("rater_kind", observed=True):
        yield str(kind), rated
        if kind in SEVERAL_RATERS and rated["rater"].nunique() > 1:
            for rater, own in rated.groupby("rater", observed=True):
                if own["conversation"].nunique() >= OWN_ROW_FROM:
                    yield f"{kind}:{rater}", own


def _mean(ratings: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    return ratings.groupby(by, observed=True)["score"].mean().reset_index()


def _sides(
    ratings: pd.DataFrame, with_means: bool
) -> tuple[list[tuple[str, Sides]], list[tuple[tuple[str, str], Sides]]]:
    """Return what each kind of people gave, and what each judge with its strategy gave."""
    humans = [(human, _by_scale(rated, "rater")) for human, rated in _humans(ratings, with_means)]
    return humans, [(judge, _by_scale(judged, "replicate")) for judge, judged in _judges(ratings, with_means)]


def _by_scale(single: pd.DataFrame, by: str) -> Sides:
    return {tuple(map(str, key)): _side(of_scale, by) for key, of_scale in single.groupby(SCALE, observed=True)}


def _shared_scales(rated: Sides, judged: Sides) -> Iterator[tuple[Labels, Side, Side]]:
    """Yield each instrument, moment and item that both sides scored on at least one conversation."""
    for key, human in rated.items():
        if key in judged and len(human.scores.index.intersection(judged[key].scores.index)):
            yield dict(zip(SCALE, key, strict=True)), human, judged[key]


def _side(single: pd.DataFrame, by: str) -> Side:
    return Side(single.groupby(UNIT, observed=True)["score"].mean(), single, by)


def _compare(
    paired: Paired, conversations: pd.DataFrame, bootstrap: Bootstrap, opposed: Mapping[tuple[str, ...], float]
) -> Cells:
    both = paired.scores()
    about = _about(both, conversations)
    x, y = both["human"].to_numpy(float), both["judge"].to_numpy(float)
    arms = about["arm"].to_numpy(str)
    sampling = sampling_of(paired, both, conversations, bootstrap)
    row = Row(**paired.labels, n=len(both), clusters=int(sampling.clusters.max()) + 1)
    _add_correlations(row, x, y, sampling)
    _add_within(row, x, y, about["participant"].to_numpy(str), sampling)
    row.compute("system_r", lambda: correlation.arm_means_correlation(x, y, arms))
    intervals.add_intervals(row, [intervals.between_arms(x, y, arms)], replace(sampling, crossed_with=None))
    _add_distance(row, x, y, sampling)
    _add_ceiling(row, paired.human, paired.judge, both, sampling)
    scale = paired.labels["human"].partition(":")[0], paired.labels["instrument"], paired.labels["moment"]
    if paired.labels["item"] == ALL_ITEMS and scale in opposed:
        row.add_notes(Note("items_opposed", alpha=f"{opposed[scale]:.2f}"))
    if abs(row.values["system_r"]) >= NEAR_ONE:
        row.add_notes(Note("near_one").on("system_r"))
    if 3 <= (count := len(set(arms) - {""})) <= FEW_ARMS:
        row.add_notes(Note("few_arms", count=count).on("system_r"))
    if len(set(about["condition"]) - {""}) > 1:
        row.add_notes(Note("conditions_together"))
    if len(set(about["seeker_kind"]) - {""}) > 1:
        row.add_notes(Note("seekers_together"))
    return row.cells()


def _about(both: pd.DataFrame, conversations: pd.DataFrame) -> pd.DataFrame:
    return conversations.loc[both.index.get_level_values("conversation").astype(str)]


def sampling_of(paired: Paired, both: pd.DataFrame, conversations: pd.DataFrame, bootstrap: Bootstrap) -> Sampling:
    """Return the clusters to draw; for counsellors' own conversations the arms too, and raters where they differ."""
    about = _about(both, conversations)
    clusters, arms = (number_names(about[name]) for name in ("cluster", "arm"))
    own = paired.labels["human"].split(":")[0] == "expert" and bool(about["counsellors"].all())
    sampling = Sampling(clusters, arms if own and arms.max() > 0 else None, bootstrap)
    return replace(sampling, ratings=_differing_raters(paired.human, both.index, sampling))


def _differing_raters(human: Side, units: pd.MultiIndex, sampling: Sampling) -> Ratings | None:
    """Return the ratings of these units, if other raters rated some than others; None if the same rated all."""
    scored = _single_scores(human, units)
    targets, raters = units.get_indexer(scored.index), number_names(scored["rater"])
    ratings = Ratings(scored["score"].to_numpy(float), targets, raters)
    return ratings if sampling.crossed_with is None and ratings.differ(sampling.clusters) else None


def _add_correlations(row: Row, x: Array, y: Array, sampling: Sampling) -> None:
    row.compute("pearson", lambda: correlation.pearson(x, y))
    add_interval_of_r(row, x, y, sampling, name="pearson", p=True)
    _add_spearman(row, x, y, sampling)
    row.compute("kendall", lambda: correlation.kendall(x, y))
    row.values["kendall_p"] = np.nan  # where tau does not exist, its reason is that of p too
    if np.isfinite(row.values["kendall"]):
        row.compute("kendall_p", lambda: _test_kendall(row.values["kendall"], x, y, sampling))


def _test_kendall(tau: float, x: Array, y: Array, sampling: Sampling) -> float:
    correlation.refuse_perfect(tau)
    return intervals.inference_of_kendall(x, y, sampling).p_value()


def _add_within(row: Row, x: Array, y: Array, persons: np.ndarray, sampling: Sampling) -> None:
    with row.leave_out_if_undefined("within_r"):
        within = correlation.within_persons(x, y, persons)
        row.compute("within_r", within.r)
        intervals.add_intervals(row, [intervals.within_persons(within, sampling)], sampling)


def _add_distance(row: Row, x: Array, y: Array, sampling: Sampling) -> None:
    names = "bias", "lower_limit", "upper_limit"
    row.values |= dict(zip(names, judge_gap.bias_and_limits(x, y), strict=True)) | {"mae": float(np.abs(y - x).mean())}
    if len(x) < 2:
        row.leave_out("lower_limit", "upper_limit", because=Note("under_two_conversations"))
    row.compute("ccc", lambda: correlation.concordance(x, y))
    row.compute("kappa_quadratic", lambda: correlation.quadratic_kappa(x, y))
    intervals.add_intervals(row, [intervals.bias(x, y), intervals.concordance(x, y)], sampling)


def add_interval_of_r(row: Row, x: Array, y: Array, sampling: Sampling, *, name: str = "", p: bool = False) -> None:
    """Add the interval of Pearson's r, or the reason why there is none."""

    def infer() -> Inference:
        correlation.pearson(x, y)  # where r does not exist, its reason is the interval's too
        return sampling.infer_pearson(x, y)

    def interval_of(inference: Inference) -> Interval:
        interval = inference.interval_of_r()
        if sampling.ratings is not None and not sampling.leaves_raters_out():
            row.add_notes(Note("raters_not_left_out", count=sampling.ratings.count()).on(INTERVAL))
        return interval

    add_inference(row, infer, method_of_r, interval_of=interval_of, name=name, p=p)


def _add_spearman(row: Row, x: Array, y: Array, sampling: Sampling) -> None:
    """Add Spearman's coefficient. `_add_interval` has already added the notes on the resamples."""
    row.compute("spearman", lambda: correlation.spearman(x, y))
    with row.leave_out_if_undefined("spearman_low", "spearman_high", "spearman_p"):
        interval, p = _test_spearman(x, y, sampling)
        row.values |= {"spearman_low": interval.low, "spearman_high": interval.high, "spearman_p": p}
        if not intervals.is_stated(row, interval.method):
            row.add_methods(interval.method.on("Spearman"))


def _test_spearman(x: Array, y: Array, sampling: Sampling) -> tuple[Interval, float]:
    """Return the interval of Spearman's coefficient and p."""
    rho = correlation.spearman(x, y)  # where it does not exist, its reason is the interval's too
    if sampling.crossed_with is None and len(np.unique(sampling.clusters)) == len(x):
        return correlation.bonett_wright(rho, len(x))
    correlation.refuse_perfect(rho)
    pairs = correlation.score_pairs(x, y)
    inference = sampling.infer_r(pairs.spearman_z(), pairs.indicators())
    return inference.interval_of_r(), inference.p_value()


def _add_ceiling(row: Row, human: Side, judge: Side, both: pd.DataFrame, sampling: Sampling) -> None:
    """Add the largest r that the reliabilities of both means allow, the root of their product, and r over it."""
    once = not _single_scores(judge, both.index).index.duplicated().any()
    bounds = "disattenuated_low", "disattenuated_high"
    row.values |= dict.fromkeys(bounds, np.nan)
    try:
        sides = [_reliability(side, both.index, sampling.clusters) for side in ([human] if once else [human, judge])]
    except Undefined as reason:
        row.leave_out("ceiling", because=reason.note)
        row.leave_out("disattenuated", because=Note("no_ceiling"))
        return
    ceiling = Ceiling(tuple(sides))
    row.values["ceiling"] = ceiling.estimate
    row.add_methods(sides[0].method.on("ceiling"))
    if once:
        row.add_notes(Note("upper_bound").on("ceiling"))
    if np.isnan(row.values["pearson"]):
        row.leave_out("disattenuated", because=Note("no_r"))
        return
    row.values["disattenuated"] = row.values["pearson"] / ceiling.estimate
    x, y = both["human"].to_numpy(float), both["judge"].to_numpy(float)
    sums = sum_by_cluster(pair_moments(x, y), sampling.clusters)
    row.compute_all(bounds, lambda: ceiling.interval_of_corrected(_r, sums))


def _r(sums: Array) -> Array:
    return np.asarray(np.tanh(fisher_z(sums)))


def _single_scores(side: Side, units: pd.MultiIndex) -> pd.DataFrame:
    scored = side.single.set_index(UNIT)
    return scored[scored.index.isin(units)]


def _reliability(side: Side, units: pd.MultiIndex, clusters: np.ndarray) -> Reliability:
    """Return the reliability of the means that were correlated; `clusters`: of each unit."""
    scored = _single_scores(side, units)
    targets = units.get_indexer(scored.index)
    if np.bincount(targets).max() < 2:
        raise Undefined(SCORED_ONCE[side.by])
    raters = number_names(scored["rater"]) if side.by == "rater" else None
    reliability = reliability_of(scored["score"].to_numpy(float), targets, raters, clusters)
    if reliability.estimate <= 0:
        raise Undefined(UNRELIABLE[side.by])
    return reliability


TABLE = Table(
    "agreement",
    agreement,
    COLUMNS,
    METHODS,
    heading=_("Judges and people"),
    empty=_("No judge and person scored the same conversation, so there is nothing to compare."),
    further=FURTHER,
    aside=("method",),
)
