"""The rise of a judge's scores with the length of the replies, within an arm."""

from collections.abc import Iterator

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array, Bootstrap, number_names, sum_by_cluster
from studies.analysis.frames import FINAL, Export
from studies.analysis.notes import Note
from studies.analysis.rows import Cells, Labels, Row, Undefined
from studies.analysis.tables.judged import ALL, OF, add_resampled, key_columns

LENGTH, SLOPE = "length", "slope_per_sd"


def length_slopes(plain: pd.DataFrame, export: Export, bootstrap: Bootstrap) -> Iterator[Cells]:
    """Yield the rows on how scores rise with length; conversations without an arm are left out."""
    arms = export.chats["arm"]
    final = plain[(plain["moment"] == FINAL) & plain["conversation"].isin(arms.index[arms != ""])]
    for key, rows in final.groupby(OF):
        labels = key_columns(OF, key) | {"variant": LENGTH, "statistic": SLOPE}
        if export.replies is not None:
            yield _length(labels, rows, export, bootstrap)
        elif labels["item"] == ALL:
            row = Row(**labels, n=0, clusters=0)
            row.leave_out("estimate", "low", "high", because=Note("no_turns_file"))
            yield row.cells()


def _length(labels: Labels, rows: pd.DataFrame, export: Export, bootstrap: Bootstrap) -> Cells:
    assert export.replies is not None  # noqa: S101 - asked before
    replies = export.replies
    mean = replies.groupby("conversation")["characters"].mean()
    language = replies.drop_duplicates("conversation").set_index("conversation")["language"]
    measured = rows[rows["conversation"].isin(mean.index)]
    about = export.chats.loc[measured["conversation"]]
    x, y = mean.loc[measured["conversation"]].to_numpy(float), measured["score"].to_numpy(float)
    groups = number_names(about["arm"].to_numpy(str) + "\0" + language.loc[measured["conversation"]].to_numpy(str))
    clusters = number_names(about["cluster"])
    row = Row(**labels, n=len(measured), clusters=len(set(clusters)))
    with row.leave_out_if_undefined("estimate", "low", "high"):
        if not len(measured):
            raise Undefined("conversations_not_in_turns")
        x = (x - x.mean()) / (_spread(x, groups) or 1.0)
        sums = sum_by_cluster(_by_group(x, y - y.mean(), groups), clusters)
        row.values["estimate"] = _slope_of(sums.sum(axis=0))
        add_resampled(row, lambda: bootstrap.resample(_slope, sums))
    return row.cells()


def _spread(x: Array, groups: NDArray[np.intp]) -> float:
    """Return the standard deviation of lengths within the groups: the unit of lengths, the same in all resamples."""
    sizes = np.bincount(groups)
    means = np.bincount(groups, x) / sizes
    free = len(x) - len(sizes)
    return float(np.sqrt(((x - means[groups]) ** 2).sum() / free)) if free > 0 else 0.0


def _by_group(x: Array, y: Array, groups: NDArray[np.intp]) -> Array:
    """Return rows × sums: x², xy, and for each group n, x and y, which are 0 in the rows of the others."""
    marks = (groups[:, np.newaxis] == np.arange(groups.max() + 1)).astype(float)
    return np.column_stack([x * x, x * y, marks, marks * x[:, np.newaxis], marks * y[:, np.newaxis]])


def _slope(sums: Array) -> Array:
    """Return the slope of the deviations from each group's means; nan where no group has lengths that vary."""
    squares, products = sums[..., 0], sums[..., 1]
    n, x, y = np.split(sums[..., 2:], 3, axis=-1)
    there = np.maximum(n, 1)
    within, together = squares - (x * x / there).sum(axis=-1), products - (x * y / there).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(within > 1e-9 * np.maximum(squares, 1), together / within, np.nan))


def _slope_of(sums: Array) -> float:
    slope = float(_slope(sums))
    if np.isnan(slope):
        raise Undefined("lengths_alike")
    return slope
