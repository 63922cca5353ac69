"""People's answers about themselves, and the numbers of people that are too small to be told."""

import pandas as pd  # noqa: TID253

from studies.analysis.frames import Export
from studies.analysis.notes import Note
from studies.analysis.reading import numbers, read_table

FEWEST = 5  # people that a figure is told of, so that no one can be found in it
SMALL, FOLLOWS = Note("under_five_people"), Note("would_reveal_under_five")


def people_in_results(export: Export) -> pd.DataFrame:
    """Return the people of participants.csv who are in the results."""
    path = export.folder / "participants.csv"
    if not path.is_file():
        return pd.DataFrame(columns=["participant", "track", "language"])
    there = set(export.conversations["participant"]) | set(export.ratings["rater"].astype(str))
    table = read_table(path, ("participant",), ("track", "language"))[["participant", "track", "language"]].astype(str)
    return table[table["participant"].isin(there)].drop_duplicates("participant", keep="last")


def answers_about_people(export: Export) -> pd.DataFrame:
    """Return the answers to questions about the person; the last answer counts."""
    path = export.folder / "answers.csv"
    names = ["participant", "conversation", "instrument", "item", "value", "text"]
    if not path.is_file():
        return pd.DataFrame(columns=names)
    table = read_table(path, ("participant",), names[1:])[names]
    table["value"] = numbers(path, table["value"])
    table = table.astype(dict.fromkeys([name for name in names if name != "value"], str))
    return table[table["conversation"] == ""].drop_duplicates(["participant", "instrument", "item"], keep="last")


def hidden_levels(counts: dict[str, int]) -> dict[str, Note]:
    """Return the levels whose number is not told, and why.

    Their sum is known, so one alone below FEWEST, or several that together are, would follow from the others; so would
    several that are all as small or as large as a hidden number can be. Then the smallest of these goes with them, and
    none of them says which is which.
    """
    small = {level for level, count in counts.items() if count < FEWEST}
    others = sorted(counts.keys() - small, key=lambda level: (counts[level], level))
    together = sum(counts[level] for level in small)
    follows = len(small) == 1 or together < FEWEST or together in (len(small), (FEWEST - 1) * len(small))
    if small and follows and others:
        return dict.fromkeys([*small, others[0]], FOLLOWS)
    return dict.fromkeys(small, SMALL)
