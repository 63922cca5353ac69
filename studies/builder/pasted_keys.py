"""Keys of models that were pasted where the name of a variable belongs: they are never stored in a draft."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from django.utils.translation import gettext as _

from dialogue.documents import DocumentError, Fault, Place, place_of
from dialogue.schema import VARIABLE, SchemaField, check_variable, fields_of
from studies.builder.document import NAME, StudyDocument
from studies.builder.sections import get_sections
from studies.models import StudyDraft


def wants_variable(schema_field: SchemaField) -> bool:
    """Return whether a key of the file wants the name of an environment variable."""
    return any(getattr(each, "func", None) is check_variable for each in schema_field.metadata)


@cache
def get_variable_keys() -> frozenset[str]:
    """Return the keys of the study file that want the name of an environment variable."""
    fields = [each for section in get_sections() for each in fields_of(section.schema).items()]
    return frozenset(key for key, field in fields if wants_variable(field))


def is_variable(value: Any) -> bool:
    """Return whether a value could be the name of a variable. What could not may be a key."""
    return not isinstance(value, str) or not value.strip() or bool(VARIABLE.fullmatch(value.strip()))


def find_pasted_keys(document: StudyDocument) -> list[Place]:
    """Return the places where something else stands than the name of a variable."""
    return list(walk(document.get(()), ()))


def walk(value: Any, place: Place) -> Iterator[Place]:
    if isinstance(value, Mapping):
        for key, member in value.items():
            if key in get_variable_keys() and not is_variable(member):
                yield (*place, key)
            else:
                yield from walk(member, (*place, key))
    elif isinstance(value, list):
        for number, member in enumerate(value):
            yield from walk(member, (*place, number))


def refuse_pasted_keys(document: StudyDocument) -> None:
    """Raise DocumentError where a key may stand in the place of a variable's name. It is not repeated."""
    if places := find_pasted_keys(document):
        raise DocumentError(NAME, [Fault(place_of(place), say_what_to_do()) for place in places])


def say_what_to_do() -> str:
    return _(
        "This is not the name of a variable, and may be a secret key, so it was not saved. Ask the server's admin to "
        "set the key in a variable, and give its name here, as OPENAI_API_KEY. A key that others may have seen should "
        "be replaced at the provider."
    )


def forget_pasted_keys(draft: StudyDraft) -> None:
    """Take keys out of the earlier versions of a draft, which can be brought back."""
    draft.earlier = [{**version, "text": clean_text(version["text"])} for version in draft.earlier]


def clean_text(text: str) -> str:
    """Return a study file without values that may be keys. Reading takes long, so only a suspicious text is read."""
    names = "|".join(sorted(get_variable_keys()))
    written = re.findall(rf"""(?:{names})["']?\s*=\s*["']+([^"'\n]*)""", text)
    if all(is_variable(value) for value in written):
        return text
    document = StudyDocument(text)
    for place in find_pasted_keys(document):
        document.set(place, None)
    return document.text
