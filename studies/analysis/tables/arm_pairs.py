"""arm_pairs.csv: each arm against each other, paired by the people or profiles that met both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Array, Bootstrap
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.notes import Note
from studies.analysis.rows import Cells, Labels, Row
from studies.analysis.tables import effects
from studies.analysis.tables.effects import D_Z, add_d_z, add_t_test, add_wilcoxon
from studies.analysis.tables.families import adjust
from studies.analysis.tables.table import Parts, Table
from studies.analysis.tables.whom import scores_by_cluster

OF = ["raters", "seekers", "condition", "instrument", "moment", "item"]
FURTHER = ("wilcoxon_p", *D_Z)
COLUMNS = [
    "raters",
    "instrument",
    "item",
    "arm_a",
    "arm_b",
    "difference",
    "low",
    "high",
    "p",
    "p_holm",
    "n",
    "clusters",
    "seekers",
    "condition",
    "note",
]
METHODS = {
    "difference": _(
        "arm_a minus arm_b, of final scores; mean over the users (people or profiles, each with the mean of their "
        "conversations) that met both; interval (95 %) by Student's t of these differences"
    ),
    "p": _("paired t test, two-sided, from the same error as the interval, so that both agree"),
    "p_holm": _("of p: Holm over the pairs of an item; two arms that no one scored differently count as p = 1"),
} | effects.METHODS


@dataclass(frozen=True)
class Compared:
    """Two arms or more as the same kind of raters scored them, `labels` by OF.

    `scores` and `conversations` (how many) are users × arms; nan where a user did not meet an arm.
    """

    labels: Labels
    arms: list[str]
    scores: Array
    conversations: Array

    def complete(self) -> "Compared":
        """Return the scores of the users that met every arm."""
        everywhere = ~np.isnan(self.scores).any(axis=1)
        if everywhere.all():
            return self
        # Arm by arm in memory, as pandas has a part of a frame: sums keep the order that they had in earlier versions.
        columns = (np.asfortranarray(values[everywhere]) for values in (self.scores, self.conversations))
        return Compared(self.labels, self.arms, *columns)

    def n_conversations(self) -> int:
        return int(np.nansum(self.conversations))


def comparisons(export: Export, ratings: pd.DataFrame | None = None) -> Iterator[Compared]:
    """Yield what is compared, of some ratings or all, ordered by kind of raters first."""
    for key, group in scores_by_cluster(export, export.ratings if ratings is None else ratings).groupby(OF):
        if group["arm"].nunique() > 1:
            yield _make_compared(dict(zip(OF, map(str, key), strict=True)), group)


def _make_compared(labels: Labels, group: pd.DataFrame) -> Compared:
    users, user = np.unique(group["cluster"].to_numpy(str), return_inverse=True)
    arms, arm = np.unique(group["arm"].to_numpy(str), return_inverse=True)
    wide = np.full((2, len(users), len(arms)), np.nan)
    wide[:, user, arm] = group[["score", "conversations"]].to_numpy(float).T
    return Compared(labels, arms.tolist(), *wide)


def arm_pairs(export: Export, _bootstrap: Bootstrap) -> Parts:
    """Yield (kind of raters, its rows)."""
    for raters, items in groupby(comparisons(export), key=lambda item: item.labels["raters"]):
        rows = [row_of(item, arms) for item in items for arms in combinations(item.arms, 2)]
        yield raters, adjust(rows, lambda row: tuple(row[name] for name in OF), undecided=lambda row: row["clusters"])


def scores_of_pair(item: Compared, arms: Sequence[str]) -> Compared:
    """Return the scores of these two arms by the users that met both."""
    places = [item.arms.index(arm) for arm in arms]
    return Compared(item.labels, list(arms), item.scores[:, places], item.conversations[:, places]).complete()


def differences(pair: Compared) -> Array:
    first, second = pair.scores.T
    return np.asarray(first - second)


def row_of(item: Compared, arms: tuple[str, ...]) -> Cells:
    """Return the row of two arms of the item, without p_holm, which needs the other rows."""
    pair = scores_of_pair(item, arms)
    users = len(pair.scores)
    row = Row(**item.labels, arm_a=arms[0], arm_b=arms[1], clusters=users, n=pair.n_conversations(), p_holm=np.nan)
    if users:
        between = differences(pair)
        row.values["difference"] = float(between.mean())
        add_t_test(row, between)
        add_wilcoxon(row, between)
        add_d_z(row, between)
    else:
        row.leave_out("difference", "low", "high", "p", *FURTHER, because=Note("nobody_met_both"))
    return row.cells()


TABLE = Table(
    "arm_pairs",
    arm_pairs,
    COLUMNS,
    METHODS,
    heading=_("Arms compared with each other"),
    section="arms",
    empty=_("No one met two arms."),
    further=FURTHER,
    aside=("moment", "method"),
)
