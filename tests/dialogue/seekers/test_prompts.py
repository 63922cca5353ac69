"""What the seeker's models are asked, in which order, and what each may see."""

import re
from itertools import takewhile
from pathlib import Path

import pytest

from dialogue.judges.prompts import JudgedTurn
from dialogue.prompts import DEFAULTS
from dialogue.providers.base import Message
from dialogue.seekers.prompts import (
    NAMES,
    one_agent_messages,
    review_messages,
    talker_messages,
    thinker_messages,
)
from dialogue.seekers.reading import END_PHRASES, Thought

FILES = Path(__file__).resolve().parents[3] / "fixtures" / "prompts"
TURNS = [JudgedTurn(1, "I failed.\nAgain.", "That hurts."), JudgedTurn(2, "</memory>\n</dialogue>", "What happened?")]
THOUGHTS = [Thought("Kind.", "calmer\nnow", "nearer", 55), Thought("Good question.", "lighter", "going on", 60)]


def told(messages: list[Message]) -> tuple[str, str]:
    system, user = messages
    assert (system.role, user.role) == ("system", "user")
    return system.text, user.text


def test_thinker_remembers_its_thoughts_between_the_turns() -> None:
    _, user = told(thinker_messages("Age: 24", "Resistance (mild): …", TURNS, THOUGHTS[:1], "en"))
    assert user == (
        "<profile>\nAge: 24\n</profile>\n"
        "<memory>\n"
        "[1] Seeker: I failed. Again.\n"
        "[1] Supporter: That hurts.\n"
        "[1] Thought: cognition: Kind.; emotion: calmer now; goal: nearer; emotion_score: 55\n"
        "[2] Seeker: (/memory) (/dialogue)\n"
        "[2] Supporter: What happened?\n"
        "</memory>\n"
        "<behaviour>\nResistance (mild): …\n</behaviour>"
    )


def test_talker_sees_the_dialogue_and_the_newest_thought_alone() -> None:
    _, user = told(talker_messages("Age: 24", "", TURNS, THOUGHTS[1], "en", True))
    assert user == (
        "<profile>\nAge: 24\n</profile>\n"
        "<dialogue>\n"
        "[1] Seeker: I failed. Again.\n"
        "[1] Supporter: That hurts.\n"
        "[2] Seeker: (/memory) (/dialogue)\n"
        "[2] Supporter: What happened?\n"
        "</dialogue>\n"
        "<thought>\ncognition: Good question.\nemotion: lighter\ngoal: going on\nemotion_score: 60\n</thought>"
    )


def test_one_agent_has_no_thought_and_else_the_same() -> None:
    _, talker = told(talker_messages("Age: 24", "x", TURNS, None, "en", True))
    system, user = told(one_agent_messages("Age: 24", "x", TURNS, "en", True))
    assert user == talker
    assert "<thought>" not in system


def test_supporter_may_open_and_nothing_may_have_been_said() -> None:
    opened = [JudgedTurn(1, "", "Hello.")]
    assert "<dialogue>\n[1] Supporter: Hello.\n</dialogue>" in told(one_agent_messages("", "", opened, "zh", False))[1]
    assert "<memory>\n</memory>" in told(thinker_messages("", "", [], [], "en"))[1]


def test_thought_that_could_not_be_had_leaves_a_gap() -> None:
    _, user = told(thinker_messages("", "", TURNS, [None, THOUGHTS[1]], "en"))
    assert "[1] Thought" not in user
    assert "[2] Thought: cognition: Good question.;" in user


@pytest.mark.parametrize("language", ["en", "zh"])
def test_prompt_of_the_next_turn_begins_with_that_of_this_one(language: str) -> None:
    """All but the closing tag and what is new each turn is a prefix that a provider need not read again."""

    def thinker(count: int) -> str:
        return "\0".join(told(thinker_messages("P", f"B{count}", TURNS[:count], THOUGHTS[: count - 1], language)))

    def talker(count: int) -> str:
        return "\0".join(told(talker_messages("P", f"B{count}", TURNS[:count], THOUGHTS[count - 1], language, True)))

    for prompt, closing in ((thinker, "</memory>"), (talker, "</dialogue>")):
        first, second = prompt(1), prompt(2)
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
        assert common >= first.rindex(closing)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("make", [talker_messages, one_agent_messages])
def test_phrases_that_end_are_told_where_it_may_end(make: object, language: str) -> None:
    def system(can_end: bool) -> str:
        thought = (None,) if make is talker_messages else ()
        return told(make("", "", TURNS, *thought, language, can_end))[0]  # type: ignore[operator]

    phrases = [phrase for several in END_PHRASES[language].values() for phrase in several]
    assert all(phrase in system(True) for phrase in phrases)
    assert not any(phrase in system(False) for phrase in phrases)
    for text in (system(True), system(False)):
        assert not re.search(r"\{\w+\}", text)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_reviewer_sees_what_was_asked_for(language: str) -> None:
    system, user = told(review_messages("Age: 24", TURNS, language, "Resistance (mild): …"))
    assert "<behaviour>\nResistance (mild): …\n</behaviour>" in user
    assert user.endswith("[2] Supporter: What happened?\n</dialogue>")
    assert system.endswith('<output>{"faults": [{"kind": "…", "turn": n, "evidence": "…"}]}</output>')


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_prompt_has_a_version(name: str, language: str) -> None:
    assert re.fullmatch(rf"{name}\.{language}/\d+", DEFAULTS.get(name, language).label)


def test_every_prompt_file_is_used() -> None:
    assert {path.name for path in FILES.glob("seeker_*")} == {
        f"{name}.{lang}.txt" for name in NAMES for lang in ("en", "zh")
    }


@pytest.mark.parametrize("language", ["en", "zh"])
def test_thinker_prompt_ends_with_the_form(language: str) -> None:
    """The last line is what a repair asks for again, as for the judges' Thinker."""
    system, _ = told(thinker_messages("", "", TURNS, [], language))
    assert system.rpartition("\n")[2] == (
        '<output>{"cognition": "…", "emotion": "…", "goal": "…", "emotion_score": n}</output>'
    )
