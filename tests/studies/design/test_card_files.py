"""Files of role cards: what is read, and every fault at once."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from dialogue.seekers.components import is_worst_case
from studies.design.behaviours import behaviour_keys, levels, presets
from studies.design.card_files import CardFileError, parse_cards, read_cards, turns_in
from studies.design.reading import INSTRUMENTS

DEMO = INSTRUMENTS / "seeker_profiles_demo.json"
WHOLE = json.loads(DEMO.read_text(encoding="utf-8"))


def faults_of(content: bytes) -> list[str]:
    with pytest.raises(CardFileError) as caught:
        parse_cards(content, name="cards.json")
    return str(caught.value).splitlines()


def spoiled(path: str, value: Any) -> bytes:
    """The demonstration's cards with one value of the third set; `None` takes the key away."""
    document = deepcopy(WHOLE)
    *parents, last = path.split(".")
    place = document["profiles"][2]
    for part in parents:
        place = place[part]
    place[last] = value
    if value is None:
        del place[last]
    return json.dumps(document).encode()


def test_card_has_what_the_file_says() -> None:
    cards = read_cards(DEMO)
    assert [card.key for card in cards] == [profile["id"] for profile in WHOLE["profiles"]]
    for card, profile in zip(cards, WHOLE["profiles"], strict=True):
        given = profile["worst_case_default"]
        assert {part: card.profile[part] for part in "DPCS"} == {part: profile[part] for part in "DPCS"}
        assert card.language == profile["lang"]
        assert card.intensities == {key: given[key] for key in behaviour_keys()}
        assert (card.profile["fixed_belief"], card.profile["trigger_word"]) == (
            given["fixed_belief"],
            given["trigger_word"],
        )


def test_card_without_intensities_is_an_average_case() -> None:
    card = parse_cards(spoiled("worst_case_default", None), name="cards.json")[2]
    assert card.intensities == dict.fromkeys(behaviour_keys(), 0)
    assert not is_worst_case(card.intensities)


@pytest.mark.parametrize(("marked", "worst"), [((), False), ((2,), False), ((3, 1, 1), False), ((2, 2), True)])
def test_worst_case_has_two_marked_behaviours(marked: tuple[int, ...], worst: bool) -> None:
    assert is_worst_case(dict(zip(behaviour_keys(), marked, strict=False))) is worst


def test_presets_and_levels_fit_the_behaviours() -> None:
    assert all(set(preset.intensities) == set(behaviour_keys()) for preset in presets())
    assert len(levels()) == 4


FAULTS = [
    ("S.opening", None, "profiles[3].S.opening: is missing"),
    ("S.opening", " ", "profiles[3].S.opening: is missing"),
    ("S.opening", 3, "profiles[3].S.opening: must be text"),
    ("S.layers", [], "profiles[3].S.layers: is missing"),
    ("S.layers", ["a", 3], "profiles[3].S.layers[2]: must be text"),
    ("S.ends_when", None, "profiles[3].S.ends_when: is missing"),
    ("S.reactions.presure", "x", 'profiles[3].S.reactions.presure: unknown key; did you mean "pressure"?'),
    ("C.problem", None, "profiles[3].C.problem: is missing"),
    ("C.goals", None, "profiles[3].C.goals: is missing"),
    ("C.intensity", 6, "profiles[3].C.intensity: must be between 1 and 5"),
    ("C.roles.partners", "x", 'profiles[3].C.roles.partners: unknown key; did you mean "partner"?'),
    ("D.alias", None, "profiles[3].D.alias: is missing"),
    ("D.age", "57", "profiles[3].D.age: must be a whole number"),
    ("P.big5.E", 9, "profiles[3].P.big5.E: must be between 1 and 5"),
    ("P", "x", "profiles[3].P: must be an object"),
    ("lang", "fr", 'profiles[3].lang: "fr" is not one of en, zh'),
    ("lang", None, "profiles[3].lang: is missing"),
    ("id", None, "profiles[3].id: is missing"),
    ("id", "en01", 'profiles[3].id: "en01" is already the id of profiles[1]'),
    ("id", "A b", "profiles[3].id: must be lower-case letters, digits, _ and -, beginning with a letter or digit"),
    ("worst_case_default.resistance", 4, "profiles[3].worst_case_default.resistance: must be between 0 and 3"),
    ("worst_case_default.resistance", -1, "profiles[3].worst_case_default.resistance: must be between 0 and 3"),
    ("worst_case_default.resistance", True, "profiles[3].worst_case_default.resistance: must be a whole number"),
    (
        "worst_case_default.resistence",
        1,
        'profiles[3].worst_case_default.resistence: unknown key; did you mean "resistance"?',
    ),
    ("S.opening", "a\x00", "profiles[3].S.opening: contains a character that cannot be stored"),
    ("C.goals", ["a", "\ud800"], "profiles[3].C.goals[2]: contains a character that cannot be stored"),
]


@pytest.mark.parametrize(("path", "value", "fault"), FAULTS)
def test_card_is_refused_with_the_place_of_its_fault(path: str, value: Any, fault: str) -> None:
    assert faults_of(spoiled(path, value)) == [f"cards.json: {fault}"]


@pytest.mark.parametrize(
    ("ends_when", "turns"),
    [
        ("two generic replies in a row after turn 6", [6]),
        ("Turn 12, or after 9 turns", [12, 9]),
        ("第6轮之后还在讲道理", [6]),
        ("第六轮以后、十二轮后或第二十轮", [6, 12, 20]),
        ("聊完8轮后", [8]),
        ("two generic replies in 3 turns in a row", []),
        ("连续两轮只讲道理", []),
    ],
)
def test_turns_that_an_end_names_are_read(ends_when: str, turns: list[int]) -> None:
    assert turns_in(ends_when) == turns


def test_role_may_not_end_before_the_conversation_may() -> None:
    content = spoiled("S.ends_when", "no one asks anything after turn 6")
    assert len(parse_cards(content, name="cards.json", min_turns=6)) == len(WHOLE["profiles"])
    with pytest.raises(CardFileError) as refused:
        parse_cards(content, name="cards.json", min_turns=7)
    assert str(refused.value) == (
        "cards.json: profiles[3].S.ends_when: lets the talk end at turn 6, but a conversation has at least 7"
    )


def test_no_card_that_comes_with_emostudy_ends_before_its_study_lets_it() -> None:
    assert len(read_cards(DEMO, min_turns=1000)) == 12


def test_all_faults_are_told_at_once() -> None:
    odd = {"id": "a", "lang": "en", "D": 3, "C": {"goals": []}, "S": {"opening": "hi", "layers": [" "]}, "D1": 1}
    found = faults_of(json.dumps({"profiles": [{}, odd]}).encode())
    assert [line.removeprefix("cards.json: profiles") for line in found] == [
        "[1].id: is missing",
        "[1].lang: is missing",
        "[1].D: is missing",
        "[1].C: is missing",
        "[1].S: is missing",
        "[2].D: must be an object",
        "[2].C.problem: is missing",
        "[2].S.ends_when: is missing",
        '[2].D1: unknown key; did you mean "D"?',
        "[2].C.goals: is missing",
        "[2].S.layers[1]: is missing",
    ]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "cards.json: not valid JSON: Expecting value: line 1 column 1 (char 0)"),
        (b"[]", "cards.json: must be an object"),
        (b"{}", "cards.json: profiles: is missing"),
        (b'{"profiles": []}', "cards.json: profiles: is missing"),
        (b" " * 2_000_001, "cards.json: is larger than 2 MB"),
        (b"[" * 100_000, "cards.json: is nested too deeply"),
    ],
)
def test_file_that_holds_no_cards_is_refused(content: bytes, fault: str) -> None:
    assert faults_of(content) == [fault]


def test_missing_file_is_a_plain_fault(tmp_path: Path) -> None:
    with pytest.raises(CardFileError, match=r"^none\.json: cannot be read: No such file or directory$"):
        read_cards(tmp_path / "none.json")
