"""Checks of input from outside: characters that no database stores, small whole numbers, JSON. Pure."""

import json
import math
import re
from typing import Any

MOST_TURNS = 99_999  # more than any conversation has
LARGEST_KEY = 2**63 - 1  # of a row; the largest whole number that databases and other readers of JSON have in common
DEEPEST = 50  # levels of JSON
# PostgreSQL takes no NUL, and nothing can write half of a surrogate pair as UTF-8.
UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def is_storable(text: str) -> bool:
    return not UNSTORABLE.search(text)


def storable(text: str) -> str:
    """Return the text without characters that cannot be stored; people paste them without seeing them."""
    return UNSTORABLE.sub("", text)


def int_from(text: object, minimum: int, maximum: int) -> int | None:
    """Return the whole number in the digits 0 to 9; `None` if it is none, or beyond the limits.

    `int` by itself accepts other digits, spaces and signs, and fails on a text of thousands of digits.
    """
    if not isinstance(text, str) or not re.fullmatch("[0-9]{1,19}", text):
        return None
    return number if minimum <= (number := int(text)) <= maximum else None


class StorableJSON(json.JSONDecoder):
    """A JSON decoder for values that every database stores and every reader reads.

    Python's own also reads NaN, 1e999, integers of thousands of digits, and "\\u0000". It raises JSONDecodeError alone,
    as Django's form field expects.
    """

    def decode(self, text: str) -> Any:  # type: ignore[override]
        try:
            value = super().decode(text)
        except json.JSONDecodeError:
            raise
        except (ValueError, RecursionError) as error:
            raise json.JSONDecodeError(str(error), "", 0) from error
        if not _is_storable_value(value, DEEPEST):
            raise json.JSONDecodeError("holds what cannot be stored", "", 0)
        return value


def _is_storable_value(value: Any, levels: int) -> bool:
    match value:
        case str():
            return is_storable(value)
        case int():
            return abs(value) <= LARGEST_KEY
        case float():
            return math.isfinite(value)
        case dict():
            members = value.values()
            return (
                levels > 0 and all(map(is_storable, value)) and all(_is_storable_value(m, levels - 1) for m in members)
            )
        case list():
            return levels > 0 and all(_is_storable_value(member, levels - 1) for member in value)
    return True
