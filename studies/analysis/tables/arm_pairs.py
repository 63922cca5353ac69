"""arm_pairs.csv: each arm against each other, paired by the people or profiles that met both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from scipy.stats import ttest_1samp  # noqa: TID253

from studies.analysis.bootstrap import Array, Bootstrap
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import paired
from studies.analysis.measures.multiple import benjamini_hochberg
from studies.analysis.notes import Note
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.rows import Row, Undefined
from studies.analysis.tables import effects
from studies.analysis.tables.effects import (
    D_AV,
    D_Z,
    HODGES_LEHMANN,
    RANK_BISERIAL,
    add_effects,
    add_interval_of_difference,
    add_wilcoxon,
)
from studies.analysis.tables.families import adjust
from studies.analysis.tables.table import Table
from studies.analysis.tables.whom import scores_by_cluster

OF = ["raters", "seekers", "condition", "instrument", "moment", "item"]
OF_TESTS = ("wilcoxon_p", "t_p", *RANK_BISERIAL, *D_Z, *D_AV, *HODGES_LEHMANN)
COLUMNS = [
    "raters",
    "instrument",
    "item",
    "moment",
    "arm_a",
    "arm_b",
    "users",
    "difference",
    "low",
    "high",
    "wilcoxon_p",
    "p_holm",
    "p_bh",
    "t_p",
    "rank_biserial",
    *D_Z,
    *HODGES_LEHMANN,
    "n",
    "clusters",
    "seekers",
    "condition",
    "method",
    "note",
    *RANK_BISERIAL[1:],
    *D_AV,
]
METHODS = {
    "difference": _(
        "arm_a minus arm_b, of final scores; mean over the users (people or profiles, each with the mean of their "
        "conversations) that met both; BCa interval (95 %), users resampled, and with fewer than 30 users Student's t "
        "of the differences"
    ),
    "wilcoxon_p": _("Wilcoxon's signed-rank test of these differences, those of 0 dropped; two-sided"),
    "p_holm": _(
        "of wilcoxon_p: Holm over the pairs of an item; two arms that nobody scored differently count as p = 1"
    ),
    "p_bh": _(
        "of wilcoxon_p: Benjamini–Hochberg over all pairs and items of the same raters and moment, counted so too; "
        "item * by itself"
    ),
    "t_p": _("paired t test, two-sided, not adjusted"),
} | effects.METHODS

Found = Iterator[tuple[str, list[dict[str, Any]]]]


@dataclass(frozen=True)
class Compared:
    """Two arms or more as the same kind of raters scored them, `of` by OF.

    `scores` and `conversations` (how many) are users × arms, by name; nan where a user did not meet an arm.
    """

    of: dict[str, str]
    scores: pd.DataFrame
    conversations: pd.DataFrame

    @property
    def arms(self) -> list[str]:
        return [str(arm) for arm in self.scores.columns]

    def complete(self) -> "Compared":
        """Return the scores of the users that met every arm."""
        everywhere = self.scores.notna().all(axis=1)
        return Compared(self.of, self.scores[everywhere], self.conversations[everywhere])

    def values(self) -> Array:
        return np.asarray(self.scores, dtype=np.float64)

    def n_conversations(self) -> int:
        return int(self.conversations.to_numpy(float)[self.scores.notna().to_numpy()].sum())


def comparisons(export: Export, ratings: pd.DataFrame | None = None) -> Iterator[Compared]:
    """Yield what is compared, of some ratings or all, ordered by kind of raters first."""
    for key, group in scores_by_cluster(export, export.ratings if ratings is None else ratings).groupby(OF):
        if group["arm"].nunique() > 1:
            wide = group.pivot(index="cluster", columns="arm", values=["score", "conversations"])
            yield Compared(dict(zip(OF, map(str, key), strict=True)), wide["score"], wide["conversations"])


def arm_pairs(export: Export, bootstrap: Bootstrap) -> Found:
    """Yield (kind of raters, its rows)."""
    for raters, items in groupby(comparisons(export), key=lambda item: item.of["raters"]):
        rows = [row_of(item, arms, bootstrap) for item in items for arms in combinations(item.arms, 2)]
        adjust(rows, lambda row: tuple(row[name] for name in OF), p="wilcoxon_p", undecided=lambda row: row["users"])
        adjust(
            rows,
            _everywhere,
            p="wilcoxon_p",
            into="p_bh",
            correct=benjamini_hochberg,
            undecided=lambda row: row["users"],
        )
        yield raters, rows


def _everywhere(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return the family of all pairs and items of a moment; the mean over all items is its own family."""
    return row["moment"], row["item"] == ALL_ITEMS


def scores_of_pair(item: Compared, arms: Sequence[str]) -> Compared:
    """Return the scores of these two arms by the users that met both."""
    names = list(arms)
    return Compared(item.of, item.scores[names], item.conversations[names]).complete()


def differences(pair: Compared) -> Array:
    first, second = pair.values().T
    return np.asarray(first - second)


def t_test(differences: Array) -> float:
    """Return the two-sided p of a paired t test."""
    if len(differences) < 2:
        raise Undefined("one_pair")
    if np.ptp(np.round(differences, paired.ROUNDED)) == 0:
        raise Undefined("differences_alike")
    return float(ttest_1samp(differences, 0).pvalue)


def row_of(item: Compared, arms: tuple[str, ...], bootstrap: Bootstrap) -> dict[str, Any]:
    """Return the row of two arms of the item, without p_holm and p_bh, which need the other rows."""
    pair = scores_of_pair(item, arms)
    users = len(pair.scores)
    row = Row(**item.of, arm_a=arms[0], arm_b=arms[1], users=users, clusters=users, n=pair.n_conversations())
    row.values |= {"p_holm": np.nan, "p_bh": np.nan}
    if users:
        _compare(row, pair, bootstrap)
    else:
        row.leave_out("difference", "low", "high", *OF_TESTS, because=Note("nobody_met_both"))
    return row.cells()


def _compare(row: Row, pair: Compared, bootstrap: Bootstrap) -> None:
    first, second = pair.values().T
    between = first - second
    row.values["difference"] = float(between.mean())
    add_interval_of_difference(row, between, bootstrap)
    add_wilcoxon(row, between)
    row.compute("t_p", lambda: t_test(between))
    add_effects(row, first, second, bootstrap)


TABLES = (
    Table(
        "arm_pairs",
        arm_pairs,
        COLUMNS,
        METHODS,
        heading=_("Arms compared with each other"),
        section="arms",
        empty=_("No one met two arms."),
    ),
)
