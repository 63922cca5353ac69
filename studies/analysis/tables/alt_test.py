"""alt_test.csv: may a judge stand in for a counsellor, a reviewer or a crowd worker?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array, Bootstrap, Resampled, number_names, sum_by_cluster
from studies.analysis.frames import Export, first_of_people
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import alt_test as measure
from studies.analysis.notes import Note
from studies.analysis.rows import Cells, Row, Undefined
from studies.analysis.scales import CODEBOOK, NOMINAL, Place, types_in
from studies.analysis.tables.arms import add_interval
from studies.analysis.tables.judged import (
    JUDGE,
    SCALE,
    UNIT,
    add_resampled,
    clusters_of,
    judged_rows,
    key_columns,
)
from studies.analysis.tables.table import Parts, Table

COLUMNS = [
    "judge",
    "strategy",
    "humans",
    "instrument",
    "item",
    "moment",
    "statistic",
    "annotator",
    "estimate",
    "low",
    "high",
    "p",
    "p_adjusted",
    "n",
    "clusters",
    "method",
    "note",
]
HUMANS = ("expert", "reviewer", "crowd")
FEWEST = 30  # conversations of a rater
ADVISED = 3  # raters
TESTED: Mapping[measure.Score, str] = {
    measure.accuracy: "accuracy_tested",
    measure.negative_rmse: "negative_rmse_tested",
}

METHODS = {
    "difference": _(
        "for one annotator: each conversation counts 1 if the annotator is closer to the other raters than the "
        "judge is, -1 if the judge is closer, and 0 for a tie; this is the mean. Closer means a smaller root "
        "mean square distance, or a larger share of equal answers for items with two values and nominal items "
        "(codebook.csv). BCa interval (95 %), participants (else conversations) resampled"
    ),
    "p": _(
        "one-sided t test that the difference is below epsilon. Epsilon is how far a judge may be behind people "
        "because it costs less; the study file sets it under [alt_test] (by default .2 for experts, .15 for "
        "reviewers, .1 for a crowd). The test treats conversations as independent. If the comparisons do not "
        "vary, p is empty, and the difference itself decides"
    ),
    "p_adjusted": _("Benjamini–Yekutieli over the annotators"),
    "winning_rate": _("omega: the share of annotators with p_adjusted of .05 or less; from .5 on the judge passes"),
    "advantage": _(
        "rho: how often the judge is as close as an annotator, or closer; mean over annotators; BCa interval "
        "(95 %), participants (else conversations) resampled, annotators not"
    ),
}

Key = tuple[str, ...]
Types = Mapping[Place, str]


@dataclass(frozen=True)
class Shared:
    """The scores of an item by a judge and two or more raters."""

    annotations: pd.DataFrame  # UNIT × raters, nan where one gave no score
    judge: Array  # of each UNIT
    clusters: NDArray[np.intp]  # of each UNIT
    alone: int  # UNITs that the judge and one rater scored, which are left out
    type: str  # of the item, as the codebook has it; empty where it does not say

    def score(self) -> measure.Score:
        """Return the measure of how near two answers are.

        For a nominal item it is whether they are the same. For whole scores with two values both measures give the
        same, and one of them is called accuracy.
        """
        if self.type in NOMINAL:
            return measure.accuracy
        return measure.accuracy if self.has_two_values() else measure.negative_rmse

    def has_two_values(self) -> bool:
        values = np.unique(np.append(self.annotations.to_numpy(float), self.judge))
        return bool(np.isfinite(values).sum() <= 2)


def alt_test(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (`humans × judge strategy`, its rows): for each item two of all annotators and one for each of them.

    Where no conversation has two raters of the kind, a single row says so.
    """
    types = types_in(export.folder / CODEBOOK)
    people = _annotations(export.ratings, types)
    for (judge, strategy), judged in judged_rows(export.ratings).groupby(JUDGE):
        answers = _answers(judged, types)
        for humans, of_items in people.items():
            labels = key_columns(JUDGE, (judge, strategy)) | {"humans": humans, "epsilon": export.epsilon[humans]}
            items = {
                scale: _shared_scores(of_items[scale], answers[scale], export, _type(scale, types))
                for scale in of_items
                if scale in answers
            }
            yield f"{humans} × {judge} {strategy}".rstrip(), _rows(labels, items, bootstrap)


def _type(scale: Key, types: Types) -> str:
    labels = key_columns(SCALE, scale)
    return types.get((labels["instrument"], labels["item"]), "")


def _annotations(ratings: pd.DataFrame, types: Types) -> Mapping[str, Mapping[Key, pd.DataFrame]]:
    """Return UNIT × raters by rater kind and SCALE; the first of a person's replicates counts."""
    rated = first_of_people(ratings[ratings["rater_kind"].isin(HUMANS)])
    texts = rated[["rater_kind", *SCALE, *UNIT, "rater"]].astype(str).assign(score=rated["score"])
    matrices: dict[str, dict[Key, pd.DataFrame]] = {}
    for (kind, *scale), rows in texts.groupby(["rater_kind", *SCALE]):
        wide = _one_answer(rows, [*UNIT, "rater"], _type(tuple(map(str, scale)), types)).unstack("rater")
        matrices.setdefault(str(kind), {})[tuple(scale)] = wide
    return matrices


def _answers(judged: pd.DataFrame, types: Types) -> Mapping[Key, pd.Series]:
    """Return the judge's scores by UNIT for each SCALE."""
    by_scale = ((tuple(map(str, scale)), rows) for scale, rows in judged.groupby(SCALE))
    return {scale: _one_answer(rows, UNIT, _type(scale, types)) for scale, rows in by_scale}


def _one_answer(rows: pd.DataFrame, by: list[str], type: str) -> pd.Series:
    """Return one answer for each group: the mean of replicates.

    Of a nominal item, whose mean would be nothing, it is the most frequent, of several the lowest.
    """
    scores = rows.groupby(by)["score"]
    return scores.agg(lambda answers: answers.mode().min()) if type in NOMINAL else scores.mean()


def _shared_scores(annotations: pd.DataFrame, answers: pd.Series, export: Export, type: str) -> Shared:
    rated = annotations.loc[annotations.index.intersection(answers.index)].sort_index()
    several = rated[rated.notna().sum(axis=1) > 1].dropna(axis=1, how="all")
    clusters = clusters_of(several.index.get_level_values("conversation"), export)
    judge = answers.loc[several.index].to_numpy(float)
    return Shared(several, judge, clusters, alone=len(rated) - len(several), type=type)


def _rows(labels: Cells, items: Mapping[Key, Shared], bootstrap: Bootstrap) -> list[Cells]:
    if not any(len(shared.judge) for shared in items.values()):
        return [_no_test(labels | dict.fromkeys(SCALE, ""))]
    rows: list[Cells] = []
    for scale, shared in items.items():
        of_item = labels | key_columns(SCALE, scale)
        rows += _of_item(of_item, shared, bootstrap) if len(shared.judge) else [_no_test(of_item)]
    return rows


def _no_test(labels: Cells) -> Cells:
    row = Row(**labels, statistic="winning_rate", annotator="", n=0, clusters=0)
    row.leave_out("estimate", because=Note("no_two_raters"))
    return row.cells()


def _of_item(labels: Cells, shared: Shared, bootstrap: Bootstrap) -> list[Cells]:
    comparisons = measure.compare(shared.annotations.to_numpy(float), shared.judge, shared.score())
    annotators = [
        _annotator(labels | {"annotator": str(name)}, comparison, shared, bootstrap)
        for name, comparison in zip(shared.annotations, comparisons, strict=True)
    ]
    _adjust(annotators)
    together = _winning_rate(labels, annotators, shared), _advantage(labels, comparisons, shared, bootstrap)
    for row, comparison in zip(annotators, comparisons, strict=True):
        if comparison.is_constant():
            row.leave_out("p", "p_adjusted", because=Note("comparisons_alike_decide"))
    return [row.cells() for row in (*together, *annotators)]


def _annotator(labels: Cells, comparison: measure.Comparison, shared: Shared, bootstrap: Bootstrap) -> Row:
    advantages = comparison.advantages()
    clusters = number_names(shared.clusters[comparison.items])
    row = Row(**labels, statistic="difference", n=len(advantages), clusters=int(clusters.max()) + 1)
    row.values["estimate"] = float(advantages.mean())
    add_interval(row, advantages, clusters, bootstrap, alike="comparisons_alike")
    row.add_methods(Note("epsilon", value=f"{labels['epsilon']:g}"))
    row.compute("p", lambda: comparison.p_value(labels["epsilon"]))
    return row


def _adjust(annotators: list[Row]) -> None:
    tested = [row for row in annotators if not np.isnan(row.values["p"])]
    if tested:
        for row, p in zip(tested, measure.adjust_p_values(np.array([row.values["p"] for row in tested])), strict=True):
            row.values["p_adjusted"] = float(p)


def _winning_rate(labels: Cells, annotators: list[Row], shared: Shared) -> Row:
    row = _of_all(labels, "winning_rate", shared)
    adjusted = [one.values["p_adjusted"] for one in annotators if "p_adjusted" in one.values]
    if adjusted:
        row.values["estimate"] = measure.winning_rate(np.array(adjusted))
    else:
        row.leave_out("estimate", because=Note("no_rater_shares"))
    row.leave_out("low", "high", because=Note("is_share_of_decisions"))
    row.add_methods(Note(TESTED[shared.score()]))
    row.add_notes(*_cautions(annotators, shared))
    return row


def _cautions(annotators: list[Row], shared: Shared) -> Iterator[Note]:
    few = sum(row.values["n"] < FEWEST for row in annotators)
    if few:
        yield Note("raters_with_few_conversations", few=few, all=len(annotators), count=FEWEST)
    if len(annotators) < ADVISED:
        yield Note("few_raters", count=len(annotators), advised=ADVISED)
    if not shared.type and not shared.has_two_values():
        yield Note("type_unknown")
    if shared.alone:
        yield Note("with_one_rater", count=shared.alone)
    if (clusters := len(set(shared.clusters))) < len(shared.judge):
        yield Note("independent_in_t_test", count=len(shared.judge), clusters=clusters)


def _advantage(labels: Cells, comparisons: list[measure.Comparison], shared: Shared, bootstrap: Bootstrap) -> Row:
    sums = np.zeros((len(shared.judge), 2 * len(comparisons)))
    for place, comparison in enumerate(comparisons):
        sums[comparison.items, place] = 1
        sums[comparison.items, len(comparisons) + place] = comparison.judge_wins
    row = _of_all(labels, "advantage", shared)
    row.values["estimate"] = float(measure.advantage(sums.sum(axis=0)))
    add_resampled(row, lambda: _resample(sums, shared.clusters, bootstrap))
    return row


def _resample(sums: Array, clusters: NDArray[np.intp], bootstrap: Bootstrap) -> Resampled:
    resampled = bootstrap.resample(measure.advantage, sum_by_cluster(sums, clusters))
    if np.ptp(resampled.replicates) == 0:
        raise Undefined("comparisons_alike")
    return resampled


def _of_all(labels: Cells, statistic: str, shared: Shared) -> Row:
    return Row(**labels, statistic=statistic, annotator="", n=len(shared.judge), clusters=len(set(shared.clusters)))


TABLE = Table(
    "alt_test",
    alt_test,
    COLUMNS,
    METHODS,
    heading=_("Judge in place of a person"),
    section="agreement",
    empty=_("No conversation that a judge scored has two or more raters of the same kind."),
    aside=("epsilon",),
)
