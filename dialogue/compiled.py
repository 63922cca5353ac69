"""Statements whose SQL is made once, for paths where to make it anew is most of the work."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)


class Compiled(Generic[Row]):
    """`build` gives the query with any values in it; `rows` takes the real ones, in the order of the SQL."""

    def __init__(self, model: type[Row], build: Callable[[], QuerySet[Row]]) -> None:
        self.model, self.build = model, build
        self.sql: dict[str, str] = {}  # by kind of database

    def rows(self, *values: Any) -> list[Row]:
        if connection.vendor not in self.sql:
            self.sql[connection.vendor], _ = self.build().query.sql_with_params()
        return list(self.model._default_manager.raw(self.sql[connection.vendor], values))


def insert_plain(model: type[Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Many rows of text and numbers, all columns but the id. `bulk_create` takes ten times as long, for each value."""
    with connection.cursor() as cursor:
        cursor.executemany(_insertion(model, columns), rows)


def insert_numbered(model: type[Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[int]:
    """As `insert_plain`, row by row; returns their ids. On PostgreSQL `bulk_create` puts each column into an array,
    whose values are quoted twice."""
    statement = _insertion(model, columns) + " RETURNING id"
    numbers = []
    with connection.cursor() as cursor:
        for row in rows:
            cursor.execute(statement, row)
            numbers.append(cursor.fetchone()[0])
    return numbers


def _insertion(model: type[Model], columns: Sequence[str]) -> str:
    quoted = connection.ops.quote_name
    names, places = ", ".join(map(quoted, columns)), ", ".join("%s" for _ in columns)
    return f"INSERT INTO {quoted(model._meta.db_table)} ({names}) VALUES ({places})"  # noqa: S608 - our own names
