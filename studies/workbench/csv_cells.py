"""The form of a value in a CSV file: nothing that a spreadsheet would run, and times in UTC."""

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

EXACT = 1e15  # below it a whole number that is stored as a float is written without a point
# An apostrophe that stands before such a beginning gets one more, so that taking one off gives back what was there.
FORMULA = re.compile(r"'*[=+\-@\t\r]")
GUARDED = re.compile(r"'+[=+\-@\t\r]")


def guard_formula(text: str) -> str:
    """Return the text so that no spreadsheet runs it as a formula."""
    return f"'{text}" if FORMULA.match(text) else text


def remove_guard(text: str) -> str:
    return text[1:] if GUARDED.match(text) else text


def format_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return guard_formula(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        return str(int(value))
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value)
