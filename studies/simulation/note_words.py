"""The notes of an analysis in the language of the page.

results.json has their English texts. Here they are read back as the codes and values of `studies.analysis.notes`, which
words them in every language.
"""

import re
from functools import cache
from string import Formatter

from dialogue.templatetags.languages import active_language
from studies.analysis.language import speaking
from studies.analysis.notes import WORDINGS, Note

VALUE = "([^:;]+)"


def word_note(text: str) -> str:
    """Return a note in the language of the page; one that is not ours stays as it is."""
    note = read_note(text)
    if note is None:
        return text
    with speaking(active_language().html):
        return note.text()


def read_note(text: str) -> Note | None:
    about, colon, rest = text.partition(": ")
    if colon and (note := read_wording(rest)):
        return note.on(*(read_wording(column) or column for column in about.split(", ")))
    return read_wording(text)


def read_wording(text: str) -> Note | None:
    for code, pattern, places in patterns():
        if found := pattern.fullmatch(text):
            values = zip(places, found.groups(), strict=True)
            return Note(code, **{place: read_wording(value) or value for place, value in values})
    return None


@cache
def patterns() -> list[tuple[str, re.Pattern[str], list[str]]]:
    """Return each code with the pattern of its English wording and the names of its places; the longest text first."""
    found = []
    for code, wording in WORDINGS.items():
        parts = [(text, place) for text, place, _spec, _conversion in Formatter().parse(wording)]
        pattern = "".join(re.escape(text) + (VALUE if place else "") for text, place in parts)
        found.append((len("".join(text for text, _ in parts)), code, re.compile(pattern), [p for _, p in parts if p]))
    return [(code, pattern, places) for _, code, pattern, places in sorted(found, key=lambda one: -one[0])]
