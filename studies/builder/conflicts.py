"""Two people at one section: notice that it was changed elsewhere since its page was opened, and lose nothing typed.

A page carries a hash of each value that it showed (`seen`). What changed in other sections does not matter to it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from django.http import QueryDict
from django.utils.translation import gettext as _

from dialogue.templatetags.languages import listed
from studies.builder.document import StudyDocument
from studies.builder.fields import (
    CHOICE,
    RATES,
    SEVERAL,
    TRUTH,
    WORDS,
    Field,
    Part,
    UnreadError,
    read_typed,
    show_unread,
)
from studies.builder.sections import Section
from studies.workbench.seen import get_hash


def get_rows_hash(section: Section, document: StudyDocument) -> str:
    """Return a hash of all tables of a list."""
    return get_hash(document.get(section.place))


def get_hashes(fields: Sequence[Field]) -> dict[str, str]:
    """Return a hash of each field's value, by the name of its input."""
    return {one.name: get_hash(one.value) for one in fields}


def read_hashes(text: str) -> dict[str, str]:
    """Return the hashes that a page carried; none where the text is not from a page of ours."""
    try:
        hashes = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return {name: str(value) for name, value in hashes.items()} if isinstance(hashes, dict) else {}


def merge_typed(fields: Sequence[Field], posted: QueryDict, seen: Mapping[str, str]) -> list[Field]:
    """Return the fields with what was typed. A field that only someone else has changed shows what is saved now; one
    that both have changed shows what was typed, and beside it what is saved."""
    return [merge_field(one, posted, seen.get(one.name)) for one in fields]


def merge_field(one: Field, posted: QueryDict, seen: str | None) -> Field:
    try:
        typed = read_typed(one, posted)
    except UnreadError as error:
        return replace(show_unread(one, posted, str(error)), meanwhile=describe_change(one, seen))
    if typed == one.value or get_hash(typed) == seen:
        return one
    values = typed if isinstance(typed, list) else [typed]
    choices = tuple(replace(choice, is_chosen=choice.value in values) for choice in one.choices)
    return replace(one, value=typed, choices=choices, meanwhile=describe_change(one, seen))


def describe_change(one: Field, seen: str | None) -> tuple[Part, ...]:
    """Return the saved value if someone else has changed the field since the page was opened; else nothing."""
    return () if get_hash(one.value) == seen else describe(one)


def describe(one: Field) -> tuple[Part, ...]:
    """Return the saved value as text: one text, or one for each language."""
    if one.kind in (WORDS, RATES):
        return tuple(one.parts)
    if one.kind == TRUTH:
        return (Part("", _("yes") if one.is_ticked else _("no")),)
    if one.kind in (CHOICE, SEVERAL):
        return (Part("", listed(choice.label for choice in one.choices if choice.is_chosen)),)
    return (Part("", one.typed_form()),)


def list_lost(fields: Sequence[Field], posted: QueryDict, seen: Mapping[str, str]) -> list[Part]:
    """Return the typed values of fields that the section no longer has."""
    there = {one.name for one in fields}
    lost = [name for name in seen if name not in there]
    return [
        Part(key, text)
        for key in posted
        for name in lost
        if (key == name or key.startswith(f"{name}.")) and (text := posted.get(key, "").strip())
    ]
