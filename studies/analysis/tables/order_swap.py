"""The judges' verdicts on pairs that they saw in both orders."""

from collections.abc import Iterator

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis.bootstrap import Bootstrap, number_names
from studies.analysis.frames import Export, read_pairs
from studies.analysis.measures.proportions import wilson
from studies.analysis.notes import Note
from studies.analysis.rows import Cells, Labels, Row
from studies.analysis.tables.arms import add_interval
from studies.analysis.tables.judged import key_columns

ORDER_SWAP, CONSISTENT, FIRST_BIAS = "order_swap", "share_consistent", "first_bias"


def orders(export: Export, bootstrap: Bootstrap) -> Iterator[Cells]:
    path = export.folder / "pairs.csv"
    if not path.is_file():
        return
    table = read_pairs(path)
    judged = table[(table["rater_kind"] == "judge") & (table["shown_first"] != "")]
    if "conversations.csv" in export.rows:
        chats = export.chats.index
        judged = judged[judged["conversation_a"].isin(chats) & judged["conversation_b"].isin(chats)]
    for key, rows in judged.groupby(["rater", "instrument", "question"]):
        labels = key_columns(["judge", "instrument", "item"], key) | {"strategy": "", "moment": ""}
        roles = {"role": role} if (role := max(rows["role"])) else {}
        yield from _order(labels | {"variant": ORDER_SWAP} | roles, rows, export, bootstrap)


def _order(labels: Labels, rows: pd.DataFrame, export: Export, bootstrap: Bootstrap) -> Iterator[Cells]:
    first = rows.drop_duplicates(["pair", "shown_first"])
    verdicts = first.pivot(index="pair", columns="shown_first", values="verdict")
    both = verdicts.reindex(columns=["a", "b"]).dropna()
    sides = rows.drop_duplicates("pair").set_index("pair").loc[both.index]
    clusters = clusters_of_pairs(sides, export)
    same = (both["a"] == both["b"]).to_numpy(float)
    for_first = sum((both[side] == side).astype(float) - (both[side] == _other(side)).astype(float) for side in "ab")
    for statistic, values in ((CONSISTENT, same), (FIRST_BIAS, np.asarray(for_first, float) / 2)):
        row = Row(**labels, statistic=statistic, n=len(both), clusters=len(set(clusters)))
        if alone := len(verdicts) - len(both):
            row.add_notes(Note("pairs_in_one_order", count=alone))
        if not len(both):
            row.leave_out("estimate", "low", "high", "share_changed", because=Note("no_pair_in_both_orders"))
            yield row.cells()
            continue
        row.values |= {"estimate": float(values.mean()), "share_changed": float(1 - same.mean())}
        if statistic == CONSISTENT and not np.ptp(values):
            # All pairs are alike, so nothing varies when they are drawn again.
            row.values |= dict(zip(("low", "high"), wilson(float(same.mean()), row.values["clusters"]), strict=True))
            row.add_methods(Note("wilson_of_pairs"))
        else:
            add_interval(row, values, clusters, bootstrap, alike="verdicts_alike")
        yield row.cells()


def _other(side: str) -> str:
    return "b" if side == "a" else "a"


def clusters_of_pairs(sides: pd.DataFrame, export: Export) -> NDArray[np.intp]:
    """Return the first in the alphabet of two different clusters, so that it does not matter which side is called a."""
    chats = export.chats["cluster"]
    names = [sides[f"conversation_{side}"].map(lambda code: chats.get(code, f"conversation {code}")) for side in "ab"]
    return number_names(names[0].where(names[0] <= names[1], names[1]))
