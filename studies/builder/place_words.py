"""The places of faults in the words of the builder's pages: which arm, which field, which language."""

import re

from dialogue.documents import Place
from dialogue.languages import LANGUAGES
from dialogue.schema import field_at
from studies.builder.consent import find_sentence
from studies.builder.document import StudyDocument
from studies.builder.fields import explain, get_first_sentence, show
from studies.builder.sections import CONSENT, NAMES, find_section, owner_of
from studies.design.study_file import StudyFile
from studies.participation.consent import template, template_ids

PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def read_place(text: str) -> Place:
    """Return the place that people read as `arms[2].base_url`."""
    return tuple(int(number) - 1 if number else key for number, key in PART.findall(text))


def describe_place(document: StudyDocument | None, text: str) -> str:
    """Return the name of a place on the pages: the table of its list, its field, its language; empty for a whole
    section."""
    place = read_place(text)
    named = [name_row(document, text, place), name_field(document, place), name_language(place)]
    return " · ".join(filter(None, named))


def name_row(document: StudyDocument | None, text: str, place: Place) -> str:
    """Return the name of the table of a list in which a place is, or its number."""
    section = find_section(owner_of(text))
    depth = len(section.place) if section else 0
    if section is None or not section.is_list or len(place) <= depth or not isinstance(place[depth], int):
        return ""
    row = document.get(place[: depth + 1]) if document else None
    name = next((show(row[key]) for key in NAMES if row.get(key)), "") if isinstance(row, dict) else ""
    return name or str(int(place[depth]) + 1)


def name_field(document: StudyDocument | None, place: Place) -> str:
    """Return the first sentence about the field of a place; empty where the place is no field."""
    if len(place) > 1 and place[0] == CONSENT and document:
        form = template(name) if (name := document.get((CONSENT, "instrument"))) in template_ids() else {}
        if form and place[1] in form["placeholders"]:
            return find_sentence(str(place[1]), form).rstrip(".。")
    for end in range(len(place), 0, -1):
        schema_field = field_at(StudyFile, place[:end])
        if schema_field.info and schema_field.info.description:
            return get_first_sentence(explain(schema_field))
    return ""


def name_language(place: Place) -> str:
    return next((one.name for one in LANGUAGES if place and place[-1] == one.code), "")
