"""What the automatic checks find in a profile, each with a text in which they find nothing."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogue.seekers.profile_checks import SENTENCES, Finding, OwnAnswers, check_profile, is_refused
from dialogue.seekers.profiles import Profile, as_content, read_profile
from tests.dialogue.seekers.talks import PROFILES

ROWAN, MAN = PROFILES[0], PROFILES[6]  # English, Chinese


def changed(profile: Profile, place: str, value: Any) -> Profile:
    content = deepcopy(as_content(profile))
    *parents, last = place.split(".")
    node = content
    for part in parents:
        node = node[part]
    if value is None:
        del node[last]
    else:
        node[last] = value
    return read_profile(content)


def found(profile: Profile, **around: Any) -> set[tuple[str, str]]:
    return {(finding.rule, finding.where) for finding in check_profile(profile, **around)}


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.id)
def test_nothing_is_found_in_the_demonstration(profile: Profile) -> None:
    assert check_profile(profile, others=PROFILES, own=OwnAnswers(names=("Kim",), texts=("I like tea.",))) == []


PLACES = ("C.problem", "C.background", "S.opening", "S.ends_when", "P.speech_style", "D.occupation")


@given(st.emails(), st.sampled_from(PLACES))
def test_an_email_address_is_found_wherever_it_stands(address: str, place: str) -> None:
    assert ("email", place) in found(changed(ROWAN, place, f"Write to {address} instead"))


@pytest.mark.parametrize(
    ("place", "value", "where"),
    [
        ("C.goals", ["rest", "call 020 7946 0958"], "C.goals[2]"),
        ("C.roles.others", ["Dr Who, 020 7946 0958"], "C.roles.others[1]"),
        ("D.phone", 2079460958, "D.phone"),
        ("P.favourites", {"my number 020 7946 0958": "x"}, "P.favourites"),
        ("worst_case_default.trigger_word", "020 7946 0958", "worst_case_default.trigger_word"),
    ],
)
def test_lists_numbers_and_names_of_things_are_looked_at(place: str, value: Any, where: str) -> None:
    assert found(changed(ROWAN, place, value)) == {("phone", where)}


NICKNAMES = st.text("abcdefghijklmnopqrstuvwxyzÄéßЖ木子明", min_size=2, max_size=10)


@given(NICKNAMES, st.sampled_from(PLACES))
def test_the_nickname_is_found_wherever_it_stands(nickname: str, place: str) -> None:
    profile = changed(ROWAN, place, f"They say: {nickname.title()}, wait.")
    assert ("name", place) in found(profile, own=OwnAnswers(names=(nickname,)))


def test_names_from_the_answers_are_found_in_both_languages() -> None:
    english = changed(ROWAN, "C.background", "The callers of Tesco were rude.")
    assert found(english, own=OwnAnswers(texts=("They made me leave Tesco.",))) == {("name", "C.background")}
    chinese = changed(MAN, "C.background", "后来张老师也不再回她消息。")
    assert found(chinese, own=OwnAnswers(texts=("张老师让我别急",))) == {("name", "C.background")}
    assert found(english, own=OwnAnswers(texts=("They made me leave my job.",))) == set()


EIGHT = "nobody there ever asked me how I was"
TWELVE = "那里从来没有人问过我好不好"


@pytest.mark.parametrize(
    ("profile", "said", "told", "repeats"),
    [
        (ROWAN, f"Honestly, {EIGHT}.", f"It is true that {EIGHT.upper()}", True),
        (ROWAN, f"Honestly, {EIGHT}.", "Nobody there ever asked me how she was.", False),
        (MAN, f"其实{TWELVE}。", f"她说，{TWELVE}呀", True),
        (MAN, f"其实{TWELVE}。", "那里从来没有人问过我难不难", False),
    ],
)
def test_own_words_of_the_person_are_found_from_a_length_on(
    profile: Profile, said: str, told: str, repeats: bool
) -> None:
    findings = found(changed(profile, "C.background", told), own=OwnAnswers(texts=(said,)))
    assert findings == ({("own_words", "C.background")} if repeats else set())


GRAVE = {"en": "I want to kill myself.", "zh": "我想自杀"}


@pytest.mark.parametrize("profile", [ROWAN, MAN], ids=["en", "zh"])
def test_danger_to_life_refuses_a_profile(profile: Profile) -> None:
    findings = check_profile(changed(profile, "S.layers", ["work", GRAVE[profile.language]]))
    assert findings == [Finding("risk", "S.layers[2]", GRAVE[profile.language], refuses=True)]
    assert is_refused(findings)


def test_words_worth_a_look_do_not_refuse() -> None:
    text = "Rowan thinks: everyone would be better off without me."  # level 2 of the risk screen
    assert check_profile(changed(ROWAN, "C.problem", text)) == [Finding("distress", "C.problem", text)]


GIVEN = OwnAnswers(
    demographics={"gender": "Woman", "relationship": "Single"}, big_five={"E": 2.0, "N": 4.25}, ages=range(18, 25)
)


def answered(**changes: Any) -> Profile:
    person = {"alias": "Robin", "age": 20, "gender": "Woman", "relationship": "Single"}
    return replace(ROWAN, demographics={**person, **changes})


def test_a_profile_says_what_the_person_answered() -> None:
    assert check_profile(answered(), own=GIVEN) == []


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"gender": "Man"}, "D.gender"),
        ({"relationship": "Married"}, "D.relationship"),
        ({"age": 25}, "D.age"),
        ({"age": 17}, "D.age"),
    ],
)
def test_other_demographics_than_were_answered_are_found(changes: Mapping[str, Any], where: str) -> None:
    assert found(answered(**changes), own=GIVEN) == {("answers", where)}


def test_another_score_than_was_answered_is_found() -> None:
    scores = {**ROWAN.personality["big5"], "N": 4.0}
    profile = replace(answered(), personality={**ROWAN.personality, "big5": scores})
    assert found(profile, own=GIVEN) == {("answers", "P.big5.N")}


@pytest.mark.parametrize(
    ("profile", "place", "value", "where"),
    [
        (ROWAN, "P.speech_style", "outgoing and chatty", "P.speech_style"),
        (ROWAN, "P.habits", ["skips lunch", "calm whatever comes"], "P.habits[2]"),
        (ROWAN, "P.mbti", "ENFP", "P.mbti"),
        (ROWAN, "S.opening", "hey, I'm 45 years old and tired", "S.opening"),
        (MAN, "P.speech_style", "从容淡定", "P.speech_style"),
        (MAN, "S.opening", "我今年45岁了", "S.opening"),
    ],
)
def test_a_description_against_the_marked_scores_is_found(profile: Profile, place: str, value: Any, where: str) -> None:
    assert found(changed(profile, place, value)) == {("inconsistent", where)}


def test_a_description_against_a_middling_score_is_let_pass() -> None:
    assert check_profile(changed(ROWAN, "P.speech_style", "makes lists and is forgetful")) == []


@pytest.mark.parametrize(
    "place", ["D.age", "D.gender", "P.speech_style", "C.emotion", "C.background", "P.big5.O", "S.reactions.pressure"]
)
def test_what_is_missing_is_named(place: str) -> None:
    assert found(changed(ROWAN, place, None)) == {("missing", place)}


def test_one_layer_is_too_few() -> None:
    assert found(changed(ROWAN, "S.layers", ["work"])) == {("missing", "S.layers[2]")}


@pytest.mark.parametrize(
    ("profile", "text", "foreign"),
    [
        (ROWAN, "工作太多了", True),
        (ROWAN, "says 加油 to everybody", False),
        (MAN, "She cannot sleep at all", True),
        (MAN, "每天都在刷 offer", False),
    ],
)
def test_the_other_language_is_found(profile: Profile, text: str, foreign: bool) -> None:
    assert found(changed(profile, "C.background", text)) == ({("language", "C.background")} if foreign else set())


def test_a_twin_is_found_and_named() -> None:
    twin = changed(replace(ROWAN, id="twin"), "C.problem", "Something else.")
    [finding] = check_profile(twin, others=PROFILES)
    assert (finding.rule, finding.found) == ("duplicate", "en01")
    assert check_profile(replace(twin, language="zh"), others=[ROWAN])[0].rule != "duplicate"


def test_every_finding_has_a_sentence() -> None:
    finding = Finding("email", "C.problem", "a@b.c")
    assert SENTENCES["email"] % finding.as_json() == "C.problem contains an e-mail address: “a@b.c”."
    assert all(sentence % finding.as_json() for sentence in SENTENCES.values())


def test_each_rule_speaks_once_of_a_place() -> None:
    profile = changed(ROWAN, "C.problem", "Write to a@b.com or c@d.com")
    assert [finding.rule for finding in check_profile(profile)].count("email") == 1
