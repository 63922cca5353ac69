"""Files of seekers: what is read, every fault at once, and who may know what of a profile."""

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogue.seekers.gates import profile_leaks
from dialogue.seekers.profiles import (
    Profile,
    ProfilesRefused,
    as_content,
    from_content,
    hidden_parts,
    load_profiles,
    parse_profile,
    parse_profiles,
    read_profile,
    write_for_seeker,
    write_for_supporter,
)
from dialogue.seekers.reading import Utterance
from tests.dialogue.seekers.talks import DEMO, PROFILES

WHOLE = json.loads(DEMO.read_text(encoding="utf-8"))
NODES = WHOLE["profiles"]


def spoiled(path: str, value: Any) -> list[dict]:
    """The demonstration's profiles with one value of the third set; `None` takes the key away."""
    nodes = deepcopy(NODES)
    *parents, last = path.split(".")
    place = nodes[2]
    for part in parents:
        place = place[part]
    place[last] = value
    if value is None:
        del place[last]
    return nodes


def refused(path: Path, content: str | bytes) -> list[str]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ProfilesRefused) as caught:
        load_profiles(path)
    return str(caught.value).splitlines()


def test_demonstration_profiles_are_read() -> None:
    assert [profile.id for profile in PROFILES] == [node["id"] for node in NODES]
    for profile, node in zip(PROFILES, NODES, strict=True):
        assert profile == Profile(
            node["id"], node["lang"], node["D"], node["P"], node["C"], node["S"], node["worst_case_default"]
        )


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\n\n"])
def test_one_profile_a_line_is_the_same(tmp_path: Path, newline: str) -> None:
    path = tmp_path / "seekers.jsonl"
    path.write_bytes(("\ufeff" + newline.join(json.dumps(node) for node in NODES) + newline).encode())
    assert load_profiles(path) == PROFILES


def test_line_separators_in_a_text_break_no_line(tmp_path: Path) -> None:
    path = tmp_path / "seekers.jsonl"
    problem = "one\u2028two\x85three"
    path.write_text(json.dumps(spoiled("C.problem", problem)[2], ensure_ascii=False), encoding="utf-8")
    (profile,) = load_profiles(path)
    assert profile.concern["problem"] == problem
    assert "Problem: one two three\n" in write_for_seeker(profile, detail="full")


def test_worst_case_default_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(spoiled("worst_case_default", None)[2]), encoding="utf-8")
    assert load_profiles(path)[0].worst_case_default == {}


FAULTS = [
    ("id", None, "id: is missing"),
    ("id", 7, "id: must be text"),
    ("id", "a\nb", "id: must be one line of at most 100 characters without spaces around it"),
    ("id", "en01", 'id: "en01" is already the id of profiles[1]'),
    ("lang", "de", 'lang: "de" is not one of en, zh'),
    ("langs", "en", 'langs: unknown key; did you mean "lang"?'),
    ("D", None, "D: is missing"),
    ("P", [], "P: must be an object"),
    ("D.alias", "", "D.alias: is missing"),
    ("D.age", "57", "D.age: must be a whole number"),
    ("D.age", 0, "D.age: must be between 1 and 120"),
    ("D.occupation", True, "D.occupation: must be text, a number, a list or a table of these"),
    ("P.big5.N", 6, "P.big5.N: must be between 1 and 5"),
    ("P.hobbies", [["fishing"]], "P.hobbies[1]: must be text, a number, a list or a table of these"),
    ("C.problem", "  ", "C.problem: is missing"),
    ("C.problem", None, "C.problem: is missing"),
    ("C.goals", ["a", 1], "C.goals[2]: must be text"),
    ("C.background", "nul \x00", "C.background: contains a character that cannot be stored"),
    ("S.opening", None, "S.opening: is missing"),
    ("S.layers", [], "S.layers: is missing"),
    ("S.reactions", {"pressure": 1}, "S.reactions.pressure: must be text"),
    ("S.layer", "x", 'S.layer: unknown key; did you mean "layers"?'),
    ("worst_case_default.resistance", 4, "worst_case_default.resistance: must be between 0 and 3"),
    ("worst_case_default.resistance", True, "worst_case_default.resistance: must be a whole number"),
    ("worst_case_default.resistence", 1, 'worst_case_default.resistence: unknown key; did you mean "resistance"?'),
    ("worst_case_default.trigger_word", 1, "worst_case_default.trigger_word: must be text"),
]


@pytest.mark.parametrize(("path", "value", "fault"), FAULTS, ids=lambda value: str(value)[:40])
def test_fault_names_file_place_and_what_is_wrong(tmp_path: Path, path: str, value: Any, fault: str) -> None:
    nodes = spoiled(path, value)
    assert refused(tmp_path / "s.json", json.dumps({"profiles": nodes})) == [f"s.json: profiles[3].{fault}"]
    lines = "\n".join(json.dumps(node) for node in nodes)
    by_line = fault.replace("profiles[1]", "line 1")
    assert refused(tmp_path / "s.jsonl", lines) == [f"s.jsonl: line 3.{by_line}"]


def test_all_faults_come_at_once(tmp_path: Path) -> None:
    nodes = spoiled("C.problem", None)
    nodes[0]["D"]["age"] = -1
    nodes.append("somebody")
    assert refused(tmp_path / "s.json", json.dumps({"profiles": nodes})) == [
        "s.json: profiles[1].D.age: must be between 1 and 120",
        "s.json: profiles[3].C.problem: is missing",
        "s.json: profiles[13]: must be an object",
    ]


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        (
            "s.json",
            "{",
            "s.json: not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
        ("s.json", "[]", "s.json: profiles: there are none"),
        ("s.json", '{"profiles": []}', "s.json: profiles: there are none"),
        ("s.json", json.dumps(NODES[0]), 's.json: must hold {"profiles": […]}'),
        ("s.json", "7", 's.json: must hold {"profiles": […]}'),
        ("s.jsonl", "\n\n", "s.jsonl: there are no profiles"),
        ("s.jsonl", "\n[1]", "s.jsonl: line 2: must be an object"),
        (
            "s.jsonl",
            "{",
            "s.jsonl: line 1: not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2",
        ),
        ("s.jsonl", b"\xff", "s.jsonl: is not UTF-8: save it as UTF-8"),
    ],
)
def test_file_that_holds_no_profiles_is_refused(tmp_path: Path, name: str, content: Any, fault: str) -> None:
    (told,) = refused(tmp_path / name, content)
    assert told.startswith(fault)


def test_list_of_profiles_alone_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(NODES), encoding="utf-8")
    assert load_profiles(path) == PROFILES
    nodes = spoiled("D.age", "old")
    assert refused(path, json.dumps(nodes)) == ["s.json: profiles[3].D.age: must be a whole number"]


@pytest.mark.parametrize("place", ["id", "D.age", "P.big5.E", "worst_case_default.resistance"])
def test_key_that_stands_twice_in_an_object_is_named(tmp_path: Path, place: str) -> None:
    """Of the two values one would be lost without a word."""
    given = json.dumps(NODES[0])
    within = given.index(f'"{place.partition(".")[0]}"')
    key = f'"{place.rpartition(".")[2]}": '
    start = given.index(key, within)
    twice = f"{given[:start]}{key}1, {given[start:]}"
    assert refused(tmp_path / "s.json", f'{{"profiles": [{twice}]}}') == [
        f"s.json: profiles[1].{place}: is given more than once"
    ]
    assert refused(tmp_path / "s.jsonl", twice) == [f"s.jsonl: line 1.{place}: is given more than once"]
    with pytest.raises(ProfilesRefused, match=re.escape(f"profile.{place}: is given more than once")):
        parse_profile(twice)


def test_profiles_that_stand_twice_in_a_file_are_named(tmp_path: Path) -> None:
    given = json.dumps([NODES[0]])
    told = refused(tmp_path / "s.json", f'{{"profiles": {given}, "profiles": {given}}}')
    assert told == ["s.json: profiles: is given more than once"]


def test_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProfilesRefused, match=r"absent\.json: cannot be read: No such file"):
        load_profiles(tmp_path / "absent.json")


LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUE = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
PLACES = ["id", "lang", "D", "D.age", "D.x", "P.big5", "P.big5.E", "C", "C.goals", "C.emotion", "S", "S.reactions",
          "S.layers", "S.ends_when", "worst_case_default", "worst_case_default.fixed_belief"]  # fmt: skip


@given(place=st.sampled_from(PLACES), value=VALUE)
def test_whatever_is_read_can_be_told_in_lines(
    place: str, value: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_text(json.dumps(spoiled(place, value)[2]), encoding="utf-8")
    try:
        (profile,) = load_profiles(path)
    except ProfilesRefused:
        return
    for told in (write_for_seeker(profile, detail="full"), write_for_supporter(profile)):
        assert all(len(line.splitlines()) == 1 for line in told.split("\n"))
    assert all(isinstance(part, str) for part in hidden_parts(profile))


# Who knows what.


def test_seeker_knows_everything_that_is_in_the_profile() -> None:
    told = write_for_seeker(PROFILES[0], detail="full")
    lines = told.split("\n")
    assert lines[:2] == ["Name: Rowan", "Age: 24"]
    assert "Feeling: Anxious" in lines
    assert (
        "Big Five (1 to 5): extraversion 2.0, agreeableness 3.75, conscientiousness 2.75, neuroticism 4.25, "
        "openness 3.75" in lines
    )
    assert "People, hopes to find: a calm stranger who has time" in lines
    assert "How you react, to pressure: changes subject to the flatmate's cat" in lines
    assert lines[-7].startswith(
        "What you may let out, one layer after the other: 1. work is a lot; 2. the warning felt"
    )
    assert lines[-1] == "You leave when: two generic replies in a row"


def test_chinese_profile_is_told_in_chinese() -> None:
    lines = write_for_seeker(PROFILES[6], detail="full").split("\n")
    assert "感受：焦虑" in lines
    assert "爱好：手帐；看纪录片" in lines
    assert "您的反应，感到被逼迫：道歉，说不想麻烦对方" in lines


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.id)
def test_simple_profile_has_neither_personality_nor_script(profile: Profile) -> None:
    """EmoHarbor, Section 4.1.1: "only basic demographic and counseling attributes"."""
    told = write_for_seeker(profile, detail="simple")
    assert profile.demographics["occupation"] in told
    assert profile.concern["background"] in told
    for absent in (profile.personality["mbti"], profile.personality["speech_style"], profile.script["opening"]):
        assert absent not in told


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.id)
def test_supporter_knows_nothing_of_script_or_hidden_layers(profile: Profile) -> None:
    told = write_for_supporter(profile)
    assert profile.concern["problem"] in told
    assert profile.personality["hobbies"][0] in told
    others = (profile.script["opening"], profile.concern["background"], profile.personality["support_preference"])
    belief = profile.worst_case_default["fixed_belief"]
    for hidden in (*hidden_parts(profile), *others, profile.personality["speech_style"], belief):
        assert hidden not in told or hidden in profile.concern["problem"]
    assert list(profile_leaks([(1, Utterance(told))], profile)) == []


def test_unknown_attributes_are_told_to_the_seeker_and_only_demographic_ones_to_the_supporter(tmp_path: Path) -> None:
    node = spoiled("D.home_town", "Lund")[2]
    node["C"]["secret_worry"] = ["debts", "rent"]
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(node), encoding="utf-8")
    (profile,) = load_profiles(path)
    assert "secret worry: debts; rent" in write_for_seeker(profile, detail="simple").split("\n")
    assert "home town: Lund" in write_for_supporter(profile).split("\n")
    assert "debts" not in write_for_supporter(profile)


def test_hidden_parts_are_layers_reactions_leaving_and_instructions() -> None:
    parts = hidden_parts(PROFILES[6])
    assert "觉得辜负了父母这些年的付出" in parts
    assert "道歉，说不想麻烦对方" in parts
    assert "觉得自己在浪费对方的时间" in parts
    assert sum(part.startswith(("你对这次谈话", "你怀疑", "你的人物档案", "心里保持", "你坚持")) for part in parts) == 5


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.id)
def test_content_of_a_profile_is_the_same_profile(profile: Profile) -> None:
    content = as_content(profile)
    assert from_content(content) == read_profile(content) == profile
    assert parse_profile(json.dumps(content)) == profile


def test_file_that_was_sent_is_read_by_its_name() -> None:
    assert parse_profiles(DEMO.read_bytes(), "mine.json") == PROFILES
    assert parse_profiles(json.dumps(NODES[0]).encode(), "mine.jsonl") == PROFILES[:1]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("{", ["not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"]),
        ("[]", ["profile: must be an object"]),
        (
            json.dumps({**NODES[0], "S": {"layers": "one"}, "lang": "fr"}),
            [
                'profile.lang: "fr" is not one of en, zh',
                "profile.S.opening: is missing",
                "profile.S.layers: must be a list",
                "profile.S.ends_when: is missing",
            ],
        ),
    ],
)
def test_one_by_itself_is_refused_with_every_fault(text: str, faults: list[str]) -> None:
    with pytest.raises(ProfilesRefused) as caught:
        parse_profile(text)
    assert [str(fault) for fault in caught.value.faults] == faults
