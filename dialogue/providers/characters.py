"""What a model's text may hold and no database takes: NUL, and halves of characters that UTF-16 writes in two."""

import re

HALF = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """Without NUL; two halves are one character, and a half without the other is U+FFFD."""
    kept = text.replace("\0", "")
    if kept.isascii() or not HALF.search(kept):
        return kept
    return kept.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def without_first_half(text: str) -> tuple[str, str]:
    """The text, and the half at its end that waits for its other one; empty where there is none."""
    return (text[:-1], text[-1]) if "\ud800" <= text[-1:] <= "\udbff" else (text, "")
