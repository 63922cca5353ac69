"""arms.csv: the mean of each item for each arm, as each group of raters saw it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array, Bootstrap, mean, sum_by_cluster
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.notes import INTERVAL, Note
from studies.analysis.rows import Row, Undefined
from studies.analysis.tables.table import Table

COLUMNS = [
    "arm",
    "raters",
    "item",
    "n",
    "mean",
    "low",
    "high",
    "sd",
    "instrument",
    "moment",
    "clusters",
    "note",
    "method",
]
METHODS = {
    "mean": _(
        "over conversations, raters averaged first; BCa interval (95 %), participants (else conversations) "
        "resampled; of counsellors' own conversations, counsellors"
    ),
}
SCORED = ["group", "instrument", "moment", "item", "conversation", "turn"]


def arm_means(export: Export, bootstrap: Bootstrap) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield (arm, its rows); n is the number of conversations (at `turn` and `checkpoint`: of ratings in them).

    Several raters of a conversation count as one, their mean. Conversations without an arm are left out.
    """
    scores = conversation_scores(export.ratings)
    about = export.conversations.loc[scores["conversation"].astype(str)]
    scores = scores.assign(arm=about["arm"].to_numpy(), cluster=about["cluster"].to_numpy())
    for arm, of_arm in scores[scores["arm"] != ""].groupby("arm", observed=True):
        rows = []
        for (raters, instrument, moment, item), group in of_arm.groupby(SCORED[:4], observed=True):
            of = {"arm": arm, "raters": raters, "instrument": instrument, "moment": moment, "item": item}
            rows.append(_row(of, group, bootstrap))
        yield str(arm), rows


def conversation_scores(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over the raters of a group: columns SCORED and `score`."""
    each = ratings.groupby([*SCORED, "rater"], observed=True)["score"].mean()
    return each.groupby(SCORED, observed=True).mean().reset_index()


def _row(of: dict[str, str], scores: pd.DataFrame, bootstrap: Bootstrap) -> dict[str, Any]:
    values = scores["score"].to_numpy(float)
    clusters = np.unique(scores["cluster"].to_numpy(str), return_inverse=True)[1]
    row = Row(**of, n=len(values))
    row.values |= {"mean": float(values.mean()), "clusters": int(clusters.max()) + 1}
    if len(values) > 1:
        row.values["sd"] = float(values.std(ddof=1))
    else:
        row.leave_out("sd", because=Note("one_conversation"))
    add_interval(row, values, clusters, bootstrap, alike="scores_alike")
    return row.cells()


def add_interval(row: Row, values: Array, clusters: NDArray[np.intp], bootstrap: Bootstrap, *, alike: str) -> None:
    """Add `low` and `high` of the mean.

    `clusters`: that of each value, numbered from 0; `alike`: the code of the note where the values do not vary.
    """
    try:
        if np.ptp(values) == 0 and len(values) > 1:
            raise Undefined(alike)
        resampled = bootstrap.resample(mean, sum_by_cluster(np.column_stack([np.ones_like(values), values]), clusters))
    except Undefined as reason:
        row.leave_out("low", "high", because=reason.note)
    else:
        interval = resampled.interval()
        row.values |= {"low": interval.low, "high": interval.high}
        row.add_methods(Note("cluster_bootstrap", interval=interval.method))
        row.add_notes(*resampled.notes(INTERVAL))


TABLES = (
    Table(
        "arms",
        arm_means,
        COLUMNS,
        METHODS,
        heading=_("Means of the arms"),
        section="arms",
        empty=_("No rating belongs to an arm."),
    ),
)
