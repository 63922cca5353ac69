"""Descriptions of failures without people's words. A server's message may quote what it was sent, and an exception may
quote its input: both stay in the ledger and the log."""

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


def public_detail(error: ProviderError) -> str:
    """Return its detail, or QUOTING where the detail quotes the question."""
    return QUOTING if isinstance(error, GivenUp) and quotes_question(error) else error.detail


def quotes_question(error: GivenUp) -> bool:
    """Return True where the detail quotes the question, also where it is escaped as in JSON."""
    detail = normalise(error.detail)
    question = normalise("\n".join(message.text for message in error.question.messages))
    return any(detail[start : start + QUOTE] in question for start in range(len(detail) - QUOTE + 1))


def normalise(text: str) -> bytes:
    unescaped = ESCAPED.sub(lambda match: chr(int(match[1], 16)) if match[1] else " ", text)
    return " ".join(unescaped.split()).encode(errors="replace")


def name_model(error: ProviderError) -> str:
    """Return the model that gave no answer, as in `arm amber (gpt-5)`; empty where there was none."""
    if not isinstance(error, GivenUp) or not error.question.who:
        return ""
    return f"{error.question.who} ({error.question.settings.model})"


def internal_error(error: Exception) -> ProviderError:
    """Return the error for a fault of our own."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}, line {place.lineno}"
    return ProviderError("broken", f"{type(error).__name__} in {where}: see the log.", permanent=True)


def commonest_details(failed: Mapping[tuple[str, str], int]) -> dict[str, str]:
    """Return the commonest detail of each failure, on one line. `failed` counts by failure and detail."""
    details: dict[str, str] = {}
    for (failure, detail), _number in Counter(failed).most_common():
        if detail and failure not in OWN_WORDS:
            details.setdefault(failure, shorten(detail, LONGEST, placeholder=" …"))
    return details
