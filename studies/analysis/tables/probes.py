"""Rows of sensitivity.csv: what should not influence a judge's scores: wording, chance, length, order, its own kin."""

from collections.abc import Iterator

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Array, Bootstrap, sum_by_cluster
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.notes import Note
from studies.analysis.rows import ESTIMATE, Cells, Labels, Row
from studies.analysis.tables.arms import add_interval
from studies.analysis.tables.judged import (
    JUDGE,
    OF,
    SCALE,
    UNIT,
    add_resampled,
    clusters_of,
    judged_rows,
    key_columns,
    scores_of,
)
from studies.analysis.tables.length_slope import LENGTH, length_slopes
from studies.analysis.tables.order_swap import ORDER_SWAP, orders
from studies.analysis.tables.panels import PANEL, panels
from studies.analysis.tables.self_preference import SELF_PREFERENCE, preferences
from studies.analysis.tables.table import Parts, Table

COLUMNS = [
    *JUDGE,
    "variant",
    "item",
    *ESTIMATE,
    "statistic",
    "instrument",
    "moment",
    "human",
]
FURTHER = ["share_changed"]
METHODS = {
    "difference": _(
        "a judge asked in another way minus the same judge as it is, over what both scored, its replicates "
        "averaged; share_changed: of these scores, those that are not the same"
    ),
    "within_sd": _("root of the pooled variance of a judge's replicates"),
    "share_consistent": _(
        "of the pairs that a judge saw in both orders: those of which it said the same, ties among them; "
        "first_bias: how often it chose what stood first minus what stood second, over both orders"
    ),
    "slope_per_sd": _(
        "least squares of the score on the mean length of the conversation's replies, within arm and language, for one "
        "standard deviation of that length there"
    ),
    "interaction": _(
        "how much higher a judge scores supporters of its own maker than judges of other makers do, minus the same "
        "of other supporters; makers by the models' names"
    ),
    "pearson": _(
        "variant panel: Pearson's r of people (human) with the mean over all judges of a strategy and role who gave a "
        "score, interval as in agreement.csv; their agreement is in reliability.csv"
    ),
}
REPEAT, DIFFERENCE, WITHIN_SD = "repeat", "difference", "within_sd"
VARIED = [*JUDGE, "variant", *SCALE]
SAME = 1e-9  # scores that are closer than this are the same


def probes(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (what was probed, its rows).

    Item `*` is the mean over an instrument's items; n counts conversations (at `turn` and `checkpoint`: ratings in
    them) or pairs. Intervals: cluster bootstrap.
    """
    plain = scores_of(export.ratings)
    yield "variants", list(_variants(plain, export, bootstrap))
    yield REPEAT, list(_repeats(export, bootstrap))
    yield ORDER_SWAP, list(orders(export, bootstrap))
    yield LENGTH, list(length_slopes(plain, export, bootstrap))
    yield SELF_PREFERENCE, list(preferences(plain, export, bootstrap))
    yield PANEL, list(panels(export, bootstrap))


# Asked in another way


def _variants(plain: pd.DataFrame, export: Export, bootstrap: Bootstrap) -> Iterator[Cells]:
    answers = judged_rows(export.variants)
    lacking = answers[answers["score"].isna()].groupby(VARIED).size().to_dict()
    unchanged = {key: rows.set_index(UNIT)["score"] for key, rows in plain.groupby(OF)}
    varied = {key: rows.set_index(UNIT)["score"] for key, rows in scores_of(export.variants).groupby(VARIED)}
    nothing = plain.set_index(UNIT)["score"][:0]
    for key in sorted({*varied, *lacking}):
        labels = key_columns(VARIED, key)
        same = tuple(labels[name] for name in OF)
        sides = {"plain": unchanged.get(same, nothing), "varied": varied.get(key, nothing)}
        both = pd.concat(sides, axis=1, join="inner").sort_index()
        yield _difference(labels, both, lacking.get(key, 0), export, bootstrap)


def _difference(labels: Labels, both: pd.DataFrame, lacking: int, export: Export, bootstrap: Bootstrap) -> Cells:
    differences = (both["varied"] - both["plain"]).to_numpy(float)
    clusters = clusters_of(both.index.get_level_values("conversation"), export)
    row = Row(**labels, statistic=DIFFERENCE, n=len(both), clusters=len(set(clusters)))
    if lacking:
        row.add_notes(Note("probe_without_score", count=lacking))
    if not len(both):
        row.leave_out("estimate", "low", "high", "share_changed", because=Note("not_scored_twice"))
        return row.cells()
    changed = np.abs(differences) > SAME
    row.values |= {"estimate": float(differences.mean()), "share_changed": float(changed.mean())}
    add_interval(row, differences, clusters, bootstrap, alike="differences_alike")
    return row.cells()


# Asked again


def _repeats(export: Export, bootstrap: Bootstrap) -> Iterator[Cells]:
    answers = judged_rows(pd.concat([export.ratings, export.variants])).dropna(subset="score")
    for key, rows in answers.groupby(VARIED):
        scores = rows.groupby([*UNIT, "replicate"])["score"].mean().groupby(UNIT)
        spread = pd.DataFrame({"size": scores.size(), "var": scores.var(), "range": scores.max() - scores.min()})
        spread = spread[spread["size"] > 1]
        if len(spread):
            labels = key_columns(VARIED, key)
            yield _repeat(labels | {"variant": labels["variant"] or REPEAT}, spread, export, bootstrap)


def _repeat(labels: Labels, spread: pd.DataFrame, export: Export, bootstrap: Bootstrap) -> Cells:
    clusters = clusters_of(spread.index.get_level_values("conversation"), export)
    freedom = spread["size"].to_numpy(float) - 1
    squares = spread["var"].to_numpy(float) * freedom
    row = Row(**labels, statistic=WITHIN_SD, n=len(spread), clusters=len(set(clusters)))
    row.values |= {"estimate": _root(np.array([freedom.sum(), squares.sum()])).item()}
    row.values["share_changed"] = float((spread["range"] > SAME).mean())
    if not squares.any():
        row.leave_out("low", "high", because=Note("replicates_alike"))
        return row.cells()
    sums = sum_by_cluster(np.column_stack([freedom, squares]), clusters)
    add_resampled(row, lambda: bootstrap.resample(_root, sums))
    return row.cells()


def _root(sums: Array) -> Array:
    return np.asarray(np.sqrt(sums[..., 1] / sums[..., 0]))


TABLE = Table(
    "probes",
    probes,
    COLUMNS,
    METHODS,
    heading=_("What influences judges' scores"),
    empty=_("No judge rated anything."),
    further=FURTHER,
    file="sensitivity",
    rearrange=lambda rows: rows.rename(columns={"human": "raters"}),
)
