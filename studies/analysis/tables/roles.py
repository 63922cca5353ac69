"""The column `role` of every table that has a column `judge`: as whom the judges of a row rated."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from studies.analysis.frames import VARIANT
from studies.analysis.language import gettext_noop as _
from studies.analysis.tables.table import Table

ROLE = "role"
METHOD = _(
    "the role in which the judges rated, as in ratings.csv; no row combines two roles. Empty for people, and where "
    "the file gives no role"
)


def with_role(table: Table) -> Table:
    """Return the table with the column, if it has judges."""
    if "judge" not in table.columns:
        return table
    columns = [*(name for name in table.columns if name != ROLE), ROLE]
    return replace(table, columns=columns, methods={**table.methods, ROLE: METHOD})


def fill_roles(table: Table, rows: Iterable[Mapping[str, Any]], roles: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """Return the rows of a table with their role. `roles`: by judge, and by group of judges."""
    if ROLE not in table.columns:
        return list(rows)
    return [{ROLE: _role_of(row, roles), **row} for row in rows]


def _role_of(row: Mapping[str, Any], roles: Mapping[str, str]) -> str:
    judge = str(row.get("judge") or "").partition(VARIANT)[0]
    return roles.get(judge) or roles.get(str(row.get("raters") or ""), "")
