"""agreement.csv: how well each judge, under each strategy, agrees with each kind of human rater."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import (
    Array,
    Bootstrap,
    Inference,
    Interval,
    Statistic,
    fisher_z,
    pair_moments,
    sum_by_cell,
    sum_by_cluster,
)
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import correlation
from studies.analysis.measures.variance import one_way
from studies.analysis.rows import Row, Undefined
from studies.analysis.tables.families import adjust

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
]
METHODS = {
    "pearson": _(
        "Pearson's r over conversations; raters and replicates averaged first; BCa interval (95 %) on Fisher's z, "
        "participants (else conversations) resampled"
    ),
    "p": _(
        "two-sided, from the same resamples: (1 + those as far from the estimate as 0 is) / (1 + resamples); of "
        "counsellors' own conversations from the same t"
    ),
    "p_holm": _("Holm over the items of a judge × strategy × human × moment"),
    "spearman": _(
        "Pearson's r of midranks; interval (95 %) on Fisher's z from the same resamples, ranked anew; where every row "
        "is a cluster of its own after Bonett and Wright (2000), with variance (1 + ρ²/2) / (n − 3)"
    ),
    "kendall": _("tau-b"),
    "within_r": _("Pearson's r of scores centred per participant, over participants with two rows or more"),
    "system_r": _("Pearson's r of the means of the arms"),
    "bias": _("mean of judge minus human"),
    "mae": _("mean absolute difference"),
    "ccc": _("Lin's concordance, moments over n"),
    "kappa_quadratic": _("quadratic weights on the scores; whole numbers only"),
    "ceiling": _("root of the product of both sides' reliabilities, ICC(1,k)"),
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
FEW_ARMS = 5  # and below: a correlation of so few means says next to nothing


@dataclass(frozen=True)
class Side:
    """One rater's or rater kind's scores of an item: a series over (conversation, turn)."""

    scores: pd.Series
    single: pd.DataFrame  # the scores that each mean was taken of, columns UNIT and `score`
    what: str  # one of them, as in "one … per conversation"


def agreement(export: Export, bootstrap: Bootstrap) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yields (`human × judge × strategy`, its rows); p_holm is over the rows of a moment."""
    judges = _judges(export.ratings)
    humans = list(_humans(export.ratings))
    for (judge, strategy), judged in judges:
        for human, rated in humans:
            row_of = {"judge": judge, "strategy": strategy, "human": human}
            rows = [
                _compare(human_side, judge_side, row_of | scale, export.conversations, bootstrap)
                for scale, human_side, judge_side in _shared(rated, judged)
            ]
            yield f"{human} × {judge} {strategy}".rstrip(), adjust(rows, lambda row: row["moment"])


def both_sides(ratings: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Each row of agreement.csv with what is compared: columns `human` and `judge`, one row per UNIT."""
    humans = list(_humans(ratings))
    for (judge, strategy), judged in _judges(ratings):
        for human, rated in humans:
            for scale, *sides in _shared(rated, judged):
                yield {"judge": judge, "strategy": strategy, "human": human} | scale, _beside(*sides)


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


def _shared(rated: pd.DataFrame, judged: pd.DataFrame) -> Iterator[tuple[dict[str, str], Side, Side]]:
    """Each instrument, moment and item that both sides scored on at least one conversation."""
    by_judge = dict(list(judged.groupby(SCALE, observed=True)))
    for key, human in rated.groupby(SCALE, observed=True):
        if key in by_judge:
            sides = _side(human, "rater"), _side(by_judge[key], "replicate")
            if len(sides[0].scores.index.intersection(sides[1].scores.index)):
                yield dict(zip(SCALE, map(str, key), strict=True)), *sides


def _side(single: pd.DataFrame, what: str) -> Side:
    return Side(single.groupby(UNIT, observed=True)["score"].mean(), single, what)


def _compare(
    human: Side, judge: Side, of: dict[str, str], conversations: pd.DataFrame, bootstrap: Bootstrap
) -> dict[str, Any]:
    both = _beside(human, judge)
    about = conversations.loc[both.index.get_level_values("conversation").astype(str)]
    x, y = both["human"].to_numpy(float), both["judge"].to_numpy(float)
    cluster_names, clusters = np.unique(about["cluster"].to_numpy(str), return_inverse=True)
    arms = about["arm"].to_numpy(str)
    row = Row(**of, n=len(both), clusters=len(cluster_names))
    row.compute("pearson", lambda: correlation.pearson(x, y))
    own = of["human"].split(":")[0] == "expert" and bool(about["counsellors"].all())
    crossed_with = np.unique(arms, return_inverse=True)[1] if own and len(set(arms)) > 1 else None
    _add_interval(row, lambda: _resample(x, y, clusters, crossed_with, bootstrap))
    _add_spearman(row, x, y, clusters, crossed_with, bootstrap)
    row.compute("kendall", lambda: correlation.kendall(x, y))
    row.compute("within_r", lambda: correlation.within_persons(x, y, about["participant"].to_numpy(str)))
    row.compute("system_r", lambda: correlation.between_arms(x, y, arms))
    row.values |= {"bias": float(np.mean(y - x)), "mae": float(np.mean(np.abs(y - x)))}
    row.compute("ccc", lambda: correlation.concordance(x, y))
    row.compute("kappa_quadratic", lambda: correlation.quadratic_kappa(x, y))
    row.compute("ceiling", lambda: _ceiling(human, judge, both.index))
    if 3 <= len(set(arms) - {""}) <= FEW_ARMS:
        row.add_notes(f"system_r: few arms ({len(set(arms) - {''})}), next to no information")
    return row.finished()


def _add_interval(row: Row, resample: Callable[[], Inference]) -> None:
    try:
        resampled = resample()
    except Undefined as reason:
        row.leave_out("pearson_low", "pearson_high", "p", because=str(reason))
        return
    interval = resampled.interval()
    kind = "two-way cluster (counsellors × arms)" if len(resampled.clusters()) > 1 else "cluster"
    row.values |= {"pearson_low": float(np.tanh(interval.low)), "pearson_high": float(np.tanh(interval.high))}
    row.values |= {"p": resampled.p_value(), "method": f"{interval.method} {kind} bootstrap on Fisher's z"}
    row.add_notes(*resampled.notes("interval"))


def _add_spearman(
    row: Row, x: Array, y: Array, clusters: np.ndarray, crossed_with: np.ndarray | None, bootstrap: Bootstrap
) -> None:
    """What `_add_interval` notes of the resamples is said already."""
    row.compute("spearman", lambda: correlation.spearman(x, y))
    try:
        interval = _spearman_interval(x, y, clusters, crossed_with, bootstrap)
    except Undefined as reason:
        row.leave_out("spearman_low", "spearman_high", because=str(reason))
        return
    row.values |= {"spearman_low": interval.low, "spearman_high": interval.high}
    if not row.values.get("method", "").startswith(interval.method):
        row.values["method"] = "; ".join(filter(None, [row.values.get("method"), f"Spearman: {interval.method}"]))


def _spearman_interval(
    x: Array, y: Array, clusters: np.ndarray, crossed_with: np.ndarray | None, bootstrap: Bootstrap
) -> Interval:
    rho = correlation.spearman(x, y)  # where it does not exist, its reason is the interval's too
    if crossed_with is None and len(np.unique(clusters)) == len(x):
        return correlation.bonett_wright(rho, len(x))
    correlation.refuse_perfect(rho)
    pairs = correlation.score_pairs(x, y)
    interval = _draw(pairs.spearman_z(), pairs.indicators(), clusters, crossed_with, bootstrap).interval()
    return Interval(float(np.tanh(interval.low)), float(np.tanh(interval.high)), interval.method)


def _resample(
    x: Array, y: Array, clusters: np.ndarray, crossed_with: np.ndarray | None, bootstrap: Bootstrap
) -> Inference:
    correlation.pearson(x, y)  # where r does not exist, its reason is the interval's too
    return _draw(fisher_z, pair_moments(x, y), clusters, crossed_with, bootstrap)


def _draw(
    statistic: Statistic, values: Array, clusters: np.ndarray, crossed_with: np.ndarray | None, bootstrap: Bootstrap
) -> Inference:
    """`values`: rows × what `statistic` takes the sums of."""
    if crossed_with is None:
        return bootstrap.resample(statistic, sum_by_cluster(values, clusters))
    return bootstrap.resample_two_way(statistic, sum_by_cell(values, clusters, crossed_with))


def _ceiling(human: Side, judge: Side, units: pd.MultiIndex) -> float:
    """The largest r that the reliabilities of both means allow: the root of their product."""
    return float(np.sqrt(_reliability(human, units) * _reliability(judge, units)))


def _reliability(side: Side, units: pd.MultiIndex) -> float:
    """ICC(1,k) of the means that were correlated, k being their average number of scores."""
    scored = side.single.set_index(UNIT)["score"]
    scored = scored[scored.index.isin(units)]
    targets = np.unique(scored.groupby(level=UNIT, observed=True).ngroup(), return_inverse=True)[1]
    if np.bincount(targets).max() < 2:
        raise Undefined(f"one {side.what} per conversation, so no reliability")
    reliability = one_way(scored.to_numpy(float), targets).mean.estimate
    if reliability <= 0:
        raise Undefined(f"the {side.what}s' reliability is not above 0")
    return reliability
