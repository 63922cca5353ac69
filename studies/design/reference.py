"""docs/study_file.md: every key of a study file, from its schema. `make docs` writes it. Pure."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING
from dataclasses import fields as dataclass_fields
from inspect import getdoc
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from typing_extensions import is_typeddict

from dialogue.schema import (
    Needed,
    OneOf,
    SchemaField,
    check_email,
    check_slug,
    check_variable,
    check_web_address,
    fields_of,
)
from studies.design.retention_spec import check_day
from studies.design.safety_rules import check_hours, check_time_zone
from studies.design.spec import check_instrument, read_checkpoints, read_opening, read_text
from studies.design.study_file import StudyFile, check_country, read_rates

HEAD = """# The study file

<!-- Written by `make docs` from studies/design/study_file.py. Change it there. -->

A study is one TOML file. [Setting up a study](setting_up.md) explains what the parts do, and
`fixtures/studies/demo.toml` is a complete example. `load_study` checks the file and reports every fault at once as
`FILE: place: what is wrong`. A place joins keys with dots and counts from 1: `arms[2].base_url` is the key `base_url`
of the second `[[arms]]`. A key that is not listed here is a fault.

A text that people read is one string for all languages, or a table: `title = {en = "A study", zh = "一项研究"}`. Needed
keys have no default; all others can be left out. An instrument is the name of a file in `fixtures/instruments` without
`.json`.

## At the top of the file
"""
CONSENT = """
All other keys of `[consent]` are the placeholders of the form, as `pi_name` or `ethics_board`. `load_study` lists those
that your form needs. An empty text says that there is none, where the form can do without it.
"""
AFTER = {"consent": CONSENT}
FIRST = ("key", "title")  # of a table's keys
KINDS: Mapping[Callable[..., Any], str] = {
    check_email: "e-mail address",
    check_slug: "name: a–z, 0–9, _ and -, at most 60 characters",
    check_variable: "name of an environment variable",
    check_web_address: "web address",
    check_country: "two capital letters (ISO 3166)",
    check_instrument: "instrument",
    check_hours: "hours of a week",
    check_day: "day as YYYY-MM-DD",
    check_time_zone: "name of a time zone",
    read_checkpoints: "list of whole numbers, or a table",
    read_opening: "text, or a table by language",
    read_rates: "number from 1 to 1000, or a table by language",
    read_text: "text, or a table by language",
}
PLAIN = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def reference() -> str:
    """Return the page."""
    return "\n".join([HEAD, *sections(StudyFile, "")])


def sections(schema: Any, path: str) -> Iterator[str]:
    """Return the lines about a table and the sections of the tables in it."""
    fields = sorted_fields(schema)
    yield "| key | type | default | meaning | example |\n| --- | --- | --- | --- | --- |"
    yield "\n".join(row(schema, key, field) for key, field in fields if not table_of(field))
    yield AFTER.get(path, "")
    for key, field in fields:
        if table := table_of(field):
            below = f"{path}.{key}".removeprefix(".")
            yield f"## `[[{below}]]`\n" if fields_of(field.members.kind) else f"## `[{below}]`\n"
            yield f"{meaning_of(field)}\n"
            yield from sections(table, below)


def sorted_fields(schema: Any) -> list[tuple[str, SchemaField]]:
    """Return the keys of a table with their fields, key and title first."""
    return sorted(fields_of(schema).items(), key=lambda each: FIRST.index(each[0]) if each[0] in FIRST else len(FIRST))


def meaning_of(field: SchemaField) -> str:
    """Return what the schema says about a key; of a table without words of its own, what it says about the table."""
    return (field.info and field.info.description) or getdoc(table_of(field)) or ""


def example_of(field: SchemaField) -> Any:
    """Return a value as people would write it."""
    [example] = (field.info and field.info.examples) or [None]
    return example


def table_of(field: SchemaField) -> Any:
    """Return the schema of a key whose value is a table or a list of tables; None for other keys."""
    return next((kind for kind in (field.kind, field.members.kind) if fields_of(kind)), None)


def row(schema: Any, key: str, field: SchemaField) -> str:
    """Return a key's line in the table of its section."""
    example = f"`{key} = {as_toml(example_of(field))}`"
    cells = [f"`{key}`", type_of(field), default_of(schema, field), meaning_of(field), example]
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def type_of(field: SchemaField) -> str:
    """Return the kind of value in words."""
    checks = [each.func for each in field.metadata if hasattr(each, "func")]
    if kind := next((KINDS[check] for check in checks if check in KINDS), ""):
        return kind
    if choices := choices_of(field):
        return f"one of {', '.join(f'`{choice}`' for choice in choices)}"
    if field.members.kind:
        return f"list: {type_of(field.members)}"
    limits = {
        name: limit for name in ("ge", "gt", "le", "lt", "max_length") if (limit := field.limit(name)) is not None
    }
    return PLAIN.get(field.kind, "table") + "".join(LIMITS[name].format(limit) for name, limit in limits.items())


LIMITS = {
    "ge": " from {:g}",
    "gt": " above {:g}",
    "le": " to {}",
    "lt": " below {:g}",
    "max_length": ", at most {} characters",
}


def choices_of(field: SchemaField) -> tuple[str, ...]:
    """Return the words that a key can have; none where it is free."""
    marker = field.marker(OneOf)
    if marker:
        return tuple(marker.choices)
    return get_args(field.kind) if get_origin(field.kind) is Literal else ()


def default_of(schema: Any, field: SchemaField) -> str:
    """Return what a key means that is left out."""
    if is_typeddict(schema):
        return "`false`" if field.kind is bool else f'`"{choices_of(field)[0]}"`' if choices_of(field) else ""
    default = usual_of(schema, field.name)
    if field.marker(Needed) or default is MISSING:
        return "needed"
    return f"`{as_toml(default)}`" if default not in (None, "", (), {}) or default is False else ""


def usual_of(schema: Any, name: str) -> Any:
    """Return the default of a field; MISSING where it has none."""
    if issubclass(schema, BaseModel):
        info = schema.model_fields[name]
        return MISSING if info.is_required() else info.default
    [field] = [each for each in dataclass_fields(schema) if each.name == name]
    return field.default_factory() if field.default_factory is not MISSING else field.default


def as_toml(value: Any) -> str:
    """Return a value as it stands on one line of a TOML file."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {as_toml(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
