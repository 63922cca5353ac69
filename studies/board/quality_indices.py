"""The indices of data quality of a study under way, by the analysis's own functions on the rows of an export.

Functions import the analysis themselves, because pandas is slow to load and most pages do not need it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from studies.data.exports.columns import Filter, Table
from studies.data.exports.tables import NO_PEOPLE, TABLES
from studies.models import ArmRun, Participation, Response, Study


@dataclass(frozen=True)
class OfPerson(Filter):
    """The filter for one person's data."""

    include_tests: bool = True
    person: Participation | None = None

    def participations(self, study: Study) -> QuerySet[Participation]:
        return super().participations(study).filter(pk=self.person.pk if self.person else None)

    def runs(self, study: Study) -> QuerySet[ArmRun]:
        return super().runs(study).filter(participation=self.person)

    def responses(self, study: Study) -> QuerySet[Response]:
        return super().responses(study).filter(rater__participation=self.person)


@dataclass(frozen=True)
class Index:
    """A row of quality.csv; `estimate` is None if it could not be computed."""

    person: str
    conversation: str
    instrument: str
    statistic: str
    estimate: float | None
    flagged: bool


def indices(study: Study, only: Filter) -> list[Index]:
    from studies.analysis.tables.quality import NEEDED, of_rows

    tables = {table.name: table for table in TABLES}
    rows = {name: select_rows(tables[name], columns, study, only) for name, columns in NEEDED.items()}
    return [index_of(row) for row in of_rows(rows)]


def select_rows(table: Table, columns: tuple[str, ...], study: Study, only: Filter) -> Iterator[dict[str, Any]]:
    """Yield the table's rows with these columns, without judges' ratings."""
    names = [column.name for column in table.columns]
    for values in table.rows(study, only):
        row = dict(zip(names, values, strict=True))
        if row.get("rater_kind") not in NO_PEOPLE:
            yield {name: row[name] for name in columns}


def index_of(row: dict[str, Any]) -> Index:
    estimate = row["estimate"]
    return Index(
        person=row["person"],
        conversation=row["conversation"],
        instrument=row["instrument"],
        statistic=row["statistic"],
        estimate=None if estimate != estimate else estimate,  # nan
        flagged=row["flagged"] == "true",
    )
