"""strategy_tests.csv: does a judge agree with people better under one strategy than under another?"""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, groupby
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from dialogue.judges.fields import get_field_left_out
from studies.analysis.bootstrap import (
    ALIKE,
    Bootstrap,
    Inference,
    Interval,
    number_names,
    refuse_alike,
    sum_by_cell,
    sum_by_cluster,
)
from studies.analysis.frames import VARIANT, Export
from studies.analysis.jackknife import infer, method_of_difference
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import correlation, dependent
from studies.analysis.notes import Note
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.rows import Cells, Labels, Row, Undefined
from studies.analysis.tables.agreement import SCALE, both_sides
from studies.analysis.tables.families import adjust
from studies.analysis.tables.inferences import add_inference
from studies.analysis.tables.judged import clusters_of, key_columns
from studies.analysis.tables.table import Parts, Table

INDEPENDENT = ("williams_t", "williams_p")  # of rows that are independent alone
COLUMNS = [
    "judge",
    "item",
    "strategy_a",
    "strategy_b",
    "r_a",
    "r_b",
    "difference",
    "low",
    "high",
    "williams_t",
    "p",
    "p_holm",
    "human",
    "instrument",
    "moment",
    "n",
    "clusters",
    "note",
]
FARTHEST = 2.0  # that two correlations can be apart; Student's t does not know it
FAMILY = ("moment", "strategy_a", "strategy_b")  # of one human and judge, for Holm

METHODS = {
    "r_a, r_b": _(
        "Pearson's r of people with a judge under either strategy, over the conversations that people and both "
        "strategies scored; raters and replicates averaged first"
    ),
    "difference": _(
        "r_b - r_a; interval (95 %) by a jackknife of participants (else conversations), both strategies without the "
        "same one, Student's t with one degree of freedom less than clusters; of counsellors' own conversations "
        "counsellors, arms, and the conversations of one with the other are each left out alone: two-way variance "
        "(Cameron, Gelbach and Miller 2011), Student's t with Satterthwaite's degrees of freedom"
    ),
    "p": _(
        "two-sided: the difference over the standard error of the interval, with its Student's t, so that both agree"
    ),
    "p_holm": _("Holm over the items of a human × judge × moment × pair of strategies"),
    "williams_t": _(
        "Williams' t for r_b = r_a with n - 3 degrees of freedom, where no participant has several conversations; it "
        "takes conversations as independent, so it is left out of all others"
    ),
    "strategy_b": _(
        "STRATEGY~without_FIELD is strategy_a in a judge that was not told a field of the seeker; what was asked only "
        "whole, or only without the field, has no row"
    ),
}

Key = tuple[str, ...]


def strategy_tests(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (`human × judge`, its rows), then those of judges that were not told a field of the seeker.

    Of two strategies, `strategy_a` comes first in the alphabet; what only one of them scored is left out and noted.
    """
    for pairs in (comparisons(export.ratings), _without_a_field(export)):
        for (human, judge), compared in groupby(pairs, key=lambda pair: (pair[0]["human"], pair[0]["judge"])):
            rows = [row_of(*pair, export, bootstrap) for pair in compared]
            yield f"{human} × {judge}", adjust(rows, _family, undecided=are_alike)


def _family(row: Cells) -> tuple[Any, ...]:
    return (*(row[name] for name in FAMILY), is_mean(row))


def is_mean(row: Cells) -> bool:
    """Return whether a row is of the mean over an instrument's items, which is tested by itself."""
    return bool(row["item"] == ALL_ITEMS)


def comparisons(ratings: pd.DataFrame) -> Iterator[tuple[Labels, pd.DataFrame, pd.DataFrame]]:
    """Yield what each row compares, by human and judge first, and the scores of both sides under either strategy."""
    for (human, judge), of_items in _scores_by_strategy(ratings).items():
        for scale, strategies in of_items.items():
            labels = {"judge": judge, "human": human} | key_columns(SCALE, scale)
            for a, b in combinations(sorted(strategies), 2):
                yield labels | {"strategy_a": a, "strategy_b": b}, strategies[a], strategies[b]


def _without_a_field(export: Export) -> Iterator[tuple[Labels, pd.DataFrame, pd.DataFrame]]:
    """Yield what each strategy compares with itself without a field; the field is a part of the second's name."""
    for labels, whole, without in comparisons(_with_variants(export)):
        strategy, _sign, variant = labels["strategy_b"].partition(VARIANT)
        if variant and strategy == labels["strategy_a"]:
            yield labels, whole, without


def _with_variants(export: Export) -> pd.DataFrame:
    """Return the ratings of people and of judges that were also asked without a field, with and without it."""
    texts = {"rater": str, "strategy": str}
    whole, varied = export.ratings.astype(texts), export.variants.dropna(subset="score").astype(texts)
    codes = [code.partition(VARIANT) for code in varied["rater"]]
    named = varied.assign(
        rater=[key for key, _sign, _variant in codes],
        strategy=[
            f"{strategy}{VARIANT}{variant}"
            for strategy, (_key, _sign, variant) in zip(varied["strategy"], codes, strict=True)
        ],
    )
    without_field = named[np.array([bool(get_field_left_out(variant)) for _key, _sign, variant in codes], dtype=bool)]
    people = whole["rater_kind"] != "judge"
    return pd.concat([whole[people | whole["rater"].isin(without_field["rater"])], without_field], ignore_index=True)


def _scores_by_strategy(ratings: pd.DataFrame) -> Mapping[tuple[str, str], Mapping[Key, Mapping[str, pd.DataFrame]]]:
    """Return the scores of both sides by (human, judge), SCALE and strategy."""
    scores: dict[tuple[str, str], dict[Key, dict[str, pd.DataFrame]]] = {}
    for labels, both in both_sides(ratings, with_means=True):
        of_items = scores.setdefault((labels["human"], labels["judge"]), {})
        of_items.setdefault(tuple(labels[name] for name in SCALE), {})[labels["strategy"]] = both
    return scores


def row_of(labels: Labels, under_a: pd.DataFrame, under_b: pd.DataFrame, export: Export, bootstrap: Bootstrap) -> Cells:
    """Return the row without p_holm, which needs the other rows."""
    sides = {"human": under_a["human"], "a": under_a["judge"], "b": under_b["judge"]}
    scores = pd.concat(sides, axis=1, join="inner").sort_index()
    clusters = clusters_of(scores.index.get_level_values("conversation"), export)
    row = Row(**labels, n=len(scores), clusters=len(set(clusters)))
    human, a, b = scores.to_numpy(float).T
    row.compute("r_a", lambda: correlation.pearson(human, a))
    row.compute("r_b", lambda: correlation.pearson(human, b))
    row.compute("difference", lambda: _difference(row))
    if np.isnan(row.values["difference"]):
        row.leave_out("low", "high", "p", *INDEPENDENT, because=Note("no_difference"))
    else:
        arms = arms_to_draw(scores, labels["human"], export)
        add_interval(row, lambda: _infer(scores, clusters, arms, bootstrap))
        _add_williams(row, correlation.pearson(a, b))
    if alone := len(under_a) + len(under_b) - 2 * len(scores):
        row.add_notes(Note("scored_by_one_strategy", count=alone))
    return row.cells()


def _difference(row: Row) -> float:
    if np.isnan([row.values["r_a"], row.values["r_b"]]).any():
        raise Undefined("not_both_r")
    return float(row.values["r_b"] - row.values["r_a"])


def arms_to_draw(scores: pd.DataFrame, human: str, export: Export) -> NDArray[np.intp] | None:
    """Return the arms of counsellors' own conversations, which are drawn beside the counsellors; None of all others."""
    about = export.conversations.loc[scores.index.get_level_values("conversation").astype(str)]
    own = human.split(":")[0] == "expert" and bool(about["counsellors"].all())
    return number_names(about["arm"]) if own and about["arm"].nunique() > 1 else None


def are_alike(row: Cells) -> bool:
    """Return whether the two r are the same, also in every resample."""
    return bool(abs(row["difference"]) < ALIKE)


def add_interval(row: Row, infer_difference: Callable[[], Inference]) -> None:
    """Add `low`, `high` and `p` of a difference of two r, and the method; or the reason why there are none."""
    add_inference(row, infer_difference, method_of_difference, interval_of=_interval_of, p=True)


def _interval_of(inference: Inference) -> Interval:
    interval = inference.interval()
    refuse_alike(interval.low, interval.high)
    return Interval(max(interval.low, -FARTHEST), min(interval.high, FARTHEST), interval.method)


def _infer(
    scores: pd.DataFrame, clusters: NDArray[np.intp], arms: NDArray[np.intp] | None, bootstrap: Bootstrap
) -> Inference:
    human, a, b = (scores - scores.mean()).to_numpy(float).T
    sums = np.column_stack([np.ones_like(human), human, b, a, human * human, b * b, a * a, human * b, human * a])
    of_clusters = sum_by_cluster(sums, clusters) if arms is None else sum_by_cell(sums, clusters, arms)
    return infer(dependent.difference_of_r, of_clusters, bootstrap)


def _add_williams(row: Row, r_ab: float) -> None:
    n, clusters = row.values["n"], row.values["clusters"]
    with row.leave_out_if_undefined(*INDEPENDENT):
        if clusters < n:
            raise Undefined("for_independent_rows", count=n, clusters=clusters)
        test = dependent.williams(row.values["r_b"], row.values["r_a"], r_ab, n)
        row.values |= {"williams_t": test.statistic, "williams_p": test.p}


def is_of_field(table: pd.DataFrame) -> pd.Series:
    """Return which rows compare a judge with and without a field; the others compare two strategies."""
    return table["strategy_b"].str.contains(VARIANT, regex=False)


TABLE = Table(
    "strategy_tests",
    strategy_tests,
    COLUMNS,
    METHODS,
    heading=_("Strategies compared"),
    section="agreement",
    empty=_("No judge rated with two strategies what a person also rated."),
    aside=("williams_p", "method"),
)
