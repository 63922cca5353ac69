"""costs.csv: what a conversation takes of time, tokens and money, and how long and fast the replies are."""

from collections.abc import Iterator

import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import Export, read_calls
from studies.analysis.language import gettext_noop as _
from studies.analysis.notes import Note
from studies.analysis.rows import ESTIMATE, Cells, Row
from studies.analysis.tables.arms import add_mean
from studies.analysis.tables.by_language import find_languages, split_by_language
from studies.analysis.tables.lengths import SHOWN, reply_lengths
from studies.analysis.tables.table import Parts, Table

COLUMNS = [
    "arm",
    "seekers",
    "language",
    "purpose",
    "measure",
    *ESTIMATE,
]
METHODS = {
    "estimate": _(
        "sums over all attempts of a conversation, failed ones too; mean over the conversations for which a model "
        "was asked for that purpose"
    ),
    "purpose": _(
        "what the models were asked for, * all together; reply_shown is over the replies of all seekers: characters "
        "are the Unicode code points of what was shown, seconds the model's own from the request on, before a study "
        "evens them out on the page; BCa interval (95 %) of the mean, participants (else conversations) resampled"
    ),
    "arm": _("* is the mean over the conversations of all arms"),
    "language": _("* pools all languages; where there are several, each also has rows of its own"),
}
EVERYTHING = "*"  # all purposes together
ALL_ARMS = "*"
COUNTS = ("calls", "failed_calls")
UNKNOWN = {  # measure: the notes where it is unknown, of all conversations and of some
    "seconds": ("time_unknown", "time_unknown_of"),
    "input_tokens": ("tokens_unknown", "tokens_unknown_of"),
    "output_tokens": ("tokens_unknown", "tokens_unknown_of"),
    "cost": ("price_unknown", "price_unknown_of"),
}
MEASURES = (*UNKNOWN, *COUNTS)


def costs(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (arm, its rows): means over the conversations for which a model was asked for that purpose.

    A failed attempt counts with the values that it has, and with 0 where it has none. A conversation with an answer
    that lacks a measure is left out of that measure.
    """
    used = _by_conversation(export)
    languages = find_languages(used)
    for arm, of_arm in _arms(used):
        rows = []
        for (seekers, purpose), group in of_arm.groupby(["seekers", "purpose"]):
            for language, part in split_by_language(group, languages):
                labels = {"arm": arm, "seekers": seekers, "language": language, "purpose": purpose}
                rows += [_row(labels | {"measure": measure}, part, bootstrap) for measure in MEASURES]
        yield arm, rows
    yield from reply_lengths(export, bootstrap)


def of_calls(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of costs.csv that are of a conversation's calls."""
    return table[table["purpose"] != SHOWN] if len(table) else table


def of_replies(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of costs.csv that are of the replies that were shown."""
    return table[table["purpose"] == SHOWN] if len(table) else table


def _arms(used: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield (arm, its rows), and all together where there are several."""
    for arm, of_arm in used.groupby("arm"):
        yield str(arm), of_arm
    if used["arm"].nunique() > 1:
        yield ALL_ARMS, used


def _by_conversation(export: Export) -> pd.DataFrame:
    """Return one row per conversation × purpose, and EVERYTHING: sums of the MEASURES, nan where one is unknown."""
    about = export.whole().rename(columns={"seeker_kind": "seekers"})[["arm", "seekers", "language", "cluster"]]
    path = export.folder / "calls.csv"
    if not path.is_file():
        return about.iloc[:0].assign(purpose="")
    calls = read_calls(path).join(about[about["arm"] != ""], on="conversation", how="inner").reset_index(drop=True)
    failed = calls["status"] != "ok"
    calls = calls.assign(calls=1.0, failed_calls=failed.astype(float))
    for measure in UNKNOWN:
        calls[measure] = calls[measure].mask(failed & calls[measure].isna(), 0.0)
    calls = pd.concat([calls, calls.assign(purpose=EVERYTHING)])
    keys = ["conversation", "arm", "seekers", "language", "cluster", "purpose"]
    grouped = calls.groupby(keys)[list(MEASURES)]
    return grouped.sum().mask(grouped.count().lt(grouped.size(), axis=0)).reset_index()


def _row(labels: Cells, used: pd.DataFrame, bootstrap: Bootstrap) -> Cells:
    measured = used.dropna(subset=labels["measure"])
    nothing, of_some = UNKNOWN.get(labels["measure"], ("", ""))
    row = Row(**labels)
    values, clusters = measured[labels["measure"]].to_numpy(float), measured["cluster"].to_numpy(str)
    add_mean(row, values, clusters, bootstrap, alike="values_alike", nothing=nothing)
    if 0 < len(measured) < len(used):
        row.add_notes(Note(of_some, count=len(used) - len(measured)))
    return row.cells()


TABLE = Table(
    "costs",
    costs,
    COLUMNS,
    METHODS,
    heading=_("Cost of a conversation, length and speed of replies"),
    empty=_("There is no calls.csv, and no reply belongs to a conversation with a known arm."),
)
