"""The notes of an analysis, as results.json and plan.json have them, in the language of the page."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from dialogue.templatetags.languages import active_language
from studies.analysis.language import speaking
from studies.analysis.notes import Note, read_notes

BOUNDS = "interval"  # what a note on them is about, where the bounds have plain names


def word_notes(notes: Iterable[Note]) -> list[str]:
    with speaking(active_language().html):
        return [note.text() for note in notes]


def join_notes(notes: Iterable[Note]) -> str:
    return active_language().semicolon.join(word_notes(notes))


def explain(row: Mapping[str, Any], columns: Collection[str]) -> str:
    """Return the notes on these columns and on the whole row; the names of the columns are left out."""
    shown = {BOUNDS, *columns}
    return join_notes(note.on() for note in read_notes(row) if not note.columns or shown & set(names_of(note)))


def names_of(note: Note) -> list[str]:
    return [column.code if isinstance(column, Note) else column for column in note.columns]
