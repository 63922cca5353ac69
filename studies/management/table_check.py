"""Compare the tables of the database with those that this version of emostudy needs.

Before a first release the first migration is edited, so `migrate` cannot change tables of an earlier version. A server
on them would fail in the middle of conversations.
"""

from collections.abc import Iterator

from django.apps import apps
from django.db import connection
from django.db.models import Field, Model

SHOWN = 5  # differences that a line names


def find_differences() -> list[str]:
    """Return the columns, as `table.column`, that are missing, too many, or JSON on one side alone."""
    with connection.cursor() as cursor:
        return sorted(
            f"{model._meta.db_table}.{column}"
            for model in apps.get_models(include_auto_created=True)
            if model._meta.managed and not model._meta.proxy
            for column, _is_json in _columns_needed(model) ^ set(_columns_present(cursor, model._meta.db_table))
        )


def describe_differences(differences: list[str]) -> str:
    """Return the line that says what is wrong, and what to do."""
    names = ", ".join(dict.fromkeys(differences[:SHOWN]))
    rest = " …" if len(differences) > SHOWN else ""
    return (
        f"emostudy: DATABASE_URL: another version of emostudy made this database, and its tables do not fit this one "
        f"({names}{rest}). The data are untouched. Go back to the version that made it (git checkout), and end the "
        f"studies there; or begin with a new, empty database. See “An upgrade is refused” in docs/hosting.md"
    )


def _columns_needed(model: type[Model]) -> set[tuple[str, bool]]:
    return {(field.column, _is_json(field)) for field in model._meta.local_concrete_fields}


def _is_json(field: "Field[object, object]") -> bool:
    kind = field.db_parameters(connection)
    return kind["type"] == "jsonb" or "JSON_VALID" in (kind["check"] or "")


def _columns_present(cursor: object, table: str) -> Iterator[tuple[str, bool]]:
    for column in connection.introspection.get_table_description(cursor, table):
        yield column.name, connection.introspection.get_field_type(column.type_code, column) == "JSONField"
