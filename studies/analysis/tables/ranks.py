"""ranks.csv: where each arm stands among the others, and how firmly."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np

from studies.analysis.bootstrap import Array, Bootstrap
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import ranks as measures
from studies.analysis.notes import Note
from studies.analysis.rows import Row, Undefined
from studies.analysis.tables.arm_pairs import Compared, comparisons
from studies.analysis.tables.arms import add_interval
from studies.analysis.tables.table import Table

COLUMNS = [
    "raters",
    "instrument",
    "item",
    "moment",
    "arm",
    "statistic",
    "estimate",
    "low",
    "high",
    "n",
    "clusters",
    "seekers",
    "condition",
    "method",
    "note",
]
METHODS = {
    "mean_rank": _(
        "mean over the users that met every arm of the rank that each gives it, 1 the highest, midranks where they "
        "tie; BCa interval (95 %), users resampled"
    ),
    "share_best": _("share of these users who scored no arm higher, several such sharing evenly; the same interval"),
    "rank_1, rank_2 …": _(
        "share of the resamples of users (those that met two arms or more) in which the arm stands at this place by "
        "score ~ arm + user, least squares; without gaps that is the order of the means"
    ),
}
WITHIN = {"mean_rank": measures.places_within_users, "share_best": measures.shares_of_best}


def ranks(export: Export, bootstrap: Bootstrap) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield (kind of raters, its rows): item × arm × statistic. `clusters`: the users that count."""
    for raters, items in groupby(comparisons(export), key=lambda item: item.of["raters"]):
        yield raters, [row for item in items for row in _rows(item, bootstrap)]


def _rows(item: Compared, bootstrap: Bootstrap) -> list[dict[str, Any]]:
    found = [*_within_users(item, bootstrap), *_places(item, bootstrap)]
    return sorted(found, key=lambda row: item.arms.index(row["arm"]))


def _within_users(item: Compared, bootstrap: Bootstrap) -> Iterator[dict[str, Any]]:
    complete = item.complete()
    users, left_out = len(complete.scores), len(item.scores) - len(complete.scores)
    about: dict[str, Any] = item.of | {"n": complete.n_conversations(), "clusters": users}
    for statistic, measure in WITHIN.items():
        values = measure(complete.values()) if users else np.zeros((0, len(item.arms)))
        for arm, of_arm in zip(item.arms, values.T, strict=True):
            row = Row(**about, arm=arm, statistic=statistic)
            if not users:
                row.leave_out("estimate", "low", "high", because=Note("no_user_met_all_arms"))
            else:
                row.values["estimate"] = float(of_arm.mean())
                add_interval(row, of_arm, np.arange(users), bootstrap, alike="ranks_alike")
                if left_out:
                    row.add_notes(Note("users_left_out", count=left_out, all=len(item.scores)))
            yield row.cells()


def _places(item: Compared, bootstrap: Bootstrap) -> Iterator[dict[str, Any]]:
    several = item.scores.notna().sum(axis=1) > 1
    met = Compared(item.of, item.scores[several], item.conversations[several])
    about: dict[str, Any] = item.of | {"n": met.n_conversations(), "clusters": len(met.scores)}
    places = [f"rank_{place}" for place in range(1, len(item.arms) + 1)]
    try:
        chances, notes = _chances(met, bootstrap)
    except Undefined as reason:
        for arm in item.arms:
            for place in places:
                row = Row(**about, arm=arm, statistic=place)
                row.leave_out("estimate", "low", "high", because=reason.note)
                yield row.cells()
        return
    for arm, of_arm in zip(item.arms, chances, strict=True):
        for place, chance in zip(places, of_arm, strict=True):
            row = Row(**about, arm=arm, statistic=place, estimate=float(chance))
            row.add_methods(Note("resamples_of_users"))
            row.leave_out("low", "high", because=Note("is_share_of_resamples"))
            row.add_notes(*notes)
            yield row.cells()


def _chances(met: Compared, bootstrap: Bootstrap) -> tuple[Array, list[Note]]:
    """Return arms × places, and the notes on the resamples."""
    if not len(met.scores):
        raise Undefined("nobody_met_two")
    drawn = bootstrap.resample_together(measures.arm_effects, measures.sums_for_effects(met.values()))
    if np.isnan(drawn.estimates).any():
        raise Undefined("arms_not_connected")
    defined = drawn.replicates[np.isfinite(drawn.replicates).all(axis=1)]
    if not len(defined):
        raise Undefined("arms_never_connected")
    missing = len(drawn.replicates) - len(defined)
    notes = [Note("resamples_not_connected", count=missing, all=len(drawn.replicates))]
    return measures.chances_of_places(defined), notes if missing else []


TABLES = (
    Table(
        "ranks",
        ranks,
        COLUMNS,
        METHODS,
        heading=_("Ranks of the arms"),
        section="arms",
        empty=_("No one met two arms."),
    ),
)
