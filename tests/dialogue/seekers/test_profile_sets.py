"""The sets of forty invented profiles in each language: their spread, and that the checks find nothing in them."""

from typing import Any

import pytest

from dialogue.languages import CODES
from dialogue.safety.screening import screen_message
from dialogue.seekers.profile_checks import GRAVE, check_profile
from dialogue.seekers.profiles import Profile, load_profiles
from tests.dialogue.seekers.talks import DEMO, PROFILES

SETS = {language: load_profiles(DEMO.with_name(f"seeker_profiles_{language}.json")) for language in CODES}
EVERYBODY = (*PROFILES, *(profile for profiles in SETS.values() for profile in profiles))
MBTI = {f"{e}{n}{f}{j}" for e in "EI" for n in "NS" for f in "FT" for j in "JP"}

of_each_set = pytest.mark.parametrize("language", SETS)
of_each_profile = pytest.mark.parametrize(
    "profile", [profile for profiles in SETS.values() for profile in profiles], ids=lambda profile: profile.id
)


def different(language: str, part: str, key: str) -> set[Any]:
    return {getattr(profile, part)[key] for profile in SETS[language]}


def test_no_id_stands_twice_in_all_files() -> None:
    ids = [profile.id for profile in EVERYBODY]
    assert sorted(set(ids)) == sorted(ids)


@of_each_set
def test_every_set_has_forty_people_of_its_language(language: str) -> None:
    assert len(SETS[language]) >= 40
    assert {profile.language for profile in SETS[language]} == {language}


@of_each_set
def test_no_set_has_an_alias_or_an_opening_twice(language: str) -> None:
    assert len(different(language, "demographics", "alias")) == len(SETS[language])
    assert len(different(language, "script", "opening")) == len(SETS[language])


@of_each_set
def test_people_are_as_various_as_those_of_emoharbor(language: str) -> None:
    """EmoHarbor (arXiv:2601.01530), Section 2.1: 28 occupations, all 16 MBTI types, 16 kinds of problem."""
    assert len(different(language, "demographics", "occupation")) >= 28
    assert different(language, "personality", "mbti") == MBTI
    assert len(different(language, "concern", "problem_category")) >= 16
    assert len(different(language, "demographics", "gender")) >= 3
    assert len(different(language, "concern", "emotion")) >= 8


@of_each_set
def test_ages_go_from_the_young_to_the_old_and_nobody_is_a_minor(language: str) -> None:
    ages = different(language, "demographics", "age")
    assert 18 <= min(ages) <= 20
    assert 70 <= max(ages) <= 80


@of_each_profile
def test_the_checks_find_nothing(profile: Profile) -> None:
    assert check_profile(profile, others=EVERYBODY) == []


@of_each_profile
def test_the_risk_screen_lets_a_conversation_begin(profile: Profile) -> None:
    assert screen_message(profile.script["opening"]).level < GRAVE  # from here on it is held


@of_each_profile
def test_everybody_has_a_belief_and_a_trigger_for_the_worst_case(profile: Profile) -> None:
    assert profile.worst_case_default["fixed_belief"]
    assert profile.worst_case_default["trigger_word"]
