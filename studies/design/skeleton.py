"""A study file to start from: a template with every key explained, from the schema. Pure but for reading files."""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dialogue.documents import parse_toml
from dialogue.languages import CODES
from dialogue.schema import SchemaField, check, fields_of
from studies.design.contradictions import needed_placeholders
from studies.design.reading import INSTRUMENTS, study_from
from studies.design.reference import (
    as_toml,
    default_of,
    example_of,
    meaning_of,
    sorted_fields,
    table_of,
    type_of,
)
from studies.design.spec import COUNSELLOR
from studies.design.study_file import StudyFile, Surroundings
from studies.instruments.wording import keep_parts, placeholders, sentences

TEMPLATES = INSTRUMENTS.parent / "studies"
FILES = {"emoharbor": "emoharbor.toml", "worst_case": "worst_case_experts.toml", "minimal": "minimal.toml"}
SHORT = "minimal"  # the one with its own sections alone
COLUMNS = 100
MARK = "# fill in"
TOP = ""  # the path of the keys at the top of the file
CONSENT = "consent"
HEADER = re.compile(r"\[\[?([a-z_.]+)\]\]?")
KEY = re.compile(r"(\w+) = ")
LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
LINK_ALONE = re.compile(r"\(\[[^\]]+\]\(([^)]+)\)\)")  # in brackets
HOW_TO = f"""
Values marked `{MARK}` are missing: `manage.py load_study FILE` checks the file, and names each that is still missing
with its place. A line such as `#key = value` is switched off, and shows an example: take the # away to use it. A text
that people read is one string for all languages, or a table: {{en = "…", zh = "…"}}. docs/study_file.md has all keys in
tables.
"""


@dataclass
class Table:
    """A table of a template: the remarks above its header, and its keys, each with its line and the remarks above."""

    path: str
    header: str = ""
    remarks: list[str] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    remarks_on: dict[str, list[str]] = field(default_factory=dict)


def skeleton(name: str) -> str:
    """Return the study file of this name in FILES."""
    return Skeleton((TEMPLATES / FILES[name]).read_text(encoding="utf-8"), whole=name != SHORT).text()


def marked_places(text: str) -> list[str]:
    """Return the places of the values that are still to be filled in, as `arms[1].base_url`."""
    places, counts, table = [], dict[str, int](), ""
    for line in text.splitlines():
        if header := HEADER.match(line):
            counts[header[1]] = counts.get(header[1], 0) + 1
            table = f"{header[1]}[{counts[header[1]]}]." if line.startswith("[[") else f"{header[1]}."
        elif (key := KEY.match(line)) and MARK in line:
            places.append(f"{table}{key[1]}")
    return places


class Skeleton:
    """A template whose tables are explained. `whole`: sections that it lacks follow, switched off."""

    def __init__(self, template: str, *, whole: bool) -> None:
        self.whole = whole
        self.head, self.tables = read_tables(template)
        self.document = parse_toml(template.encode(), "template")

    def text(self) -> str:
        """Return the file."""
        explained: set[str] = set()
        parts = [[*comment(self.head), "#", *comment(HOW_TO)]]
        for table in self.tables:
            parts.append(list(self.repeat(table) if table.path in explained else self.explain(table)))
            explained.add(table.path)
        parts += self.others(explained)
        return "\n\n".join("\n".join(part) for part in parts) + "\n"

    def repeat(self, table: Table) -> Iterator[str]:
        """Return the lines of a table whose keys have been explained."""
        yield from (*comment(" ".join(table.remarks)), table.header)
        for key, line in table.keys.items():
            yield from (*comment(" ".join(table.remarks_on[key])), line)

    def explain(self, table: Table) -> Iterator[str]:
        """Return the lines of a table with every key that it may have."""
        if table.path != TOP:
            yield from (*comment(" ".join(table.remarks)), table.header)
            yield from comment(meaning_of(FIELDS[table.path]))
        schema = table_of(FIELDS[table.path]) if table.path != TOP else StudyFile
        lines = dict(self.lines(schema, table))
        if table.path == CONSENT:
            lines |= self.placeholder_lines(table)
        for number, (key, about_it) in enumerate(lines.items()):
            yield from ([""] if number or table.path != TOP else [])
            yield from about_it[:-1]
            yield from comment(" ".join(table.remarks_on.get(key, ())))
            yield about_it[-1]

    def lines(self, schema: Any, table: Table) -> Iterator[tuple[str, list[str]]]:
        """Return for each key of a schema its explanation and, last, its line."""
        for key, one in sorted_fields(schema):
            if not table_of(one):
                yield key, [*comment(explanation(schema, one)), table.keys.get(key) or line_of(schema, key, one)]

    def others(self, explained: set[str]) -> list[list[str]]:
        """Return the sections that the template lacks: switched off, or their names alone."""
        lacking = [path for path in FIELDS if path not in explained]
        if not self.whole:
            names = ", ".join(map(header_of, lacking))
            return [list(comment(f"Sections that this study does without: {names}. See docs/study_file.md."))]
        return [list(switched_off(path)) for path in lacking]

    @cached_property
    def form(self) -> Mapping[str, Any]:
        """Return the consent form."""
        file = INSTRUMENTS / f"{self.document[CONSENT]['instrument']}.json"
        form: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return form

    def placeholder_lines(self, table: Table) -> Iterator[tuple[str, list[str]]]:
        """Return the same for the placeholders of the consent form that the study has to fill."""
        around = Surroundings(CODES, [self.document[CONSENT]["instrument"]], (), (), ())
        spec = study_from(check(StudyFile, self.document, around=around).value, {})
        flags = spec.consent_flags("participant") | spec.consent_flags(COUNSELLOR)
        implied = spec.consent_values().keys() - self.document[CONSENT].keys()
        needed = [name for name in needed_placeholders(self.form, flags) if name not in implied]
        for name in dict.fromkeys([*needed, *(key for key in table.keys if key in self.form["placeholders"])]):
            empty = ', or "" if there is none' if name in self.form["may_be_empty"] else ""
            line = f'{name} = "{{{{{name}}}}}"  {MARK}{empty}'
            yield name, [*comment(f"In the form: {self.sentence_with(name)}"), table.keys.get(name, line)]

    def sentence_with(self, name: str) -> str:
        """Return the first English sentence of the consent form that has this placeholder."""
        texts = [each.get("text", each) for each in (*self.form["sections"], *self.form["checkboxes"])]
        english = (keep_parts(text["en"], lambda part: not part.startswith("if_no_")) for text in texts)
        matches = (one for text in english for one in sentences(text) if name in placeholders(one))
        return " ".join(next(matches, "").split())


def read_tables(template: str) -> tuple[str, list[Table]]:
    """Return what a template says at its beginning, and its tables in order. Each value stands on one line."""
    head, _blank, rest = template.partition("\nkey = ")
    tables, remarks = [Table(TOP)], list[str]()
    for line in f"key = {rest}".splitlines():
        if line.startswith("#"):
            remarks.append(line.removeprefix("#").strip())
        elif header := HEADER.fullmatch(line):
            tables.append(Table(header[1], line, remarks))
            remarks = []
        elif key := KEY.match(line):
            tables[-1].keys[key[1]], tables[-1].remarks_on[key[1]] = line, remarks
            remarks = []
    return " ".join(line.removeprefix("#").strip() for line in head.splitlines()), tables


def fields_by_path(schema: Any, path: str) -> Iterator[tuple[str, SchemaField]]:
    """Return the tables below a table, by path as `safety.oncall`."""
    for key, one in sorted_fields(schema):
        if table := table_of(one):
            below = f"{path}.{key}".removeprefix(".")
            yield below, one
            yield from fields_by_path(table, below)


FIELDS = dict(fields_by_path(StudyFile, TOP))


def header_of(path: str) -> str:
    """Return the header of a section."""
    return f"[[{path}]]" if fields_of(FIELDS[path].members.kind) else f"[{path}]"


def switched_off(path: str) -> Iterator[str]:
    """Return the lines of a section that the study does without."""
    schema = table_of(FIELDS[path])
    yield from (f"#{header_of(path)}", *comment(meaning_of(FIELDS[path])))
    for key, one in sorted_fields(schema):
        if not table_of(one):
            yield from ("", *comment(explanation(schema, one)), f"#{key} = {as_toml(example_of(one))}")


def explanation(schema: Any, one: SchemaField) -> str:
    """Return the meaning of a key, its kind of value and its default."""
    usual = default_of(schema, one)
    default = "" if not usual else "; needed" if usual == "needed" else f"; by default {usual}"
    return f"{meaning_of(one)} ({type_of(one)}{default})"


def line_of(schema: Any, key: str, one: SchemaField) -> str:
    """Return the line of a key that the template does not have: to be filled in, or switched off."""
    if default_of(schema, one) == "needed":
        return f'{key} = ""  {MARK}, for example {as_toml(example_of(one))}'
    return f"#{key} = {as_toml(example_of(one))}"


def comment(text: str) -> list[str]:
    """Return a text as lines of a comment, broken at spaces alone. Links name their file."""
    plain = LINK.sub(r"\1 (docs/\2)", LINK_ALONE.sub(r"(docs/\1)", " ".join(text.split())))
    lines = textwrap.wrap(plain, COLUMNS - 2, break_long_words=False, break_on_hyphens=False)
    return [f"# {line}" for line in lines]
