"""trends.csv: how the seekers' supposed emotion and the ratings on the way go over the turns."""

from collections.abc import Iterator

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Array, Bootstrap, number_names, sum_by_cluster
from studies.analysis.frames import Export, read_states
from studies.analysis.language import gettext_noop as _
from studies.analysis.notes import Note
from studies.analysis.rows import ESTIMATE, Cells, Labels, Row
from studies.analysis.tables.arms import add_mean
from studies.analysis.tables.by_language import find_languages, split_by_language
from studies.analysis.tables.inferences import add_inference
from studies.analysis.tables.scores import conversation_scores
from studies.analysis.tables.table import Parts, Table

COLUMNS = [
    "arm",
    "condition",
    "seekers",
    "language",
    "source",
    "instrument",
    "moment",
    "item",
    "statistic",
    "turn",
    *ESTIMATE,
]
METHODS = {
    "mean": _("over the conversations scored at that turn; those that ended before are not included"),
    "slope": _("in points per turn within conversations, least squares"),
    "language": _("* pools all languages; where there are several, each also has rows of its own"),
}
OF = ["arm", "condition", "seekers", "source", "instrument", "moment", "item"]
EMOTION = "emotion_score"
IMPORTED = "emotion"  # on the file's own scale, at the seeker's message and not after the reply to it
ON_THE_WAY = ("checkpoint", "turn")  # moments
MEAN, SLOPE = "mean", "slope"


def trends(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (arm, its rows).

    `source` is that of states.csv, or the kind of raters, or empty: what the file of an import says. Means are over the
    conversations that were scored at that turn: those that had ended before are in none.
    """
    scores = pd.concat(
        [emotions(export).assign(instrument="", moment="", item=EMOTION), _imports(export), _checkpoints(export)]
    )
    scores = scores[scores["arm"] != ""]
    languages = find_languages(scores)
    for arm, of_arm in scores.groupby("arm"):
        rows: list[Cells] = []
        for key, group in of_arm.groupby(OF):
            labels = dict(zip(OF, map(str, key), strict=True))
            for language, part in split_by_language(group, languages):
                rows += _course(labels | {"language": language}, part, bootstrap)
        yield str(arm), rows


def _course(labels: Labels, scores: pd.DataFrame, bootstrap: Bootstrap) -> Iterator[Cells]:
    """Yield the row of each turn's mean, and that of the slope."""
    for turn, at_turn in scores.groupby("turn"):
        yield _mean(labels | {"statistic": MEAN, "turn": int(turn)}, at_turn, bootstrap)
    yield _slope(labels | {"statistic": SLOPE, "turn": pd.NA}, scores, bootstrap)


def emotions(export: Export) -> pd.DataFrame:
    """Return the emotions after turns; empty where there is no states.csv.

    Columns `conversation`, `source`, `turn`, `score`, and of the conversation `arm`, `condition`, `seekers`, `language`
    and `cluster`.
    """
    path = export.folder / "states.csv"
    if not path.is_file():
        return _with_conversation(pd.DataFrame(columns=["conversation", "source", "turn", "score"]), export.whole())
    states = read_states(path).rename(columns={EMOTION: "score"})
    means = states.groupby(["conversation", "source", "turn"])["score"].mean().reset_index()
    return _with_conversation(means, export.whole())


def _imports(export: Export) -> pd.DataFrame:
    scores = _with_conversation(export.emotions[["conversation", "turn", "score"]], export.whole())
    return scores.assign(source="", instrument="", moment="", item=IMPORTED)


def _checkpoints(export: Export) -> pd.DataFrame:
    rated = export.ratings[export.ratings["moment"].isin(ON_THE_WAY) & (export.ratings["turn"] != "")]
    scores = conversation_scores(rated).rename(columns={"group": "source"})
    texts = ["source", "instrument", "moment", "item", "conversation"]
    scores = scores.astype(dict.fromkeys(texts, str)).astype({"turn": str}).astype({"turn": int})
    languages = export.chats["language"].reindex(export.conversations.index).fillna("")
    return _with_conversation(scores, export.conversations.assign(language=languages))


def _with_conversation(scores: pd.DataFrame, conversations: pd.DataFrame) -> pd.DataFrame:
    about = conversations[["arm", "condition", "seeker_kind", "language", "cluster"]]
    about = about.rename(columns={"seeker_kind": "seekers"})
    return scores.join(about, on="conversation", how="inner").reset_index(drop=True)


def _mean(labels: Cells, scores: pd.DataFrame, bootstrap: Bootstrap) -> Cells:
    row, values = Row(**labels), scores["score"].to_numpy(float)
    add_mean(row, values, scores["cluster"].to_numpy(str), bootstrap, alike="scores_alike", nothing="no_scores")
    return row.cells()


def _slope(labels: Cells, scores: pd.DataFrame, bootstrap: Bootstrap) -> Cells:
    """Return the row of the slope: points per turn within conversations.

    So it does not matter which of them go on for long.
    """
    numbers, turns = number_names(scores["conversation"]), scores["turn"].to_numpy()
    first = turns[np.unique(numbers, return_index=True)[1]]
    goes_on = np.bincount(numbers, turns != first[numbers]) > 0
    several = scores[goes_on[numbers]]
    row = Row(**labels, n=int(goes_on.sum()), clusters=several["cluster"].nunique())
    if several.empty:
        row.leave_out("estimate", "low", "high", because=Note("no_two_turns"))
        return row.cells()
    centred = several[["turn", "score"]].astype(float)
    centred = centred - centred.groupby(several["conversation"]).transform("mean")
    turn, score = centred["turn"].to_numpy(), centred["score"].to_numpy()
    sums = sum_by_cluster(np.column_stack([turn * turn, turn * score]), number_names(several["cluster"]))
    row.values["estimate"] = float(slope(sums.sum(axis=0)))
    if np.abs(score).max() > 1e-9:
        add_inference(row, lambda: bootstrap.resample(slope, sums))
    else:
        row.leave_out("low", "high", because=Note("scores_alike"))
    return row.cells()


def slope(sums: Array) -> Array:
    """Return the slope, from (xx, xy) of values centred within conversations."""
    return np.asarray(sums[..., 1] / sums[..., 0])


TABLE = Table(
    "trends",
    trends,
    COLUMNS,
    METHODS,
    heading=_("Over the turns"),
    empty=_("No score belongs to a turn."),
)
