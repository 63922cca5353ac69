"""Rows of sensitivity.csv: what each behaviour of a simulated seeker does (arXiv:2605.28228, Table 4)."""

import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.notes import Note
from studies.analysis.rows import ESTIMATE, Cells, Row
from studies.analysis.tables.by_language import find_languages, split_by_language
from studies.analysis.tables.effects import add_interval_of_difference
from studies.analysis.tables.table import Parts, Table
from studies.analysis.tables.whom import GROUP, scores_by_cluster

COLUMNS = [
    "condition",
    "setup",
    "arm",
    "language",
    *("raters", "seekers", "instrument", "moment", "item"),
    *ESTIMATE,
]
FURTHER, ASIDE = ["whole"], ["changed"]  # the second is the first and the estimate
METHODS = {
    "estimate": _("final scores with the changed seeker minus those with the whole, paired by profile"),
    "whole": _("mean with the whole seeker, on the same profiles"),
    "language": _(
        "language of the profiles; * pools all languages, and if there are several, each also has rows of its own"
    ),
}


def ablation(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (condition and setup, its rows).

    `estimate` is the changed seeker's score minus the whole one's, on the same profiles; `n` counts the conversations
    of both.
    """
    if export.ablated.empty:
        return
    scores = scores_by_cluster(export, pd.concat([export.ratings, export.ablated]))
    keys = ["condition", *GROUP, "item", "cluster"]
    whole = scores[scores["setup"] == ""].set_index(keys)[["score", "conversations"]].add_suffix("_whole")
    changed = scores[scores["setup"] != ""].join(whole, on=keys)
    of_profiles = export.chats.groupby("cluster")["language"].first()  # in which all of a profile's conversations are
    changed = changed.assign(language=changed["cluster"].map(of_profiles))
    languages = find_languages(changed)
    for (condition, setup), of_setup in changed.groupby(["condition", "setup"]):
        rows = []
        for key, group in of_setup.groupby([*GROUP, "item"]):
            labels = dict(zip([*GROUP, "item"], map(str, key), strict=True))
            for language, rows_of_language in split_by_language(group, languages):
                about = {"condition": condition, "setup": setup, "language": language}
                rows.append(_row(about | labels, rows_of_language, bootstrap))
        yield f"{condition} {setup}".lstrip(), rows


def _row(labels: Cells, scores: pd.DataFrame, bootstrap: Bootstrap) -> Cells:
    both = scores.dropna(subset="score_whole")
    counted = both[["conversations", "conversations_whole"]].to_numpy(float).sum()
    row = Row(**labels, n=int(counted), clusters=len(both))
    if both.empty:
        names = ("estimate", "low", "high", "changed", "whole")
        row.leave_out(*names, because=Note("no_whole_seeker"))
        return row.cells()
    changed, whole = both["score"].to_numpy(float), both["score_whole"].to_numpy(float)
    row.values |= {"changed": float(changed.mean()), "whole": float(whole.mean())}
    row.values["estimate"] = float((changed - whole).mean())
    add_interval_of_difference(row, changed - whole)
    if len(both) < len(scores):
        row.add_notes(Note("profiles_without_whole", count=len(scores) - len(both)))
    return row.cells()


def in_file(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.rename(columns={"arm": "arm_a", "setup": "variant"}).assign(statistic="difference")


TABLE = Table(
    "ablation",
    ablation,
    COLUMNS,
    METHODS,
    heading=_("Effect of each behaviour of the seeker"),
    empty=_("No simulated seeker was changed for an ablation."),
    further=FURTHER,
    aside=ASIDE,
    file="sensitivity",
    rearrange=in_file,
)
