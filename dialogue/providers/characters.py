"""Characters that a model may send and no database stores: NUL, and halves of surrogate pairs."""

import re

HALF = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Return the text without NUL, with pairs of halves joined and single halves as U+FFFD."""
    clean = text.replace("\0", "")
    if clean.isascii() or not HALF.search(clean):
        return clean
    return clean.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def split_first_half(text: str) -> tuple[str, str]:
    """Return the text and the first half of a pair at its end, which is empty where there is none."""
    return (text[:-1], text[-1]) if "\ud800" <= text[-1:] <= "\udbff" else (text, "")
