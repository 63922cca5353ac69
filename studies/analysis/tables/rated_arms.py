"""Arms whose conversations with the same users several raters scored, so that arms, users and raters cross."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd  # noqa: TID253

from studies.analysis.frames import FINAL, Export
from studies.analysis.rows import Labels

OF = ["raters", "seekers", "condition", "instrument", "moment"]
CELL = ["arm", "user", "rater", "item"]
LEAST = 2  # users, raters, and arms of a user: fewer cross with nothing
LEAST_KEPT = 0.5  # of the scores: a smaller block without gaps is worth less than all scores without an interval


@dataclass(frozen=True)
class Rated:
    """The scores of rated arms, one row per CELL; `all_scores` is their number before some were left out."""

    scores: pd.DataFrame
    has_gaps: bool
    all_scores: int


def rated_arms(single: pd.DataFrame, export: Export) -> Iterator[tuple[Labels, pd.DataFrame]]:
    """Yield (by OF, the final scores): columns CELL and `score`, the mean over a user's conversations with an arm.

    `single`: as `reliability.single_ratings` returns them. A user is a person or a profile.
    """
    final = single[single["moment"] == FINAL]
    about = export.conversations.loc[final["conversation"].astype(str)]
    named = {"arm": "arm", "user": "cluster", "seekers": "seeker_kind", "condition": "condition"}
    scores = final.rename(columns={"group": "raters"}).assign(
        **{name: about[column].to_numpy(str) for name, column in named.items()}
    )
    means = scores[scores["arm"] != ""].groupby([*OF, *CELL], observed=True)["score"].mean().reset_index()
    for key, of_kind in means.groupby(OF, observed=True):
        yield dict(zip(OF, map(str, key), strict=True)), of_kind[[*CELL, "score"]]


def complete_block(scores: pd.DataFrame, facets: Sequence[str]) -> Rated | None:
    """Return the scores of the raters who tell arms from users; None where fewer than two do.

    They are a block without gaps where it has LEAST_KEPT of what may be counted, else all of that.
    """
    telling = _of_telling_raters(scores)
    if telling.empty:
        return None
    block = max(_blocks(telling, facets), key=len)
    if len(block) >= LEAST_KEPT * len(telling):
        return Rated(block, has_gaps=False, all_scores=len(scores))
    return Rated(telling, has_gaps=True, all_scores=len(scores))


def _of_telling_raters(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of raters who scored two users or more with two arms or more each; empty for one such rater."""
    arms = scores.groupby(["rater", "user"], observed=True)["arm"].nunique()
    users = (arms >= LEAST).groupby(level="rater", observed=True).sum()
    telling = users.index[users >= LEAST]
    return scores[scores["rater"].isin(telling if len(telling) >= LEAST else [])]


def _blocks(scores: pd.DataFrame, facets: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield users whom every rater scored with every arm, and raters who scored every user that met all arms."""
    met = scores.groupby("user", observed=True)["arm"].transform("nunique")
    yield _without_gaps(scores, "user", facets)
    yield _without_gaps(scores[met == scores["arm"].nunique()], "rater", facets)


def _without_gaps(scores: pd.DataFrame, name: str, facets: Sequence[str]) -> pd.DataFrame:
    """Return the levels of this facet that have all scores; empty where there is only one."""
    others = [facet for facet in facets if facet != name]
    scored = scores.groupby(name, observed=True)["score"].transform("size")
    full = scores[scored == _cells(scores, others)]
    return full if full[name].nunique() >= LEAST else full[:0]


def _cells(scores: pd.DataFrame, facets: Sequence[str]) -> int:
    return int(scores[list(facets)].nunique().prod())
