"""arms.csv: the mean of each item for each arm, as each group of raters saw it, pooled and by what may differ.

The tables of arms by judge, condition and language are EmoHarbor's (tables 3 and 5).
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array, Bootstrap, Inference, mean, number_names, sum_by_cluster
from studies.analysis.frames import FINAL, Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.notes import Note
from studies.analysis.pooling import ALL_ITEMS, PARTS, POOLED
from studies.analysis.raters import read_group
from studies.analysis.rows import Cells, Labels, Row, Undefined
from studies.analysis.tables.inferences import add_inference
from studies.analysis.tables.scores import mean_of_items, mean_of_raters, scores_of_raters
from studies.analysis.tables.table import Parts, Table

COLUMNS = [
    "arm",
    "raters",
    "item",
    "n",
    "mean",
    "low",
    "high",
    "sd",
    "judge",
    "strategy",
    "seekers",
    "condition",
    "language",
    "instrument",
    "moment",
    "clusters",
    "note",
]
METHODS = {
    "mean": _(
        "over conversations, raters averaged first; BCa interval (95 %), participants (else conversations) "
        "resampled; of counsellors' own conversations, counsellors"
    ),
    "judge": _(
        "* pools all judges of a role, kinds of seekers, conditions or languages; where there are several, final "
        "ratings also have rows of single ones"
    ),
    "item": _("* is the mean over the items, of conversations in which all were scored; of final ratings"),
}
SCALE = ["group", "instrument", "moment"]
OF_CONVERSATION = ["cluster", "seekers", "condition", "language"]


def arm_means(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (arm, its rows); n is the number of conversations (at `turn` and `checkpoint`: of ratings in them).

    Several raters of a conversation count as one, their mean. Conversations without an arm are left out.
    """
    scores = with_parts(scores_of_raters(export.ratings), export)
    by_scale = scores.groupby(SCALE, observed=True)
    parts, items = {key: _parts_of(of_scale) for key, of_scale in by_scale}, by_scale["item"].nunique()
    for arm, of_arm in scores[scores["arm"] != ""].groupby("arm", observed=True):
        rows = []
        for key, of_scale in of_arm.groupby(SCALE, observed=True):
            labels = {"arm": arm, **dict(zip(("raters", "instrument", "moment"), key, strict=True))}
            for part, means in _split(of_scale, items[key], *parts[key]):
                for item, group in means.groupby("item", observed=True, sort=False):
                    rows.append(_row(labels | part | {"item": str(item)}, group, bootstrap))
        yield str(arm), rows


def of_items(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of arms.csv that are of one item and pool all else."""
    pooled = pooled_rows(table)
    return pooled[pooled["item"] != ALL_ITEMS]


def pooled_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of arms.csv that pool everything."""
    return table[table[list(PARTS)].isin([POOLED, ""]).all(axis=1)]


def single_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of arms.csv that do not pool everything."""
    return table.drop(index=pooled_rows(table).index)


def with_parts(scores: pd.DataFrame, export: Export) -> pd.DataFrame:
    """Return scores with the columns PARTS, `arm` and `cluster`; `judge` is empty of other raters."""
    names = scores["conversation"].astype(str)
    about = export.conversations.loc[names]
    languages = export.chats["language"].reindex(names).fillna("")
    judges = scores["group"].astype(str).str.startswith("judge")
    return scores.assign(
        arm=about["arm"].to_numpy(str),
        cluster=about["cluster"].to_numpy(str),
        judge=scores["rater"].astype(str).where(judges, "").to_numpy(str),
        seekers=about["seeker_kind"].to_numpy(str),
        condition=about["condition"].to_numpy(str),
        language=languages.to_numpy(str),
    )


def _parts_of(scores: pd.DataFrame) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """Return the judges, the pairs of seekers and condition, and the languages, each empty where there is one alone.

    Ratings that are not final are not split.
    """
    if str(scores["moment"].iloc[0]) != FINAL:
        return [], [], []
    judges = sorted(set(scores["judge"]) - {""})
    kinds = sorted(set(zip(scores["seekers"], scores["condition"], strict=True)) - {("", "")})
    languages = sorted(set(scores["language"]) - {""})
    return _several(judges), _several(kinds), _several(languages)


def _several(values: list[Any]) -> list[Any]:
    return values if len(values) > 1 else []


def _split(
    scores: pd.DataFrame, items: int, judges: list[str], kinds: list[tuple[str, str]], languages: list[str]
) -> Iterator[tuple[Labels, pd.DataFrame]]:
    """Yield (PARTS and strategy, the means of these), all together first; a part without scores is left out."""
    group = read_group(str(scores["group"].iloc[0]))
    for judge in [POOLED, *judges]:
        means = _means(scores if judge == POOLED else scores[scores["judge"] == judge], items)
        for kind, language in product([None, *kinds], [POOLED, *languages]):
            seekers, condition = kind or (POOLED, POOLED)
            part = {"seekers": seekers, "condition": condition, "language": language}
            rows = means
            for name, value in part.items():
                if value != POOLED:
                    rows = rows[rows[name] == value]
            if len(rows):
                yield {"judge": judge if group.is_of_judges else ""} | part | {"strategy": group.strategy}, rows


def _means(scores: pd.DataFrame, items: int) -> pd.DataFrame:
    """Return a score for each item and conversation with what is known of it; of final ratings also the mean over all
    `items`."""
    if scores.empty:
        return scores
    means = mean_of_raters(scores)
    if items > 1 and str(scores["moment"].iloc[0]) == FINAL:
        means = means.astype({"item": str})
        means = pd.concat([means, mean_of_items(means, items)])
    return means.join(scores.drop_duplicates("conversation").set_index("conversation")[OF_CONVERSATION], "conversation")


def _row(labels: Labels, scores: pd.DataFrame, bootstrap: Bootstrap) -> Cells:
    values = scores["score"].to_numpy(float)
    clusters = number_names(scores["cluster"])
    row = Row(**labels, n=len(values))
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

    def infer() -> Inference:
        if np.ptp(values) == 0 and len(values) > 1:
            raise Undefined(alike)
        return bootstrap.resample(mean, sum_by_cluster(np.column_stack([np.ones_like(values), values]), clusters))

    add_inference(row, infer)


def add_mean(
    row: Row, values: Array, clusters: NDArray[np.str_], bootstrap: Bootstrap, *, alike: str, nothing: str
) -> None:
    """Add `n`, `clusters` and the mean as `estimate` with its interval; where there are no values the reason.

    `clusters`: the name of each value's; `alike` as in `add_interval`; `nothing`: the code of that reason.
    """
    row.values |= {"n": len(values), "clusters": len(set(clusters))}
    if len(values):
        row.values["estimate"] = float(values.mean())
        add_interval(row, values, number_names(clusters), bootstrap, alike=alike)
    else:
        row.leave_out("estimate", "low", "high", because=Note(nothing))


TABLE = Table(
    "arms",
    arm_means,
    COLUMNS,
    METHODS,
    heading=_("Means of the arms"),
    empty=_("No rating belongs to an arm."),
    aside=("method",),
)
