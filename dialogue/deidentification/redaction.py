"""Removal of what tells who someone is from a conversation, before models or other people read it. Pure.

Before a judge reads it, e-mail and internet addresses are taken out, accounts and numbers of documents, telephone
numbers and whatever else is as long a number, postal addresses, and the names that are known. Dates, places, and names
of others stay: what is said in a conversation would be lost with them. Before it is published, they are taken out too.
Where a study masks what its arms are sent, or what it exports, names go that are known by their form alone.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path

from dialogue.deidentification.identifiers import HAN, places_in
from dialogue.deidentification.indirect_identifiers import Find, Names, collect_names, find_identifying
from dialogue.judges.prompts import InnerState, JudgedTurn

VERSION = "1"  # of what is found and what stands in its place
RELEASE_VERSION = "1"  # the same, for texts that are published
MARK = "redacted"
BEFORE_JUDGES = ("email", "url", "account", "phone", "street", "name")
FILE = Path(__file__).resolve().parents[2] / "fixtures" / "redaction.json"


@cache
def get_stand_ins() -> Mapping[str, Mapping[str, str]]:
    """Return what stands for each kind of find, by language."""
    texts: dict[str, Mapping[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return texts


class Redaction:
    """The redaction of one prompt. `counts`: what has been taken out so far, by kind. `language`: its code."""

    def __init__(self, names: Sequence[str], language: str) -> None:
        self.names, self.language = tuple(names), language
        self.counts: Counter[str] = Counter()

    def text(self, text: str) -> str:
        changed, kinds = redact(text, self.names, self.language)
        self.counts.update(kinds)
        return changed

    def turn(self, turn: JudgedTurn) -> JudgedTurn:
        return JudgedTurn(
            turn.number, self.text(turn.seeker), self.text(turn.supporter), opening=self.text(turn.opening)
        )

    def state(self, state: InnerState) -> InnerState:
        cognition, emotion, goal = (self.text(each) for each in (state.cognition, state.emotion, state.goal))
        return replace(state, cognition=cognition, emotion=emotion, goal=goal)


def mark_version(version: str, counts: Mapping[str, int]) -> str:
    """Return a prompt's version, `judge.en/1~redacted/1` if something was removed."""
    return f"{version}~{MARK}/{VERSION}" if counts else version


@lru_cache(maxsize=4096)  # the turns of a conversation come again with each questionnaire about it
def redact(text: str, names: tuple[str, ...], language: str) -> tuple[str, tuple[str, ...]]:
    """Return the text with something in the place of each find, and the kinds of the finds in their order."""
    places = [place for place in places_in(text, names) if place.kind in BEFORE_JUDGES]
    return replace_finds(text, [Find(*place) for place in places], language)


@lru_cache(maxsize=4096)  # what was said before is sent again with each message
def redact_message(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the same as `redact`, with names that are not known beforehand, in the language that the text is in."""
    language = "zh" if HAN.search(text) else "en"
    finds = find_identifying(text, Names(heard=tuple(collect_names([text]))))
    return replace_finds(text, [find for find in finds if find.kind in BEFORE_JUDGES], language)


def mask_identity(text: str) -> str:
    """Return the text without what tells who someone is."""
    return redact_message(text)[0]


def redact_for_release(text: str, names: Names, language: str) -> tuple[str, tuple[str, ...]]:
    """Return the same as `redact`, of more kinds: also names of others, places, institutions, dates and numbers."""
    return replace_finds(text, find_identifying(text, names), language)


def replace_finds(text: str, finds: Sequence[Find], language: str) -> tuple[str, tuple[str, ...]]:
    words = get_stand_ins()[language]
    parts, kinds, end = [], [], 0
    for find in merge_overlaps([find for find in finds if is_identifying(find, text)]):
        parts += [text[end : find.start], words[find.kind]]
        kinds.append(find.kind)
        end = find.end
    return "".join([*parts, text[end:]]), tuple(kinds)


def is_identifying(find: Find, text: str) -> bool:
    """Return whether the find counts. Without capitals an English address cannot be told from "2 hours I drive"."""
    return find.kind != "street" or not text[find.start : find.end].islower()


def merge_overlaps(finds: Sequence[Find]) -> list[Find]:
    """Return the finds with overlapping ones as one, of the kind of the first."""
    merged: list[Find] = []
    for find in finds:
        if merged and find.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, find.end))
        else:
            merged.append(find)
    return merged
