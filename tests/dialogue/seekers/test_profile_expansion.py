"""What is asked for a further profile, and what is read in the answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from dialogue.prompts import Prompts
from dialogue.seekers.profile_draw import DrawnPart
from dialogue.seekers.profile_expansion import (
    UnreadableVerdict,
    Verdict,
    expander_messages,
    read_expansion,
    read_verdict,
    unread_reason,
    validator_messages,
)
from dialogue.seekers.profile_writer import UnreadableProfile
from dialogue.seekers.profiles import load_profiles

DEMO = Path(__file__).resolve().parents[3] / "fixtures" / "instruments" / "seeker_profiles_demo.json"
SEED = load_profiles(DEMO)[0]
DRAWN = DrawnPart(
    {"alias": "Kit", "age": 41, "gender": "man", "occupation": "plumber"},
    {"big5": {"E": 4.0, "A": 2.0, "C": 2.0, "N": 3.0, "O": 4.0}, "mbti": "ENTP"},
    "divorce",
)
WRITTEN: dict[str, Any] = {
    "D": {"education": "trade school", "age": 12, "alias": "Bob"},
    "P": {"speech_style": "swears", "mbti": "ISFJ", "habits": "smokes"},
    "C": {"problem": "She has left.", "goals": ["sleep"], "intensity": "4", "problem_category": "work"},
    "S": {"opening": "evening", "layers": ["a", "b"], "ends_when": "bored"},
}


def test_prompt_shows_the_whole_seed_and_who_the_new_person_is() -> None:
    system, user = expander_messages(SEED, DRAWN)
    assert "<output>" in system.text
    seed, person = user.text.split("<person>")
    assert seed.startswith("<seed>\nName: Rowan\n")
    assert "How you begin: hey. not sure" in seed
    assert person.strip().splitlines() == [
        "alias: Kit",
        "age: 41",
        "gender: man",
        "occupation: plumber",
        "topic: divorce",
        "mbti: ENTP",
        "E: 4.0",
        "A: 2.0",
        "C: 2.0",
        "N: 3.0",
        "O: 4.0",
        "</person>",
    ]


def test_own_prompt_places_seed_and_person() -> None:
    own = Prompts({"profile_expander": {"": "As {seed} but {person}.\n<output>{}"}})
    [message] = expander_messages(SEED, DRAWN, own)
    assert message.text.startswith("As Name: Rowan\n")
    assert "but alias: Kit\n" in message.text


def test_what_was_drawn_stands_and_the_rest_is_the_model_s() -> None:
    profile = read_expansion(json.dumps(WRITTEN), SEED, DRAWN)
    assert not isinstance(profile, UnreadableProfile)
    assert profile.demographics == {**DRAWN.demographics, "education": "trade school"}
    assert profile.personality == {**DRAWN.personality, "speech_style": "swears", "habits": ["smokes"]}
    assert profile.concern == {
        "problem_category": "divorce", "problem": "She has left.", "goals": ["sleep"], "intensity": 4,
    }  # fmt: skip
    assert profile.language == "en"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("No.", "there is no object with P, C and S"),
        (json.dumps(WRITTEN | {"S": {}}), "profile.S.opening: is missing"),
        (json.dumps(WRITTEN | {"C": "none"}), "profile.C.problem: is missing"),
    ],
)
def test_answer_without_a_profile_is_unreadable_with_its_faults(text: str, fault: str) -> None:
    found = read_expansion(text, SEED, DRAWN)
    assert isinstance(found, UnreadableProfile)
    assert fault in found.faults


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<output>{"verdict": "consistent", "reason": ""}</output>', Verdict(True, "")),
        ('{"verdict": "Inconsistent.", "reason": "19 and\\nretired"}', Verdict(False, "19 and retired")),
        ("｛“判定”：“不一致”，“理由”：“十九岁却已退休”｝", Verdict(False, "十九岁却已退休")),
        ('{"verdict": "一致"}', Verdict(True, "")),
        ('{"verdict": "consistent"} no, {"verdict": "inconsistent", "reason": "x"}', Verdict(False, "x")),
        ('{"verdict": "inconsistent", "reason": ""}', UnreadableVerdict()),
        ('{"verdict": "consistent or inconsistent"}', UnreadableVerdict()),
        ('{"verdict": true}', UnreadableVerdict()),
        ('{"verdict": null, "reason": null}', UnreadableVerdict()),
        ("It is consistent.", UnreadableVerdict()),
    ],
)
def test_verdict_is_read_or_missing_and_never_guessed(text: str, found: Verdict | UnreadableVerdict) -> None:
    assert read_verdict(text) == found
    assert unread_reason(found) == ("unparseable" if isinstance(found, UnreadableVerdict) else "")


def test_validator_is_shown_the_whole_profile() -> None:
    system, user = validator_messages(SEED)
    assert '"verdict"' in system.text
    assert user.text.startswith("<profile>\nName: Rowan\n")
    assert "You leave when: two generic replies in a row" in user.text
