"""The conversations in which something went wrong, as the files tell it: for results with and without them."""

from studies.analysis.frames import Export, read_calls
from studies.analysis.reading import numbers, read_table

ENDED_BY_INCIDENT = ("safety", "technical")
OF_PEOPLE = ("person", "counsellor")
NO_FAILURE = ("ok", "started", "stopped")  # of calls: what is any other status is a failure of the provider


def incidents(export: Export) -> frozenset[str]:
    """Return the conversations in which something went wrong.

    They were ended for safety's sake or by a technical failure; or a person's message got no reply in them (held for
    safety's sake, or the provider had none); or an attempt at a reply failed; or they were held for safety's sake and
    went on.
    """
    chats = export.chats
    ended = chats.index[chats["end_reason"].isin(ENDED_BY_INCIDENT)]
    people = chats.index[chats["seeker_kind"].isin(OF_PEOPLE) & (chats["end_reason"] != "")]
    return (
        frozenset(ended)
        | (_unanswered_conversations(export) & frozenset(people))
        | _failed_conversations(export)
        | _held_conversations(export)
    )


def _held_conversations(export: Export) -> frozenset[str]:
    """Return the conversations that were held; none from an export of before, which has no column of it."""
    path = export.folder / "conversations.csv"
    if not path.is_file():
        return frozenset()
    chats = read_table(path, ("conversation",), ("holds",))
    return frozenset(chats.loc[numbers(path, chats["holds"]) > 0, "conversation"].astype(str))


def _unanswered_conversations(export: Export) -> frozenset[str]:
    """Return the conversations with a message without reply; last words of simulated and imported seekers need none."""
    path = export.folder / "turns.csv"
    if not path.is_file():
        return frozenset()
    turns = read_table(path, ("conversation", "turn", "role"), ()).astype(str)
    messages, replied = (
        set(turns.loc[turns["role"] == role, ["conversation", "turn"]].itertuples(index=False, name=None))
        for role in ("seeker", "supporter")
    )
    return frozenset(conversation for conversation, _turn in messages - replied)


def _failed_conversations(export: Export) -> frozenset[str]:
    path = export.folder / "calls.csv"
    if not path.is_file():
        return frozenset()
    calls = read_calls(path)
    failed = calls[(calls["purpose"] == "reply") & ~calls["status"].isin(NO_FAILURE)]
    return frozenset(failed["conversation"])
