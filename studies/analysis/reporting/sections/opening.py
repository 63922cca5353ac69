"""The report's first screen, its exhibits, and what must be kept in mind."""

from studies.analysis.language import gettext as _
from studies.analysis.reporting.exhibits import exhibits_of
from studies.analysis.reporting.exhibits.card import card
from studies.analysis.reporting.parts import Section, listing
from studies.analysis.results import Results


def main_part(results: Results) -> list[Section]:
    """Return the card and the exhibits, each as a section; the first exhibit stands on the card's screen."""
    shown = [
        Section(f"main-{exhibit.key}", exhibit.heading, exhibit.parts(), exhibit=exhibit)
        for exhibit in exhibits_of(results)
    ]
    return [Section("summary", _("At a glance"), [card(results)]), *shown]


def keep_in_mind(results: Results) -> Section | None:
    limits = results.limits()
    return Section("limits", _("Keep in mind"), [listing(limits, class_="notes")]) if limits else None
