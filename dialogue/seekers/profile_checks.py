"""Automatic checks of a profile before a person reads it. In English and Chinese. Pure.

They look for recognisable people, words of risk, contradictions, gaps, the wrong language, a twin, and a worst case
that is too mild. They rather report too much than miss something, because whoever approves the profile looks at each
place. A story that only one person could tell is left to that person.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from django.utils.translation import gettext_noop

from dialogue.deidentification.identifiers import HAN, has_name, identifiers_in, names_in, runs
from dialogue.safety.screening import pattern_level
from dialogue.seekers.behaviours import is_mild
from dialogue.seekers.gates import persona_contradictions
from dialogue.seekers.profiles import BIG_FIVE, Profile, as_content
from dialogue.seekers.reading import Utterance

Rule = Literal[
    "risk",
    "distress",
    "email",
    "url",
    "account",
    "date",
    "phone",
    "street",
    "name",
    "own_words",
    "answers",
    "inconsistent",
    "missing",
    "language",
    "duplicate",
    "mild",
]

SENTENCES: Mapping[str, str] = {  # for whoever approves
    "risk": gettext_noop("%(where)s mentions danger to life: “%(found)s”. Simulated seekers never use such a profile."),
    "distress": gettext_noop("%(where)s may mention danger to life: “%(found)s”. Please check it."),
    "email": gettext_noop("%(where)s contains an e-mail address: “%(found)s”."),
    "url": gettext_noop("%(where)s contains a web address: “%(found)s”."),
    "account": gettext_noop("%(where)s contains what looks like an account or document number: “%(found)s”."),
    "date": gettext_noop("%(where)s contains an exact date: “%(found)s”. Write “last spring” or similar instead."),
    "phone": gettext_noop("%(where)s contains what looks like a phone number: “%(found)s”."),
    "street": gettext_noop("%(where)s contains what looks like an address: “%(found)s”."),
    "name": gettext_noop("%(where)s contains a name or a place from the person's own answers: “%(found)s”."),
    "own_words": gettext_noop(
        "%(where)s repeats the person's own words: “%(found)s”. Someone could recognise the person by them."
    ),
    "answers": gettext_noop("%(where)s differs from what the person answered: “%(found)s”."),
    "inconsistent": gettext_noop("%(where)s does not fit the rest of the profile: “%(found)s”."),
    "missing": gettext_noop("%(where)s is missing. Without it, the simulated seeker acts less like a person."),
    "language": gettext_noop("%(where)s is not in the language of the profile: “%(found)s”."),
    "duplicate": gettext_noop("The story is almost the same as in the profile “%(found)s”."),
    "mild": gettext_noop(
        "%(where)s is too mild for the worst case, so worst-case runs skip this profile. Set two of the behaviours "
        "to 2 or 3, or remove the whole field: then all five are set to 2."
    ),
}

LONGEST_QUOTED = 80  # characters
MISSED = ("D.age", "D.gender", "P.speech_style", "P.support_preference", "C.emotion", "C.background")
REACTIONS = ("generic_comfort", "premature_advice", "accurate_reflection", "open_question", "pressure")
FEWEST_LAYERS = 2
OWN_RUN = {"en": 8, "zh": 12}  # words, characters in a row
TWIN = 0.5  # share of the three-word (three-character) runs of the shorter story
SHORTEST_STORY = 20  # runs; shorter stories are not compared
LOW, HIGH = 2.0, 4.0  # of 1 to 5: from here on a description to the contrary is a contradiction
GRAVE, WORTH_A_LOOK = 3, 2  # levels of the risk screen
FEWEST_FOREIGN = {"en": 2, "zh": 3}  # characters of Chinese, words of English

LATIN_WORD = re.compile("[A-Za-z]{2,}")


@dataclass(frozen=True)
class Finding:
    """A finding of one check. `where`: the place, such as `C.problem` or `S.layers[2]`. A finding that `refuses` keeps
    the profile from being used."""

    rule: Rule
    where: str
    found: str = ""
    refuses: bool = False

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class OwnAnswers:
    """The answers of the person from whom a profile was made.

    `names`: what they are called. `texts`: what they wrote. `demographics`, `big_five`: what the profile must say about
    them; `ages`: the possible ages.
    """

    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    demographics: Mapping[str, Any] = field(default_factory=dict)
    big_five: Mapping[str, float] = field(default_factory=dict)
    ages: range | None = None


def check_profile(profile: Profile, *, own: OwnAnswers | None = None, others: Iterable[Profile] = ()) -> list[Finding]:
    """Return all findings, the gravest first; each rule at most once a place.

    `own`: the answers, if the profile was made from a person's answers.
    """
    places = list(_places(profile))
    findings = [
        *risks(places),
        *identifiers(places),
        *(identifying_pieces(places, own, profile.language) if own else ()),
        *(answer_mismatches(profile, own) if own else ()),
        *inconsistencies(profile),
        *missing(profile),
        *other_language(places, profile.language),
        *twins(profile, others),
        *([Finding("mild", "worst_case_default")] if is_mild(profile) else ()),
    ]
    first = {(finding.rule, finding.where): finding for finding in reversed(findings)}
    return list(first.values())[::-1]


def is_refused(findings: Iterable[Finding]) -> bool:
    return any(finding.refuses for finding in findings)


# Places.

Places = Sequence[tuple[str, str]]
UNTOLD = ("P.big5.scale",)  # names a file


def _places(profile: Profile) -> Iterator[tuple[str, str]]:
    """Yield every text and number of the profile with its place; also unusual names of keys."""
    content = as_content(profile)
    for part in ("D", "P", "C", "S", "worst_case_default"):
        for place, text in _leaves(content.get(part, {}), part):
            if place not in UNTOLD:
                yield place, text


def _leaves(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, member in value.items():
            if " " in key:  # someone's own words, not a name of ours
                yield place, key
            yield from _leaves(member, f"{place}.{key}")
    elif isinstance(value, list):
        for number, member in enumerate(value, 1):
            yield from _leaves(member, f"{place}[{number}]")
    else:
        yield place, str(value)


# Risk.


def risks(places: Places) -> Iterator[Finding]:
    for place, text in places:
        level = pattern_level(text)
        if level >= GRAVE:
            yield Finding("risk", place, _shorten(text), refuses=True)
        elif level >= WORTH_A_LOOK:
            yield Finding("distress", place, _shorten(text))


# Recognisable people.


def identifiers(places: Places) -> Iterator[Finding]:
    for place, text in places:
        for rule, identifier in identifiers_in(text):
            yield Finding(rule, place, _shorten(identifier))


def identifying_pieces(places: Places, own: OwnAnswers, language: str) -> Iterator[Finding]:
    """Find the person's names, names and places from their own texts, and longer pieces of these word for word."""
    own_names = sorted({name for text in own.texts for name in names_in(text)})
    pieces = {piece for text in own.texts for piece in runs(text, OWN_RUN[language])}
    for place, text in places:
        called = [name for name in own.names if has_name(text, name)]
        called += [name for name in own_names if has_name(text, name, exactly=True)]
        if called:
            yield Finding("name", place, ", ".join(called))
        if piece := next((piece for piece in runs(text, OWN_RUN[language]) if piece in pieces), None):
            yield Finding("own_words", place, ("" if HAN.search(piece[0]) else " ").join(piece))


# Contradictions.

DESCRIBED: Mapping[str, tuple[str, str]] = {  # factor → words that say low, words that say high
    "E": (
        r"\bshy\b|\bquiet\b|\bintrovert|\breserved\b|keeps to (?:her|him|them)sel|内向|话少|话不多|腼腆|不爱说话",
        r"\boutgoing\b|\btalkative\b|\bextrovert|life of the party|\bchatty\b|外向|健谈|话多|爱热闹",
    ),
    "A": (
        r"\bcold\b|\bharsh\b|\bsuspicious\b|\bsarcastic\b|刻薄|冷淡|多疑|讽刺",
        r"\bkind\b|\bwarm\b|\bconsiderate\b|\bgentle\b|体贴|温和|热心|为别人着想",
    ),
    "C": (
        r"\bmess[yi]|\bforgetful\b|\bdisorgani[sz]ed\b|\bcareless\b|丢三落四|邋遢|没有条理|拖延",
        r"\borgani[sz]ed\b|\borderly\b|\btid(?:y|ies)\b|\bmakes lists\b|\bpunctual\b|有条理|井井有条|列清单|守时",
    ),
    "N": (
        r"\bcalm\b|\brelaxed\b|\beven-tempered\b|\beasy-?going\b|从容|淡定|心平气和|不容易着急",
        r"\bmoody\b|\bworr(?:y|ies|ier)\b|\bnervous\b|\banxious\b|\bon edge\b|容易焦虑|情绪化|爱操心|容易紧张",
    ),
    "O": (
        r"\bdown-to-earth\b|\bdislikes change\b|\bunimaginative\b|刻板|不喜欢变化|缺乏想象",
        r"\bimaginative\b|\bcurious about everything\b|\bdaydreams?\b|富有想象|爱幻想|喜欢新鲜",
    ),
}
DESCRIBING = ("P.speech_style", "P.habits")  # not the fields about what they like in others
TYPES = (("E", "I", "E"), ("N", "S", "O"), ("F", "T", "A"), ("J", "P", "C"))  # high letter, low letter, factor


def answer_mismatches(profile: Profile, own: OwnAnswers) -> Iterator[Finding]:
    """Find differences between the profile's D and Big Five and the person's answers, also after someone
    edited them."""
    for key, answered in own.demographics.items():
        now = profile.demographics.get(key, "–")
        if now != answered:
            yield Finding("answers", f"D.{key}", f"{now} ≠ {answered}")
    age = profile.demographics.get("age")
    if own.ages and age not in own.ages:
        yield Finding("answers", "D.age", f"{age or '–'} ≠ {own.ages.start}–{own.ages.stop - 1}")
    for factor, answered in own.big_five.items():
        value = _big_five(profile).get(factor, "–")
        if value != answered:
            yield Finding("answers", f"P.big5.{factor}", f"{value} ≠ {answered}")


def inconsistencies(profile: Profile) -> Iterator[Finding]:
    """Find contradictions between the opening and D, and between the type or the description and marked Big Five
    scores."""
    opening = Utterance(str(profile.script.get("opening", "")))
    for fault in persona_contradictions([(1, opening)], profile):
        yield Finding("inconsistent", "S.opening", _shorten(fault.evidence))
    scores = _big_five(profile)
    letters = str(profile.personality.get("mbti", "")).upper()
    for (high, low, factor), letter in zip(TYPES, letters, strict=False):
        if (letter == high and _is_low(scores, factor)) or (letter == low and _is_high(scores, factor)):
            yield Finding("inconsistent", "P.mbti", f"{letters}, {factor} {scores[factor]}")
    for place, text in _leaves(profile.personality, "P"):
        if place.partition("[")[0] in DESCRIBING:
            yield from _description_mismatches(place, text, scores)


def _description_mismatches(place: str, text: str, scores: Mapping[str, float]) -> Iterator[Finding]:
    for factor, (low, high) in DESCRIBED.items():
        for words, holds in ((low, _is_high), (high, _is_low)):
            match = re.search(words, text, re.IGNORECASE)
            if match and holds(scores, factor):
                yield Finding("inconsistent", place, f"{match[0]}, {factor} {scores[factor]}")


def _big_five(profile: Profile) -> dict[str, float]:
    scores = profile.personality.get("big5", {})
    return {factor: scores[factor] for factor in BIG_FIVE if factor in scores} if isinstance(scores, Mapping) else {}


def _is_low(scores: Mapping[str, float], factor: str) -> bool:
    return factor in scores and scores[factor] <= LOW


def _is_high(scores: Mapping[str, float], factor: str) -> bool:
    return factor in scores and scores[factor] >= HIGH


def missing(profile: Profile) -> Iterator[Finding]:
    """Find parts that a file may leave out but a lifelike person needs."""
    content = as_content(profile)
    places = [(place, content[place[0]].get(place[2:])) for place in MISSED]
    places += [(f"P.big5.{factor}", _big_five(profile).get(factor)) for factor in BIG_FIVE]
    places += [(f"S.reactions.{key}", profile.script.get("reactions", {}).get(key)) for key in REACTIONS]
    yield from (Finding("missing", place) for place, value in places if value in (None, "", [], {}))
    layers = profile.script["layers"]
    if len(layers) < FEWEST_LAYERS:
        yield Finding("missing", f"S.layers[{len(layers) + 1}]")


def other_language(places: Places, language: str) -> Iterator[Finding]:
    """Find places with more of the other language than of the profile's own. A single word, such as a feeling or a
    type, is accepted."""
    for place, text in places:
        han, words = len(HAN.findall(text)), len(LATIN_WORD.findall(text))
        foreign, native = (han, words) if language == "en" else (words, han)
        if foreign >= FEWEST_FOREIGN[language] and foreign > native:
            yield Finding("language", place, _shorten(text))


def twins(profile: Profile, others: Iterable[Profile]) -> Iterator[Finding]:
    story = _story(profile)
    for other in others:
        if other.language == profile.language and other.id != profile.id:
            other_story = _story(other)
            shorter = min(len(story), len(other_story))
            if shorter >= SHORTEST_STORY and len(story & other_story) / shorter >= TWIN:
                yield Finding("duplicate", "C", other.id)


def _story(profile: Profile) -> set[tuple[str, ...]]:
    parts = [*_leaves(profile.concern, "C"), *_leaves(profile.script, "S")]
    return {run for _, text in parts for run in runs(text, 3)}


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_QUOTED else f"{text[: LONGEST_QUOTED - 1]}…"
