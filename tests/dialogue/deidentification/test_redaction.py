"""What tells who somebody is goes, and everything else stays as it was."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogue.deidentification.redaction import Redaction, get_stand_ins, mark_version, redact, redact_message
from dialogue.judges.prompts import InnerState, JudgedTurn

SENTENCES = ("I told her {} and went home.", "{}", "我跟她说过{}，然后就回家了。", "（{}）", "First.\n  {}\n\nThen.")
STAND_INS = {language: set(words.values()) for language, words in get_stand_ins().items()}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Write to Ann@Example.org, please.", "Write to [e-mail address], please."),
        ("Call +44 20 7946 0958 or 123-45-6789.", "Call [number] or [number]."),
        ("See https://a.b/c?d=12345678, and www.e.org.", "See [link], and [link]."),
        ("I am @ann_w; my telegram is annw99.", "I am [account]; my [account]."),
        ("Passport E12345678.", "Passport [account]."),
        ("I live at 12 Baker Street, SW1A 1AA.", "I live at [address], [address]."),
    ],
)
def test_english(text: str, left: str) -> None:
    assert redact(text, (), "en")[0] == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("邮箱是ann@x.com，电话１３８００１３８０００。", "邮箱是[邮箱]，电话[号码]。"),
        ("身份证11010119900307123X，或者110101199003071233。", "身份证[账号]，或者[号码]。"),
        ("看https://a.b/c然后回我", "看[链接]然后回我"),
        ("我的微信号是ann_2001，加我", "我的[账号]，加我"),
        ("我叫小安，小安很难过", "我叫[称呼]，[称呼]很难过"),
    ],
)
def test_chinese(text: str, left: str) -> None:
    assert redact(text, ("小安",), "zh")[0] == left


@pytest.mark.parametrize(
    "text",
    [
        "On 3 May 2019, from 2019-2023, at 24 of 100 people, I earned 30000 a year.",
        "I work 2 hours and drive home; my mother Karen lives in Leeds.",
        "三个月以来，每天走一万步，3月14日那天尤其难过",
        "微信是我朋友介绍的，见面就在北京大学",
        "  Spaces,\n\nlines and ﬁligree ß stay.  ",
        "",
    ],
)
def test_dates_places_and_ordinary_words_stay(text: str) -> None:
    assert redact(text, ("Sam",), "en") == (text, ())


@pytest.mark.parametrize(
    ("name", "text", "left"),
    [
        ("Sam", "sam here. SAM! Samuel is my father, Sam’s and sam's too.", "[name] here. [name]! Samuel is my father, "
         "[name]’s and [name]'s too."),
        ("Will", "Will will go, I hope: Will.", "[name] will go, I hope: [name]."),
        ("Renée", "renée and RENÉE", "[name] and [name]"),
        ("Ann Lee", "I am Ann\nLee", "I am [name]"),
    ],
)  # fmt: skip
def test_name_goes_wherever_it_stands_as_a_word(name: str, text: str, left: str) -> None:
    assert redact(text, (name,), "en")[0] == left


@given(st.emails(), st.sampled_from(SENTENCES))
def test_no_address_is_left_and_what_stands_around_it_is(address: str, sentence: str) -> None:
    left, kinds = redact(sentence.format(address), (), "en")
    assert "@" not in left.replace("[account]", "")
    assert "email" in kinds
    before, after = sentence.split("{}")
    assert left.startswith(before.rstrip())
    assert left.endswith(after.lstrip())


PIECES = st.sampled_from(
    ["a@b.co", "Sam", "see", " ", "\n", "www.x.org", "0123456789", "@ann", "，", "好", "１２", "ﬀ"]
)


@given(st.lists(PIECES, max_size=12).map(" ".join), st.sampled_from(["en", "zh"]))
def test_each_kind_is_counted_and_nothing_is_found_twice(text: str, language: str) -> None:
    left, kinds = redact(text, ("Sam",), language)
    assert sum(left.count(word) for word in STAND_INS[language]) == len(kinds)
    again, _ = redact(left, ("Sam",), language)
    assert again == left


def test_counts_are_of_all_that_one_prompt_shows() -> None:
    redaction = Redaction(("Sam",), "en")
    turn = redaction.turn(JudgedTurn(1, "I'm Sam, s@x.org.", "Hello Sam!"))
    state = redaction.state(InnerState(1, "I gave my number, 0123456789.", "calm", "none", 40))
    assert (turn, state.cognition, state.emotion_score) == (
        JudgedTurn(1, "I'm [name], [e-mail address].", "Hello [name]!"), "I gave my number, [number].", 40
    )  # fmt: skip
    assert redaction.counts == {"name": 2, "email": 1, "phone": 1}


def test_version_tells_of_a_prompt_that_was_changed() -> None:
    assert mark_version("judge.en/1", {}) == "judge.en/1"
    assert mark_version("judge.en/1~padding/1.1", {"name": 2}) == "judge.en/1~padding/1.1~redacted/1"


OF_OURS = json.loads(Path(__file__).with_name("redaction_sentences.json").read_text(encoding="utf-8"))


def is_right(case: dict[str, Any]) -> bool:
    """Return whether all that identifies has gone, or nothing where nothing identifies."""
    text, _ = redact_message(case["text"])
    return not any(part in text for part in case["gone"]) if case["gone"] else text == case["text"]


@pytest.mark.parametrize(
    ("language", "right"),
    [
        ("en", {"email": 10, "phone": 15, "address": 14, "name": 37, "none": 20}),
        ("zh", {"email": 10, "phone": 15, "address": 15, "name": 32, "none": 20}),
    ],
)
def test_200_sentences_are_masked_as_well_as_the_docs_say(language: str, right: dict[str, int]) -> None:
    cases = OF_OURS[language]
    assert len(cases) == 100
    found = {kind: sum(is_right(case) for case in cases if case["kind"] == kind) for kind in right}
    print(f"{language}: {found}")
    assert all(found[kind] >= least for kind, least in right.items())


def test_chinese_names_are_found_as_often_as_the_docs_say() -> None:
    text = Path(__file__).with_name("redaction_chinese_names.json").read_text(encoding="utf-8")
    cases = json.loads(text)["zh"]
    found = {kind: sum(is_right(case) for case in cases if case["kind"] == kind) for kind in ("name", "none")}
    print(found)
    assert len(cases) == 120
    assert (found["name"] >= 42, found["none"]) == (True, 60)
