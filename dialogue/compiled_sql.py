"""Statements whose SQL is compiled once, for paths where compiling is most of the work."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import orjson
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model, QuerySet
from django.db.models.query import get_related_populators

Row = TypeVar("Row", bound=Model)
Convert = Callable[[Any, Any, BaseDatabaseWrapper], Any]


class Statement(NamedTuple):
    """A compiled statement: its SQL, the model's `own` columns, the `names` of the fields that they fill, what builds
    the `related` rows from other columns, and the `converters` of values by column, each with its expression."""

    sql: str
    own: slice
    names: Sequence[str]
    related: Sequence[Any]
    converters: Sequence[tuple[int, tuple[Convert, Any]]]


class CompiledQuery(Generic[Row]):
    """A query compiled once. `build` gives the query with any values in it, and may select related rows; `rows` takes
    the real values, in the order of the SQL, in which one filter's conditions stand by the names of their fields."""

    def __init__(self, model: type[Row], build: Callable[[], QuerySet[Row]]) -> None:
        self.model, self.build = model, build
        self.statements: dict[str, Statement] = {}  # by kind of database

    def rows(self, *values: Any) -> list[Row]:
        if connection.vendor not in self.statements:
            self.statements[connection.vendor] = compile_statement(self.build())
        statement = self.statements[connection.vendor]
        with connection.cursor() as cursor:
            cursor.execute(statement.sql, values)
            return [self._make(list(row), statement) for row in cursor.fetchall()]

    def first(self, *values: Any) -> Row | None:
        return next(iter(self.rows(*values)), None)

    def _make(self, row: list[Any], statement: Statement) -> Row:
        for place, (convert, expression) in statement.converters:
            row[place] = convert(row[place], expression, connection)
        instance = self.model.from_db(connection.alias, statement.names, row[statement.own])
        for related in statement.related:
            related.populate(row, instance)
        return instance


def compile_statement(query: QuerySet[Any]) -> Statement:
    compiler = query.query.get_compiler(connection=connection)
    sql, _ = compiler.as_sql()
    columns = [column for column, _sql, _alias in compiler.select]
    converters = [
        (place, (convert, expression))
        for place, (many, expression) in compiler.get_converters(columns).items()
        for convert in many
    ]
    own = compiler.klass_info["select_fields"]
    return Statement(
        sql=sql,
        own=slice(own[0], own[-1] + 1),
        names=[columns[place].target.attname for place in own],
        related=get_related_populators(compiler.klass_info, compiler.select, connection.alias),
        converters=converters,
    )


# These insert rows without the arrays and objects that `bulk_create` makes. PostgreSQL takes them by COPY, which quotes
# and parses nothing.


def insert_plain(model: type[Model], columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Insert many rows of text and numbers, all columns but the id."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            _copy(cursor, model, columns, rows)
        else:
            cursor.executemany(_insertion(model, columns), rows)


def insert_numbered(model: type[Model], columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[int]:
    """Insert rows as `insert_plain`, and return the ids in the order of the rows."""
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            statement = _insertion(model, columns) + " RETURNING id"
            return [cursor.execute(statement, row).fetchone()[0] for row in rows]
        numbers = _free_numbers(cursor, model, len(rows))
        _copy(cursor, model, ["id", *columns], [(number, *row) for number, row in zip(numbers, rows, strict=True)])
        return numbers


def update_plain(model: type[Model], columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Update many rows; each holds the new values of the columns, and last the id.

    PostgreSQL takes them as one JSON text, because psycopg needs longer for a statement than PostgreSQL to run it.
    """
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            records = [dict(zip((*columns, "id"), row, strict=True)) for row in rows]
            cursor.execute(_update_from_json(model, columns), [orjson.dumps(records, default=str).decode()])
        else:
            cursor.executemany(_update(model, columns), rows)


def _free_numbers(cursor: Any, model: type[Model], count: int) -> list[int]:
    sequence = "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)"
    cursor.execute(sequence, [model._meta.db_table, count])
    return [number for (number,) in cursor.fetchall()]


def _copy(cursor: Any, model: type[Model], columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    with cursor.copy(f"COPY {_table(model, columns)} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def _insertion(model: type[Model], columns: Sequence[str]) -> str:
    return f"INSERT INTO {_table(model, columns)} VALUES ({', '.join('%s' for _ in columns)})"  # noqa: S608 - our own names


def _update(model: type[Model], columns: Sequence[str]) -> str:
    quoted = connection.ops.quote_name
    changes = ", ".join(f"{quoted(name)} = %s" for name in columns)
    return f"UPDATE {quoted(model._meta.db_table)} SET {changes} WHERE id = %s"  # noqa: S608 - our own names


def _update_from_json(model: type[Model], columns: Sequence[str]) -> str:
    quoted = connection.ops.quote_name
    table = quoted(model._meta.db_table)
    changes = ", ".join(f"{quoted(name)} = new_row.{quoted(name)}" for name in columns)
    types = ", ".join(f"{quoted(name)} {model._meta.get_field(name).db_type(connection)}" for name in columns)
    recordset = f"json_to_recordset(%s) AS new_row(id bigint, {types})"
    return f"UPDATE {table} SET {changes} FROM {recordset} WHERE {table}.id = new_row.id"  # noqa: S608 - our own names


def _table(model: type[Model], columns: Sequence[str]) -> str:
    quoted = connection.ops.quote_name
    return f"{quoted(model._meta.db_table)} ({', '.join(map(quoted, columns))})"
