"""All judges of one strategy and role as a panel, by the mean of those who gave a score: rows of sensitivity.csv."""

from collections.abc import Iterator

import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import Export
from studies.analysis.measures import correlation
from studies.analysis.notes import Note
from studies.analysis.pooling import POOLED
from studies.analysis.rows import Cells, Labels, Row
from studies.analysis.tables.agreement import SCALE, UNIT, Paired, add_interval_of_r, paired_sides, sampling_of

PANEL = "panel"
LEAST = 2  # judges


def panels(export: Export, bootstrap: Bootstrap) -> Iterator[Cells]:
    """Yield the r of each panel of two judges or more with each kind of people."""
    ratings = export.ratings.astype(dict.fromkeys(["rater", "rater_kind", "strategy", "role", *SCALE, *UNIT], str))
    people = ratings[ratings["rater_kind"] != "judge"]
    for (strategy, role), judged in ratings[ratings["rater_kind"] == "judge"].groupby(["strategy", "role"]):
        members = judged["rater"].nunique()
        if members < LEAST:
            continue
        means = judged.groupby([*SCALE, *UNIT, "rater"])["score"].mean().groupby([*SCALE, *UNIT]).mean().reset_index()
        panel = means.assign(rater=POOLED, rater_kind="judge", strategy=strategy, replicate="")
        for paired in paired_sides(pd.concat([people, panel]), with_means=True):
            if ":" not in paired.labels["human"]:
                about = {"role": str(role), "variant": PANEL, "statistic": "pearson"}
                yield _row(paired, about, members, export, bootstrap)


def _row(paired: Paired, about: Labels, members: int, export: Export, bootstrap: Bootstrap) -> Cells:
    both = paired.scores()
    human, panel = both["human"].to_numpy(float), both["judge"].to_numpy(float)
    sampling = sampling_of(paired, both, export.conversations, bootstrap)
    row = Row(**paired.labels, **about, n=len(both), clusters=int(sampling.clusters.max()) + 1)
    row.compute("estimate", lambda: correlation.pearson(human, panel))
    add_interval_of_r(row, human, panel, sampling)
    row.add_notes(Note("panel_of", count=members))
    return row.cells()
