"""The description of a table of results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from studies.analysis.language import gettext_noop as _
from studies.analysis.rows import Cells

Parts = Iterator[tuple[str, list[Cells]]]  # (what, its rows)


@dataclass(frozen=True)
class Table:
    """A table of results, which `registry` lists. Texts are in English, and translated where they are shown.

    `compute` takes the export and the bootstrap and yields (what, its rows). `section` is the key of the section of the
    report that ends with it; a table whose section the report does not have gets one of its own. `further` are columns
    that are computed and shown too; in the files they are rows of single estimates (`tables.further`).
    """

    name: str  # of its file, without ".csv"
    compute: Callable[..., Parts]
    columns: Sequence[str]
    methods: Mapping[str, str]  # column or statistic → how it is computed
    heading: str  # what the report calls it
    section: str = ""
    empty: str = _("There are no data to compute it from.")  # why it has no rows, where it has none
    reads_tables: bool = False  # whether `compute` takes the tables before it too, as `tables`
    further: Sequence[str] = ()
