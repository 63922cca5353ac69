"""Selection of the rows of arms.csv that pool everything. The Analysis page imports it without pandas."""

from collections.abc import Mapping
from typing import Any

POOLED = "*"  # all judges, kinds of seekers, conditions or languages
ALL_ITEMS = "*"
PARTS = ("judge", "seekers", "condition", "language")  # what tells the ratings of an arm and an item apart


def is_pooled(row: Mapping[str, Any]) -> bool:
    """Return whether a row is of one item and pools all else. A part is empty where it does not apply."""
    return row["item"] != ALL_ITEMS and all((row.get(part) or "") in (POOLED, "") for part in PARTS)
