"""Standing texts: which serves, how parts are put into it, and what every prompt of ours has."""

import re

import pytest

from dialogue.judges.judge import add_reminder, get_form
from dialogue.judges.prompts import InnerState, JudgedItem, JudgedTurn, judge_messages, pair_messages, thinker_messages
from dialogue.languages import CODES
from dialogue.prompts import (
    DEFAULTS,
    PLACEHOLDERS,
    Prompts,
    StandingText,
    build_messages,
    find_faults,
)
from dialogue.seekers import prompts as seekers
from dialogue.seekers.profile_writer import WriterInput, writer_messages
from dialogue.seekers.reading import Thought

TURNS = [JudgedTurn(1, "I failed, {scope} and </dialogue>.", "That hurts. {items}")]
ITEMS = [JudgedItem("empathetic", "I felt understood.", 1, 5, ())]
STATE = InnerState(1, "kind", "calmer", "nearer", 55)
THOUGHT = Thought("kind", "calmer", "nearer", 55)


def test_own_text_of_the_language_comes_first_then_one_for_all_then_ours() -> None:
    prompts = Prompts({"judge": {"zh": "评分。"}, "repair": {"": "Mend it."}})
    assert prompts.get("judge", "zh").text == "评分。"
    assert prompts.get("judge", "en") == DEFAULTS.get("judge", "en")
    assert prompts.get("repair", "zh").text == "Mend it."


def test_label_of_an_own_text_changes_with_its_words_alone() -> None:
    labels = [Prompts({"judge": {"": text}}).get("judge", "en").label for text in ("Rate.", "Rate.", "Rate!")]
    assert labels[0] == labels[1] != labels[2]
    assert re.fullmatch(r"judge\.en/own-[0-9a-f]{8}", labels[0])


def test_parts_take_their_placeholders_and_the_others_follow_between_tags() -> None:
    first, second = build_messages("Of {dialogue}: rate!", [("dialogue", ["a", "b"]), ("scope", ["all"])], ["{form}"])
    assert (first.role, first.text) == ("system", "Of a\nb: rate!")
    assert (second.role, second.text) == ("user", "<scope>\nall\n</scope>\n{form}")


def test_part_that_is_not_shown_leaves_nothing_behind() -> None:
    first, second = build_messages("Is it {scope}?", [("scope", None), ("profile", None), ("items", ["x"])])
    assert (first.text, second.text) == ("Is it ?", "<items>\nx\n</items>")


def test_prompt_whose_parts_all_have_a_placeholder_is_one_message() -> None:
    assert [one.role for one in build_messages("{answer}", [("answer", ["x"])])] == ["user"]


def test_words_of_a_person_are_never_a_placeholder() -> None:
    standing = StandingText("mine", "{dialogue}|{scope}|{items}|{profile}|{inner_states}")
    texts = judge_messages(TURNS, ITEMS, language="en", scope="SCOPE", standing=standing)
    assert texts[0].text.count("SCOPE") == 1
    assert "{scope} and (/dialogue)" in texts[0].text


def test_repairs_and_reminders_find_the_form_whatever_the_text_says() -> None:
    standing = StandingText("mine", "{dialogue} {items} <output> nothing </output>")
    messages = judge_messages(TURNS, ITEMS, language="en", standing=standing)
    assert get_form(messages) == '<output>{"analysis": "…", "evaluation": {"empathetic": n}}</output>'
    own = Prompts({"reminder": {"": "The form, please!"}})
    assert "The form, please!\n<output>" in add_reminder(messages, "en", own)[-1].text


def test_form_may_stand_on_the_first_line() -> None:
    own = Prompts({"thinker": {"": '<output>{"cognition": n}</output>'}})
    assert (
        get_form(thinker_messages(TURNS, language="en", profile="P", prompts=own))
        == '<output>{"cognition": n}</output>'
    )


@pytest.mark.parametrize("language", CODES)
@pytest.mark.parametrize("name", PLACEHOLDERS)
def test_our_own_texts_have_no_fault(name: str, language: str) -> None:
    text = DEFAULTS.get("judge" if name == "seeker_evaluator" else name, language).text
    assert list(find_faults(name, text)) == []


def questions(prompts: Prompts) -> dict[str, list[str]]:
    """The texts of each prompt's messages, with every part."""
    answered = WriterInput("en", {"age": 29}, "Work", {"E": 2.0}, {"matter": "They moved me."})
    asked = {
        "judge": judge_messages(
            TURNS, ITEMS, language="en", profile="P", states=[STATE], scope="S", standing=prompts.get("judge", "en")
        ),
        "judge_pairs": pair_messages(TURNS, TURNS, ITEMS, language="en", scope="S", prompts=prompts),
        "thinker": thinker_messages(TURNS, language="en", profile="P", prompts=prompts),
        "seeker_thinker": seekers.thinker_messages("P", "B", TURNS, [THOUGHT], "en", prompts),
        "seeker_talker": seekers.talker_messages("P", "B", TURNS, THOUGHT, "en", True, prompts),
        "seeker_one_agent": seekers.one_agent_messages("P", "B", TURNS, "en", True, prompts),
        "seeker_reviewer": seekers.review_messages("P", TURNS, "en", "B", prompts),
        "profile_writer": writer_messages(answered, prompts),
    }
    return {name: [message.text for message in messages] for name, messages in asked.items()}


def test_every_placeholder_of_every_prompt_is_filled_in() -> None:
    own = {name: {"": "".join(f"[{one}:{{{one}}}]" for one in known)} for name, known in PLACEHOLDERS.items()}
    for name, texts in questions(Prompts(own)).items():
        told = texts[0]
        assert all(f"[{one}:" in told and f"[{one}:{{{one}}}]" not in told for one in PLACEHOLDERS[name]), name
        assert not any("<dialogue>" in text or "<profile>" in text for text in texts), name
