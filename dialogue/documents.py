"""Read files that people write, with limits against files that are made to break a reader. Pure.

A fault says where it is and what to do. A place joins keys with dots and counts the members of a list from 1:
`arms[2].base_url` is the key `base_url` of the second `[[arms]]`.
"""

import difflib
import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from pathlib import Path
from typing import Any

from dialogue.input_checks import is_storable

Place = tuple[str | int, ...]  # keys, and positions in lists from 0

DEEPEST = 20  # tables and lists within each other; our own files have five
WHOLE_NUMBERS = range(-(2**63), 2**63)  # TOML's own, and what a database has room for
TOO_MANY_DIGITS = re.compile(r"[0-9][0-9_]{4300}")  # of a number that Python reads (sys.get_int_max_str_digits)


@dataclass(frozen=True)
class Fault:
    """A fault of one value: its place, and what is wrong."""

    place: str
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.place, self.message) if part)


class DocumentError(Exception):
    """Every fault of a file. As text it has a line for each: `FILE: place: what is wrong`."""

    def __init__(self, file: object, faults: Iterable[Fault]) -> None:
        self.file, self.faults = file, list(dict.fromkeys(faults))
        super().__init__("\n".join(f"{file}: {fault}" for fault in self.faults))


def place_of(path: Iterable[str | int]) -> str:
    """Return the place as people read it: `arms[2].base_url`."""
    parts = [f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).removeprefix(".")


def translate(message: str, **values: object) -> str:
    """Return the message with its values, on a page in the language of the page. Import it as `_`, so that
    `makemessages` finds the messages."""
    from django.conf import settings  # the analysis runs without it
    from django.utils.translation import gettext

    text = gettext(message) if settings.configured else message
    return text % values if values else text


_ = translate


def suggestion(word: str, choices: Iterable[str]) -> str:
    """Return `; did you mean "…"?` where a known word is close, else nothing."""
    by_letters = {each.casefold(): each for each in choices}
    nearest = difflib.get_close_matches(word.casefold(), by_letters, n=1)
    return _('; did you mean "%(word)s"?', word=by_letters[nearest[0]]) if nearest else ""


def read_bytes(path: Path, *, limit: int) -> bytes:
    """Return the file's content. Raise DocumentError where it cannot be read or has more bytes than `limit`."""
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise DocumentError(path, [Fault("", _("cannot be read: %(reason)s", reason=error.strerror))]) from error
    check_size(content, path, limit=limit)
    return content


def check_size(content: bytes, file: object, *, limit: int) -> None:
    """Raise DocumentError for more than `limit` bytes."""
    if len(content) > limit:
        raise DocumentError(file, [Fault("", _("is larger than %(size)s MB", size=limit // 1_000_000))])


def read_text(content: bytes, file: object) -> str:
    """Return the text. Raise DocumentError where it is not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(file, [Fault("", _("is not UTF-8: save it as UTF-8"))]) from error


def parse_toml(content: bytes, file: object) -> dict[str, Any]:
    """Return the tables of a TOML file. Raise DocumentError."""
    text = read_text(content, file)
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise DocumentError(file, [Fault("", _("is nested too deeply"))]) from error
    except ValueError as error:
        raise DocumentError(file, [_syntax_fault(text, error)]) from error


def _syntax_fault(text: str, error: ValueError) -> Fault:
    """Return where a TOML file breaks off. Python reads no number of thousands of digits, and does not say where."""
    if not isinstance(error, tomllib.TOMLDecodeError):
        digits = TOO_MANY_DIGITS.search(text)
        line = text.count("\n", 0, digits.start()) + 1 if digits else 0
        return Fault(_("line %(number)s", number=line) if line else "", _("a number is too long"))
    place = re.search(r"\(at line (\d+)", str(error))
    line = int(place[1]) if place else len(text.splitlines())
    return Fault(_("line %(number)s", number=line), _("not valid TOML: %(error)s", error=error))


class Repeating(dict[str, Any]):
    """An object in which keys stand more than once. All but the last value of each are lost."""

    repeated: Sequence[str]


def parse_json(text: str, file: object) -> Any:
    """Return the value of a JSON text. Raise DocumentError."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError as error:
        raise DocumentError(file, [Fault("", _("is nested too deeply"))]) from error
    except json.JSONDecodeError as error:
        raise DocumentError(file, [Fault("", _("not valid JSON: %(error)s", error=error))]) from error
    except ValueError as error:
        raise DocumentError(file, [Fault("", _("a number is too long"))]) from error


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    if len(values := dict(pairs)) == len(pairs):
        return values
    repeating = Repeating(values)
    repeating.repeated = [key for key, times in Counter(key for key, value in pairs).items() if times > 1]
    return repeating


def unkept_values(document: Any) -> Iterator[tuple[Place, str]]:
    """Return the place of each value that no database takes, with what is wrong with it."""
    nodes: list[tuple[Any, Place]] = [(document, ())]
    while nodes:
        node, place = nodes.pop()
        if wrong := _why_unkept(node, len(place)):
            yield place, wrong
        elif isinstance(node, dict | list):
            yield from (((*place, key), _("is given more than once")) for key in getattr(node, "repeated", ()))
            members = node.items() if isinstance(node, dict) else enumerate(node)
            nodes += reversed([(member, (*place, key)) for key, member in members])


def _why_unkept(node: Any, depth: int) -> str:
    if isinstance(node, int) and node not in WHOLE_NUMBERS:
        return _("must be a whole number of at most 64 bits")
    if isinstance(node, float) and not math.isfinite(node):
        return _("must be a finite number")
    if isinstance(node, str) and not is_storable(node):
        return _("contains a character that cannot be stored")
    if isinstance(node, date | time):
        return _("is a date or a time: write it in quotation marks")
    if isinstance(node, dict | list) and depth >= DEEPEST:
        return _("is nested more than %(limit)s deep", limit=DEEPEST)
    if isinstance(node, Mapping) and not all(map(is_storable, node)):
        return _("has a key with a character that cannot be stored")
    return ""
