"""The sections of a report in its order: the main part, then the supplement.

A section is made by a function of the results that gives None where there is nothing to say.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from studies.analysis.language import gettext as _
from studies.analysis.reporting.drawing import style
from studies.analysis.reporting.exhibits import exhibits_of
from studies.analysis.reporting.exhibits.card import card
from studies.analysis.reporting.parts import Numbering, Section, listing, replace_in, with_own_names
from studies.analysis.reporting.sections.agreement import agreement
from studies.analysis.reporting.sections.arms import arms
from studies.analysis.reporting.sections.blinding import blinding, lengths, order
from studies.analysis.reporting.sections.conditions import ablation, conditions
from studies.analysis.reporting.sections.costs import costs
from studies.analysis.reporting.sections.coverage import coverage, quality, sensitivity
from studies.analysis.reporting.sections.experts import expert_table
from studies.analysis.reporting.sections.feelings import feelings
from studies.analysis.reporting.sections.judges import probes
from studies.analysis.reporting.sections.methods import data, methods
from studies.analysis.reporting.sections.pairs import pairs
from studies.analysis.reporting.sections.people import flow, people
from studies.analysis.reporting.sections.primary import primary
from studies.analysis.reporting.sections.reliability import reliability
from studies.analysis.reporting.sections.seeker_profiles import seeker_profiles
from studies.analysis.reporting.sections.turns import over_turns, staying
from studies.analysis.results import Results

SUPPLEMENT: tuple[Callable[[Results], Section | None], ...] = (
    *(flow, people, seeker_profiles),
    *(primary, arms, pairs, expert_table, agreement, probes, reliability),
    *(staying, over_turns, conditions, ablation, feelings),
    *(order, blinding, lengths, coverage, quality, sensitivity, costs),
)
CLOSING = (methods, data)


def sections_of(results: Results, tell: Callable[[str], None] = lambda _: None) -> list[Section]:
    """Return the main part and the supplement, which is folded; `tell` gets the name of each section before its figures
    are drawn."""
    with style():
        tell("main_part")
        opening = [*main_part(results), *filter(None, [keep_in_mind(results)])]
        middle = [section for make in SUPPLEMENT if (section := _make(make, results, tell))]
        closing = [make(results) for make in CLOSING]
        keys = {section.key for section in (*opening, *middle, *closing)}
        sections = [*middle, *_others(results, keys), *closing]
        supplement = _number_all([_with_tables(section, results) for section in sections])
        return with_own_names([*opening, *supplement])


def main_part(results: Results) -> list[Section]:
    """Return the card and the exhibits, each as a section; the first exhibit stands on the card's screen."""
    sections = [
        Section(f"main-{exhibit.key}", exhibit.heading, exhibit.parts(), exhibit=exhibit)
        for exhibit in exhibits_of(results)
    ]
    return [Section("summary", _("At a glance"), [card(results)]), *sections]


def keep_in_mind(results: Results) -> Section | None:
    limits = results.limits()
    return Section("limits", _("Keep in mind"), [listing(limits, class_="notes")]) if limits else None


def _number_all(sections: Iterable[Section]) -> list[Section]:
    """Return the sections of the supplement, folded, with figures and tables as S1, S2 …"""
    numbering = Numbering("S")
    return [replace(section, parts=replace_in(section.parts, numbering.label), is_folded=True) for section in sections]


def _make(make: Callable[[Results], Section | None], results: Results, tell: Callable[[str], None]) -> Section | None:
    tell(make.__name__)
    return make(results)


def _others(results: Results, keys: Collection[str]) -> list[Section]:
    """Return a section for each table whose section is not among `keys`."""
    return [
        Section(table.section_key(), _(table.heading), [])
        for table in results.computed
        if table.section_key() not in keys and not results.table(table.name).empty
    ]


def _with_tables(section: Section, results: Results) -> Section:
    """Return the section with the tables that are registered for its end."""
    tables = [table.name for table in results.computed if table.section_key() == section.key]
    return replace(section, tables=tables)
