"""emotion.csv: how the seekers felt before and after, by their own account, as a Thinker supposed it, or as the file of
an import says it."""

import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import FEELINGS, TOLD, Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.notes import Note
from studies.analysis.rows import ESTIMATE, Cells, Row
from studies.analysis.tables.arms import add_mean
from studies.analysis.tables.table import Parts, Table
from studies.analysis.tables.trends import EMOTION, IMPORTED, emotions

COLUMNS = [
    "arm",
    "condition",
    "seekers",
    "source",
    "measure",
    "statistic",
    *ESTIMATE,
]
METHODS = {
    "change": _("after minus before, over conversations of which both are known; emotion_score: first and last state"),
    "emotion": _(
        "of imports, on the file's own scale: the emotion at the seeker's first and at their last message; source: "
        "whether the file names a participant, a profile or neither"
    ),
}
# Sources of imports: people's own rows and those of simulated seekers are kept apart.
OF_PARTICIPANTS, OF_PROFILES, OF_NOBODY = "imported_participant", "imported_profile", "imported"
OF = ["arm", "condition", "seekers", "source", "measure"]
STATISTICS = BEFORE, AFTER, CHANGE = "before", "after", "change"
EARLY = "early"  # 1 where a reply follows the last emotion of an import, else 0


def emotion(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (arm, its rows). Conversations of which only one of before and after is known are left out."""
    felt = pd.concat([_self_reports(export), _states(export), _imports(export)])
    felt = felt.assign(change=felt[AFTER] - felt[BEFORE])
    for arm, of_arm in felt[felt["arm"] != ""].groupby("arm"):
        rows = []
        for key, group in of_arm.groupby(OF):
            labels = dict(zip(OF, map(str, key), strict=True))
            rows += [_row(labels | {"statistic": statistic}, group, bootstrap) for statistic in STATISTICS]
        yield str(arm), rows


def _self_reports(export: Export) -> pd.DataFrame:
    """Return what people said of themselves: one row per conversation × measure with a known value."""
    chats = export.whole().rename(columns={"seeker_kind": "seekers"})
    about = chats[["arm", "condition", "seekers", "cluster"]]
    tables = [
        about.assign(source="", measure=feeling, before=chats[f"{feeling}_before"], after=chats[f"{feeling}_after"])
        for feeling in FEELINGS
    ]
    return pd.concat(tables).dropna(subset=[BEFORE, AFTER], how="all")


def _states(export: Export) -> pd.DataFrame:
    """Return the first and last state of each conversation and source; with a single state, after is not known."""
    states = emotions(export).sort_values("turn")
    keys = ["conversation", "arm", "condition", "seekers", "source", "cluster"]
    ends = states.groupby(keys)["score"].agg(before="first", after="last", size="size").reset_index()
    return ends.assign(measure=EMOTION, after=ends[AFTER].where(ends["size"] > 1).astype(float))


def _imports(export: Export) -> pd.DataFrame:
    """Return one row per import with a known value, unless people said what they felt in it."""
    chats = export.whole().rename(columns={"seeker_kind": "seekers"})
    chats = chats[chats[TOLD].isna().all(axis=1)]
    messages = export.emotions
    first, last = messages[messages["is_first"]], messages[messages["is_last"] & ~messages["is_first"]]
    scores = pd.DataFrame(
        {
            BEFORE: first.groupby("conversation")["score"].mean(),
            AFTER: last.groupby("conversation")["score"].mean(),
            EARLY: last.groupby("conversation")["is_answered"].any().astype(float),
        }
    )
    about = chats[["arm", "condition", "seekers", "cluster"]].assign(source=_whose(chats), measure=IMPORTED)
    return about.join(scores, how="inner")


def _whose(chats: pd.DataFrame) -> pd.Series:
    source = pd.Series(OF_NOBODY, index=chats.index).where(chats["profile"] == "", OF_PROFILES)
    return source.where(chats["participant"] == "", OF_PARTICIPANTS)


def _row(labels: Cells, felt: pd.DataFrame, bootstrap: Bootstrap) -> Cells:
    both = felt.dropna(subset=[BEFORE, AFTER])
    row = Row(**labels)
    values, clusters = both[labels["statistic"]].to_numpy(float), both["cluster"].to_numpy(str)
    add_mean(row, values, clusters, bootstrap, alike="values_alike", nothing="before_or_after_unknown")
    if 0 < len(both) < len(felt):
        row.add_notes(Note("before_or_after_unknown_of", count=len(felt) - len(both)))
    if labels["statistic"] != BEFORE and (early := int(both[EARLY].sum())):
        row.add_notes(Note("early_emotion", count=early))
    return row.cells()


TABLE = Table(
    "emotion",
    emotion,
    COLUMNS,
    METHODS,
    heading=_("Before and after"),
    empty=_("No conversation has a feeling from both before and after."),
)
