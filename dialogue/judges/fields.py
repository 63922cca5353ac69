"""Fields of what a judge reads about the seeker, so that one of them can be left out. Pure.

The parts of a profile are EmoHarbor's D, P, C and S (arXiv:2601.01530, Section 2.1), those of an inner state what its
Thinker writes down. What others of the fields say of the one that is left out stays.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from dialogue.judges.prompts import STATE_FIELDS

PROFILE = "profile"  # all of it
DEMOGRAPHICS, PERSONALITY, BIG_FIVE, CONCERN, SCRIPT = "demographics", "personality", "big_five", "concern", "script"
PARTS = (DEMOGRAPHICS, PERSONALITY, BIG_FIVE, CONCERN, SCRIPT)
WITHIN = {BIG_FIVE: PERSONALITY}
WITHOUT = "without_"  # before a field, as a judge's variant


class ProfileLine(NamedTuple):
    """A line of a profile. `field` is one of PARTS, or empty where no one has said which."""

    field: str
    text: str


Profile = Sequence[ProfileLine]


def text_of(profile: Profile) -> str:
    return "\n".join(line.text for line in profile)


def get_variant_without(field: str) -> str:
    return f"{WITHOUT}{field}"


def get_field_left_out(variant: str) -> str:
    """Return the field that a variant leaves out; empty if it does something else."""
    return variant.removeprefix(WITHOUT) if variant.startswith(WITHOUT) else ""


def remove_field(profile: Iterable[ProfileLine], field: str) -> tuple[ProfileLine, ...]:
    return tuple(line for line in profile if not has_field(line, field))


def has_field(line: ProfileLine, field: str) -> bool:
    return field in (PROFILE, line.field, WITHIN.get(line.field)) if field else False


def is_field_shown(field: str, fields: Collection[str], profile: Profile) -> bool:
    """Return whether a judge who gets these fields learns this one about a seeker with this profile."""
    if field not in fields:
        return False
    return field in STATE_FIELDS or any(has_field(line, field) for line in profile)
