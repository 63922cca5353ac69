"""Scores read from what a model wrote. What cannot be read is unscored with its reason, and never guessed."""

import json
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, TypedDict

from dialogue.judges.prompts import JudgedItem

Reason = Literal["unparseable", "missing", "not_an_integer", "out_of_range"]


@dataclass(frozen=True)
class Score:
    value: int


@dataclass(frozen=True)
class Unscored:
    reason: Reason


class StateFields(TypedDict):
    """An InnerState but for its turn."""

    cognition: str
    emotion: str
    goal: str
    emotion_score: int


EVALUATION = ("evaluation", "scores", "ratings", "评价", "评估", "评分", "评分结果")
ANALYSIS = ("analysis", "分析", "理由")
SCORE = ("score", "rating", "value", "分数", "评分", "得分")  # of an object in a score's place, with a reason beside it
DECODER = json.JSONDecoder()
WIDE_BRACES = str.maketrans("｛｝", "{}")
WIDE_PUNCTUATION = str.maketrans("：，“”＂［］", ':,"""[]')
BARE_VALUE = re.compile(r'(?<=:)\s*+(?:<\s*+)?(?!null\b)([^\s"{}\[\],<>][^"{}\[\],<>\n]*+)(?:>[^\S\n]*+)?(?=[,}\n])')
MOST_OBJECTS = 200  # the last ones are looked at: so long a text must not hold up everyone else
STATE_NAMES = {
    "cognition": ("认知", "认知与意愿", "想法"),
    "emotion": ("情绪", "情感"),
    "goal": ("目标", "对话目标"),
    "emotion_score": ("情绪分数", "情绪评分", "情绪得分"),
}


def parse_scores(reply: str, items: Sequence[JudgedItem]) -> dict[str, Score | Unscored]:
    """Return one entry per item. Other keys are ignored."""
    verdict = last_verdict(reply, {item.key: item.labels for item in items})
    if verdict is None:
        return {item.key: Unscored("unparseable") for item in items}
    return {item.key: _score(verdict.get(item.key), item.minimum, item.maximum) for item in items}


def parse_state(reply: str) -> StateFields | Unscored:
    state = last_verdict(reply, STATE_NAMES)
    if state is None:
        return Unscored("unparseable")
    score = _score(state.get("emotion_score"), 0, 100)
    if isinstance(score, Unscored):
        return score
    cognition, emotion, goal = (str(state.get(name) or "").strip() for name in ("cognition", "emotion", "goal"))
    if not (cognition and emotion and goal):
        return Unscored("missing")
    return StateFields(cognition=cognition, emotion=emotion, goal=goal, emotion_score=score.value)


def _score(value: Any, minimum: int, maximum: int) -> Score | Unscored:
    if isinstance(value, dict):
        value = _get_explained_score(value)
    if value is None:
        return Unscored("missing")
    number = _whole_number(value, maximum)
    if number is None:
        return Unscored("not_an_integer")
    return Score(number) if minimum <= number <= maximum else Unscored("out_of_range")


def _get_explained_score(value: Mapping[str, Any]) -> Any:
    """Return the score of `{"score": 4, "reason": "…"}`. An object with no score, or with two, is returned as it is."""
    scores = [part for name, part in value.items() if _plain(name) in SCORE]
    return scores[0] if len(scores) == 1 else value


def _whole_number(value: Any, maximum: int) -> int | None:
    """Return 4 for 4, 4.0, "4", "４", "4/5" on a scale up to 5, "4分"; `None` for 4.5, true, a range or words."""
    if type(value) is int:  # not true, which is one too
        return value
    if not isinstance(value, str | float):
        return None
    narrow = unicodedata.normalize("NFKC", str(value)).strip()
    written = re.fullmatch(rf"([+-]?\d{{1,9}})(?:\.0+)?\s*(?:/\s*{maximum}(?:\.0+)?|分)?", narrow)
    return int(written[1]) if written else None


def last_verdict(reply: str, names: Mapping[str, Sequence[str]]) -> dict[str, Any] | None:
    """Return the values by key of the last object that holds any; `None` if the last attempt at one cannot be read.

    Models think aloud, draft and correct themselves: what they wrote last is their verdict, and where that is broken
    an earlier draft does not take its place. Objects one after the other that each say something else are one verdict.
    An object that is unreadable, or only wraps another, is looked into: a quotation mark amiss in the analysis, or a
    last brace left out, need not cost the scores.
    """
    keys = _keys_by_alias(tuple((key, tuple(labels)) for key, labels in names.items()))
    text = reply.translate(WIDE_BRACES)
    ends, named = _closing_braces(text), _Named(text, keys)
    verdict: dict[str, Any] | None = None
    position = 0
    for start in _last_objects(text):
        if start < position:
            continue
        value, end = _object_at(text, start, ends.get(start))
        values = _values(value, keys)
        if values:
            verdict, position = _merge_verdicts(verdict, values), end
        elif named.within(start, end) if value is None else _Named(" ".join(value), keys).anywhere():
            verdict = None
    return verdict


def _merge_verdicts(verdict: dict[str, Any] | None, values: dict[str, Any]) -> dict[str, Any]:
    return values if verdict is None or verdict.keys() & values.keys() else verdict | values


def _last_objects(text: str) -> list[int]:
    return [brace.start() for brace in re.finditer(r"{", text)][-MOST_OBJECTS:]


def find_explanation(reply: str) -> str:
    """Return what the last object says as its analysis; empty if none does."""
    text = reply.translate(WIDE_BRACES)
    ends = _closing_braces(text)
    explanation = ""
    for start in _last_objects(text):
        value, _ = _object_at(text, start, ends.get(start))
        for name, part in (value or {}).items():
            if _plain(name) in ANALYSIS and isinstance(part, str):
                explanation = part.strip()
    return explanation


class _Named:
    """The places in a text that name what is asked for: an unreadable one was an attempt at a verdict."""

    def __init__(self, text: str, keys: Mapping[str, str]) -> None:
        self.text, self.keys = text, keys

    def anywhere(self) -> bool:
        return bool(self.places)

    def within(self, start: int, end: int) -> bool:
        first = bisect_left(self.places, (start, start))
        return any(last < end for _, last in self.places[first : first + 1])

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """Return the first and last character of each place, looked for once in the whole text."""
        signs = [(sign, place) for place, written in enumerate(self.text) for sign in _plain(written)]
        matches = _names_in(self.keys).finditer("".join(sign for sign, _ in signs))
        return [(signs[one.start()][1], signs[one.end() - 1][1]) for one in matches]


def _names_in(keys: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, (*keys, *EVALUATION))))


@lru_cache(maxsize=64)
def _keys_by_alias(names: tuple[tuple[str, tuple[str, ...]], ...]) -> Mapping[str, str]:
    """Return the keys by each name, also by each half of a label such as "Response appropriateness (personalization)".

    A key outranks any label.
    """
    by_label = {
        _plain(part): key
        for key, labels in names
        for label in labels
        for part in (label, *re.split(r"[()（）]", label))
        if _plain(part)
    }
    return by_label | {_plain(key): key for key, _ in names}


@lru_cache(maxsize=4096)
def _plain(name: str) -> str:
    return "".join(sign for sign in unicodedata.normalize("NFKC", name).casefold() if sign.isalnum())


def _values(value: Mapping[str, Any] | None, keys: Mapping[str, str]) -> dict[str, Any]:
    """Return the known keys of the object called evaluation if there is one, else of `value` itself."""
    if value is None:
        return {}
    named = [part for name, part in value.items() if _plain(name) in EVALUATION and isinstance(part, dict)]
    scores = named[-1] if named else value
    return {keys[_plain(name)]: score for name, score in scores.items() if _plain(name) in keys}


def _closing_braces(text: str) -> dict[int, int]:
    """Return where each brace's span ends. Braces in strings count too: in a broken reply strings cannot be told."""
    ends: dict[int, int] = {}
    open_braces: list[int] = []
    for brace in re.finditer(r"[{}]", text):
        if brace[0] == "{":
            open_braces.append(brace.start())
        elif open_braces:
            ends[open_braces.pop()] = brace.end()
    return ends


def _object_at(text: str, start: int, end: int | None) -> tuple[dict[str, Any] | None, int]:
    """Return the object that begins at `start` and where it ends; `None` if it is no JSON even when repaired."""
    try:
        return DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return (_parse_with_repairs(text[start:end]) if end else None), end or len(text)


def _parse_with_repairs(written: str) -> dict[str, Any] | None:
    """Return the object after as few repairs as needed: last commas, wide punctuation, single quotes, bare values."""
    for repair in (_without_last_commas, _narrow, _use_double_quotes, _quote_bare_values):
        written = repair(written)
        try:
            value: dict[str, Any] = json.loads(written)
        except (ValueError, RecursionError):
            continue
        return value
    return None


def _without_last_commas(written: str) -> str:
    return re.sub(r"[,，](\s*[}\]])", r"\1", written)


def _narrow(written: str) -> str:
    return written.translate(WIDE_PUNCTUATION)


def _use_double_quotes(written: str) -> str:
    return written if '"' in written else written.replace("'", '"')


def _quote_bare_values(written: str) -> str:
    """Return the text with `"safety": 4/5` and `"safety": <4>` as strings."""
    return BARE_VALUE.sub(lambda value: f' "{value[1].rstrip()}"', written)
