"""What a study file says of its counsellors: the block plan and the role cards."""

import json
from pathlib import Path
from typing import Any

import pytest

from studies.design.card_files import read_cards
from studies.design.reading import INSTRUMENTS, read_study
from studies.design.serialisation import spec_from_json, spec_to_json
from studies.design.spec import OrderSpec, RolePlaySpec
from studies.design.writing import dump_study
from tests.studies.design.test_reading import FIXTURES, KNOWN, PROMPTS, faults_of, read, small

PROFILE: dict[str, Any] = {
    "id": "own",
    "lang": "en",
    "D": {"alias": "Robin"},
    "C": {"problem": "Cannot sleep.", "goals": ["sleep"]},
    "S": {"opening": "hi", "layers": ["tired"], "ends_when": "bored"},
}


def with_order(**order: Any) -> dict[str, Any]:
    return small() | {"order": {"design": "blocks", **order}}


def with_cards(folder: Path, *profiles: dict[str, Any]) -> dict[str, Any]:
    (folder / "own.json").write_text(json.dumps({"profiles": profiles}), encoding="utf-8")
    return small() | {"role_play": {"cards": ["own"]}}


def chinese(**changes: Any) -> dict[str, Any]:
    return PROFILE | {"id": "own-zh", "lang": "zh"} | changes


def test_counsellors_share_the_arms_three_raters_each_unless_told_otherwise(tmp_path: Path) -> None:
    assert read(tmp_path, with_order(counsellors=3)).order == OrderSpec("blocks", None, 1, 3, 3)
    assert read(tmp_path, with_order(counsellors=3, raters_per_arm=2)).order == OrderSpec("blocks", None, 1, 3, 2)


def test_counsellors_meet_fewer_arms_than_participants(tmp_path: Path) -> None:
    document = with_order(counsellors=4, raters_per_arm=2)
    del document["consent"]["n_arms"]
    spec = read(tmp_path, document)
    assert (spec.arms_per_person("counsellor"), spec.arms_per_person("participant")) == (1, 2)
    assert spec.consent_values("counsellor")["n_arms"] == {"en": "1", "zh": "1"}
    assert spec.consent_values()["n_arms"] == {"en": "2", "zh": "2"}


@pytest.mark.parametrize(
    ("order", "fault"),
    [
        ({"counsellors": 3, "design": "williams"}, 'order.counsellors: needs design = "blocks"'),
        (
            {"counsellors": 3, "arms_per_person": 1},
            "order.arms_per_person: follows from counsellors and raters_per_arm: leave it out",
        ),
        ({"raters_per_arm": 3}, "order.raters_per_arm: needs counsellors, who share the arms"),
        ({"counsellors": 2}, "order.counsellors: 3 raters an arm, but only 2 counsellors"),
        (
            {"counsellors": 7},
            "order.counsellors: 2 arms with 3 raters each leave nothing for some of 7 counsellors",
        ),
        ({"counsellors": 0}, "order.counsellors: must be between 1 and 1000"),
        ({"counsellors": "8"}, "order.counsellors: must be a whole number"),
        ({"counsellors": 3, "raters_per_arm": 0}, "order.raters_per_arm: must be between 1 and 1000"),
        ({"counselors": 3}, 'order.counselors: unknown key; did you mean "counsellors"?'),
    ],
)
def test_order_of_counsellors_is_refused_where_it_cannot_be(tmp_path: Path, order: dict[str, Any], fault: str) -> None:
    assert faults_of(tmp_path, with_order(**order)) == [fault]


def test_block_plan_needs_chats_of_counsellors(tmp_path: Path) -> None:
    document = with_order(counsellors=3)
    document["steps"][1]["track"] = "participant"
    assert faults_of(tmp_path, document) == ["order.counsellors: there are no chats in the counsellor track"]


def test_cards_are_a_file_beside_the_study_or_an_instrument(tmp_path: Path) -> None:
    document = with_cards(tmp_path, PROFILE, chinese())
    for names in (["own"], ["own.json"], ["seeker_profiles_demo"], ["own", "seeker_profiles_demo"]):
        document["role_play"]["cards"] = names
        assert read(tmp_path, document).role_play == RolePlaySpec(tuple(names))


def test_study_has_no_cards_unless_it_names_some(tmp_path: Path) -> None:
    assert read(tmp_path, small()).role_play == RolePlaySpec()


@pytest.mark.parametrize("name", ["none", "../own", "/etc/hostname"])
def test_cards_are_sought_nowhere_else(tmp_path: Path, name: str) -> None:
    (tmp_path / "inside").mkdir()
    document = with_cards(tmp_path, PROFILE, chinese()) | {"role_play": {"cards": [name]}}
    assert faults_of(tmp_path / "inside", document) == [
        f'role_play.cards[1]: no file "{name}" or "{name}.json" beside the study file or among the instruments'
    ]


def test_faults_of_a_card_file_are_faults_of_the_study(tmp_path: Path) -> None:
    silent = chinese(S={"opening": "", "layers": ["tired"], "ends_when": "bored"})
    assert faults_of(tmp_path, with_cards(tmp_path, PROFILE, silent)) == [
        "role_play.cards[1]: own.json: profiles[2].S.opening: is missing"
    ]


def test_card_whose_role_ends_before_the_least_number_of_turns_is_a_fault_of_the_study(tmp_path: Path) -> None:
    hasty = chinese(S={"opening": "hi", "layers": ["tired"], "ends_when": "第6轮"})
    document = with_cards(tmp_path, PROFILE, hasty)
    document["chat"] |= {"min_turns": 10, "max_turns": 20}
    assert faults_of(tmp_path, document) == [
        "role_play.cards[1]: own.json: profiles[2].S.ends_when: lets the talk end at turn 6, but a conversation has at "
        "least 10"
    ]


def test_every_language_of_the_study_needs_a_card(tmp_path: Path) -> None:
    assert faults_of(tmp_path, with_cards(tmp_path, PROFILE)) == ["role_play.cards: there is no card in zh"]


def test_two_files_may_not_have_a_card_of_one_id(tmp_path: Path) -> None:
    document = with_cards(tmp_path, PROFILE | {"id": "en01"}, chinese())
    document["role_play"]["cards"] = ["own", "seeker_profiles_demo"]
    assert faults_of(tmp_path, document) == ['role_play.cards: two cards have the id "en01"']


@pytest.mark.parametrize(
    ("role_play", "fault"),
    [
        ({"card": ["own"]}, 'role_play.card: unknown key; did you mean "cards"?'),
        ({"cards": "own"}, "role_play.cards: must be a list"),
    ],
)
def test_role_play_refuses_odd_values(tmp_path: Path, role_play: dict[str, Any], fault: str) -> None:
    assert faults_of(tmp_path, small() | {"role_play": role_play}) == [fault]


def test_role_play_is_the_same_through_a_file_and_through_json(tmp_path: Path) -> None:
    document = with_order(counsellors=3, raters_per_arm=2) | {"role_play": {"cards": ["seeker_profiles_demo"]}}
    spec = read(tmp_path, document)
    assert read(tmp_path, dump_study(spec)) == spec
    assert spec_from_json(json.loads(json.dumps(spec_to_json(spec)))) == spec


def test_design_that_was_stored_before_there_were_cards_is_read(tmp_path: Path) -> None:
    spec = read(tmp_path, small())
    stored = spec_to_json(spec)
    del stored["role_play"], stored["order"]["counsellors"], stored["order"]["raters_per_arm"]
    assert spec_from_json(stored) == spec


def test_demo_counsellors_have_cards_in_both_languages() -> None:
    spec = read_study(FIXTURES / "studies" / "demo.toml", instruments=KNOWN, prompt_folder=PROMPTS)
    languages = [card.language for name in spec.role_play.cards for card in read_cards(INSTRUMENTS / f"{name}.json")]
    assert [languages.count(language) for language in spec.languages] == [6, 6]
