"""Final scores by profile or person, so that two conditions or setups can be compared on the same ones."""

import pandas as pd  # noqa: TID253

from studies.analysis.frames import FINAL, Export
from studies.analysis.tables.scores import conversation_scores, mean_of_items

GROUP = ["arm", "seekers", "raters", "instrument", "moment"]
_OF_CONVERSATION = ["arm", "condition", "setup", "seeker_kind", "cluster"]


def scores_by_cluster(export: Export, ratings: pd.DataFrame) -> pd.DataFrame:
    """Return one row per GROUP × item × condition × setup × cluster, a profile or a person.

    `score` is the mean over their conversations, and `conversations` their number. Item `*` is the mean over an
    instrument's items, for conversations in which all of them were scored. Conversations without an arm are left out.
    """
    final = ratings[ratings["moment"] == FINAL]
    scores = conversation_scores(final).astype({"conversation": str}).rename(columns={"group": "raters"})
    keys = ["raters", "instrument", "moment", "item", "conversation"]
    scores = scores.groupby(keys, observed=True)["score"].mean().reset_index().astype(dict.fromkeys(keys, str))
    items = scores.groupby(keys[:3])["item"].transform("nunique")
    of_several = mean_of_items(scores[items > 1], items[items > 1])
    scores = pd.concat([scores, of_several]).join(_about(export), on="conversation")
    grouping = [*GROUP, "item", "condition", "setup", "cluster"]
    by_cluster = scores[scores["arm"] != ""].rename(columns={"seeker_kind": "seekers"}).groupby(grouping)["score"]
    return by_cluster.agg(score="mean", conversations="size").reset_index()


def _about(export: Export) -> pd.DataFrame:
    ablated = export.chats[export.chats["setup"] != ""]
    return pd.concat([export.conversations.assign(setup=""), ablated])[_OF_CONVERSATION]
