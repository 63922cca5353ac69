"""The length and speed of each arm's replies, and how many had something hidden: rows of costs.csv."""

import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import Export
from studies.analysis.notes import Note
from studies.analysis.pooling import POOLED
from studies.analysis.rows import Cells, Labels, Row
from studies.analysis.tables.arms import add_mean
from studies.analysis.tables.table import Parts

SHOWN = "reply_shown"  # the purpose of these rows
SHARES = ("masked_share", "names_itself_share")
MEASURES = ("characters", "first_token_seconds", "total_seconds", *SHARES)


def reply_lengths(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (arm, its rows), one per language × measure; n is the number of replies of which the measure is known.

    Languages stay apart: a Chinese character is not an English one. Conversations without an arm are left out.
    """
    if export.replies is None:
        yield from _without_turns(export)
        return
    replies = export.replies.rename(columns={"masked": "masked_share", "names_itself": "names_itself_share"})
    for arm, of_arm in replies[replies["arm"] != ""].groupby("arm"):
        rows = []
        for language, of_language in of_arm.groupby("language"):
            for measure in MEASURES:
                rows.append(_row(_of(str(arm), str(language), measure), of_language.dropna(subset=measure), bootstrap))
        yield str(arm), rows


def _of(arm: str, language: str, measure: str) -> Labels:
    return {"arm": arm, "seekers": POOLED, "language": language, "purpose": SHOWN, "measure": measure}


def _without_turns(export: Export) -> Parts:
    for arm in sorted(set(export.conversations["arm"]) - {""}):
        rows = [Row(**_of(arm, "", measure), n=0, clusters=0) for measure in MEASURES]
        for row in rows:
            row.leave_out("estimate", "low", "high", because=Note("no_turns_file"))
        yield arm, [row.cells() for row in rows]


def _row(labels: Cells, replies: pd.DataFrame, bootstrap: Bootstrap) -> Cells:
    values = replies[labels["measure"]].to_numpy(float)
    row = Row(**labels)
    if not labels["language"]:
        row.add_notes(Note("language_unknown"))
    clusters = replies["cluster"].to_numpy(str)
    add_mean(row, values, clusters, bootstrap, alike="values_alike", nothing="unknown_of_replies")
    if len(values) and labels["measure"] in SHARES:
        row.add_notes(Note("share_of_replies", count=round(values.sum()), all=len(values)))
    return row.cells()
