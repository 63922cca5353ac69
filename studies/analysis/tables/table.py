"""The description of a table of results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext_noop as _
from studies.analysis.rows import Cells

Parts = Iterator[tuple[str, list[Cells]]]  # (what, its rows)
METHOD = "method"


@dataclass(frozen=True)
class Table:
    """A table of results, which `registry` lists. Texts are in English, and translated where they are shown.

    `compute` takes the export and the bootstrap and yields (what, its rows). `section` is the key of the section of the
    report that ends with it, by default its name; a table whose section the report does not have gets one of its own.
    `file` is the table whose file has its rows too, where that is not its own, and `rearrange` gives them the columns
    that they have there. `further` and `aside` are columns that are computed and shown too; in the files
    (`tables.file_tables`) the first are rows of single estimates, and the second follow from the other columns, or are
    METHOD, which results.json has.
    """

    name: str
    compute: Callable[..., Parts]
    columns: Sequence[str]
    methods: Mapping[str, str]  # column or statistic → how it is computed
    heading: str  # what the report calls it
    section: str = ""
    empty: str = _("There are no data to compute it from.")  # why it has no rows, where it has none
    reads_tables: bool = False  # whether `compute` takes the tables before it too, as `tables`
    further: Sequence[str] = ()
    aside: Sequence[str] = ()
    file: str = ""
    rearrange: Callable[[pd.DataFrame], pd.DataFrame] = lambda rows: rows

    def section_key(self) -> str:
        return self.section or self.name

    def all_columns(self) -> list[str]:
        return [*self.columns, *self.further, *self.aside]

    def file_name(self) -> str:
        return f"{self.file or self.name}.csv"
