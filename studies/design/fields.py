"""TOML tables read by kind: every odd, missing or unknown value becomes a fault, and reading goes on. Pure."""

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dialogue.incoming import is_storable
from dialogue.languages import CODES
from studies.design.spec import Text

LANGUAGES = CODES
SLUG = re.compile(r"[a-z0-9][a-z0-9_-]*")
LONGEST_SLUG = 60  # characters
DEEPEST = 20  # tables and lists within each other; our own files have five
WHOLE_NUMBERS = range(-(2**63), 2**63)  # TOML's own, and what a database has room for


@dataclass(frozen=True)
class Fault:
    """What is wrong with one value. Members of an array are counted from 1: `arms.2.prompt`."""

    key_path: str
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.key_path, self.message) if part)


def suggestion(word: str, known: Iterable[str]) -> str:
    by_letters = {each.casefold(): each for each in known}
    nearest = difflib.get_close_matches(word.casefold(), by_letters, n=1)
    return f'; did you mean "{by_letters[nearest[0]]}"?' if nearest else ""


def unkept_values(document: Mapping[str, Any]) -> Iterator[Fault]:
    """Return what no database takes, each with its place: a whole number beyond 64 bits, a text with a NUL or half of a
    surrogate pair, and tables or lists too deep within each other."""
    nodes: list[tuple[Any, str, int]] = [(document, "", 0)]
    while nodes:
        node, path, depth = nodes.pop()
        if isinstance(node, int) and node not in WHOLE_NUMBERS:
            yield Fault(path, "must be a whole number of at most 64 bits")
        if isinstance(node, str) and not is_storable(node):
            yield Fault(path, "holds a character that cannot be kept")
        if isinstance(node, dict | list) and depth > DEEPEST:
            yield Fault(".".join(path.split(".")[:DEEPEST]), f"is nested more than {DEEPEST} deep")
        elif isinstance(node, dict | list):
            members = list(node.items() if isinstance(node, dict) else enumerate(node, 1))
            if any(not is_storable(str(key)) for key, _ in members):
                yield Fault(path, "has a key with a character that cannot be kept")
                continue
            below = [(member, f"{path}.{key}" if path else str(key), depth + 1) for key, member in members]
            nodes += reversed(below)


class Table:
    """One table of the file. What has been asked for is known; `refuse_unknown` makes a fault of all the rest."""

    def __init__(self, values: Mapping[str, Any], path: str, faults: list[Fault]) -> None:
        self.values = values
        self.path = path
        self.faults = faults
        self.known: list[str] = []

    def path_of(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def fault(self, key: str, message: str) -> None:
        self.faults.append(Fault(self.path_of(key), message))

    def has(self, key: str) -> bool:
        return key in self.values

    def refuse_unknown(self) -> None:
        for key in self.values:
            if key not in self.known:
                self.fault(key, f"unknown key{suggestion(key, self.known)}")

    def _take(self, key: str, wanted: type | tuple[type, ...], named: str) -> Any:
        """The value where it is of the wanted kind, else `None`. Truth values are no numbers."""
        self.known.append(key)
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            self.fault(key, f"must be {named}")
            return None
        return value

    def require(self, key: str) -> None:
        value = self.values.get(key, "")
        if isinstance(value, str) and not value.strip():
            self.fault(key, "is missing")

    def string(self, key: str, default: str = "") -> str:
        value = self._take(key, str, "text")
        return default if value is None else str(value).strip()

    def at_most(self, key: str, value: str, maximum: int) -> None:
        """What the database has room for."""
        if len(value) > maximum:
            self.fault(key, f"must be at most {maximum} characters")

    def boolean(self, key: str) -> bool:
        return bool(self._take(key, bool, "true or false"))

    def integer(self, key: str, default: int, *, minimum: int | None = None, maximum: int | None = None) -> int:
        value = self.optional_integer(key, minimum=minimum, maximum=maximum)
        return default if value is None else value

    def optional_integer(self, key: str, *, minimum: int | None = None, maximum: int | None = None) -> int | None:
        value: int | None = self._take(key, int, "a whole number")
        if value is not None and minimum is not None and value < minimum:
            self.fault(key, f"must be at least {minimum}")
            return None
        if value is not None and maximum is not None and value > maximum:
            self.fault(key, f"must be at most {maximum}")
            return None
        return value

    def optional_number(self, key: str, *, minimum: float, maximum: float) -> float | None:
        value = self._take(key, (int, float), "a number")
        if value is not None and not minimum <= value <= maximum:
            self.fault(key, f"must be between {minimum:g} and {maximum:g}")
            return None
        return None if value is None else float(value)

    def choice(self, key: str, choices: Collection[str], default: str) -> str:
        value = self.string(key, default)
        if value != default and value not in choices:
            self.fault(key, f'"{value}" is none of {", ".join(choices)}{suggestion(value, choices)}')
            return default
        return value

    def slug(self, key: str) -> str:
        self.require(key)
        value = self.string(key)
        self.at_most(key, value, LONGEST_SLUG)
        if value and not SLUG.fullmatch(value):
            self.fault(key, "must be lower-case letters, digits, _ and -, beginning with a letter or digit")
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        return tuple(self._members(key, str, "text"))

    def integers(self, key: str) -> tuple[int, ...]:
        return tuple(self._members(key, int, "a whole number"))

    def _members(self, key: str, wanted: type, named: str) -> list[Any]:
        found: list[Any] = []
        for number, value in enumerate(self._take(key, list, "a list") or (), 1):
            if not isinstance(value, wanted) or isinstance(value, bool):
                self.fault(f"{key}.{number}", f"must be {named}")
            elif value in found:
                self.fault(f"{key}.{number}", f'"{value}" is listed twice')
            else:
                found.append(value)
        return found

    def table(self, key: str) -> "Table":
        values = self._take(key, dict, "a table")
        return Table(values or {}, self.path_of(key), self.faults)

    def tables(self, key: str) -> list["Table"]:
        members = self._take(key, list, f"an array of tables: [[{key}]]") or ()
        found = []
        for number, member in enumerate(members, 1):
            if isinstance(member, dict):
                found.append(Table(member, self.path_of(f"{key}.{number}"), self.faults))
            else:
                self.fault(f"{key}.{number}", "must be a table")
        return found

    def text(self, key: str, languages: Collection[str]) -> Text:
        """A text in every language of the study: one string for all of them, or a table by language."""
        value = self._take(key, (str, dict), "text, or a table of texts by language")
        if isinstance(value, str):
            return dict.fromkeys(languages, value.strip())
        if value is None:
            return {}
        by_language = Table(value, self.path_of(key), self.faults)
        text = {language: by_language.string(language) for language in LANGUAGES if by_language.has(language)}
        by_language.known.extend(LANGUAGES)
        by_language.refuse_unknown()
        for language in languages:
            by_language.require(language)
        return text
