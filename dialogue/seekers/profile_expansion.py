"""Ask a model for a further profile after a seed (EmoHarbor, arXiv:2601.01530, Section 2.1 and appendix B), and for
whether one person could be all that a profile says. Pure.

Who the new person is has been drawn (`profile_draw`) and is taken from there, whatever the model says.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dialogue.judges.parsing import last_verdict
from dialogue.prompts import DEFAULTS, Prompts, build_messages
from dialogue.providers.base import Message
from dialogue.seekers.profile_draw import DrawnPart
from dialogue.seekers.profile_writer import (
    PART_NAMES,
    UNNAMED,
    WRITTEN,
    UnreadableProfile,
    get_written_fields,
    write_lines,
)
from dialogue.seekers.profiles import BIG_FIVE, Profile, ProfilesRefused, flat, read_profile, write_for_seeker

EXPANDER, VALIDATOR = "profile_expander", "profile_validator"  # prompts
WRITTEN_OF_PERSON: Mapping[str, type] = {"education": str, "relationship": str, "living": str}
NAMES = {**PART_NAMES, "D": ("demographics", "基本信息")}
VERDICT_NAMES = {"verdict": ("判定", "结论", "结果"), "reason": ("理由", "原因", "说明")}
VERDICTS = {"consistent": True, "一致": True, "inconsistent": False, "不一致": False}


@dataclass(frozen=True)
class Verdict:
    """A verdict on whether one person could be all that a profile says, and the reason if not."""

    consistent: bool
    reason: str


@dataclass(frozen=True)
class UnreadableVerdict:
    """An answer that holds no verdict."""


def expander_messages(seed: Profile, drawn: DrawnPart, prompts: Prompts = DEFAULTS) -> list[Message]:
    """Return the messages that ask for a profile of the person drawn."""
    scores = drawn.personality.get("big5", {})
    fields = {
        **drawn.demographics,
        **({"topic": drawn.problem} if drawn.problem else {}),
        **({"mbti": drawn.personality["mbti"]} if drawn.personality.get("mbti") else {}),
        **{factor: scores[factor] for factor in BIG_FIVE if factor in scores},
    }
    parts = [("seed", write_for_seeker(seed, detail="full").splitlines()), ("person", write_lines(fields))]
    return build_messages(prompts.get(EXPANDER, seed.language).text, parts)


def read_expansion(text: str, seed: Profile, drawn: DrawnPart) -> Profile | UnreadableProfile:
    """Return the profile in a model's answer, with what was drawn in place of the model's."""
    answer = last_verdict(text, NAMES)
    if answer is None:
        return UnreadableProfile(("there is no object with P, C and S",))
    category = {"problem_category": drawn.problem} if drawn.problem else {}
    person = get_written_fields(WRITTEN_OF_PERSON, answer.get("D"))
    content = {
        "id": UNNAMED,
        "lang": seed.language,
        "D": {**drawn.demographics, **person},
        "P": {**drawn.personality, **get_written_fields(WRITTEN["P"], answer.get("P"))},
        "C": {**category, **get_written_fields(WRITTEN["C"], answer.get("C"))},
        "S": get_written_fields(WRITTEN["S"], answer.get("S")),
    }
    try:
        return read_profile(content)
    except ProfilesRefused as refused:
        return UnreadableProfile(tuple(map(str, refused.faults)))


def validator_messages(profile: Profile, prompts: Prompts = DEFAULTS) -> list[Message]:
    """Return the messages that ask whether one person could be all that the profile says."""
    lines = write_for_seeker(profile, detail="full").splitlines()
    return build_messages(prompts.get(VALIDATOR, profile.language).text, [("profile", lines)])


def read_verdict(text: str) -> Verdict | UnreadableVerdict:
    """Return the verdict in a model's answer. One of inconsistency needs its reason."""
    answer = last_verdict(text, VERDICT_NAMES) or {}
    consistent = VERDICTS.get(str(answer.get("verdict") or "").strip().strip(".。").casefold())
    reason = flat(str(answer.get("reason") or ""))
    if consistent is None or not (consistent or reason):
        return UnreadableVerdict()
    return Verdict(consistent, reason)


def unread_reason(verdict: Any) -> str:
    """Return "unparseable" for an answer without a verdict; empty for a verdict."""
    return "unparseable" if isinstance(verdict, UnreadableVerdict) else ""
