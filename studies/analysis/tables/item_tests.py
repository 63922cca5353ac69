"""item_tests.csv: does a judge agree with people better on one item than on another?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, groupby
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis.bootstrap import (
    Array,
    Bootstrap,
    Inference,
    ResampledTogether,
    pair_moments,
    sum_by_cell,
    sum_by_cluster,
)
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import correlation, dependent
from studies.analysis.measures.multiple import benjamini_hochberg
from studies.analysis.notes import Note
from studies.analysis.rows import Row, Undefined
from studies.analysis.tables.agreement import both_sides
from studies.analysis.tables.families import adjust
from studies.analysis.tables.judged import ALL, clusters_of
from studies.analysis.tables.strategy_tests import add_interval, are_alike, arms_to_draw
from studies.analysis.tables.table import Table

TESTED = ("low", "high", "p", "steiger_z", "steiger_p")
COLUMNS = [
    "judge",
    "strategy",
    "item_first",
    "item_second",
    "r_first",
    "r_second",
    "difference",
    "low",
    "high",
    "p",
    "p_holm",
    "human",
    "instrument",
    "moment",
    "n",
    "clusters",
    "steiger_z",
    "steiger_p",
    "note",
    "method",
    "p_bh",
]
BY = ("judge", "strategy", "human")  # the families for Holm, within a moment
GROUP = (*BY, "instrument", "moment")
MOST_ITEMS = 20  # of an instrument; they are 190 pairs

METHODS = {
    "r_first, r_second": _(
        "Pearson's r of people with a judge on either item, over the conversations that have all four scores; raters "
        "and replicates averaged first"
    ),
    "difference": _("r_second - r_first; interval (95 %) and p as in strategy_tests.csv, both items on the same draws"),
    "p_holm": _("Holm over the pairs of items of a judge × strategy × human × moment"),
    "p_bh": _("of p: Benjamini–Hochberg over all rows of the table"),
    "steiger_z": _(
        "Steiger's Z2* (1980) for r_second = r_first, which have no variable in common, the covariance at their mean; "
        "takes conversations as independent, so it is too sure where a participant has several"
    ),
}


def item_tests(export: Export, bootstrap: Bootstrap) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield (`human × judge × strategy`, nothing) as it goes on, and all rows at its end.

    There is one row per pair of items of an instrument, `item_first` being the first in the alphabet, and one row alone
    of an instrument with too many.
    """
    tests: list[dict[str, Any]] = []
    for (judge, strategy, human), groups in groupby(
        _groups(export.ratings), key=lambda group: tuple(group[0][name] for name in BY)
    ):
        rows = [row for of, items in groups for row in _rows_of(of, items, export, bootstrap)]
        tests += adjust(rows, lambda row: row["moment"], undecided=are_alike)
        yield f"{human} × {judge} {strategy}".rstrip(), []
    yield "all rows", adjust(tests, lambda row: 0, into="p_bh", correct=benjamini_hochberg, undecided=are_alike)


def _groups(ratings: pd.DataFrame) -> Iterator[tuple[dict[str, str], dict[str, pd.DataFrame]]]:
    """Yield GROUP, and by item the scores of both sides; where there are two items or more."""
    for key, found in groupby(both_sides(ratings), key=lambda pair: tuple(pair[0][name] for name in GROUP)):
        items = {of["item"]: both for of, both in found}
        if len(items) > 1:
            yield dict(zip(GROUP, key, strict=True)), items


def _rows_of(
    of: dict[str, str], items: Mapping[str, pd.DataFrame], export: Export, bootstrap: Bootstrap
) -> list[dict[str, Any]]:
    """Return rows without p_bh and p_holm, which need the other rows."""
    if len(items) > MOST_ITEMS:
        return [_row_of_too_many(of, len(items))]
    scores = pd.concat({name: items[name] for name in sorted(items)}, axis=1).sort_index()
    rows = [row for same in _blocks(scores, of["human"], export, bootstrap) for row in same.rows(of)]
    return sorted(rows, key=lambda row: (row["item_first"], row["item_second"]))


def _row_of_too_many(of: dict[str, str], items: int) -> dict[str, Any]:
    row = Row(**of, item_first=ALL, item_second=ALL)
    row.leave_out("r_first", "r_second", "difference", *TESTED, because=Note("too_many_pairs_of_items", count=items))
    return row.cells()


@dataclass(frozen=True)
class Block:
    """Pairs of items of which the same conversations have all four scores: one draw does for all of them.

    `scores`: by item, conversations × (human, judge), without gaps. `lacking`: of each pair, how many conversations
    have both scores of one item alone. `arms`: as `arms_to_draw`.
    """

    pairs: list[tuple[str, str]]
    lacking: list[int]
    scores: Mapping[str, Array]
    clusters: NDArray[np.intp]
    arms: NDArray[np.intp] | None
    bootstrap: Bootstrap

    def rows(self, of: dict[str, str]) -> Iterator[dict[str, Any]]:
        counts = {"n": len(self.clusters), "clusters": len(set(self.clusters))}
        for place, (pair, lacking) in enumerate(zip(self.pairs, self.lacking, strict=True)):
            row = Row(**of, item_first=pair[0], item_second=pair[1], **counts)
            self._fill(row, place)
            if lacking:
                row.add_notes(Note("scored_on_one_item", count=lacking))
            yield row.cells()

    def _fill(self, row: Row, place: int) -> None:
        first, second = (self.scores[item] for item in self.pairs[place])
        row.compute("r_first", lambda: correlation.pearson(*first.T))
        row.compute("r_second", lambda: correlation.pearson(*second.T))
        difference = row.values["r_second"] - row.values["r_first"]
        if np.isnan(difference):
            row.leave_out("difference", because=Note("not_both_r"))
            row.leave_out(*TESTED, because=Note("no_difference"))
            return
        row.values["difference"] = difference
        add_interval(row, lambda: self._inference(place))
        _add_steiger(row, np.corrcoef(np.hstack([second, first]), rowvar=False))

    def _inference(self, place: int) -> Inference:
        if self.arms is None:
            return self._together.one(place)
        first, second = self.pairs[place]
        cells = sum_by_cell(self._moments([second, first]), self.clusters, self.arms)
        later, earlier = np.array([0]), np.array([1])
        return self.bootstrap.resample_two_way(
            lambda sums: dependent.differences_of_r(sums, later, earlier)[..., 0], cells
        )

    @cached_property
    def _together(self) -> ResampledTogether:
        """Return the resampled differences of all pairs, in the order of `pairs`."""
        items = list(self.scores)
        first, second = np.array([[items.index(item) for item in pair] for pair in self.pairs]).T
        sums = sum_by_cluster(self._moments(items), self.clusters)
        return self.bootstrap.resample_together(lambda of: dependent.differences_of_r(of, second, first), sums)

    def _moments(self, items: list[str]) -> Array:
        return np.hstack([pair_moments(*self.scores[item].T) for item in items])


def _blocks(scores: pd.DataFrame, human: str, export: Export, bootstrap: Bootstrap) -> Iterator[Block]:
    """Yield the pairs of items that share the same conversations.

    `scores`: columns item × side, nan where both sides have not scored an item.
    """
    known = {item: scores[item].notna().all(axis=1).to_numpy() for item in scores.columns.unique(0)}
    same: dict[bytes, list[tuple[str, str]]] = {}
    for first, second in combinations(known, 2):
        same.setdefault((known[first] & known[second]).tobytes(), []).append((first, second))
    for whole, pairs in same.items():
        rows = scores[np.frombuffer(whole, dtype=bool)]
        yield Block(
            pairs,
            [int((known[first] ^ known[second]).sum()) for first, second in pairs],
            {item: rows[item].to_numpy(float) for item in sorted({item for pair in pairs for item in pair})},
            clusters_of(rows.index.get_level_values("conversation"), export),
            arms_to_draw(rows, human, export),
            bootstrap,
        )


def _add_steiger(row: Row, r: Array) -> None:
    try:
        tested = dependent.steiger_apart(r, row.values["n"])
    except Undefined as reason:
        row.leave_out("steiger_z", "steiger_p", because=reason.note)
        return
    row.values |= {"steiger_z": tested.statistic, "steiger_p": tested.p}


TABLES = (
    Table(
        "item_tests",
        item_tests,
        COLUMNS,
        METHODS,
        heading=_("Items compared"),
        empty=_("No judge and person scored two items of an instrument."),
    ),
)
