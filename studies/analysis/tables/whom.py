"""Final scores by whom an arm talked to, so that two conditions or setups can be compared on the same ones."""

import pandas as pd  # noqa: TID253

from studies.analysis.frames import Export
from studies.analysis.tables.arms import conversation_scores

FINAL = ("final", "")  # an import need not say the moment
ALL_ITEMS = "*"
GROUP = ["arm", "seekers", "raters", "instrument", "moment"]
_OF_CONVERSATION = ["arm", "condition", "setup", "seeker_kind", "cluster"]


def scores_by_cluster(export: Export, ratings: pd.DataFrame) -> pd.DataFrame:
    """Return one row per GROUP × item × condition × setup × cluster, a profile or a person.

    `score` is the mean over their conversations, and `conversations` their number. Item `*` is the mean over an
    instrument's items, for conversations in which all of them were scored. Conversations without an arm are left out.
    """
    final = ratings[ratings["moment"].isin(FINAL)]
    scores = conversation_scores(final).astype({"conversation": str}).rename(columns={"group": "raters"})
    keys = ["raters", "instrument", "moment", "item", "conversation"]
    scores = scores.groupby(keys, observed=True)["score"].mean().reset_index().astype(dict.fromkeys(keys, str))
    scores = pd.concat([scores, _over_items(scores)]).join(_about(export), on="conversation")
    of = [*GROUP, "item", "condition", "setup", "cluster"]
    by_cluster = scores[scores["arm"] != ""].rename(columns={"seeker_kind": "seekers"}).groupby(of)["score"]
    return by_cluster.agg(score="mean", conversations="size").reset_index()


def _over_items(scores: pd.DataFrame) -> pd.DataFrame:
    keys = ["raters", "instrument", "moment"]
    items = scores.groupby(keys)["item"].transform("nunique")
    several = scores.assign(items=items)[items > 1]
    means = several.groupby([*keys, "items", "conversation"])["score"].agg(["mean", "size"]).reset_index()
    complete = means[means["size"] == means["items"]]
    return complete[[*keys, "conversation"]].assign(item=ALL_ITEMS, score=complete["mean"])


def _about(export: Export) -> pd.DataFrame:
    ablated = export.chats[export.chats["setup"] != ""]
    return pd.concat([export.conversations.assign(setup=""), ablated])[_OF_CONVERSATION]
