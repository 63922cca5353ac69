"""Looks for markers in all that was recorded: as they are, in any case, escaped, encoded, turned round, or digested."""

import base64
import hashlib
import html
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

from tests.leaks.markers import Marker
from tests.leaks.recorder import Heard

DIGITS = 8  # of a digest, from its beginning
BREAKS = re.compile(r"[\s<>\"'\\]+")
ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})")


@dataclass(frozen=True, order=True)
class Hit:
    place: str
    part: str
    kind: str
    marker: str
    encoding: str


def spellings(text: str) -> Iterator[str]:
    yield from dict.fromkeys((text, text.lower(), text.upper()))


def in_base64(text: str) -> Iterator[str]:
    """The characters that stand for it wherever it begins in a longer text that was encoded as a whole."""
    for spelling in spellings(text):
        raw = spelling.encode()
        for before in range(3):
            encoded = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
            first, last = (0, 2, 3)[before], (8 * (before + len(raw))) // 6
            yield encoded[first:last]
            yield encoded[first:last].translate(str.maketrans("+/", "-_"))


def digests(text: str) -> Iterator[str]:
    for spelling in spellings(text):
        for name in ("sha256", "sha1", "md5"):
            yield hashlib.new(name, spelling.encode()).hexdigest()[:DIGITS]


# Escapes of HTML, URLs and JSON are undone in what was heard, so that any mixture of them is found.
ENCODINGS: dict[str, Callable[[str], Iterable[str]]] = {
    "plain": lambda text: [text],
    "reversed": lambda text: [text[::-1]],
    "hex": lambda text: (spelling.encode().hex() for spelling in spellings(text)),
    "base64": in_base64,
    "digest": digests,
}


def unescaped(text: str) -> str:
    return html.unescape(unquote(ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), text)))


def words_of(text: str) -> set[str]:
    return {word for view in (text, unescaped(text)) for word in BREAKS.split(view.casefold())}


@dataclass
class Scan:
    """A page has few words that no page before it had, so each word is looked at once, wherever it stood."""

    markers: list[Marker]
    found_in: dict[str, set[tuple[str, str]]] = field(default_factory=dict)  # word → place and part

    def __post_init__(self) -> None:
        for marker in self.markers:
            if BREAKS.search(marker.text):
                raise ValueError(f"{marker.text!r} is no single word")

    def read(self, heard: Iterable[Heard]) -> None:
        for one in heard:
            for word in words_of(one.text):
                self.found_in.setdefault(word, set()).add((one.place, one.part))

    def hits(self) -> list[Hit]:
        words = "\n".join(self.found_in)
        return sorted(
            {
                Hit(place, part, marker.kind, marker.text, encoding)
                for marker in self.markers
                for encoding, encoded in ENCODINGS.items()
                for needle in {needle.casefold() for needle in encoded(marker.text)}
                if needle in words
                for word, places in self.found_in.items()
                if needle in word
                for place, part in places
            }
        )
