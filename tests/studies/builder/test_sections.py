"""The sections of the builder: every key of a study file has its place in one of them."""

import pytest

from dialogue.schema import fields_of
from studies.builder.document import StudyDocument
from studies.builder.fields import make_fields
from studies.builder.sections import TITLES, get_sections, owner_of
from studies.design.reference import table_of
from studies.design.study_file import StudyFile


def keys_of(schema, above=""):
    for key, field in fields_of(schema).items():
        if table := table_of(field):
            yield from keys_of(table, f"{above}{key}.")
        else:
            yield f"{above}{key}"


def test_every_key_of_the_file_is_a_field_of_one_section():
    shown = [
        ".".join(str(part) for part in field.place)
        for section in get_sections()
        if section.schema
        for field in make_fields(section.schema, section.place, StudyDocument(""), ("en",), {})
    ]
    assert sorted(shown) == sorted(key for key in keys_of(StudyFile) if key != "prompts")
    assert "prompts" in [section.slug for section in get_sections()]


def test_every_section_has_a_title_of_its_own():
    assert [section.slug for section in get_sections() if section.slug not in TITLES] == []


@pytest.mark.parametrize(
    ("place", "slug"),
    [
        ("title.zh", "basics"),
        ("arms[2].base_url", "arms"),
        ("safety.oncall[1].email", "safety.oncall"),
        ("safety.ack_minutes", "safety"),
        ("consent.pi_name", "consent"),
        ("prompts.judge", "prompts"),
        ("line 3", "basics"),
        ("", "basics"),
    ],
)
def test_fault_belongs_to_the_section_of_its_place(place, slug):
    assert owner_of(place) == slug
