"""All tables of results, in the order in which they are computed. Adding one is a module and a line here."""

from importlib import import_module

from studies.analysis.tables.roles import with_role
from studies.analysis.tables.table import Table

MODULES = (
    "agreement",
    "strategy_tests",
    "alt_test",
    "reliability",
    "arms",
    "arm_pairs",
    "discrimination",
    "conditions",
    "ablation",
    "survival",
    "trends",
    "emotion",
    "costs",
    "rater_effects",
    "order",
    "blinding",
    "quality",
    "sensitivity",
    "coverage",
    "pairs",
    "flow",
    "people",
    "probes",
    "primary",
    "cross_check",
)
TABLES: list[Table] = []


def register(*tables: Table) -> None:
    """Add tables, to be computed after those before them; those with judges get a column `role`.

    Raises `ValueError` where a name is taken.
    """
    for table in tables:
        if table.name in {other.name for other in TABLES}:
            raise ValueError(f"there is a table {table.name} already")
        TABLES.append(with_role(table))


for _module in MODULES:
    register(import_module(f"studies.analysis.tables.{_module}").TABLE)
