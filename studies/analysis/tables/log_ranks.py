"""The tests of survival.csv whether the arms' conversations stay open equally long."""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis.bootstrap import FEW_CLUSTERS, number_names
from studies.analysis.measures.log_rank import ChiSquare, Ends, log_rank, met_several
from studies.analysis.notes import Note
from studies.analysis.rows import Cells, Labels, Row
from studies.analysis.tables.ends import Group

LOG_RANK, STRATIFIED = "log_rank", "log_rank_stratified"
PLAIN, CLUSTERED, BY_F = Note("log_rank"), Note("log_rank_of_clusters"), Note("log_rank_f")
_Tested = tuple[ChiSquare, Note]  # and its method


def log_ranks(labels: Labels, chats: pd.DataFrame) -> Iterator[Cells]:
    """Yield the tests of whether the arms differ; none for a single arm. Where people or profiles met several arms, the
    test within them comes first: it detects what the other cannot."""
    if chats["arm"].nunique() < 2:
        return
    arms = chats.groupby("cluster")["arm"].transform("nunique")
    if (arms > 1).any():
        yield _test(labels | {"statistic": STRATIFIED}, chats[arms > 1], _stratify)
    yield _test(labels | {"statistic": LOG_RANK}, chats, _log_rank)


def _test(labels: Labels, chats: pd.DataFrame, test: Callable[[pd.DataFrame], _Tested]) -> Cells:
    row = Row(**labels, end="", turn=pd.NA, at_risk=pd.NA, n=len(chats), clusters=chats["cluster"].nunique())
    row.leave_out("low", "high", because=Note("is_chi_square"))
    with row.leave_out_if_undefined("estimate", "p"):
        result, method = test(chats)
        row.values |= {"estimate": result.statistic, "p": result.p}
        row.add_methods(method, Note("degrees_of_freedom", count=result.df))
        if method in (CLUSTERED, BY_F) and row.values["clusters"] < FEW_CLUSTERS:
            row.add_notes(Note("few_clusters_for_p", count=row.values["clusters"]))
    return row.cells()


def _log_rank(chats: pd.DataFrame) -> _Tested:
    together = np.zeros(len(chats), dtype=np.intp)
    if chats["cluster"].is_unique:
        return log_rank(_ends(chats, together)), PLAIN
    ends, clusters = _ends(chats, together), number_names(chats["cluster"])
    return log_rank(ends, clusters), CLUSTERED if met_several(ends.arms, clusters) else BY_F


def _stratify(chats: pd.DataFrame) -> _Tested:
    return log_rank(_ends(chats, number_names(chats["cluster"]))), PLAIN


def _ends(chats: pd.DataFrame, strata: NDArray[np.intp]) -> Ends:
    group = Group(chats)
    return Ends(group.turns, group.is_leaver, number_names(chats["arm"]), strata)
