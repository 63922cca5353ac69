"""A table of results as another package would bring it: this module, and the call of `register`."""

from collections.abc import Iterator
from typing import Any

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import Export
from studies.analysis.notes import Note, add_wordings
from studies.analysis.rows import Row
from studies.analysis.tables.registry import register
from studies.analysis.tables.table import Table

COLUMNS = ["arm", "item", "range", "n", "method", "note"]
WORDINGS = {"single_score": "there is one score of {item}", "range_of_scores": "highest minus lowest score"}


def score_ranges(export: Export, _bootstrap: Bootstrap) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield (arm, its rows)."""
    arms = export.conversations["arm"].reindex(export.ratings["conversation"].astype(str)).to_numpy(str)
    for arm, of_arm in export.ratings.groupby(arms):
        yield str(arm), [_row(str(arm), str(item), of.to_numpy()) for item, of in of_arm.groupby("item")["score"]]


def _row(arm: str, item: str, scores: Any) -> dict[str, Any]:
    row = Row(arm=arm, item=item, n=len(scores))
    row.add_methods(Note("range_of_scores"))
    if len(scores) > 1:
        row.values["range"] = float(scores.max() - scores.min())
    else:
        row.leave_out("range", because=Note("single_score", item=item))
    return row.cells()


TABLE = Table(
    "score_ranges", score_ranges, COLUMNS, {"range": "highest minus lowest score"}, heading="Ranges of scores"
)


def bring() -> None:
    add_wordings(WORDINGS)
    register(TABLE)
