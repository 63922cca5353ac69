"""agreement.csv: how well each judge, under each strategy, agrees with each kind of human rater."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Array, Bootstrap, Inference, Interval, fisher_z, pair_moments
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import correlation, judge_gap
from studies.analysis.measures.multiple import benjamini_hochberg
from studies.analysis.measures.variance import one_way
from studies.analysis.notes import INTERVAL, Note
from studies.analysis.rows import Row, Undefined
from studies.analysis.tables import agreement_intervals as intervals
from studies.analysis.tables.agreement_intervals import Drawn
from studies.analysis.tables.families import adjust
from studies.analysis.tables.table import Table

PERCENTILE = ("pearson_percentile_low", "pearson_percentile_high")
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
    "method",
    "spearman_low",
    "spearman_high",
    "p_bh",
    "disattenuated",
    "disattenuated_low",
    "disattenuated_high",
    "within_r_low",
    "within_r_high",
    "within_df",
    "system_r_low",
    "system_r_high",
    "bias_low",
    "bias_high",
    "mae_low",
    "mae_high",
    "rmse",
    "rmse_low",
    "rmse_high",
    "ccc_low",
    "ccc_high",
    "lower_limit",
    "lower_limit_low",
    "lower_limit_high",
    "upper_limit",
    "upper_limit_low",
    "upper_limit_high",
    "crossed_low",
    "crossed_high",
    "kendall_low",
    "kendall_high",
    "kappa_quadratic_low",
    "kappa_quadratic_high",
    "ceiling_low",
    "ceiling_high",
    *PERCENTILE,
]
METHODS = {
    "pearson": _(
        "Pearson's r over conversations; raters and replicates averaged first; BCa interval (95 %) on Fisher's z, "
        "participants (else conversations) resampled"
    ),
    "pearson_percentile_low, pearson_percentile_high": _(
        "of pearson: percentile interval (95 %) of the same draws, without BCa's corrections; none of counsellors' own "
        "conversations"
    ),
    "p": _(
        "two-sided: Fisher's z over its standard error in the same resamples, Student's t with one degree of freedom "
        "less than clusters; of counsellors' own conversations as the interval's"
    ),
    "p_holm": _("Holm over the items of a judge × strategy × human × moment"),
    "p_bh": _("of p: Benjamini–Hochberg over all rows of the table"),
    "…_low, …_high": _(
        "of within_r, system_r, bias, mae, rmse, ccc, the limits, disattenuated and ceiling: interval (95 %) from the "
        "same draws as that of pearson (BCa, or what method says); of the first two and ccc on Fisher's z; of "
        "system_r, ccc and the limits by a jackknife of the same clusters, Student's t"
    ),
    "crossed_low, crossed_high": _(
        "of pearson, with the arms drawn too, so that it tells of other arms than these: two-way, as method says of "
        "counsellors' own conversations"
    ),
    "spearman": _(
        "Pearson's r of midranks; interval (95 %) on Fisher's z from the same resamples, ranked anew; where every row "
        "is a cluster of its own after Bonett and Wright (2000), with variance (1 + ρ²/2) / (n − 3)"
    ),
    "kendall": _(
        "tau-b; interval (95 %) on Fisher's z by a jackknife of the same clusters, Student's t; of counsellors' own "
        "conversations as that of pearson"
    ),
    "within_r": _(
        "Pearson's r of scores centred per participant, over participants with two rows or more (Bland and Altman "
        "1995); within_df are its degrees of freedom, rows less participants less 1"
    ),
    "system_r": _(
        "Pearson's r of the means of the arms; for its interval the arms stay and participants (else conversations) "
        "are left out one by one, so it tells of other people with these arms, not of other arms; the noise of the "
        "means pulls both towards 0"
    ),
    "bias": _("mean of judge minus human"),
    "mae": _("mean absolute difference"),
    "rmse": _("root of the mean squared difference"),
    "lower_limit, upper_limit": _(
        "Bland and Altman's limits of agreement: bias less and plus 1.96 standard deviations of judge minus human"
    ),
    "ccc": _("Lin's concordance, moments over n"),
    "kappa_quadratic": _(
        "quadratic weights on the scores: of whole numbers the same as ccc, with its interval, and of others not there"
    ),
    "ceiling": _(
        "root of the product of both sides' reliabilities, ICC(1,k); where a judge scored once, the root of the "
        "people's alone, an upper bound"
    ),
    "disattenuated": _(
        "pearson over ceiling: r corrected for the unreliability that the ceiling counts; it may be above 1; for its "
        "interval the reliabilities are computed anew in each resample"
    ),
    "method": _(
        "counsellors' own conversations: counsellors, arms, and the conversations of a counsellor with an arm are each "
        "drawn alone; variance of the first two less that of the third, at least the larger (Cameron, Gelbach and "
        "Miller 2011); Student's t with Satterthwaite's degrees of freedom"
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


def agreement(export: Export, bootstrap: Bootstrap) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield (`human × judge × strategy`, nothing) as it goes on, and all rows at its end.

    p_bh is over all rows, p_holm over those of a moment.
    """
    judges = _judges(export.ratings)
    humans = list(_humans(export.ratings))
    rows: list[dict[str, Any]] = []
    for (judge, strategy), judged in judges:
        for human, rated in humans:
            row_of = {"judge": judge, "strategy": strategy, "human": human}
            found = [
                _compare(human_side, judge_side, row_of | scale, export.conversations, bootstrap)
                for scale, human_side, judge_side in _shared_scales(rated, judged)
            ]
            rows += adjust(found, lambda row: row["moment"])
            yield f"{human} × {judge} {strategy}".rstrip(), []
    yield "all rows", adjust(rows, lambda row: 0, into="p_bh", correct=benjamini_hochberg)


def both_sides(ratings: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Yield each row of agreement.csv with what it compares: columns `human` and `judge`, one row per UNIT."""
    humans = list(_humans(ratings))
    for (judge, strategy), judged in _judges(ratings):
        for human, rated in humans:
            for scale, *sides in _shared_scales(rated, judged):
                yield {"judge": judge, "strategy": strategy, "human": human} | scale, _beside(*sides)


@dataclass(frozen=True)
class Unpaired:
    """The scores that a row of agreement.csv would compare; the two sides may share nothing.

    `of` names judge, strategy, human and SCALE.
    """

    of: dict[str, str]
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
                    of = {"judge": str(judge), "strategy": str(strategy), "human": human} | scale
                    yield Unpaired(of, rated, by_scale[key])


def _beside(human: Side, judge: Side) -> pd.DataFrame:
    return pd.concat({"human": human.scores, "judge": judge.scores}, axis=1, join="inner").sort_index()


def _judges(ratings: pd.DataFrame) -> list[tuple[Any, pd.DataFrame]]:
    judged = ratings[ratings["rater_kind"] == "judge"]
    single = _mean(judged, ["rater", "strategy", *SCALE, *UNIT, "replicate"])
    return list(single.groupby(["rater", "strategy"], observed=True))


def _humans(ratings: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    people = ratings[ratings["rater_kind"] != "judge"]
    single = _mean(people, ["rater_kind", "rater", *SCALE, *UNIT])
    for kind, rated in single.groupby("rater_kind", observed=True):
        yield str(kind), rated
        if kind in SEVERAL_RATERS and rated["rater"].nunique() > 1:
            for rater, own in rated.groupby("rater", observed=True):
                if own["conversation"].nunique() >= OWN_ROW_FROM:
                    yield f"{kind}:{rater}", own


def _mean(ratings: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    return ratings.groupby(by, observed=True)["score"].mean().reset_index()


def _shared_scales(rated: pd.DataFrame, judged: pd.DataFrame) -> Iterator[tuple[dict[str, str], Side, Side]]:
    """Yield each instrument, moment and item that both sides scored on at least one conversation."""
    by_judge = dict(list(judged.groupby(SCALE, observed=True)))
    for key, human in rated.groupby(SCALE, observed=True):
        if key in by_judge:
            sides = _side(human, "rater"), _side(by_judge[key], "replicate")
            if len(sides[0].scores.index.intersection(sides[1].scores.index)):
                yield dict(zip(SCALE, map(str, key), strict=True)), *sides


def _side(single: pd.DataFrame, by: str) -> Side:
    return Side(single.groupby(UNIT, observed=True)["score"].mean(), single, by)


def _compare(
    human: Side, judge: Side, of: dict[str, str], conversations: pd.DataFrame, bootstrap: Bootstrap
) -> dict[str, Any]:
    both = _beside(human, judge)
    about = conversations.loc[both.index.get_level_values("conversation").astype(str)]
    x, y = both["human"].to_numpy(float), both["judge"].to_numpy(float)
    arms = about["arm"].to_numpy(str)
    drawn = _draw_of(of["human"], about, bootstrap)
    row = Row(**of, n=len(both), clusters=int(drawn.clusters.max()) + 1)
    _add_correlations(row, x, y, drawn)
    _add_crossed(row, x, y, _with_arms(drawn, arms))
    _add_within(row, x, y, about["participant"].to_numpy(str), drawn)
    row.compute("system_r", lambda: correlation.arm_means_correlation(x, y, arms))
    intervals.add_intervals(row, [intervals.between_arms(x, y, arms)], replace(drawn, crossed_with=None))
    _add_distance(row, x, y, drawn)
    _add_ceiling(row, human, judge, both.index)
    _add_disattenuated(row, human, judge, both, drawn)
    if abs(row.values["system_r"]) >= NEAR_ONE:
        row.add_notes(Note("near_one").on("system_r"))
    if 3 <= (count := len(set(arms) - {""})) <= FEW_ARMS:
        row.add_notes(Note("few_arms", count=count).on("system_r"))
    if len(set(about["condition"]) - {""}) > 1:
        row.add_notes(Note("conditions_together"))
    if len(set(about["seeker_kind"]) - {""}) > 1:
        row.add_notes(Note("seekers_together"))
    return row.cells()


def _draw_of(human: str, about: pd.DataFrame, bootstrap: Bootstrap) -> Drawn:
    """Return the clusters to draw, and for counsellors' own conversations the arms too."""
    clusters, arms = (np.unique(about[name].to_numpy(str), return_inverse=True)[1] for name in ("cluster", "arm"))
    own = human.split(":")[0] == "expert" and bool(about["counsellors"].all())
    return Drawn(clusters, arms if own and arms.max() > 0 else None, bootstrap)


def _add_correlations(row: Row, x: Array, y: Array, drawn: Drawn) -> None:
    row.compute("pearson", lambda: correlation.pearson(x, y))
    _add_interval(row, lambda: _resample(x, y, drawn))
    _add_spearman(row, x, y, drawn)
    row.compute("kendall", lambda: correlation.kendall(x, y))
    _add_bounds_of_kendall(row, x, y, drawn)


def _add_bounds_of_kendall(row: Row, x: Array, y: Array, drawn: Drawn) -> None:
    """Add the interval of `kendall`; where that does not exist, its reason holds for the interval too."""
    row.values |= {"kendall_low": np.nan, "kendall_high": np.nan}
    if np.isnan(row.values["kendall"]):
        return
    try:
        correlation.refuse_perfect(row.values["kendall"])
        low, high = intervals.bounds_of_kendall(x, y, drawn)
    except Undefined as reason:
        row.leave_out("kendall_low", "kendall_high", because=reason.note)
    else:
        row.values |= {"kendall_low": low, "kendall_high": high}


def _add_within(row: Row, x: Array, y: Array, persons: np.ndarray, drawn: Drawn) -> None:
    row.values["within_df"] = np.nan
    try:
        within = correlation.within_persons(x, y, persons)
    except Undefined as reason:
        row.leave_out("within_r", because=reason.note)
        return
    row.values["within_df"] = within.freedom
    row.compute("within_r", within.r)
    intervals.add_intervals(row, [intervals.within_persons(within)], drawn)


def _add_distance(row: Row, x: Array, y: Array, drawn: Drawn) -> None:
    measured = intervals.of_distance(x, y)
    row.values |= {one.name: one.estimate() for one in measured}
    if len(x) < 2:
        row.leave_out("lower_limit", "upper_limit", because=Note("under_two_conversations"))
    row.compute("ccc", lambda: correlation.concordance(x, y))
    row.compute("kappa_quadratic", lambda: correlation.quadratic_kappa(x, y))
    intervals.add_intervals(row, [*measured, *intervals.concordance(x, y)], drawn)


def _add_interval(row: Row, resample: Callable[[], Inference]) -> None:
    try:
        resampled = resample()
        interval = resampled.interval_of_r()
    except Undefined as reason:
        row.leave_out("pearson_low", "pearson_high", "p", *PERCENTILE, because=reason.note)
        return
    row.values |= {"pearson_low": interval.low, "pearson_high": interval.high, "p": resampled.p_value()}
    row.add_methods(intervals.method_of_r(resampled, interval))
    _add_percentile(row, resampled)
    row.add_notes(*resampled.notes(INTERVAL))


def _add_percentile(row: Row, resampled: Inference) -> None:
    try:
        bounds = intervals.percentile(resampled)
    except Undefined as reason:
        row.leave_out(*PERCENTILE, because=reason.note)
    else:
        row.values |= dict(zip(PERCENTILE, (float(np.tanh(bound)) for bound in bounds), strict=True))


def _with_arms(drawn: Drawn, arms: np.ndarray) -> Drawn:
    """Return the same draw with the arms drawn too."""
    return replace(drawn, crossed_with=np.unique(arms, return_inverse=True)[1])


def _add_crossed(row: Row, x: Array, y: Array, drawn: Drawn) -> None:
    """Add the interval that draws arms too. The interval of r has already noted what its resamples lack."""
    try:
        if not np.any(drawn.crossed_with):
            raise Undefined("one_arm")
        interval = _resample(x, y, drawn).interval_of_r()
    except Undefined as reason:
        row.leave_out("crossed_low", "crossed_high", because=reason.note)
        return
    row.values |= {"crossed_low": interval.low, "crossed_high": interval.high}


def _add_spearman(row: Row, x: Array, y: Array, drawn: Drawn) -> None:
    """Add Spearman's coefficient. `_add_interval` has already added the notes on the resamples."""
    row.compute("spearman", lambda: correlation.spearman(x, y))
    try:
        interval = _spearman_interval(x, y, drawn)
    except Undefined as reason:
        row.leave_out("spearman_low", "spearman_high", because=reason.note)
        return
    row.values |= {"spearman_low": interval.low, "spearman_high": interval.high}
    if not intervals.is_said(row, interval.method):
        row.add_methods(interval.method.on("Spearman"))


def _spearman_interval(x: Array, y: Array, drawn: Drawn) -> Interval:
    rho = correlation.spearman(x, y)  # where it does not exist, its reason is the interval's too
    if drawn.crossed_with is None and len(np.unique(drawn.clusters)) == len(x):
        return correlation.bonett_wright(rho, len(x))
    correlation.refuse_perfect(rho)
    pairs = correlation.score_pairs(x, y)
    return drawn.resample(pairs.spearman_z(), pairs.indicators()).interval_of_r()


def _resample(x: Array, y: Array, drawn: Drawn) -> Inference:
    correlation.pearson(x, y)  # where r does not exist, its reason is the interval's too
    return drawn.resample(fisher_z, pair_moments(x, y))


def _add_disattenuated(row: Row, human: Side, judge: Side, both: pd.DataFrame, drawn: Drawn) -> None:
    spreads = [_spread(side, both.index) for side in (human, judge)]
    x, y = both["human"].to_numpy(float), both["judge"].to_numpy(float)
    measured = intervals.disattenuate(x, y, [spread for spread in spreads if spread[:, 1].max() > 1])
    row.compute("disattenuated", lambda: _corrected_r(row.values["pearson"], row.values["ceiling"]))
    intervals.add_intervals(row, measured, drawn)


def _corrected_r(r: float, ceiling: float) -> float:
    if np.isnan(r):
        raise Undefined("no_r")
    if np.isnan(ceiling):
        raise Undefined("no_ceiling")
    return r / ceiling


def _spread(side: Side, units: pd.MultiIndex) -> Array:
    places = units.get_indexer(pd.MultiIndex.from_frame(side.single[UNIT]))
    scores = side.single["score"].to_numpy(float)
    return judge_gap.unit_sums(scores[places >= 0], places[places >= 0], len(units))


def _add_ceiling(row: Row, human: Side, judge: Side, units: pd.MultiIndex) -> None:
    """Add the largest r that the reliabilities of both means allow: the root of their product."""
    once = not _single_scores(judge, units).index.duplicated().any()
    sides = [human] if once else [human, judge]
    row.compute("ceiling", lambda: float(np.sqrt(np.prod([_reliability(side, units) for side in sides]))))
    if once and np.isfinite(row.values["ceiling"]):
        row.add_notes(Note("upper_bound").on("ceiling"))


def _single_scores(side: Side, units: pd.MultiIndex) -> pd.Series:
    scored = side.single.set_index(UNIT)["score"]
    return scored[scored.index.isin(units)]


def _reliability(side: Side, units: pd.MultiIndex) -> float:
    """Return ICC(1,k) of the means that were correlated, k being their average number of scores."""
    scored = _single_scores(side, units)
    targets = np.unique(scored.groupby(level=UNIT, observed=True).ngroup(), return_inverse=True)[1]
    if np.bincount(targets).max() < 2:
        raise Undefined(SCORED_ONCE[side.by])
    reliability = one_way(scored.to_numpy(float), targets).mean.estimate
    if reliability <= 0:
        raise Undefined(UNRELIABLE[side.by])
    return reliability


TABLES = (
    Table(
        "agreement",
        agreement,
        COLUMNS,
        METHODS,
        heading=_("Judges and people"),
        section="agreement",
        empty=_("No judge and person scored the same conversation, so there is nothing to compare."),
    ),
)
