"""The draw of who further profiles are of: seeded, balanced over the set, and of people who can exist."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dialogue.languages import CODES
from dialogue.seekers.profile_checks import check_profile
from dialogue.seekers.profile_draw import (
    BANDS,
    TYPES,
    VARIED,
    DrawnPart,
    Spread,
    get_options,
    settled_part_of,
    values_of,
)
from dialogue.seekers.profiles import Profile, load_profiles

INSTRUMENTS = Path(__file__).resolve().parents[3] / "fixtures" / "instruments"


def seeds(language: str) -> list[Profile]:
    return list(load_profiles(INSTRUMENTS / f"seeker_profiles_{language}.json"))


def draw(
    language: str, count: int, vary: tuple[str, ...] = VARIED, known: Any = None
) -> tuple[list[DrawnPart], Spread]:
    here = seeds(language)
    spread = Spread(language, here if known is None else known)
    return [spread.draw(here[n % len(here)], vary, Random(f"1 {n}")) for n in range(count)], spread


@pytest.mark.parametrize("language", CODES)
def test_set_grows_evenly_in_every_field(language: str) -> None:
    drawn, spread = draw(language, 100)
    for name, most_apart in (("age", 1), ("mbti", 1), ("problem", 4)):
        counts = [spread.counts[name][option.value.casefold()] for option in get_options(language)[name]]
        assert max(counts) - min(counts) <= most_apart
    assert sorted(spread.counts["gender"].values()) == [14, 63, 63]  # weights 2, 9, 9
    occupations = Counter(one.demographics["occupation"] for one in drawn)
    assert len(occupations) > 60
    assert max(occupations.values()) <= 4


@pytest.mark.parametrize("language", CODES)
def test_new_person_differs_from_the_seed_in_each_varied_field(language: str) -> None:
    here = seeds(language)
    for number, one in enumerate(draw(language, 80)[0]):
        before, after = values_of(settled_part_of(here[number % 40])), values_of(one)
        assert [name for name in (*VARIED, "alias") if before[name] == after[name]] == []


@pytest.mark.parametrize("language", CODES)
def test_occupation_and_problem_are_those_of_people_of_the_age(language: str) -> None:
    options = get_options(language)
    for one in draw(language, 200)[0]:
        age = one.demographics["age"]
        for name, value in (("occupation", one.demographics["occupation"]), ("problem", one.problem)):
            [option] = [option for option in options[name] if option.value == value]
            assert option.least <= age <= option.most


@pytest.mark.parametrize("language", CODES)
def test_every_age_has_occupations_and_problems(language: str) -> None:
    options = get_options(language)
    for first, last in BANDS:
        assert sum(option.least <= last and option.most >= first for option in options["occupation"]) >= 6
    for age in range(BANDS[0][0], BANDS[-1][1] + 1):
        assert sum(option.least <= age <= option.most for option in options["problem"]) >= 6
    for name in ("occupation", "problem", "alias"):
        values = [option.value for option in options[name]]
        assert len(set(values)) == len(values)


def test_scores_do_not_contradict_the_type() -> None:
    [seed, *_] = seeds("en")
    types = set()
    for one in draw("en", 64)[0]:
        types.add(one.personality["mbti"])
        profile = replace(seed, personality={**one.personality, "speech_style": "plain"})
        assert "P.mbti" not in {finding.where for finding in check_profile(profile)}
        assert all(1 <= score <= 5 for score in one.personality["big5"].values())
    assert types == set(TYPES)


def test_same_draw_gives_the_same_people_and_an_early_part_of_a_longer_one() -> None:
    assert draw("en", 10)[0] == draw("en", 30)[0][:10]
    assert draw("en", 3)[0] != draw("en", 3, known=[])[0]


def test_fields_that_do_not_vary_are_the_seed_s() -> None:
    here = seeds("zh")
    for number, one in enumerate(draw("zh", 40, ("occupation", "gender"))[0]):
        seed = here[number]
        assert one.demographics["age"] == seed.demographics["age"]
        assert one.personality == {"big5": seed.personality["big5"], "mbti": seed.personality["mbti"]}
        assert one.problem == seed.concern["problem_category"]
        assert one.demographics["occupation"] != seed.demographics["occupation"]


def test_seed_that_says_little_of_its_person_can_be_varied_all_the_same() -> None:
    [seed, *_] = seeds("en")
    bare = replace(seed, demographics={"alias": "Al"}, personality={}, concern={"problem": "x", "goals": ["y"]})
    spread = Spread("en", [bare])
    full = spread.draw(bare, VARIED, Random(1))
    assert {"alias", "age", "gender", "occupation"} == set(full.demographics)
    none = spread.draw(bare, ("gender",), Random(1))
    assert set(none.demographics) == {"alias", "gender"}
    assert (none.personality, none.problem) == ({}, "")


def test_english_and_chinese_words_for_the_same_gender_count_as_one() -> None:
    [seed, *_] = seeds("zh")
    female = replace(seed, demographics={**seed.demographics, "gender": "女性"})
    assert values_of(settled_part_of(female))["gender"] == "女"
