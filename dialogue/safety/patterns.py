"""Finds ways of saying that somebody is in danger, by patterns that are built from parts."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from dialogue.safety.normalisation import HAN, LATIN, SENTENCE_END

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "safety"
LANGUAGES = ("en", "zh")
ATTEMPT, PAST_ATTEMPT = "attempt", "past_attempt"
SOFTENED_BY = ("mark_reported", "mark_negated")
NOT_IN_SENTENCE = re.compile(r"[^\w.!?;。]+|_+")


@dataclass(frozen=True)
class Pattern:
    id: str
    level: int
    category: str
    regex: re.Pattern[str]
    past: bool = False  # it speaks of an earlier time by itself
    soft: bool = False  # of a reply: no harm in a question, a negation, or in the person's words said back
    after: int = 0  # of a reply: harm only as an answer to a message of this level
    hits: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Modifier:
    id: str
    effect: str
    regex: re.Pattern[str]
    hits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Patterns:
    patterns: tuple[Pattern, ...]
    modifiers: tuple[Modifier, ...]
    soft: tuple[Pattern, ...] = ()
    idioms: tuple[Modifier, ...] = field(default=())


class Hit(NamedTuple):
    """A pattern that fired, its level after the modifiers of its sentence, and that sentence."""

    pattern: Pattern
    level: int
    effects: frozenset[str]
    sentence: str = ""

    def is_older_attempt(self) -> bool:
        """Return whether it is an attempt that the sentence dates more than a day back."""
        return self.pattern.category == ATTEMPT and self.level < self.pattern.level


@cache
def load_patterns(name: str, lang: str) -> Patterns:
    """Return the patterns of one file, "patterns" for people's messages or "replies" for supporters' replies."""
    data = tomllib.loads((FOLDER / f"{name}.{lang}.toml").read_text(encoding="utf-8"))
    parts: dict[str, str] = {}
    for key, part in data["parts"].items():
        parts[key] = _fill(part, parts)
    modifiers = tuple(
        Modifier(raw["id"], raw["effect"], _compile(raw, parts), tuple(raw["hits"])) for raw in data["modifiers"]
    )
    patterns = tuple(_pattern(raw, parts) for raw in data["patterns"])
    return Patterns(
        patterns=tuple(pattern for pattern in patterns if not pattern.soft),
        soft=tuple(pattern for pattern in patterns if pattern.soft),
        modifiers=tuple(one for one in modifiers if one.effect != "ignore_overlap"),
        idioms=tuple(one for one in modifiers if one.effect == "ignore_overlap"),
    )


def _pattern(raw: dict[str, Any], parts: dict[str, str]) -> Pattern:
    return Pattern(
        id=raw["id"],
        level=raw.get("level", 3),
        category=raw["category"],
        regex=_compile(raw, parts),
        past=raw.get("past", False),
        soft=raw.get("soft", False),
        after=raw.get("after", 0),
        hits=tuple(raw["hits"]),
        misses=tuple(raw["misses"]),
    )


def _compile(raw: dict[str, Any], parts: dict[str, str]) -> re.Pattern[str]:
    return re.compile(_fill(raw["pattern"], parts))


def _fill(pattern: str, parts: dict[str, str]) -> str:
    for key, part in parts.items():
        pattern = pattern.replace("{" + key + "}", part)
    return pattern


def find_hits(folded: str, *, name: str = "patterns") -> list[Hit]:
    """Return one hit for each pattern that fires on a folded text: its strongest, in the order of the files."""
    return _strongest(
        hit
        for lang, copy in copies(folded)
        for patterns in [load_patterns(name, lang)]
        for hit in _hits_in(copy, patterns, patterns.patterns)
    )


def find_soft_hits(folded: str, *, name: str, growing: bool) -> list[Hit]:
    """Return the hits of the soft patterns, in the sentences that state something: no question, no negation, nothing
    that only says a person's words back, and of a growing text no sentence whose end has not come."""
    return _strongest(
        hit
        for lang, copy in copies(folded)
        for patterns in [load_patterns(name, lang)]
        for stated in [_statements(copy, patterns, growing=growing)]
        if stated
        for hit in _hits_in(stated, patterns, patterns.soft)
    )


def _strongest(hits: Iterable[Hit]) -> list[Hit]:
    strongest: dict[str, Hit] = {}
    for hit in hits:
        best = strongest.get(hit.pattern.id)
        if best is None or hit.level > best.level:
            strongest[hit.pattern.id] = hit
    return list(strongest.values())


def _statements(text: str, patterns: Patterns, *, growing: bool) -> str:
    stated, start = [], 0
    for end in SENTENCE_END.finditer(text):
        sentence, start = text[start : end.end()], end.end()
        if "?" not in end[0] and not _is_softened(sentence, patterns):
            stated.append(sentence)
    rest = text[start:]
    if rest.strip() and not growing and not _is_softened(rest, patterns):
        stated.append(rest)
    return "".join(stated)


def _is_softened(sentence: str, patterns: Patterns) -> bool:
    return any(one.effect in SOFTENED_BY and one.regex.search(sentence) for one in patterns.modifiers)


def copies(folded: str) -> Iterator[tuple[str, str]]:
    """Yield each language with the text as its patterns read it; Chinese also without spaces and signs in sentences."""
    if LATIN.search(folded):
        yield "en", folded
    if HAN.search(folded):
        close = NOT_IN_SENTENCE.sub("", folded)
        yield "zh", close
        if " " in folded:
            yield "zh", folded


def _hits_in(text: str, patterns: Patterns, candidates: Sequence[Pattern]) -> Iterator[Hit]:
    matches = [(pattern, match) for pattern in candidates for match in pattern.regex.finditer(text)]
    if not matches:
        return
    attempts = [match for pattern, match in matches if pattern.category in (ATTEMPT, PAST_ATTEMPT)]
    for pattern, match in matches:
        start, end = _sentence(text, match)
        if _is_idiom(text, match, start, end, patterns.idioms):
            continue
        effects = _effects(text[start:end], patterns.modifiers)
        if pattern.past or ("mark_older" in effects and _overlaps(match, attempts)):
            effects |= {"mark_past"}
        yield Hit(pattern, modified_level(pattern, effects), effects, text[start:end].strip())


def _overlaps(match: re.Match[str], others: Sequence[re.Match[str]]) -> bool:
    return any(match.start() < other.end() and other.start() < match.end() for other in others)


def _is_idiom(text: str, match: re.Match[str], start: int, end: int, idioms: Sequence[Modifier]) -> bool:
    """Return whether a match overlaps an idiom of its own sentence."""
    return any(
        match.start() < idiom_match.end() and idiom_match.start() < match.end()
        for idiom in idioms
        for idiom_match in idiom.regex.finditer(text, start, end)
    )


def _sentence(text: str, match: re.Match[str]) -> tuple[int, int]:
    """Return where the sentence, or sentences, over which a match stretches starts and ends."""
    start = max((end.end() for end in SENTENCE_END.finditer(text, 0, match.start())), default=0)
    after = SENTENCE_END.search(text, match.end())
    return start, after.start() if after else len(text)


def _effects(sentence: str, modifiers: Sequence[Modifier]) -> frozenset[str]:
    return frozenset(modifier.effect for modifier in modifiers if modifier.regex.search(sentence))


def modified_level(pattern: Pattern, effects: frozenset[str]) -> int:
    """Return a pattern's level after negation, fiction, past time and other people in its sentence.

    An attempt within a day is level 4, and an older one level 2.
    """
    level = pattern.level
    if (
        "mark_older" in effects
        and "mark_day" not in effects
        and (pattern.category == ATTEMPT or "mark_past" in effects)
    ):
        level = min(level, 2)
    if pattern.category == PAST_ATTEMPT and "mark_day" in effects and "lower_one" not in effects:
        return 4
    if "mark_past" in effects and "mark_now" not in effects and level >= 3:
        level = 2
    if "mark_third_party" in effects and level >= 3 and pattern.category not in ("violence_from_others",):
        level = 2
    if "lower_one" in effects and "mark_serious" not in effects and level in (2, 3):
        level -= 1
    if "mark_fiction" in effects:
        level = max(1, level - 1)
    return level
