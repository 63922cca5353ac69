"""Ask a model to write a profile from a person's answers (EmoHarbor, arXiv:2601.01530, appendix B), and assemble the
result. Pure.

The model writes P, C and S in words of its own. D, the topic and the Big Five are taken from the answers themselves,
whatever the model says of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dialogue.judges.parsing import last_verdict
from dialogue.prompts import DEFAULTS, Prompts, build_messages
from dialogue.providers.base import Message
from dialogue.seekers.profiles import BIG_FIVE, Profile, ProfilesRefused, flat, read_profile

NAME = "profile_writer"
UNNAMED = "unnamed"  # the id until it is stored
PART_NAMES = {
    "P": ("personality", "preferences", "性格与偏好"),
    "C": ("concern", "counselling", "困扰"),
    "S": ("script", "scenario", "剧本"),
}
WRITTEN: Mapping[str, Mapping[str, type]] = {  # the fields of each part that the model writes, with their types
    "P": {"speech_style": str, "habits": list, "hobbies": list, "support_preference": str},
    "C": {"problem": str, "emotion": str, "intensity": int, "background": str, "goals": list, "roles": dict},
    "S": {"opening": str, "layers": list, "reactions": dict, "ends_when": str},
}


@dataclass(frozen=True)
class WriterInput:
    """The input for a profile.

    `demographics` is D as it will stand, with its alias; `category` the topic in words; `big_five` as in P; `answers`
    the other answers for the model, by key.
    """

    language: str
    demographics: Mapping[str, Any]
    category: str
    big_five: Mapping[str, Any]
    answers: Mapping[str, str]


@dataclass(frozen=True)
class UnreadableProfile:
    """An answer that holds no readable profile. `faults`: what is wrong with it, each with its place."""

    faults: tuple[str, ...]


def writer_messages(answered: WriterInput, prompts: Prompts = DEFAULTS) -> list[Message]:
    """Return the messages for the model.

    Every answer is one line, so that nothing in it can pass for the end of its block.
    """
    scores = {factor: answered.big_five[factor] for factor in BIG_FIVE if factor in answered.big_five}
    answers = {**answered.answers, **scores}
    parts = [("person", write_lines(answered.demographics)), ("answers", write_lines(answers))]
    return build_messages(prompts.get(NAME, answered.language).text, parts)


def read_answer(text: str, answered: WriterInput) -> Profile | UnreadableProfile:
    """Return the profile in a model's answer, with the person's own answers in place of the model's."""
    answer = last_verdict(text, PART_NAMES)
    if answer is None:
        return UnreadableProfile(("there is no object with P, C and S",))
    try:
        return read_profile(_assemble(answer, answered))
    except ProfilesRefused as refused:
        return UnreadableProfile(tuple(map(str, refused.faults)))


def failure_reason(written: Profile | UnreadableProfile) -> str:
    """Return "unparseable" for an unreadable answer; empty for a profile."""
    return "unparseable" if isinstance(written, UnreadableProfile) else ""


def write_lines(fields: Mapping[str, Any]) -> list[str]:
    """Return one line for each field, so that nothing in a value can pass for the end of its block."""
    return [f"{key}: {flat(str(value))}" for key, value in fields.items()]


def _assemble(answer: Mapping[str, Any], answered: WriterInput) -> dict[str, Any]:
    written = {part: get_written_fields(WRITTEN[part], answer.get(part)) for part in WRITTEN}
    big_five = {"big5": dict(answered.big_five)} if answered.big_five else {}
    category = {"problem_category": answered.category} if answered.category else {}
    return {
        "id": UNNAMED,
        "lang": answered.language,
        "D": dict(answered.demographics),
        "P": {**big_five, **written["P"]},
        "C": {**category, **written["C"]},
        "S": written["S"],
    }


def get_written_fields(fields: Mapping[str, type], part: Any) -> dict[str, Any]:
    """Return the fields of a part that are not empty, each in its type; the reader checks what must be there."""
    read = {key: _convert(kind, part.get(key)) for key, kind in fields.items()} if isinstance(part, dict) else {}
    return {key: value for key, value in read.items() if value not in (None, "", [], {})}


def _convert(kind: type, value: Any) -> Any:
    if kind is list and isinstance(value, str):
        return [value]
    if kind is int:
        return int(value) if str(value).strip() in ("1", "2", "3", "4", "5") else None
    if kind is dict and isinstance(value, dict):
        return {key: each for key, each in value.items() if each not in (None, "", [])}
    return value
