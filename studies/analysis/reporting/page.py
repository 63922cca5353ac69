"""A report as one HTML page without network."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253

from dialogue.languages import get_language
from studies.analysis.language import current_language, ngettext
from studies.analysis.language import gettext as _
from studies.analysis.notes import in_words
from studies.analysis.reporting.drawing import Figure
from studies.analysis.reporting.excerpts import heads_of, with_names, without_repetition
from studies.analysis.reporting.limits import differing_numbers
from studies.analysis.reporting.markup import Markup, tag
from studies.analysis.reporting.numbers import in_column
from studies.analysis.reporting.parts import Excerpt, Folded, Part, Section, join_sentences
from studies.analysis.reporting.policy import SCRIPT, policy
from studies.analysis.reporting.study import title_of
from studies.analysis.results import Results
from studies.analysis.tables.file_tables import COLLECTING
from studies.analysis.tables.table import Table

STYLE = Path(__file__).with_name("report.css")
FIRST = "summary"  # key of the section on the first screen
MOST_ROWS = 40  # of a whole table; the file has all
LONG = 24  # letters of a cell that may break
WORDED = ("method", "test", "correction")  # columns of notes, or of texts that the catalogue has
_NUMBER = re.compile(r"[−+]?[\d,.]+( %| \[[−+\d.,e ]+\]|–[\d,]+)?\*{0,3}|–|<\.001")


def page(results: Results, sections: Sequence[Section], others: Mapping[str, str]) -> str:
    """Return a report as HTML; `others` are the reports in other languages, file by language."""
    title = _("{study}: results").format(study=title_of(results.export))
    ribbon = [tag("p", _("Demonstration data"), class_="ribbon")] if results.export.demonstration else []
    alarms = [tag("p", text, class_="alarm", role="alert") for text in differing_numbers(results.tables)]
    halves = _in_pairs([section for section in sections if not section.is_folded])
    first, *rest = (_section(section, results, halves) for section in sections if not section.is_folded)
    supplement = [section for section in sections if section.is_folded]
    below = [_supplement(supplement, results)] if supplement else []
    opening = [_switch(others), tag("h1", title), *alarms, first]
    # What the script writes on its buttons.
    words = {"data_copy": _("Copy"), "data_csv": "CSV", "data_latex": "LaTeX", "data_copied": _("Copied")}
    main = tag("main", *opening, tag("div", *rest, class_="exhibits"), *below)
    head = tag("head", *_meta(), tag("title", title), tag("style", _file(STYLE)))
    body = tag("body", *ribbon, main, _contents(sections), tag("script", _file(SCRIPT)), **words)
    return f"<!doctype html>\n{tag('html', head, body, lang=current_language())}\n"


def _meta() -> list[Markup]:
    return [
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
    ]


def _file(path: Path) -> Markup:
    return Markup(path.read_text(encoding="utf-8"))


def _switch(others: Mapping[str, str]) -> Markup:
    links = (
        tag("a", get_language(language).short_name, href=file, lang=language, hreflang=language)
        for language, file in others.items()
    )
    return tag("p", *links, class_="languages")


def _contents(sections: Sequence[Section]) -> Markup:
    main, supplement = (
        tag("ol", *(_link(section) for section in sections if section.is_folded == folded)) for folded in (False, True)
    )
    heads = [tag("h2", text) for text in (_("Contents"), _("Supplement"))]
    return tag("nav", heads[0], main, heads[1], supplement, aria_label=_("Contents"))


def _link(section: Section) -> Markup:
    return tag("li", tag("a", section.heading, href=f"#{section.key}"))


def _section(section: Section, results: Results, halves: Collection[str]) -> Markup:
    content = _content(section, results)
    if section.key == FIRST:  # the title of the page stands above it
        return tag("section", *content, id=section.key, aria_label=section.heading)
    shape = {} if section.key in halves else {"class_": "broad"}
    return tag("section", tag("h2", section.heading), *content, id=section.key, **shape)


def _in_pairs(sections: Sequence[Section]) -> set[str]:
    """Return the keys of the sections that stand two in a line; a narrow one by itself has its text beside it."""
    keys: set[str] = set()
    for left, right in pairwise(sections):
        if left.key not in keys and _is_narrow(left) and _is_narrow(right):
            keys |= {left.key, right.key}
    return keys


def _is_narrow(section: Section) -> bool:
    exhibit = section.exhibit
    return bool(exhibit and isinstance(exhibit.part, Figure) and exhibit.part.columns() == 1 and not exhibit.beside)


def _content(section: Section, results: Results) -> list[Markup]:
    whole = [_whole(name, results) for name in section.tables if not results.table(name).empty]
    return [*(_part(part) for part in section.parts), *whole]


def _supplement(sections: Sequence[Section], results: Results) -> Markup:
    """Return the supplement. Each section opens when its heading is chosen, here or in the contents."""
    text = _("Every table is also a CSV file next to this page, with all digits; results.json contains everything.")
    folded = [
        tag(
            "details",
            tag("summary", tag("h3", section.heading)),
            tag("div", *_content(section, results), id=section.key),
            class_="chapter",
        )
        for section in sections
    ]
    return tag("section", tag("h2", _("Supplement")), tag("p", text), *folded, class_="supplement")


def _part(part: Part) -> Markup:
    if isinstance(part, Figure):
        return _figure(part)
    if isinstance(part, Folded):
        return tag("details", tag("summary", part.summary), *map(_part, part.parts))
    if isinstance(part, Excerpt):
        frame, repeated = without_repetition(part.frame)
        caption = _with_label(part.label, part.caption)
        return _table(frame, part.name, caption, heads_of(frame), join_sentences([part.remark, repeated]))
    return part


def _with_label(label: str, text: str) -> str:
    return _("{label}: {text}").format(label=label, text=text) if label else text


def _figure(figure: Figure) -> Markup:
    svg = Markup(figure.svg)
    caption = tag("figcaption", tag("strong", _with_label(figure.label, figure.title)), figure.caption)
    if figure.columns() == 1:
        return tag("figure", tag("div", svg, role="img", aria_label=figure.title), caption, class_="narrow")
    # On a phone it scrolls, so it must be reachable by the keyboard.
    return tag("figure", tag("div", svg, class_="drawing", role="img", aria_label=figure.title, tabindex="0"), caption)


def _whole(name: str, results: Results) -> Markup:
    table = results.table(name)
    described = next(one for one in results.computed if one.name == name)
    heading = _(described.heading)
    frame = with_names(table.head(MOST_ROWS))
    rows = _("{heading}: {shown} of the rows of {file}")
    if _fills_its_file(described, results.computed):
        rows = ngettext("{heading}: the {count} row of {file}", "{heading}: all {count} rows of {file}", len(table))
        if len(table) > MOST_ROWS:
            rows = _("{heading}: the first {shown} of {count} rows of {file}")
    texts = {"heading": heading, "count": f"{len(table):,}", "shown": len(frame), "file": described.file_name()}
    # The heads are those of the file, so that it can be found there again.
    return tag("details", tag("summary", rows.format(**texts)), _table(frame, name, heading, list(table.columns)))


def _fills_its_file(table: Table, others: Iterable[Table]) -> bool:
    """Return whether a table's file has its rows alone: none of another table, and none of single statistics."""
    is_shared = table.file or table.name == COLLECTING or table.name in {other.file for other in others}
    return not (is_shared or (table.further and "statistic" in table.columns))


def _table(table: pd.DataFrame, name: str, caption: str, heads: Sequence[str], remark: str = "") -> Markup:
    head = tag("tr", *(tag("th", _breakable(column), scope="col") for column in heads))
    rows = (tag("tr", *map(_cell, table.columns, row)) for row in table.itertuples(index=False))
    content = tag("table", tag("thead", head), tag("tbody", *rows))
    # A region that scrolls must be reachable by the keyboard.
    wide = tag("div", content, class_="wide", tabindex="0", role="region", aria_label=caption)
    below = [tag("p", remark, class_="remark")] if remark else []
    return tag("div", tag("p", caption, class_="caption"), wide, *below, class_="table", data_name=name)


def _breakable(name: str) -> Markup:
    """Return the name of a file's column so that a narrow column breaks it where it has a joint."""
    return Markup(escape(name).replace("_", "_<wbr>"))


def _cell(column: str, value: Any) -> Markup:
    if column == "note":
        return tag("td", in_words(value), class_="note")
    if pd.isna(value):
        return tag("td")
    if isinstance(value, float):
        return tag("td", in_column(column, value), class_="number")
    if isinstance(value, Markup):
        return tag("td", value, class_="number")
    if column in WORDED:
        return tag("td", in_words(value))
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return _number(str(value))
    return tag("td", value, **({"class_": "long"} if len(value) > LONG else {}))


def _number(text: str) -> Markup:
    """Return the cell of a number; an interval may stand below its estimate, where a table is wide."""
    estimate, bracket, bounds = text.partition(" [")
    if not bracket:
        return tag("td", text, class_="number")
    return tag("td", f"{estimate} ", tag("span", f"[{bounds}", class_="bounds"), class_="number bounded")
