"""Conditions, what the seeker's models are told of them, and mood as a process over turns."""

import subprocess
import sys
from itertools import pairwise
from statistics import correlation, fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogue.seekers.behaviours import (
    MOOD_CARRYOVER,
    SWING,
    VOLATILITY,
    Condition,
    arousal,
    average,
    instruction,
    mood,
    worst_case,
)
from dialogue.seekers.components import components, instrument, levels
from dialogue.seekers.profiles import Profile
from dialogue.seekers.reading import END_PHRASES
from tests.dialogue.seekers.talks import PROFILES

ROWAN, KWAME = PROFILES[0], PROFILES[5]
KEYS = (
    "low_engagement",
    "resistance",
    "limited_self_disclosure",
    "emotional_volatility",
    "rigid_negative_interpretation",
)
PLAIN = Profile("plain", "en", {}, {}, {}, {})


def test_average_has_everything_off_and_says_nothing() -> None:
    condition = average(KWAME)
    assert condition == Condition("average", dict.fromkeys(KEYS, 0), "", "")
    assert instruction(condition, "en", 0.0) == ""


def test_worst_case_is_what_the_profile_says() -> None:
    assert worst_case(KWAME) == Condition(
        "worst_case", dict(zip(KEYS, (0, 2, 1, 3, 2), strict=True)), "people always leave me", "calm down"
    )


def test_profile_without_intensities_has_all_five_marked() -> None:
    assert worst_case(PLAIN) == Condition("worst_case", dict.fromkeys(KEYS, 2), "", "")


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_leaving_a_behaviour_out_takes_it_and_what_belongs_to_it_away(key: str, language: str) -> None:
    whole, without = worst_case(KWAME), worst_case(KWAME, without=[key])
    assert without.intensities == {**whole.intensities, key: 0}
    told = instruction(without, language, -1.0)
    assert components()[key].label[language] not in told
    assert components()[key].instruction[language] not in told
    assert ("people always leave me" in told) == (key != "rigid_negative_interpretation")
    assert ("calm down" in told) == (key != VOLATILITY)
    assert told.endswith("4") == (key != VOLATILITY)


def test_unknown_behaviour_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="There is no behaviour rudeness; known are low_engagement, resistance, "):
        worst_case(ROWAN, without=["resistance", "rudeness"])


def test_easy_profile_is_no_worst_case() -> None:
    """seeker_behaviours.json: a worst-case session has at least two components at 2 or above."""
    easy = Profile("easy", "en", {}, {}, {}, {}, {"resistance": 3, "low_engagement": 1})
    with pytest.raises(ValueError, match="The profile easy is no worst case"):
        worst_case(easy)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.id)
def test_instruction_has_each_behaviour_that_is_on_with_its_strength(profile: Profile) -> None:
    condition, language = worst_case(profile), profile.language
    told = instruction(condition, language, 0.0)
    for key, component in components().items():
        on = condition.intensities[key]
        assert (component.label[language] in told) == bool(on)
        assert (component.instruction[language] in told) == bool(on)
        if on:
            line = next(line for line in told.split("\n") if line.startswith(component.label[language]))
            assert levels(language)[on] in line


def test_only_the_last_line_changes_with_the_mood() -> None:
    first, second = (instruction(worst_case(KWAME), "en", state).split("\n") for state in (-1.0, 1.0))
    assert first[:-1] == second[:-1]
    assert [line[-1] for line in (first[-1], second[-1])] == ["4", "0"]
    assert first[-2] == "Your fixed belief: people always leave me"


def test_belief_is_told_in_one_line() -> None:
    told = instruction(
        Condition("worst_case", dict(average(ROWAN).intensities) | {KEYS[4]: 1}, "a\n</behaviour>"), "en", 0
    )
    assert told.split("\n")[-1] == "Your fixed belief: a </behaviour>"


@pytest.mark.parametrize(("state", "level"), [(-1.0, 4), (-0.67, 3), (-0.3, 2), (0.0, 1), (0.3, 0), (1.0, 0)])
def test_the_deeper_the_dip_the_higher_the_arousal(state: float, level: int) -> None:
    assert arousal(state) == level


@given(seed=st.text(), turn=st.integers(1, 40), intensity=st.integers(0, 3))
def test_mood_is_the_same_again_and_within_its_range(seed: str, turn: int, intensity: int) -> None:
    state = mood(seed, turn, intensity)
    assert state == mood(seed, turn, intensity)
    assert -1 <= state <= 1
    assert intensity or state == 0.0


@given(seed=st.text(), turn=st.integers(1, 40))
def test_intensities_differ_in_the_swing_alone(seed: str, turn: int) -> None:
    mild, severe = mood(seed, turn, 1), mood(seed, turn, 3)
    if abs(severe) < 1:
        assert severe == pytest.approx(mild * SWING[3] / SWING[1])
    else:
        assert mild * severe > 0


def test_mood_is_the_same_in_another_process() -> None:
    code = "from dialogue.seekers.behaviours import mood; print([mood('en01/worst', t, 2) for t in range(1, 16)])"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert there == str([mood("en01/worst", turn, 2) for turn in range(1, 16)])


def test_mood_swings_as_described() -> None:
    """Unit variance before the swing; with jumps in one turn of five, states follow each other less closely than φ."""
    paths = [[mood(f"seed {number}", turn, 1) / SWING[1] for turn in range(1, 16)] for number in range(400)]
    states = [state for path in paths for state in path]
    assert fmean(states) == pytest.approx(0, abs=0.08)
    assert 1.0 < stdev(states) < 1.4
    before, after = [s for path in paths for s in path[:-1]], [s for path in paths for s in path[1:]]
    assert -0.2 < correlation(before, after) < MOOD_CARRYOVER - 0.1
    crossings = fmean(sum(a * b < 0 for a, b in pairwise(path)) for path in paths)
    assert crossings > 4  # of 14; "swing at least twice in ten turns" (seeker_behaviours.json)


@pytest.mark.parametrize(("turn", "intensity", "fault"), [(0, 1, "no turn 0"), (1, 4, "no intensity 4"), (1, -1, "-1")])
def test_mood_outside_its_range_is_refused(turn: int, intensity: int, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        mood("seed", turn, intensity)


def test_what_is_relied_on_is_in_the_instrument() -> None:
    assert tuple(components()) == KEYS
    assert (instrument()["id"], instrument()["version"]) == ("seeker_behaviours", "1.0.3")
    for language in ("en", "zh"):
        assert len(levels(language)) == 4
        typed = [phrase for several in END_PHRASES[language].values() for phrase in several]
        assert sorted(typed) == sorted(instrument()["end_markers"][language])
