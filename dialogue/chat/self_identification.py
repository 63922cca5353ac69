"""Find self-identification: replies that name their model or its maker, and replace the names by neutral words. Pure.

The names, the patterns of telling sentences and the neutral words are in fixtures/naming.json.
"""

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

NAMING = Path(__file__).resolve().parents[2] / "fixtures" / "naming.json"

# A full stop ends a sentence only before a space: "GPT-3.5", "gpt-4.html". While a reply grows, the one at its end ends
# nothing yet. The other signs end it at once; what closes a quotation then begins the next sentence.
SENTENCE_END = re.compile(
    r"[!?…。！？；\n]"
    r"|(?<!\be\.g)(?<!\bi\.e)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bDr)(?<!\bvs)(?<!\bInc)(?<!\bLtd)(?<!\bCorp)"
    r"\.(?=[\"'”’)\]*_]{0,3}\s)"
)

# The traditional characters of the names and entries, which are in simplified ones.
TRADITIONAL = "開發訓練創語義問雲騰訊節動個種為這裡製與應設計團隊說號話對詢華術機業務稱喚當現實構賦給"
SIMPLIFIED = "开发训练创语义问云腾讯节动个种为这里制与应设计团队说号话对询华术机业务称唤当现实构赋给"
# Characters that look the same to a reader. Each maps to one character, so positions in the folded text stay valid.
# Signs of private use mark the names below, so a text has none of its own.
FOLDED = str.maketrans(
    {chr(sign): chr(sign - 0xFEE0) for sign in range(0xFF01, 0xFF5F)}
    | dict.fromkeys("‘’ʼ", "'")
    | dict.fromkeys("“”„", '"')
    | dict.fromkeys("‐‑‒–—−", "-")
    | dict.fromkeys("\u00a0\u2009\u202f\u3000", " ")
    | dict.fromkeys("\ue000\ue001\ue002", " ")
    | dict(zip(TRADITIONAL, SIMPLIFIED, strict=True))
)
MARKED = {
    "distinct": "\ue000",
    "given": "\ue001",
    "common": "\ue002",
    "name": "[\ue000\ue001]",
    "any": "[\ue000\ue001\ue002]",
}
PART = re.compile(r"\{([a-z_]+)\}")

HAN = re.compile("[\u4e00-\u9fff]")
LATIN_WORD = re.compile("[A-Za-z]+")
LETTER = re.compile(r"[^\W\d_]")
SPACE = re.compile(r"\s+")
DECORATION = re.compile("[\"*_`「」『』《》【】]|(?<![a-z\ue000-\ue002])'|'(?![a-z])")
# Reported speech: You wrote "I am Claude".
REPORTED = re.compile(
    r"(?:\b(?:you|he|she|they|friend|mother|father|boss|who) [^\"]{0,40}?\b(?:say|says|said|tell|told|write|wrote)\b"
    r"|[你您他她们友妈爸][^\"「]{0,10}?(?:说|问|写|提到))[^\"「]{0,20}[\"「][^\"」]*[\"」]?"
)

TIERS = ("whole", "distinct", "given", "common")
ANY_CASE = ("whole", "distinct")
KINDS = ("program", "company", "either")  # either: the firm and its model are called the same
SHORTEST_ID = 5  # characters
AROUND = 80  # characters around a name in which to look for cues
DIGIT = re.compile(r"\d")
ID_SEPARATOR = re.compile("[-_/:.]")
DISTINCT = re.compile("[0-9]|[a-z][A-Z]|[A-Z]{2}|[\u4e00-\u9fff]{4}")  # a study's name that is no common word
SEPARATOR = re.compile("[ ·-]")
UNSEPARATED = str.maketrans("", "", " ·_-")
ALPHANUMERIC = re.compile("[A-Za-z0-9]")
# A version after a model's name: 4o, 2.5-72B-Instruct, 3.7 Sonnet.
VERSION_WORDS = (
    "turbo|pro|max|plus|lite|flash|ultra|nano|mini|instruct|chat|preview|opus|sonnet|haiku|reasoner|coder|distill|"
    "thinking|large|medium|small|advanced|bot|base|latest|exp"
)
VERSION = (
    r"(?:[ -]?[A-Za-z]?\d{1,8}(?:\.\d{1,4}){0,3}[A-Za-z]{0,2}(?![A-Za-z\d/:%])(?! ?(?:年|月|日|个|year|month|day|time))"
    rf"|-(?i:{VERSION_WORDS})(?![A-Za-z])| (?:mini|nano|turbo)(?![A-Za-z])"
    rf"| ?(?:{'|'.join(word.capitalize() for word in VERSION_WORDS.split('|'))})(?![A-Za-z])){{0,8}}"
)
# Names that stand together are one: Anthropic's Claude, 阿里云的通义千问, 深度求索（DeepSeek）.
JOINED = re.compile(r"(?:'s?)? ?|的| ?[(/|·] ?|旗下的?")


class Name(NamedTuple):
    """A name in a sentence: its place, its tier in the file (or "whole": always counts) and what it names."""

    start: int
    end: int
    tier: str  # whole, distinct, given, common
    kind: str  # program, company, either


class Sentence(NamedTuple):
    """A sentence with the sign that ends it, so that all sentences together are the text."""

    text: str
    folded: str = ""
    names: tuple[Name, ...] = ()  # all of them where the sentence tells who speaks, else none
    lang: str = "en"


@dataclass(frozen=True)
class Wording:
    """The neutral words of a language, and the signs around a name that decide between them."""

    words: Mapping[str, str]
    cues: Mapping[str, re.Pattern[str]]


@dataclass(frozen=True)
class Finder:
    """A search for names, with the strings without which a text has none; most replies need only these."""

    pattern: re.Pattern[str]  # the group that matches is called by the name's tier and kind
    any_case: tuple[str, ...]  # in lower case, without spaces and hyphens
    as_written: tuple[str, ...]

    def may_find(self, folded: str) -> bool:
        bare = folded.translate(UNSEPARATED)
        lower = bare.lower()
        return any(stem in lower for stem in self.any_case) or any(stem in bare for stem in self.as_written)


@dataclass(frozen=True)
class Lexicon:
    spellings: Mapping[tuple[str, str], tuple[str, ...]]  # by tier and kind
    entries: Mapping[str, tuple[re.Pattern[str], ...]]  # by language: patterns of sentences that tell who speaks
    context: re.Pattern[str]  # what makes a common name count as a given one
    wording: Mapping[str, Wording]


def names_itself(text: str, names: Sequence[str] = ()) -> bool:
    """Return whether a sentence of `text` tells which model speaks or who made it; `names` are the study's own."""
    return any(sentence.names for sentence in _sentences(text, names))


def mask(text: str, names: Sequence[str] = ()) -> str:
    """Return `text` with neutral words for every name in the sentences that tell which model speaks or who made it.

    Each sentence is judged by itself, so the visible part of a growing reply never changes: its whole sentences,
    masked, begin the masked text of all of it.
    """
    return "".join(_neutral(sentence) if sentence.names else sentence.text for sentence in _sentences(text, names))


def whole_sentences(text: str) -> int:
    """Return the number of code points in whole sentences, which a growing reply may show."""
    return max((end.end() for end in SENTENCE_END.finditer(text)), default=0)


@cache
def load_lexicon(path: Path = NAMING) -> Lexicon:
    data = json.loads(path.read_text(encoding="utf-8"))
    return Lexicon(
        spellings={
            (tier, kind): tuple(names) for tier, kinds in data["names"].items() for kind, names in kinds.items()
        },
        entries={lang: _entries(data, lang) for lang in data["wording"]},
        context=re.compile(_fill_parts(data["context"], MARKED)),
        wording={lang: _wording(raw) for lang, raw in data["wording"].items()},
    )


def _entries(data: Mapping[str, Any], lang: str) -> tuple[re.Pattern[str], ...]:
    parts = data["parts"] | MARKED
    return tuple(re.compile(_fill_parts(raw["pattern"], parts)) for raw in data["entries"] if raw["lang"] == lang)


def _fill_parts(pattern: str, parts: Mapping[str, str]) -> str:
    """Return the pattern with every {part} put in, also within parts. Raises KeyError for an unknown part."""
    return PART.sub(lambda match: _fill_parts(parts[match[1]], parts), pattern)


def _wording(raw: Mapping[str, Any]) -> Wording:
    return Wording(raw["words"], {name: re.compile(cue) for name, cue in raw["cues"].items()})


@lru_cache(maxsize=64)
def _finder(own: tuple[str, ...]) -> Finder:
    """Return the search for the names of the file and the study's own."""
    spellings = {key: set(words) for key, words in load_lexicon().spellings.items()}
    for name in own:
        for key, spelling in _kinds_of_own_name(name.translate(FOLDED).strip()):
            spellings.setdefault(key, set()).add(spelling)
    keys = [key for key in itertools.product(TIERS, KINDS) if spellings.get(key)]
    everything = [(spelling, tier) for tier, kind in keys for spelling in spellings[tier, kind]]
    groups = "|".join(_group(*key, spellings[key]) for key in keys)
    return Finder(
        pattern=re.compile(f"{_first_characters(spelling for spelling, _ in everything)}(?:{groups})"),
        any_case=_stems(spelling.lower() for spelling, tier in everything if tier in ANY_CASE),
        as_written=_stems(spelling for spelling, tier in everything if tier not in ANY_CASE),
    )


def _kinds_of_own_name(name: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield how a name of the study's own counts: a whole model id always, any other as the file's names do."""
    if not name or any(name.lower() in word.lower() for word in _neutral_words()):
        return
    if _is_model_id(name):
        yield ("whole", "either"), name
        if _is_model_id(last := name.rpartition("/")[2]):
            yield ("whole", "either"), last
    elif not (match := _finder(()).pattern.fullmatch(name)) or (match.lastgroup or "").startswith("common"):
        yield ("distinct" if DISTINCT.search(name) else "given", "either"), name


def _neutral_words() -> Iterator[str]:
    return (word for wording in load_lexicon().wording.values() for word in wording.words.values())


def _is_model_id(name: str) -> bool:
    """Return whether a name is a model id: gpt-4o, deepseek-chat, Qwen/Qwen2.5-72B.

    It has no space, and a digit or a known name next to other words.
    """
    if SPACE.search(name) or not LATIN_WORD.search(name) or len(name) < SHORTEST_ID:
        return False
    return bool(DIGIT.search(name)) or bool(ID_SEPARATOR.search(name) and _finder(()).pattern.search(name))


def _first_characters(spellings: Iterable[str]) -> str:
    """Return a pattern of the characters with which a name can begin. It is tried first, because most
    places fail it."""
    others = "".join(sorted({re.escape(name[0]) for name in spellings if not ALPHANUMERIC.match(name)}))
    return f"(?:(?<![A-Za-z0-9])(?=[A-Za-z0-9])|(?=[{others}]))"


def _stems(spellings: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({spelling.translate(UNSEPARATED) for spelling in spellings}))


def _group(tier: str, kind: str, names: Iterable[str]) -> str:
    flag = "i" if tier in ANY_CASE else "-i"
    spellings = "|".join(_spelling(name) for name in sorted(names, key=lambda name: (-len(name), name)))
    version = "" if kind == "company" else VERSION
    return f"(?P<{tier}_{kind}>(?{flag}:{spellings})){version}(?: ?AI(?![A-Za-z]))?"


def _spelling(name: str) -> str:
    """Return a pattern of a name as people write it: Chat GPT, Chat-GPT, ChatGPT; never a part of a longer
    Latin word."""
    pattern = "[ ·_-]?".join(re.escape(word) for word in SEPARATOR.split(name))
    if not ALPHANUMERIC.match(name[-1]):
        return pattern
    return pattern + (r"(?:\.\d{1,3}){0,2}(?![A-Za-z0-9])" if name[-1].isdigit() else "(?![A-Za-z])")


def _sentences(text: str, own: Sequence[str]) -> Iterator[Sentence]:
    finder = _finder(tuple(own))
    folded = text.translate(FOLDED)
    if not finder.may_find(folded):
        yield Sentence(text)
        return
    han = HAN.search(text)
    start = 0
    for end in (*(match.end() for match in SENTENCE_END.finditer(text)), len(text)):
        earlier = "zh" if han and han.start() < start else "en"
        yield _sentence(text[start:end], folded[start:end], finder, earlier)
        start = end


def _sentence(text: str, folded: str, finder: Finder, earlier: str) -> Sentence:
    names = _names(folded, finder.pattern) if finder.may_find(folded) else ()
    if not names or not _tells_who_speaks(folded, names):
        return Sentence(text)
    lang = _language("".join(_text_around_names(folded, names))) or ("zh" if HAN.search(folded) else earlier)
    return Sentence(text, folded, tuple(names), lang)


def _language(rest: str) -> str:
    """Return the language of a sentence without its names; "" if only signs are left."""
    if not LETTER.search(rest):
        return ""
    han = len(HAN.findall(rest))
    return "zh" if han and han >= len(LATIN_WORD.findall(rest)) else "en"


def _names(folded: str, pattern: re.Pattern[str]) -> list[Name]:
    names: list[Name] = []
    for match in pattern.finditer(folded):
        tier, kind = (match.lastgroup or "").split("_")
        name = Name(match.start(), match.end(), tier, kind)
        if names and JOINED.fullmatch(folded, names[-1].end, name.start):
            name = _join_names(names.pop(), name, folded)
        names.append(name)
    return names


def _join_names(first: Name, second: Name, folded: str) -> Name:
    closed = "(" in folded[first.end : second.start] and folded.startswith(")", second.end)
    kinds = {first.kind, second.kind}
    return Name(
        start=first.start,
        end=second.end + closed,
        tier=min(first.tier, second.tier, key=TIERS.index),
        kind=next(kind for kind in ("program", "either", "company") if kind in kinds),
    )


def _text_around_names(folded: str, names: Sequence[Name]) -> Iterator[str]:
    """Yield the text before, between and after the names."""
    start = 0
    for name in names:
        yield folded[start : name.start]
        start = name.end
    yield folded[start:]


def _tells_who_speaks(folded: str, names: Sequence[Name]) -> bool:
    """Return whether a sentence with these names says what it is itself, or who made it."""
    if any(name.tier == "whole" for name in names):
        return True
    lexicon = load_lexicon()
    plain = _plain(folded, names)
    copies = [plain]
    if lexicon.context.search(plain):
        copies.append(plain.replace(MARKED["common"], MARKED["given"]))
    if any(pattern.search(copy) for copy in copies for pattern in lexicon.entries["en"]):
        return True
    return bool(HAN.search(plain)) and any(
        pattern.search(copy.replace(" ", "")) for copy in copies for pattern in lexicon.entries["zh"]
    )


def _plain(folded: str, names: Sequence[Name]) -> str:
    """Return a sentence as the patterns expect it: a mark for each name, no quoted words of others, no emphasis."""
    marks = (*(MARKED[name.tier] for name in names), "")
    pieces = zip(_text_around_names(folded, names), marks, strict=True)
    marked = "".join(piece + mark for piece, mark in pieces).lower()
    return SPACE.sub(" ", DECORATION.sub("", REPORTED.sub(" ", marked))).strip()


def _neutral(sentence: Sentence) -> str:
    neutral, position = "", 0
    ends = (*(name.start for name in sentence.names[1:]), len(sentence.text))
    for name, end in zip(sentence.names, ends, strict=True):
        before = sentence.folded[max(position, name.start - AROUND) : name.start]
        after = sentence.folded[name.end : min(end, name.end + AROUND)]
        place = _place_for(name.kind, before, after, load_lexicon().wording[sentence.lang])
        neutral += sentence.text[position : name.start - place.dropped_before]
        neutral += place.words if LETTER.search(neutral) else place.words[:1].upper() + place.words[1:]
        position = name.end + place.dropped_after
    return neutral + sentence.text[position:]


class Place(NamedTuple):
    """The words in place of a name, and the number of characters around the name to drop: an article, "the company"."""

    words: str
    dropped_before: int
    dropped_after: int


def _place_for(kind: str, before: str, after: str, wording: Wording) -> Place:
    cues = wording.cues
    company = kind == "company" or (
        kind == "either" and bool(cues["company_before"].search(before) or cues["company_after"].match(after))
    )
    if not company and cues["told"].search(before):
        return Place("", len(before) - len(before.rstrip()), 0)
    rest_before, rest_after = before, after
    if company:
        rest_before = cues["company_told"].sub("", rest_before)
        rest_after = cues["company_rest"].sub("", rest_after)
    rest_before = cues["dropped_before"].sub("", rest_before)
    rest_after = cues["dropped_after"].sub("", rest_after)
    words = wording.words[_form("company" if company else "program", rest_before, rest_after, cues)]
    return Place(words, len(before) - len(rest_before), len(after) - len(rest_after))


def _form(kind: str, before: str, after: str, cues: Mapping[str, re.Pattern[str]]) -> str:
    """Return the key of the words: "an AI program", "your AI program", "an AI model", "your AI model", "called AI"."""
    if cues["called"].search(before):
        return "bare"
    determined = bool(cues["determiner"].search(before))
    if cues["noun"].match(after):
        return "bare" if determined or cues["plural"].match(after) else "attributive"
    return f"short_{kind}" if determined else kind
