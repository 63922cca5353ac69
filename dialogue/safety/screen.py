"""The first line of the risk screen: patterns on every message and reply, in every arm. See crisis_lexicon.json."""

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

LEXICON = Path(__file__).resolve().parents[2] / "fixtures" / "instruments" / "crisis_lexicon.json"
REPLY_LEVEL = 3
# No pattern for which a reply is withheld stretches over more characters than this (the widest: 66), spaces to spare.
WINDOW = 120

REPEATED_PUNCTUATION = re.compile(r"([^\w\s])\1+")
SPACE = re.compile(r"\s+")
NOT_WORD = re.compile(r"[\W_]+")
LATIN = re.compile("[a-z]")
HAN = re.compile("[\u4e00-\u9fff]")
SENTENCE_END = re.compile(r"[.!?;。]")
TO_FOLD = re.compile("[^\x00-\x7f\u4e00-\u9fff、。，！？：；（）“”‘’…—]")
# Without one of these no pattern for which a reply is withheld can fire. Most pieces of most replies are done with
# after this one search; the patterns themselves take ten to forty times as long. Spaces and signs between Chinese
# characters are allowed for, since the patterns are tried on a copy without them.
REPLY_CUES = re.compile(
    r"[死杀束跳药割绳刀永辈脱世吊炭轨毒遗]|最[\W_]*后|轻[\W_]*生|自[\W_]*尽|了[\W_]*[断结]|[想愿意法再][\W_]*活|活[\W_]*[不够]"
    r"|die\b|dying|dead|gone|kill|kms|suicid|alive|sewerslide|delete|jump|plan|goodbye|farewell|pill|tablet|meds"
    r"|edge\b|roof|bridge|tracks|rope|gun\b|blade|myself|meself|me\s+self|my\s+(?:own\s+)?life"
    r"|end(?:ing)?\s+(?:it|my|your)\b|last\s+message|by\s+the\s+time"
)


@dataclass(frozen=True)
class Verdict:
    """`level` 0–4; `entries` the ids that fired, in the lexicon's order; `third_party`: it speaks of someone else."""

    level: int
    entries: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    third_party: bool = False


@dataclass(frozen=True)
class Entry:
    id: str
    lang: str
    level: int
    category: str
    pattern: re.Pattern[str]


@dataclass(frozen=True)
class Modifier:
    lang: str
    effect: str
    pattern: re.Pattern[str]


class Hit(NamedTuple):
    """An entry that fired, its level after the modifiers, and the effects that stood in the same sentence."""

    entry: Entry
    level: int
    effects: frozenset[str]


@dataclass(frozen=True)
class Lexicon:
    entries: tuple[Entry, ...]
    modifiers: tuple[Modifier, ...]
    reply_entries: tuple[Entry, ...]
    quick: dict[str, re.Pattern[str]]  # by language, all that a reply is withheld for
    cues: re.Pattern[str] = REPLY_CUES


@cache
def load_lexicon(path: Path = LEXICON) -> Lexicon:
    data = json.loads(path.read_text(encoding="utf-8"))
    entries = tuple(_entry(raw, raw["level"], raw["category"]) for raw in data["entries"])
    replies = tuple(_entry(raw, REPLY_LEVEL, "encouragement") for raw in data["reply_screen"]["patterns"])
    return Lexicon(
        entries=entries,
        modifiers=tuple(Modifier(raw["lang"], raw["effect"], _compiled(raw["pattern"])) for raw in data["modifiers"]),
        reply_entries=replies,
        quick={lang: _either(entries + replies, lang) for lang in ("en", "zh")},
    )


def _entry(raw: dict[str, Any], level: int, category: str) -> Entry:
    return Entry(raw["id"], raw["lang"], level, category, _compiled(raw["pattern"]))


def _compiled(pattern: str) -> re.Pattern[str]:
    # A starred group whose alternatives overlap takes exponential time on a text made to fail it (想要想要想要…).
    # Eight in a row are more than any sentence holds.
    return re.compile(pattern.replace(")*", "){0,8}"), re.IGNORECASE)


def _either(entries: Sequence[Entry], lang: str) -> re.Pattern[str]:
    patterns = (entry.pattern.pattern for entry in entries if entry.level >= REPLY_LEVEL and entry.lang == lang)
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


def screen_message(text: str, lexicon: Lexicon | None = None) -> Verdict:
    """What a person's message says about their safety, by the lexicon's rules.

    A modifier (negation, past, fiction, someone else) speaks for its own sentence only, so "She wants to die. I want
    to die too." stays at level 3.
    """
    hits = _hits(text, lexicon or load_lexicon())
    level = max((hit.level for hit in hits), default=0)
    burdens = {hit.entry.category for hit in hits if hit.level == 2 and not hit.effects}
    if level == 2 and len(burdens) >= 2:
        level = 3
    return _verdict(level, hits)


def screen_reply(text: str, screened: int = 0, lexicon: Lexicon | None = None) -> Verdict | None:
    """Whether a supporter's text, whole or still growing, must be withheld; `None`: it may be shown.

    Withheld is what the lexicon's reply patterns find, and any entry of level 3 or 4. Words of levels 1 and 2
    ("hopeless", "a burden") pass: an empathic reply says them back. `screened` is how many characters of `text` an
    earlier call has already passed, so that a growing reply costs the same at each piece.
    """
    lexicon = lexicon or load_lexicon()
    if not _suspicious(text[max(0, screened - WINDOW) :], lexicon):
        return None
    hits = [hit for hit in _hits(text, lexicon) if hit.level >= REPLY_LEVEL]
    hits += _reply_hits(text, lexicon)
    return _verdict(max(hit.level for hit in hits), hits) if hits else None


def level_in_context(verdict: Verdict, earlier_levels: Sequence[int]) -> int:
    """The level of a message in its conversation; `earlier_levels` are what this gave for the messages before it.

    Three messages of level 1 in a row act as level 2; the third message of level 2 or more makes level 3.
    """
    level = verdict.level
    if level == 1 and len(earlier_levels) >= 2 and all(earlier == 1 for earlier in earlier_levels[-2:]):
        level = 2
    if level == 2 and sum(earlier >= 2 for earlier in earlier_levels) >= 2:
        level = 3
    return level


def normalise(text: str) -> str:
    text = _folded(text).replace("’", "'").replace("‘", "'")
    return SPACE.sub(" ", REPEATED_PUNCTUATION.sub(r"\1", text)).strip()


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower()


def _copies(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The normalised text, and for Chinese a copy without spaces and punctuation: (text, languages to test)."""
    plain = normalise(text)
    if LATIN.search(plain):
        yield plain, ("en",)
    if HAN.search(plain):
        yield plain, ("zh",)
        yield NOT_WORD.sub("", plain), ("zh",)


def _hits(text: str, lexicon: Lexicon) -> list[Hit]:
    """One hit for each entry that fires: its strongest over the copies of the text, in the lexicon's order."""
    strongest: dict[str, Hit] = {}
    for copy, langs in _copies(text):
        for hit in _hits_in(copy, langs, lexicon):
            known = strongest.get(hit.entry.id)
            if known is None or hit.level > known.level:
                strongest[hit.entry.id] = hit
    return [strongest[entry.id] for entry in lexicon.entries if entry.id in strongest]


def _hits_in(text: str, langs: tuple[str, ...], lexicon: Lexicon) -> Iterator[Hit]:
    modifiers = [modifier for modifier in lexicon.modifiers if modifier.lang in langs]
    idioms = [
        match.span()
        for modifier in modifiers
        if modifier.effect == "ignore_overlap"
        for match in modifier.pattern.finditer(text)
    ]
    for entry in lexicon.entries:
        if entry.lang in langs:
            for match in entry.pattern.finditer(text):
                if not any(match.start() < end and start < match.end() for start, end in idioms):
                    effects = _effects(_sentence(text, match), modifiers)
                    yield Hit(entry, _modified(entry.level, effects), effects)


def _sentence(text: str, match: re.Match[str]) -> str:
    """The sentence, or sentences, over which a match stretches."""
    start = max((end.end() for end in SENTENCE_END.finditer(text, 0, match.start())), default=0)
    after = SENTENCE_END.search(text, match.end())
    return text[start : after.start() if after else len(text)]


def _effects(sentence: str, modifiers: Sequence[Modifier]) -> frozenset[str]:
    return frozenset(
        modifier.effect
        for modifier in modifiers
        if modifier.effect != "ignore_overlap" and modifier.pattern.search(sentence)
    )


def _modified(level: int, effects: frozenset[str]) -> int:
    if level == 4:
        return level
    if "lower_one" in effects and level in (2, 3):
        level -= 1
    if "mark_fiction" in effects:
        level = max(1, level - 1)
    if effects & {"mark_third_party", "mark_past"}:
        level = min(level, 2)
    return level


def _suspicious(text: str, lexicon: Lexicon) -> bool:
    if not lexicon.cues.search(_folded_for_cues(text)):
        return False
    return any(lexicon.quick[lang].search(copy) for copy, langs in _copies(text) for lang in langs)


def _folded_for_cues(text: str) -> str:
    # To fold full-width signs takes longer than the search, and no cue has any.
    if not TO_FOLD.search(text):
        return text.lower()
    # A pattern that ignores case takes the dotless i for an i.
    return _folded(text).replace("ı", "i")


def _reply_hits(text: str, lexicon: Lexicon) -> list[Hit]:
    copies = list(_copies(text))
    return [
        Hit(entry, entry.level, frozenset())
        for entry in lexicon.reply_entries
        if any(entry.lang in langs and entry.pattern.search(copy) for copy, langs in copies)
    ]


def _verdict(level: int, hits: Sequence[Hit]) -> Verdict:
    return Verdict(
        level=level,
        entries=tuple(hit.entry.id for hit in hits),
        categories=tuple(sorted({hit.entry.category for hit in hits})),
        third_party=any("mark_third_party" in hit.effects for hit in hits),
    )
