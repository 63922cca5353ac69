"""docs/study_file.md is the reference of the study file that its schema gives, and its examples can be used."""

import re
import tomllib
from typing import Any

import pytest

from dialogue.languages import CODES
from dialogue.schema import check, fields_of
from studies.design.reference import as_toml, reference, table_of
from studies.design.study_file import StudyFile, Surroundings
from tests.studies.design.test_reading import FIXTURES, KNOWN

PAGE = FIXTURES.parent / "docs" / "study_file.md"
AROUND = Surroundings(CODES, KNOWN, (), (), ())


def keys_of(schema: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    """Return every key of the file with its place, that of the first table where there may be several."""
    found = []
    for key, field in fields_of(schema).items():
        if table := table_of(field):
            below = (*path, key, 0) if fields_of(field.members.kind) else (*path, key)
            found += keys_of(table, below)
        else:
            found.append(((*path, key), field))
    return found


KEYS = keys_of(StudyFile)


def test_the_page_is_what_the_schema_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), "run: make docs"


@pytest.mark.parametrize(("place", "field"), KEYS, ids=[str(place) for place, _ in KEYS])
def test_every_key_has_a_meaning_and_an_example_that_the_schema_accepts(place: tuple[Any, ...], field: Any) -> None:
    assert field.info.description.endswith((".", ")"))
    [example] = field.info.examples
    document: Any = example
    for part in reversed(place):
        document = [document] if isinstance(part, int) else {part: document}
    found = check(StudyFile, document, around=AROUND).fault_list.places
    assert [each for each in found if each == place or each[: len(place)] == place] == []
    assert tomllib.loads(f"{place[-1]} = {as_toml(example)}") == {place[-1]: example}


def test_every_key_stands_in_its_section() -> None:
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    by_title = {section.partition("\n")[0].strip("`"): section for section in sections}
    for place, _field in KEYS:
        path = ".".join(part for part in place[:-1] if isinstance(part, str))
        title = f"[[{path}]]" if 0 in place else f"[{path}]" if path else "At the top of the file"
        assert f"\n| `{place[-1]}` |" in by_title[title], place
