"""What may be told of a failure. A server's words may quote what it was sent, and an exception of ours what it stumbled
over: that people wrote, so it stays in the ledger and in the log."""

import re
import traceback
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from textwrap import shorten

from dialogue.jobs.calls import GivenUp
from dialogue.providers.base import ProviderError

QUOTE = 24  # bytes in a row that are in both by no chance: so many letters, or eight Chinese characters
QUOTING = "The server's words quote what it was sent, so they stand in the ledger alone."
OWN_WORDS = ("refused",)  # a model's refusal speaks of what it was told
LONGEST = 300  # characters on one line
ESCAPED = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|.)")


def tellable(error: ProviderError) -> str:
    """Its detail, where that quotes nothing."""
    return QUOTING if isinstance(error, GivenUp) and quotes(error) else error.detail


def quotes(error: GivenUp) -> bool:
    """Also what is escaped, as in JSON."""
    said = plain(error.detail)
    asked = plain("\n".join(message.text for message in error.question.messages))
    return any(said[start : start + QUOTE] in asked for start in range(len(said) - QUOTE + 1))


def plain(text: str) -> bytes:
    unescaped = ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else " ", text)
    return " ".join(unescaped.split()).encode(errors="replace")


def whose(error: ProviderError) -> str:
    """Whose model gave no answer, as `arm amber (gpt-5): `; empty where it was nobody's."""
    if not isinstance(error, GivenUp) or not error.question.who:
        return ""
    return f"{error.question.who} ({error.question.settings.model}): "


def broken(error: Exception) -> ProviderError:
    """A fault of ours."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}, line {place.lineno}"
    return ProviderError("broken", f"{type(error).__name__} in {where}: see the log.", permanent=True)


def commonest(failed: Mapping[tuple[str, str], int]) -> dict[str, str]:
    """By failure the detail that most have, on one line. `failed`: how many, by failure and detail."""
    found: dict[str, str] = {}
    for (failure, detail), _number in Counter(failed).most_common():
        if detail and failure not in OWN_WORDS:
            found.setdefault(failure, shorten(detail, LONGEST, placeholder=" …"))
    return found
