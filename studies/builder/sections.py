"""The sections of a study file, as the builder shows them: one page each, from the file's own form."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from dialogue.documents import Place
from dialogue.schema import fields_of
from studies.design.reference import table_of
from studies.design.study_file import StudyFile

BASICS = "basics"  # the keys at the top of the file
CONSENT = "consent"
PROMPTS = "prompts"


@dataclass(frozen=True)
class Section:
    """A section of the file. Of a list of tables each has a page of its own."""

    slug: str
    place: Place
    schema: Any
    is_list: bool
    title: str | Promise
    intro: str | Promise = ""


# In the order in which one fills them in. Sections that are not named here follow at the end.
TITLES: Mapping[str, tuple[str | Promise, str | Promise]] = {
    BASICS: (_("Basics"), _("What the study is called, in which languages and for whom.")),
    CONSENT: (
        _("Consent"),
        _("The form that people agree to. Each value stands beside the sentence that it completes."),
    ),
    "steps": (_("Steps"), _("What people do, from the first page to the last.")),
    "chat": (_("Conversations"), _("How long conversations are, and what people rate.")),
    "arms": (_("Arms"), _("The models under study. Participants never see which one they talk with.")),
    "order": (_("Allocation"), _("Who meets which arms, in which order.")),
    "display": (_("Display"), _("What pages show, and how fast.")),
    "safety": (_("Safety rules"), _("What happens when someone may be in danger.")),
    "safety.oncall": (_("On call"), _("Whom an alarm reaches, in this order.")),
    "safety.second_line": (
        _("Second line of the risk screen"),
        _("A model that reads each message beside the built-in screen."),
    ),
    "safety.stopping_rules": (_("Stopping rules"), _("Rules that pause an arm automatically.")),
    "payment": (_("Payment"), _("What people are paid, and what they get if they leave early.")),
    "retention": (_("Retention"), _("Until when people can have their data deleted, and how long data are kept.")),
    "judges": (_("Judges"), _("Models that answer the rating scales.")),
    "seeker": (_("Simulated seekers"), _("The model that plays seekers.")),
    "evaluator": (_("Evaluator"), _("The model that rates for simulated seekers; by default the one that plays them.")),
    "role_play": (_("Role cards"), _("The seekers that counsellors play.")),
    "alt_test": (_("Alternative annotator test"), _("How far a judge may be behind people and still pass.")),
    "primary": (_("Primary contrasts"), _("The comparisons that you declare before you see data.")),
    PROMPTS: (_("Prompts and files"), _("Your own texts for models, and files of role cards.")),
}
# What a row of a list is called, beside its number: the first of these keys that it has.
NAMES = ("key", "name", "kind", "count", "item")


@cache
def get_sections() -> tuple[Section, ...]:
    """Return all sections, in the order of their pages."""
    sections = {section.slug: section for section in walk_sections()}
    order = [*(slug for slug in TITLES if slug in sections), *(slug for slug in sections if slug not in TITLES)]
    return tuple(sections[slug] for slug in order)


def walk_sections() -> Iterator[Section]:
    """Yield the sections of the form, from the top."""
    yield make_section((), StudyFile, is_list=False)
    yield from walk_tables(StudyFile, ())
    yield Section(PROMPTS, (PROMPTS,), None, False, *TITLES[PROMPTS])


def walk_tables(schema: Any, above: Place) -> Iterator[Section]:
    for key, field in fields_of(schema).items():
        if table := table_of(field):
            is_list = bool(fields_of(field.members.kind))
            yield make_section((*above, key), table, is_list=is_list)
            if not is_list:
                yield from walk_tables(table, (*above, key))


def make_section(place: Place, schema: Any, *, is_list: bool) -> Section:
    slug = ".".join(map(str, place)) or BASICS
    title, intro = TITLES.get(slug, (slug, ""))
    return Section(slug, place, schema, is_list, title, intro)


def find_section(slug: str) -> Section | None:
    """Return the section with this name in addresses."""
    return next((section for section in get_sections() if section.slug == slug), None)


def owner_of(place: str) -> str:
    """Return the slug of the section to which a fault's place belongs: `safety.oncall[1].email` → `safety.oncall`."""
    bare = "".join(part for part in place.replace("]", "[").split("[") if not part.isdigit())
    slugs = {section.slug for section in get_sections()}
    while bare and bare not in slugs:
        bare = bare.rpartition(".")[0]
    return bare or BASICS
