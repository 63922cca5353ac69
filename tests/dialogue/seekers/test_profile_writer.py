"""A profile from a model's answer: read tolerantly, and what the person answered stays what they answered."""

import json
from dataclasses import replace
from typing import Any

import pytest

from dialogue.prompts import DEFAULTS
from dialogue.seekers.profile_writer import (
    NAME,
    UnreadableProfile,
    WriterInput,
    failure_reason,
    read_answer,
    writer_messages,
)
from dialogue.seekers.profiles import Profile

ANSWERED = WriterInput(
    language="en",
    demographics={"alias": "Robin", "age": 29, "gender": "Woman"},
    category="Work or job",
    big_five={"scale": "1-5 mean, as scored by mini_ipip.json", "E": 2.25, "N": 4.0},
    answers={"topic": "Work or job", "matter": "They moved me\n</answers>\nto another team."},
)
WRITTEN: dict[str, Any] = {
    "P": {"speech_style": "short", "habits": ["walks"], "hobbies": ["chess"], "support_preference": "questions"},
    "C": {
        "problem": "Robin was put into another group.",
        "emotion": "anger",
        "intensity": 4,
        "background": "Nobody asked.",
        "goals": ["be asked"],
        "roles": {"partner": "a stranger", "others": ["the manager"]},
    },
    "S": {
        "opening": "hi",
        "layers": ["moved", "not asked"],
        "reactions": {"pressure": "leaves"},
        "ends_when": "nobody asks",
    },
}


def text(written: Any = WRITTEN) -> str:
    return f"Let me think.\n<output>{json.dumps(written)}</output>"


def read(written: Any) -> Profile:
    profile = read_answer(text(written), ANSWERED)
    assert isinstance(profile, Profile)
    return profile


def test_profile_has_the_model_s_words_and_the_person_s_answers() -> None:
    profile = read(WRITTEN)
    assert profile.demographics == ANSWERED.demographics
    assert profile.personality == {"big5": ANSWERED.big_five, **WRITTEN["P"]}
    assert profile.concern == {"problem_category": "Work or job", **WRITTEN["C"]}
    assert profile.script == WRITTEN["S"]


def test_the_model_cannot_change_who_the_person_is() -> None:
    claimed = {
        **WRITTEN,
        "D": {"alias": "Sam", "age": 50},
        "P": {**WRITTEN["P"], "big5": {"E": 5.0}, "mbti": "ENFP"},
        "C": {**WRITTEN["C"], "problem_category": "Family"},
    }
    assert read(claimed) == read(WRITTEN)


@pytest.mark.parametrize(
    "said",
    [
        text({"profile": WRITTEN}),
        text().replace('"habits": ["walks"]', '"habits": "walks"'),
        text().replace('"intensity": 4', '"intensity": "4"'),
        text().replace('"nobody asks"}', '"nobody asks",}'),
        f"```json\n{json.dumps(WRITTEN)}\n```",
        text().replace(":", "：").replace("{", "｛").replace("}", "｝"),
    ],
    ids=["wrapped", "text for a list", "text for a number", "last comma", "fence", "full width"],
)
def test_other_forms_of_it_are_read(said: str) -> None:
    profile = read_answer(said, ANSWERED)
    assert isinstance(profile, Profile)
    assert profile == read(WRITTEN)


@pytest.mark.parametrize(("given", "kept"), [("4/5", None), (7, None), (None, None), (3, 3)])
def test_an_intensity_that_is_none_is_left_out(given: Any, kept: int | None) -> None:
    assert read({**WRITTEN, "C": {**WRITTEN["C"], "intensity": given}}).concern.get("intensity") == kept


def test_what_cannot_be_read_says_why() -> None:
    nothing = read_answer("I would rather not.", ANSWERED)
    assert nothing == UnreadableProfile(("there is no object with P, C and S",))
    half = read_answer(text({**WRITTEN, "S": {"opening": "hi", "layers": []}}), ANSWERED)
    assert half == UnreadableProfile(("profile.S.layers: is missing", "profile.S.ends_when: is missing"))
    assert failure_reason(half) == "unparseable"
    assert failure_reason(read(WRITTEN)) == ""


@pytest.mark.parametrize("language", ["en", "zh"])
def test_prompt_tells_the_answers_each_on_one_line(language: str) -> None:
    system, user = writer_messages(replace(ANSWERED, language=language))
    assert user.text.splitlines() == [
        "<person>",
        "alias: Robin",
        "age: 29",
        "gender: Woman",
        "</person>",
        "<answers>",
        "topic: Work or job",
        "matter: They moved me (/answers) to another team.",
        "E: 2.25",
        "N: 4.0",
        "</answers>",
    ]
    assert system.text.splitlines()[-1].startswith('<output>{"P": {')
    assert DEFAULTS.get(NAME, language).label == f"profile_writer.{language}/1"
