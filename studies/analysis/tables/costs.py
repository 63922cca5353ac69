"""costs.csv: what a conversation takes of time, tokens and money, and how long and fast the replies are."""

from collections.abc import Iterator

import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import Export, read_calls
from studies.analysis.language import gettext_noop as _
from studies.analysis.notes import Note
from studies.analysis.pooling import POOLED
from studies.analysis.rows import ESTIMATE, Cells, Labels, Row
from studies.analysis.tables.arms import add_mean
from studies.analysis.tables.by_language import find_languages, split_by_language
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
SHOWN = "reply_shown"  # the purpose of rows of replies
SHARES = ("masked_share", "names_itself_share")
REPLY_MEASURES = ("characters", "first_token_seconds", "total_seconds", *SHARES)


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


def reply_lengths(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (arm, its rows), one per language × measure; n is the number of replies of which the measure is known.

    Languages stay apart: a Chinese character is not an English one. Conversations without an arm are left out.
    """
    if export.replies is None:
        yield from _without_turns(export)
        return
    replies = export.replies.rename(columns={"masked": "masked_share", "names_itself": "names_itself_share"})
    for arm, of_arm in replies[replies["arm"] != ""].groupby("arm"):
        rows = []
        for language, of_language in of_arm.groupby("language"):
            for measure in REPLY_MEASURES:
                labels = _about_replies(str(arm), str(language), measure)
                rows.append(_row_of_replies(labels, of_language.dropna(subset=measure), bootstrap))
        yield str(arm), rows


def _about_replies(arm: str, language: str, measure: str) -> Labels:
    return {"arm": arm, "seekers": POOLED, "language": language, "purpose": SHOWN, "measure": measure}


def _without_turns(export: Export) -> Parts:
    for arm in sorted(set(export.conversations["arm"]) - {""}):
        rows = [Row(**_about_replies(arm, "", measure), n=0, clusters=0) for measure in REPLY_MEASURES]
        for row in rows:
            row.leave_out("estimate", "low", "high", because=Note("no_turns_file"))
        yield arm, [row.cells() for row in rows]


def _row_of_replies(labels: Cells, replies: pd.DataFrame, bootstrap: Bootstrap) -> Cells:
    values = replies[labels["measure"]].to_numpy(float)
    row = Row(**labels)
    if not labels["language"]:
        row.add_notes(Note("language_unknown"))
    clusters = replies["cluster"].to_numpy(str)
    add_mean(row, values, clusters, bootstrap, alike="values_alike", nothing="unknown_of_replies")
    if len(values) and labels["measure"] in SHARES:
        row.add_notes(Note("share_of_replies", count=round(values.sum()), all=len(values)))
    return row.cells()


TABLE = Table(
    "costs",
    costs,
    COLUMNS,
    METHODS,
    heading=_("Cost of a conversation, length and speed of replies"),
    empty=_("There is no calls.csv, and no reply belongs to a conversation with a known arm."),
)
