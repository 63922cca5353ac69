"""Notice whether anything was stored, so that an act that changed nothing is not written down as a change."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

# Counts of requests, sessions, and the log itself: no act of anyone.
BESIDE = ("emostudy_cache", "django_session", "studies_audit")


class Changes:
    """Looks at each statement, as an `execute_wrapper`. `made`: whether one that stands has changed a row."""

    def __init__(self) -> None:
        self.has_any = False
        self.before: dict[str, bool] = {}  # by savepoint, since an estimate plans work and takes it back

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        result = execute(sql, params, many, context)
        if sql.startswith("SAVEPOINT "):
            self.before[sql.split()[-1]] = self.has_any
        elif sql.startswith("ROLLBACK TO SAVEPOINT "):
            self.has_any = self.before[sql.split()[-1]]
        elif not any(name in sql for name in BESIDE):
            changed = sql.startswith(("UPDATE", "DELETE")) and context["cursor"].rowcount > 0
            self.has_any = self.has_any or changed or sql.startswith("INSERT")
        return result


@contextmanager
def notice_changes() -> Iterator[Changes]:
    """Notice the changes within the block."""
    changes = Changes()
    with connection.execute_wrapper(changes):
        yield changes
