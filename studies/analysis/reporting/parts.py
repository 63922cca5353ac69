"""The parts that a report is made of."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TypeAlias, TypeVar

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import spoken_language
from studies.analysis.reporting.drawing import Figure
from studies.analysis.reporting.markup import Markup, tag
from studies.analysis.results import Results


@dataclass(frozen=True)
class Excerpt:
    """A small table. `name` is that of the file into which a reader saves it, without ending; `remark` stands below."""

    name: str
    caption: str
    frame: pd.DataFrame
    remark: str = ""
    label: str = ""  # "Table 1", where it is numbered


@dataclass(frozen=True)
class Folded:
    """Parts that are folded until a reader opens them; they are not printed."""

    summary: str
    parts: Sequence["Part"]


Numbered = TypeVar("Numbered", Figure, Excerpt, Figure | Excerpt)
Part: TypeAlias = Markup | Figure | Excerpt | Folded


@dataclass(frozen=True)
class Exhibit:
    """A figure or a table of the main part, which can be cited: `sentences` are its text, `numbers` are the rows
    behind it with their columns as in the files, and `beside` are tables below it, with numbers of their own."""

    key: str
    heading: str
    sentences: Sequence[str]
    part: Figure | Excerpt
    numbers: pd.DataFrame
    beside: Sequence[Excerpt] = field(default=())

    def parts(self) -> list[Part]:
        return [self.part, *([prose(*self.sentences)] if self.sentences else []), *self.beside]


@dataclass(frozen=True)
class Section:
    """A section of the report; `tables` are shown whole, folded, at its end, and `key` is its address in the page."""

    key: str
    heading: str
    parts: Sequence[Part]
    tables: Sequence[str] = field(default=())
    exhibit: Exhibit | None = None
    is_folded: bool = False  # of the supplement


PartsOf: TypeAlias = Callable[[pd.DataFrame, Results], Iterator[Part]]
SectionOf: TypeAlias = Callable[[Results], Section | None]


def section(
    key: str, heading: str, table: str, select: Callable[[pd.DataFrame], pd.DataFrame] = lambda rows: rows
) -> Callable[[PartsOf], SectionOf]:
    """Make a function that yields parts of a table's rows into one that returns a section of the results; None where
    `select` finds no rows. The heading is translated here."""

    def with_heading(parts_of: PartsOf) -> SectionOf:
        @wraps(parts_of)
        def section_of(results: Results) -> Section | None:
            rows = select(results.table(table))
            return None if rows.empty else Section(key, _(heading), list(parts_of(rows, results)))

        return section_of

    return with_heading


def prose(*sentences: str) -> Markup:
    return tag("p", join_sentences(sentences))


def join_sentences(sentences: Iterable[str]) -> str:
    """Return sentences as one text; some languages put no space between them."""
    return (" " if spoken_language().spaces else "").join(filter(None, sentences))


def subheading(text: str) -> Markup:
    return tag("h3", text)


def listing(items: Iterable[str], **attributes: str) -> Markup:
    return tag("ul", *(tag("li", item) for item in items), **attributes)


def figures_in(sections: Iterable[Section]) -> list[Figure]:
    return [figure for section in sections for figure in _figures(section.parts)]


def _figures(parts: Iterable[Part]) -> Iterator[Figure]:
    for part in parts:
        if isinstance(part, Figure):
            yield part
        elif isinstance(part, Folded):
            yield from _figures(part.parts)


def first_unfolded(groups: Iterable[tuple[str, Sequence[Part]]]) -> Iterator[Part]:
    """Yield the first group's parts as they are and the others folded; a group is what opens it, and its parts."""
    first, *others = groups
    yield from first[1]
    for summary, parts in others:
        yield Folded(summary, parts)


def replace_in(parts: Iterable[Part], change: Callable[[Figure | Excerpt], Part]) -> list[Part]:
    """Return the parts with each figure and table changed, also the folded ones."""
    return [
        replace(part, parts=replace_in(part.parts, change))
        if isinstance(part, Folded)
        else (change(part) if isinstance(part, Figure | Excerpt) else part)
        for part in parts
    ]


def with_own_names(sections: Iterable[Section]) -> list[Section]:
    """Return the sections with a number added to file names of figures that two titles give."""
    names: set[str] = set()

    def with_own_name(part: Figure | Excerpt) -> Part:
        if isinstance(part, Excerpt):
            return part
        name, number = part.name, 2
        while name in names:
            name, number = f"{part.name}-{number}", number + 1
        names.add(name)
        return replace(part, name=name)

    return [replace(section, parts=replace_in(section.parts, with_own_name)) for section in sections]


class Numbering:
    """Gives figures and tables their numbers, each kind its own: Figure 1, Table 1, Figure 2; with a prefix, S1."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.counts: Counter[type] = Counter()

    def label(self, part: Numbered) -> Numbered:
        self.counts[type(part)] += 1
        text = _("Figure {number}") if isinstance(part, Figure) else _("Table {number}")
        return replace(part, label=text.format(number=f"{self.prefix}{self.counts[type(part)]}"))
