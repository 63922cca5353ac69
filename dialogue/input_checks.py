"""Checks of input from outside: characters that no database stores, small whole numbers. Pure."""

import re

MOST_TURNS = 99_999  # more than any conversation has
LARGEST_KEY = 2**63 - 1  # of a row; the largest whole number that databases and other readers of JSON have in common
# PostgreSQL takes no NUL, and nothing can write half of a surrogate pair as UTF-8.
UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def is_storable(text: str) -> bool:
    return not UNSTORABLE.search(text)


def remove_unstorable(text: str) -> str:
    """Return the text without characters that cannot be stored; people paste them without seeing them."""
    return UNSTORABLE.sub("", text)


def int_from(text: object, minimum: int, maximum: int) -> int | None:
    """Return the whole number in the digits 0 to 9; `None` if it is none, or beyond the limits.

    `int` by itself accepts other digits, spaces and signs, and fails on a text of thousands of digits.
    """
    if not isinstance(text, str) or not re.fullmatch("[0-9]{1,19}", text):
        return None
    return number if minimum <= (number := int(text)) <= maximum else None
