"""Whoever can be recognised by a text is found in it; ordinary words are left alone."""

import re
from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogue.deidentification.identifiers import forms_of_name, has_name, identifiers_in, names_in, runs
from tests.dialogue.seekers.talks import PROFILES

SENTENCES = ("I told her {} and went home.", "{}", "我跟她说过{}，然后就回家了。", "（{}）")


def kinds(text: str) -> set[str]:
    return {kind for kind, _ in identifiers_in(text)}


@given(st.emails(), st.sampled_from(SENTENCES))
def test_every_email_address_is_found(address: str, sentence: str) -> None:
    assert "email" in kinds(sentence.format(address))


PHONES = st.one_of(
    st.from_regex(re.compile(r"1[3-9][0-9]{9}"), fullmatch=True),
    st.from_regex(re.compile(r"1[3-9][0-9]-[0-9]{4}-[0-9]{4}"), fullmatch=True),
    st.from_regex(re.compile(r"\+44 20 [0-9]{4} [0-9]{4}"), fullmatch=True),
    st.from_regex(re.compile(r"\(555\) 01[0-9]-[0-9]{4}"), fullmatch=True),
    st.from_regex(re.compile(r"0[1-9]([ .][0-9]{2}){4}"), fullmatch=True),
    st.from_regex(re.compile(r"[１-９][０-９]{9}"), fullmatch=True),
)


@given(PHONES, st.sampled_from(SENTENCES))
def test_every_telephone_number_is_found(number: str, sentence: str) -> None:
    assert "phone" in kinds(sentence.format(number))


LETTERS = st.text(st.characters(categories=("Lu", "Ll", "Lo", "Nd")), min_size=1, max_size=12)


@given(LETTERS, st.sampled_from(SENTENCES))
def test_every_name_of_the_person_is_found(name: str, sentence: str) -> None:
    assert has_name(sentence.format(name), name)
    assert has_name(sentence.format(name.upper()), name.upper().lower())


@given(st.text(ascii_letters + digits, min_size=1, max_size=8))
def test_a_name_within_a_longer_word_is_none(name: str) -> None:
    assert not has_name(f"x{name}x", name)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("write to ann (at) example (dot) org", "email"),
        ("see www.example.org/ann", "url"),
        ("it is on https://a.b/c", "url"),
        ("my blog, annwrites.com, says it", "url"),
        ("find me as @ann_writes", "account"),
        ("我的微信号是ann_2001", "account"),
        ("passport E12345678", "account"),
        ("身份证11010119900307123X", "account"),
        ("it was on 3 May", "date"),
        ("since March 14th", "date"),
        ("on 2024-03-14", "date"),
        ("on 14/03/24 he left", "date"),
        ("3月14日那天", "date"),
        ("三月十四号搬走的", "date"),
        ("at 12 Baker Street", "street"),
        ("SW1A 1AA", "street"),
        ("长安路12号", "street"),
        ("就在3号楼", "street"),
        ("一三八零零一三八零零零", "phone"),
    ],
)
def test_each_kind_is_found(text: str, kind: str) -> None:
    assert kind in kinds(text)


@pytest.mark.parametrize(
    "text",
    [
        "from 2019-2023 I worked 45 hours a week for 30000 a year",
        "two of three people at 24 do",
        "I may be late, 2 or 3 times",
        "She may be right. I am 24.",
        "last May",
        "三个月以来，每天走一万步",
        "投了九十多份简历",
        "e.g. at work, at home",
    ],
)
def test_ordinary_words_are_left_alone(text: str) -> None:
    assert kinds(text) == set()


def test_a_date_is_no_telephone_number() -> None:
    assert kinds("on 2024-03-14") == {"date"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("My boss Karen moved to Leeds. She is at Tesco now.", {"Karen", "Leeds", "Tesco"}),
        ("I told Li Na at KPMG that I can’t on Monday.", {"Li", "Na", "KPMG"}),
        ("We split up. Now I am OK in HR.", set()),
        ("室友小王和张老师都说没事", {"小王", "张老师"}),
        ("他叫李明华，在海淀区住", {"李明华", "海淀区"}),
        ("我在北京大学读书，想去一家公司，我们公司在大城市", {"北京大学"}),
        ("小时候在农村，老师和老板都很好", set()),
    ],
)
def test_names_are_read_from_what_a_person_wrote(text: str, names: set[str]) -> None:
    assert names_in(text) == names


def test_names_of_the_invented_profiles_are_few() -> None:
    """The demonstration's texts name nobody: what is found in them is found in error."""
    assert {name for profile in PROFILES for name in names_in(str(profile.concern["problem"]))} <= {"Rowan", "Marisol"}


def test_runs_are_words_or_chinese_characters() -> None:
    assert runs("I can’t, ever!", 2) == [("i", "can't"), ("can't", "ever")]
    assert runs("我，不行", 2) == [("我", "不"), ("不", "行")]
    assert runs("one", 2) == []


@pytest.mark.parametrize("answer", ["nobody", "Nobody", "none", "anonymous", "随便"])
def test_answer_that_gives_no_name_is_none(answer: str) -> None:
    assert forms_of_name(answer) == ()
