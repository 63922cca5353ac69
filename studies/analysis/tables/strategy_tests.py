"""strategy_tests.csv: does a judge agree with people better under one strategy than under another?"""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, groupby
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis.bootstrap import (
    ALIKE,
    Array,
    Bootstrap,
    Inference,
    number_names,
    refuse_alike,
    sum_by_cell,
    sum_by_cluster,
)
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import correlation, dependent
from studies.analysis.measures.multiple import benjamini_hochberg
from studies.analysis.notes import INTERVAL, Note
from studies.analysis.rows import Row, Undefined
from studies.analysis.tables.agreement import SCALE, both_sides
from studies.analysis.tables.families import adjust
from studies.analysis.tables.judged import clusters_of, key_columns
from studies.analysis.tables.table import Table

MENG = ("meng_z", "meng_p", "meng_low", "meng_high")
TESTED = ("williams_t", "williams_df", "williams_p", "steiger_z", "steiger_p", "zou_low", "zou_high", *MENG)
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
    "r_ab",
    *(name for name in TESTED[1:] if name not in MENG),
    "note",
    "method",
    "p_bh",
    *MENG,
]
FARTHEST = 2.0  # that two correlations can be apart; Student's t does not know it
FAMILY = ("moment", "strategy_a", "strategy_b")  # of one human and judge, for Holm

METHODS = {
    "r_a, r_b, r_ab": _(
        "Pearson's r of people with a judge under either strategy, and of the two strategies, over the conversations "
        "that people and both strategies scored; raters and replicates averaged first"
    ),
    "difference": _(
        "r_b - r_a; BCa interval (95 %), both strategies on the same draws of participants (else conversations); of "
        "counsellors' own conversations counsellors, arms, and the conversations of one with the other are each drawn "
        "alone: two-way variance (Cameron, Gelbach and Miller 2011), Student's t with Satterthwaite's degrees of "
        "freedom"
    ),
    "p": _(
        "two-sided: the difference over its standard error in the same draws, Student's t with one degree of freedom "
        "less than clusters; of counsellors' own conversations as the interval's"
    ),
    "p_holm": _("Holm over the items of a human × judge × moment × pair of strategies"),
    "p_bh": _("of p: Benjamini–Hochberg over all rows of the table"),
    "williams_t": _(
        "Williams' t for r_b = r_a with n - 3 degrees of freedom; takes conversations as independent, so it is too "
        "sure where a participant has several"
    ),
    "steiger_z": _("Steiger's Z1* for r_b = r_a, the covariance at their mean; takes conversations as independent too"),
    "zou_low, zou_high": _(
        "Zou's interval (95 %) of r_b - r_a, from the Fisher intervals of both; takes conversations as independent too"
    ),
    "meng_z, meng_low, meng_high": _(
        "Meng, Rosenthal and Rubin's z for r_b = r_a, and their interval (95 %) of the difference of both Fisher z, "
        "not of both r; takes conversations as independent too"
    ),
}

Key = tuple[str, ...]


def strategy_tests(export: Export, bootstrap: Bootstrap) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield (`human × judge`, nothing) as it goes on, and all rows at its end.

    Of two strategies, `strategy_a` comes first in the alphabet; what only one of them scored is left out and noted.
    """
    tests: list[dict[str, Any]] = []
    for (human, judge), pairs in groupby(
        comparisons(export.ratings), key=lambda pair: (pair[0]["human"], pair[0]["judge"])
    ):
        rows = [row_of(*pair, export, bootstrap) for pair in pairs]
        tests += adjust(rows, lambda row: tuple(row[name] for name in FAMILY), undecided=are_alike)
        yield f"{human} × {judge}", []
    yield "all rows", adjust(tests, lambda row: 0, into="p_bh", correct=benjamini_hochberg, undecided=are_alike)


def comparisons(ratings: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame, pd.DataFrame]]:
    """Yield what each row compares, by human and judge first, and the scores of both sides under either strategy."""
    for (human, judge), of_items in _scores_by_strategy(ratings).items():
        for scale, strategies in of_items.items():
            of = {"judge": judge, "human": human} | key_columns(SCALE, scale)
            for a, b in combinations(sorted(strategies), 2):
                yield of | {"strategy_a": a, "strategy_b": b}, strategies[a], strategies[b]


def _scores_by_strategy(ratings: pd.DataFrame) -> Mapping[tuple[str, str], Mapping[Key, Mapping[str, pd.DataFrame]]]:
    """Return the scores of both sides by (human, judge), SCALE and strategy."""
    found: dict[tuple[str, str], dict[Key, dict[str, pd.DataFrame]]] = {}
    for of, both in both_sides(ratings):
        of_items = found.setdefault((of["human"], of["judge"]), {})
        of_items.setdefault(tuple(of[name] for name in SCALE), {})[of["strategy"]] = both
    return found


def row_of(
    of: dict[str, str], under_a: pd.DataFrame, under_b: pd.DataFrame, export: Export, bootstrap: Bootstrap
) -> dict[str, Any]:
    """Return the row without p_holm and p_bh, which need the other rows."""
    sides = {"human": under_a["human"], "a": under_a["judge"], "b": under_b["judge"]}
    scores = pd.concat(sides, axis=1, join="inner").sort_index()
    clusters = clusters_of(scores.index.get_level_values("conversation"), export)
    row = Row(**of, n=len(scores), clusters=len(set(clusters)))
    _add_correlations(row, *scores.to_numpy(float).T)
    if np.isnan(row.values["difference"]):
        row.leave_out("low", "high", "p", *TESTED, because=Note("no_difference"))
    else:
        arms = arms_to_draw(scores, of["human"], export)
        add_interval(row, lambda: _resample(scores, clusters, arms, bootstrap))
        _add_tests(row)
    if alone := len(under_a) + len(under_b) - 2 * len(scores):
        row.add_notes(Note("scored_by_one_strategy", count=alone))
    return row.cells()


def _add_correlations(row: Row, human: Array, a: Array, b: Array) -> None:
    row.compute("r_a", lambda: correlation.pearson(human, a))
    row.compute("r_b", lambda: correlation.pearson(human, b))
    if np.isnan([row.values["r_a"], row.values["r_b"]]).any():
        row.leave_out("r_ab", "difference", because=Note("not_both_r"))
    else:
        row.values |= {"r_ab": correlation.pearson(a, b), "difference": row.values["r_b"] - row.values["r_a"]}


def arms_to_draw(scores: pd.DataFrame, human: str, export: Export) -> NDArray[np.intp] | None:
    """Return the arms of counsellors' own conversations, which are drawn beside the counsellors; None of all others."""
    about = export.conversations.loc[scores.index.get_level_values("conversation").astype(str)]
    own = human.split(":")[0] == "expert" and bool(about["counsellors"].all())
    return number_names(about["arm"]) if own and about["arm"].nunique() > 1 else None


def are_alike(row: dict[str, Any]) -> bool:
    """Return whether the two r are the same, also in every resample."""
    return bool(abs(row["difference"]) < ALIKE)


def add_interval(row: Row, resample: Callable[[], Inference]) -> None:
    """Add `low`, `high` and `p` of a difference of two r, and the method; or the reason why there are none."""
    try:
        resampled = resample()
        interval = resampled.interval()
        refuse_alike(interval.low, interval.high)
    except Undefined as reason:
        row.leave_out("low", "high", "p", because=reason.note)
        return
    kind = "paired_two_way_bootstrap" if len(resampled.clusters()) > 1 else "paired_bootstrap"
    row.values |= {"low": max(interval.low, -FARTHEST), "high": min(interval.high, FARTHEST), "p": resampled.p_value()}
    row.add_methods(Note(kind, interval=interval.method))
    row.add_notes(*resampled.notes(INTERVAL))


def _resample(
    scores: pd.DataFrame, clusters: NDArray[np.intp], arms: NDArray[np.intp] | None, bootstrap: Bootstrap
) -> Inference:
    human, a, b = (scores - scores.mean()).to_numpy(float).T
    sums = [np.ones_like(human), human, b, a, human * human, b * b, a * a, human * b, human * a]
    if arms is None:
        return bootstrap.resample(dependent.difference_of_r, sum_by_cluster(np.column_stack(sums), clusters))
    return bootstrap.resample_two_way(dependent.difference_of_r, sum_by_cell(np.column_stack(sums), clusters, arms))


def _add_tests(row: Row) -> None:
    """Add the tests that take the rows as independent."""
    found = row.values["r_b"], row.values["r_a"], row.values["r_ab"], row.values["n"]
    try:
        williams, steiger, (low, high) = dependent.williams(*found), dependent.steiger(*found), dependent.zou(*found)
        meng, bounds = dependent.meng(*found)
    except Undefined as reason:
        row.leave_out(*TESTED, because=reason.note)
        return
    row.values |= {"williams_t": williams.statistic, "williams_df": row.values["n"] - 3, "williams_p": williams.p}
    row.values |= {"steiger_z": steiger.statistic, "steiger_p": steiger.p, "zou_low": low, "zou_high": high}
    row.values |= dict(zip(MENG, (meng.statistic, meng.p, *bounds), strict=True))


TABLES = (
    Table(
        "strategy_tests",
        strategy_tests,
        COLUMNS,
        METHODS,
        heading=_("Strategies compared"),
        section="agreement",
        empty=_("No judge rated with two strategies what a person also rated."),
    ),
)
