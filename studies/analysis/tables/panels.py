"""All judges of one strategy and role as a panel, by the mean of those who gave a score: rows of probes.csv."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap, fisher_z, pair_moments, sum_by_cluster
from studies.analysis.frames import Export
from studies.analysis.jackknife import infer_r
from studies.analysis.measures import correlation
from studies.analysis.notes import Note
from studies.analysis.pooling import POOLED
from studies.analysis.rows import Row
from studies.analysis.tables.agreement import both_sides
from studies.analysis.tables.judged import SCALE, UNIT, add_resampled, clusters_of

PANEL = "panel"
LEAST = 2  # judges


def panels(export: Export, bootstrap: Bootstrap) -> Iterator[dict[str, Any]]:
    """Yield the r of each panel with each kind of people; one judge is no panel."""
    ratings = export.ratings.astype(dict.fromkeys(["rater", "rater_kind", "strategy", "role", *SCALE, *UNIT], str))
    people = ratings[ratings["rater_kind"] != "judge"]
    for (strategy, role), judged in ratings[ratings["rater_kind"] == "judge"].groupby(["strategy", "role"]):
        members = judged["rater"].nunique()
        if members < LEAST:
            continue
        means = judged.groupby([*SCALE, *UNIT, "rater"])["score"].mean().groupby([*SCALE, *UNIT]).mean().reset_index()
        panel = means.assign(rater=POOLED, rater_kind="judge", strategy=strategy, replicate="")
        for of, both in both_sides(pd.concat([people, panel]), with_means=True):
            if ":" not in of["human"]:
                about = of | {"role": str(role), "variant": PANEL, "statistic": "pearson"}
                yield _row(about, both, members, export, bootstrap)


def _row(of: dict[str, Any], both: pd.DataFrame, members: int, export: Export, bootstrap: Bootstrap) -> dict[str, Any]:
    human, panel = both["human"].to_numpy(float), both["judge"].to_numpy(float)
    clusters = clusters_of(both.index.get_level_values("conversation"), export)
    row = Row(**of, n=len(both), clusters=len(set(clusters)))
    row.compute("estimate", lambda: correlation.pearson(human, panel))
    if np.isnan(row.values["estimate"]):
        row.leave_out("low", "high", because=Note("no_r"))
    else:
        sums = sum_by_cluster(pair_moments(human, panel), clusters)
        add_resampled(row, lambda: infer_r(fisher_z, sums, bootstrap), lambda z: float(np.tanh(z)))
    row.add_notes(Note("panel_of", count=members))
    return row.cells()
