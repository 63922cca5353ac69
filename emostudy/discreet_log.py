"""Keep people's texts, links and keys out of the log; errors show only their place and kind.

PostgreSQL repeats the row that it refuses, Django the address at which a page broke, and a model's server a part of the
key that it does not take. Everything that reaches the console goes through `Formatter`; the access log that Daphne can
write goes through `Stream`, and errors that nothing catches through `print_discreetly`.
"""

import logging
import os
import re
import sqlite3
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO

from django.db import Error as DatabaseError

LINK = re.compile(r"(?:(?<=/j/)|(?<=/oncall/))[^/\s\"'?#]+")
TOKEN = re.compile(r"(?<![\w-])[\w-]{43}(?![\w-])")  # as long as that of a link (studies.participation.enrolment)
PASSWORD_IN_URL = re.compile(r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)")
# As providers write theirs, whole or with the middle blotted out.
KEY = re.compile(
    r"\b(?:(?:sk|gsk|xai|hf)[-_]|(?:pk|rk)-|AIza)[\w*.…-]{5,}[\w*…-]"
    r"|[\w-]*\*{3,}[\w*-]*"
    r"|[\w-]{4,}(?:…|\.{3})[\w-]{4,}"
)
NAMES_OF_SECRETS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
WORD = re.compile(r"[\w-]{6,}")
LEFT_OUT = "[…]"


def scrub(text: str) -> str:
    """Return the text without tokens of links, passwords in addresses, and keys or parts of them."""
    text = PASSWORD_IN_URL.sub(LEFT_OUT, LINK.sub(LEFT_OUT, text))
    secrets = list(secret_values())
    text = WORD.sub(lambda word: LEFT_OUT if is_of_secret(word[0], secrets) else word[0], text)
    return KEY.sub(LEFT_OUT, TOKEN.sub(LEFT_OUT, text))


def secret_values() -> Iterator[str]:
    """Yield the values of variables whose name says that they are secret, given directly or in a file."""
    for name, value in os.environ.items():
        if name.endswith(NAMES_OF_SECRETS) and len(value) >= 8:
            yield value
        elif name.endswith(tuple(f"{kind}_FILE" for kind in NAMES_OF_SECRETS)) and Path(value).is_file():
            yield Path(value).read_text(encoding="utf-8").strip()


def is_of_secret(word: str, secrets: Iterable[str]) -> bool:
    return any(word in secret or secret in word for secret in secrets)


def name_of(error: BaseException) -> str:
    """Name a database error by its class and the database's own code."""
    cause = error.__cause__ if isinstance(error, DatabaseError) and error.__cause__ else error
    code = getattr(cause, "sqlstate", None) or getattr(cause, "sqlite_errorname", None)
    return f"({type(cause).__name__}{f', {code}' if code else ''})"


def is_of_database(error: BaseException) -> bool:
    """Return whether an error comes from a database, without importing psycopg, which SQLite does not need."""
    families = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return isinstance(error, DatabaseError | sqlite3.Error) or bool(families & {"psycopg", "psycopg_pool"})


def errors_behind(error: BaseException | None, seen: set[int]) -> Iterator[BaseException]:
    """Yield the error, those that led to it, and those that it groups."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    yield error
    yield from errors_behind(error.__cause__, seen)
    yield from errors_behind(error.__context__, seen)
    for one in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        yield from errors_behind(one, seen)


def without_values(text: str, errors: Iterable[BaseException]) -> str:
    """Return the text with each database error replaced by its name."""
    seen: set[int] = set()
    for error in (each for one in errors for each in errors_behind(one, seen)):
        if is_of_database(error) and (message := str(error)):
            # In a group each line has a margin; asyncio shows an error as Python writes it.
            as_lines = r"\n[ |]*".join(map(re.escape, message.split("\n")))
            for pattern in (as_lines, re.escape(repr(message)[1:-1])):
                text = re.sub(pattern, name_of(error).replace("\\", r"\\"), text)
    return text


class Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        arguments = record.args.values() if isinstance(record.args, dict) else record.args or ()
        errors = [one for one in arguments if isinstance(one, BaseException)]
        if record.exc_info and record.exc_info[1]:
            errors.append(record.exc_info[1])
        record.exc_text = None  # another handler may have written it in full
        text = super().format(record)
        record.exc_text = None
        return scrub(without_values(text, errors))


class Stream:
    """A stream for lines of text, such as Daphne's access log."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, text: str) -> None:
        self.stream.write(scrub(text))

    def flush(self) -> None:
        self.stream.flush()


def print_discreetly(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    text = "".join(traceback.format_exception(kind, error, trace))
    sys.stderr.write(scrub(without_values(text, [error])))


def install() -> None:
    """Install the hooks for uncaught errors in this process."""
    sys.excepthook = print_discreetly
    threading.excepthook = lambda of: print_discreetly(of.exc_type, of.exc_value or of.exc_type(), of.exc_traceback)
