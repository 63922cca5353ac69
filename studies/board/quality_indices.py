"""The indices of data quality of a study under way: the analysis's own functions on the rows of an export.

The analysis is imported where it is needed, since pandas takes a while and most pages do without.
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
    """What one person said and gave."""

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
    """A row of quality.csv; `estimate` is None where it could not be had."""

    person: str
    conversation: str
    instrument: str
    statistic: str
    estimate: float | None
    flagged: bool


def indices(study: Study, only: Filter) -> list[Index]:
    from studies.analysis.tables.quality import NEEDED, of_rows

    tables = {table.name: table for table in TABLES}
    rows = {name: chosen(tables[name], columns, study, only) for name, columns in NEEDED.items()}
    return [index_of(row) for row in of_rows(rows)]


def chosen(table: Table, columns: tuple[str, ...], study: Study, only: Filter) -> Iterator[dict[str, Any]]:
    """The table's rows with these columns; judges' ratings are left in the database's hands."""
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
