"""Scores of conversations: the mean over raters, and over the items of an instrument."""

import pandas as pd  # noqa: TID253

from studies.analysis.pooling import ALL_ITEMS

SCORED = ["group", "instrument", "moment", "item", "conversation", "turn"]


def scores_of_raters(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over a rater's replicates: columns SCORED, `rater` and `score`."""
    return ratings.groupby([*SCORED, "rater"], observed=True)["score"].mean().reset_index()


def mean_of_raters(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over the raters of a group: columns SCORED and `score`."""
    return scores.groupby(SCORED, observed=True)["score"].mean().reset_index()


def conversation_scores(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over the raters of a group, each the mean of their replicates: columns SCORED and `score`."""
    return mean_of_raters(scores_of_raters(ratings))


def mean_of_items(scores: pd.DataFrame, items: "int | pd.Series") -> pd.DataFrame:
    """Return the mean over an instrument's items, of conversations in which all of them were scored, as item `*`.

    `items`: their number, or that for each row of `scores`, whose columns the result has.
    """
    keys = [name for name in scores.columns if name not in ("item", "score")]
    means = scores.assign(items=items).groupby([*keys, "items"], observed=True)["score"].agg(["mean", "size"])
    means = means.reset_index()
    complete = means[means["size"] == means["items"]]
    return complete.assign(item=ALL_ITEMS, score=complete["mean"])[list(scores.columns)]
