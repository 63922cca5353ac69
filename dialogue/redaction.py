"""Removal of what tells who somebody is from a conversation, before others read it. Pure.

Taken out are e-mail and internet addresses, accounts and numbers of documents, telephone numbers and whatever else is
as long a number, postal addresses, and the names that are known. Dates, places, and names of others stay: what is said
in a conversation would be lost with them.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path

from dialogue.identifying import Place, places_in
from dialogue.judges.prompts import InnerState, JudgedTurn

VERSION = "1"  # of what is found and what stands in its place
MARK = "redacted"
FILE = Path(__file__).resolve().parents[1] / "fixtures" / "redaction.json"


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
        return JudgedTurn(turn.number, self.text(turn.seeker), self.text(turn.supporter))

    def state(self, state: InnerState) -> InnerState:
        cognition, emotion, goal = (self.text(each) for each in (state.cognition, state.emotion, state.goal))
        return replace(state, cognition=cognition, emotion=emotion, goal=goal)


def mark_version(version: str, counts: Mapping[str, int]) -> str:
    """Return a prompt's version, `judge.en/1~redacted/1` if something was removed."""
    return f"{version}~{MARK}/{VERSION}" if counts else version


@lru_cache(maxsize=4096)  # the turns of a conversation come again with each questionnaire about it
def redact(text: str, names: tuple[str, ...], language: str) -> tuple[str, tuple[str, ...]]:
    """Return the text with something in the place of each find, and the kinds of the finds in their order."""
    words = get_stand_ins()[language]
    kept, kinds, end = [], [], 0
    for place in merge_overlaps(
        [place for place in places_in(text, names) if place.kind in words and is_identifying(place, text)]
    ):
        kept += [text[end : place.start], words[place.kind]]
        kinds.append(place.kind)
        end = place.end
    return "".join([*kept, text[end:]]), tuple(kinds)


def is_identifying(place: Place, text: str) -> bool:
    """Return whether the find counts. Without capitals an English address cannot be told from "2 hours I drive"."""
    return place.kind != "street" or not text[place.start : place.end].islower()


def merge_overlaps(places: Sequence[Place]) -> list[Place]:
    """Return the finds with overlapping ones as one, of the kind of the first."""
    found: list[Place] = []
    for place in places:
        if found and place.start < found[-1].end:
            found[-1] = found[-1]._replace(end=max(found[-1].end, place.end))
        else:
            found.append(place)
    return found
