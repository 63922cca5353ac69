"""flow.csv: how many people and conversations came how far, in the order of a CONSORT diagram (Schulz et al. 2010, doi
10.1136/bmj.c332).

Everyone whom the files name is counted, those too who are left out of the results.
"""

from collections.abc import Iterator, Mapping

import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import Export, clusters_of
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures.proportions import METHOD as WILSON
from studies.analysis.measures.proportions import add_wilson
from studies.analysis.notes import Note, Notes
from studies.analysis.reading import read_table
from studies.analysis.rows import Cells, Row
from studies.analysis.tables.table import Parts, Table

COLUMNS = ["track", "stage", "statistic", "estimate", "low", "high", "n", "clusters", "method", "note"]
METHODS = {
    "count": _("people of the track, or conversations of them; of conversations without a person, track is their kind"),
    "share": _("of the people who arrived, of the conversations that were begun; Wilson's interval with n = clusters"),
    "reason: …": _("of those that were left out, how many for this reason"),
    "arrived": _("who opened their link"),
    "screened_out": _("whom the screening or a researcher turned away"),
    "declined": _("who left before they signed, where the track asks for consent"),
    "screened_in": _(
        "who arrived, were not turned away and did not decline; people who still wait for a decision "
        "or have yet to sign do not count"
    ),
    "started_chatting": _("who had a reply in a conversation"),
    "finished_1": _("with a regular end of one conversation or more; finished_2: of two or more; and so on"),
    "withdrawn": _("who left after they had signed"),
    "excluded": _("left out afterwards by decision"),
    "analysed": _("who are in the results as seekers"),
    "conversations_planned": _("arms in the orders that were drawn"),
    "conversations_begun": _("with a reply"),
    "conversations_finished": _("regular ends, the highest number of turns among them"),
    "conversations_left_out": _("left out afterwards by decision, by themselves"),
    "conversations_analysed": _("rated by anyone, and in the results"),
}
OF_PEOPLE = (
    *("participant", "track", "status", "order", "consented_at", "started_at"),
    *("excluded", "exclusion_reason"),
)
OF_CONVERSATIONS = ("conversation", "participant", "profile", "seeker_kind", "turns", "end_reason", "valid", "setup")
REGULAR = ("finished", "cap", "satisfied")
ENDS = ("early", "walked_out", "safety", "technical", "withdrawn")
BEYOND_CONSENT = ("completed", "active", "held", "stopped", "ended", "timed_out")
OF_STATUS = ("screened_out", "in_review", "declined", "screened_in", *BEYOND_CONSENT, "withdrawn")
# Stage → the columns of which someone must have one, so that it is told.
TOLD_BY = dict.fromkeys(OF_STATUS, ("status",)) | {
    "arrived": ("status", "started_at"),
    "consented": ("consented_at",),
    "excluded": ("excluded",),
}
ALWAYS = ("early", "technical")  # told where no one ended so, too
NO_REASON = "no reason given"

Stage = tuple[str, pd.Series]  # with whom it is true of


def flow(export: Export, _bootstrap: Bootstrap) -> Parts:
    """Yield (track, its rows), people first, then their conversations, then conversations without a person."""
    people, conversations = _people(export), _conversations(export)
    conversations["track"] = _tracks(conversations, people)
    for track in _in_order(people["track"], conversations["track"]):
        theirs = people[people["track"] == track]
        chats = conversations[conversations["track"] == track]
        untold = _unknown_stages(theirs, conversations)
        of_people = _of_people(track, theirs, chats, export, untold)
        yield track, [*of_people, *_of_conversations(track, theirs, chats, export, untold)]


def _read(export: Export, name: str, columns: tuple[str, ...]) -> pd.DataFrame:
    path = export.folder / name
    return (
        read_table(path, (), columns).astype(str) if path.is_file() else pd.DataFrame(columns=list(columns), dtype=str)
    )


def _people(export: Export) -> pd.DataFrame:
    people = _read(export, "participants.csv", OF_PEOPLE)
    arrived = (people["started_at"] != "") | ~people["status"].isin(["invited", ""])
    return people.assign(arrived=arrived, signed=people["consented_at"] != "")


def _conversations(export: Export) -> pd.DataFrame:
    table = _read(export, "conversations.csv", OF_CONVERSATIONS)
    table = table[table["setup"] == ""]
    begun = pd.to_numeric(table["turns"], errors="coerce") > 0
    return table.assign(begun=begun, regular=begun & table["end_reason"].isin(REGULAR))


def _tracks(conversations: pd.DataFrame, people: pd.DataFrame) -> pd.Series:
    tracks = conversations["participant"].map(people.drop_duplicates("participant").set_index("participant")["track"])
    return tracks.where(tracks.notna(), conversations["seeker_kind"]).astype(str)


def _in_order(*columns: pd.Series) -> list[str]:
    """Return the tracks of people, then what has no person; each once."""
    return list(dict.fromkeys(name for column in columns for name in sorted(column.unique())))


# People


def _of_people(
    track: str, people: pd.DataFrame, chats: pd.DataFrame, export: Export, untold: Mapping[str, Note]
) -> Iterator[Cells]:
    if people.empty:
        return
    arrived = int(people["arrived"].sum())
    yield _count(track, "invited", len(people), len(people))
    for stage, counted in _stages(people, chats, export):
        if reason := untold.get("started_chatting" if stage.startswith("finished_") else stage):
            yield _gap(track, stage, "count", reason)
            continue
        yield _count(track, stage, int(counted.sum()), arrived)
        if stage == "excluded":
            yield from _reasons(track, people.loc[counted, "exclusion_reason"])
        if stage != "arrived" and "arrived" in untold:
            yield _gap(track, stage, "share", untold["arrived"])
        elif stage != "arrived":
            yield _share(track, stage, int(counted.sum()), arrived, arrived)


def _unknown_stages(people: pd.DataFrame, conversations: pd.DataFrame) -> dict[str, Note]:
    """Return, by stage, why it is unknown who came so far."""
    reasons = {
        stage: Note("column_missing", columns=" or ".join(columns))
        for stage, columns in TOLD_BY.items()
        if not (people[[*columns]] != "").any(axis=None)
    }
    if not (conversations["turns"] != "").any():
        reasons |= dict.fromkeys(("started_chatting", "conversations_begun"), Note("turns_missing"))
    return reasons


def _stages(people: pd.DataFrame, chats: pd.DataFrame, export: Export) -> Iterator[Stage]:
    arrived, status = people["arrived"], people["status"]
    out, waiting = status == "screened_out", status == "in_review"
    asks = bool(people["signed"].any())
    declined = arrived & (status == "withdrawn") & ~people["signed"] & asks
    yield "arrived", arrived
    yield "screened_out", out
    yield "in_review", waiting
    yield "declined", declined
    yield "consented", people["signed"]
    yield "screened_in", arrived & ~out & ~waiting & ~declined & (status != "applied")
    yield "started_chatting", people["participant"].isin(chats.loc[chats["begun"], "participant"])
    yield from _finishing_stages(people, chats)
    yield from ((name, status == name) for name in BEYOND_CONSENT)
    yield "withdrawn", (status == "withdrawn") & ~declined
    yield "excluded", people["excluded"] == "true"
    yield "analysed", people["participant"].isin(export.conversations["participant"])


def _finishing_stages(people: pd.DataFrame, chats: pd.DataFrame) -> Iterator[Stage]:
    finished = people["participant"].map(chats.groupby("participant")["regular"].sum()).fillna(0)
    for number in range(1, int(_planned_chats(people).max()) + 1):
        yield f"finished_{number}", finished >= number


def _planned_chats(people: pd.DataFrame) -> pd.Series:
    return people["order"].map(lambda order: len(order.split(">")) if order else 0).astype(int)


def _reasons(track: str, reasons: pd.Series) -> Iterator[Cells]:
    for reason, count in reasons.replace("", NO_REASON).value_counts().sort_index().items():
        yield _count(track, "excluded", int(count), len(reasons), f"reason: {reason}")


# Conversations


def _of_conversations(
    track: str, people: pd.DataFrame, chats: pd.DataFrame, export: Export, untold: Mapping[str, Note]
) -> Iterator[Cells]:
    planned = int(_planned_chats(people).sum())
    if planned:
        yield _count(track, "conversations_planned", planned, planned)
    if chats.empty:
        return
    if "conversations_begun" in untold:
        yield _gap(track, "conversations_begun", "count", untold["conversations_begun"])
        return
    begun = chats[chats["begun"]]
    clusters = clusters_of(begun.set_index("conversation")).nunique()
    for stage, count in _counts(begun, export).items():
        yield _count(track, f"conversations_{stage}", count, len(begun))
        if stage != "begun":
            yield _share(track, f"conversations_{stage}", count, len(begun), clusters)


def _counts(begun: pd.DataFrame, export: Export) -> Mapping[str, int]:
    ends = begun["end_reason"]
    counts = {end: int((ends == end).sum()) for end in ENDS}
    return {
        "begun": len(begun),
        "finished": int(begun["regular"].sum()),
        **{end: count for end, count in counts.items() if count or end in ALWAYS},
        "open": int((ends == "").sum()),
        "left_out": int((begun["valid"] == "false").sum()),
        "analysed": int(begun["conversation"].isin(export.conversations.index).sum()),
    }


# Rows


def _gap(track: str, stage: str, statistic: str, reason: Note) -> Cells:
    row = Row(track=track, stage=stage, statistic=statistic, n=0, clusters=0, method=Notes())
    row.leave_out("estimate", "low", "high", because=reason)
    return row.cells()


def _count(track: str, stage: str, count: int, total: int, statistic: str = "count") -> Cells:
    row = Row(track=track, stage=stage, statistic=statistic, estimate=float(count), n=total, clusters=total)
    row.add_methods(Note("count"))
    row.leave_out("low", "high", because=Note("is_count"))
    return row.cells()


def _share(track: str, stage: str, count: int, total: int, clusters: int) -> Cells:
    row = Row(track=track, stage=stage, statistic="share", n=total, clusters=clusters, method=WILSON)
    if total:
        add_wilson(row, count / total)
    else:
        row.leave_out("estimate", "low", "high", because=Note("share_of_nothing"))
    return row.cells()


TABLE = Table(
    "flow",
    flow,
    COLUMNS,
    METHODS,
    heading=_("From invitation to analysis"),
    empty=_("There is no participants.csv and no conversations.csv."),
)
