"""The condition of a simulated seeker: five components of behaviour with intensities from 0 (off) to 3, after When
Seekers Are Hard to Help (arXiv:2605.28228) and seeker_behaviours.json. Pure.

Four components are steady. Emotional volatility is a controller over turns: `mood` is its state.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Literal

from dialogue.seekers.components import STRONGEST, components, is_worst_case, levels, preset
from dialogue.seekers.profiles import COLON, Profile

ALL_FIVE = "full_worst_case"  # the preset for a profile that names no intensities
VOLATILITY = "emotional_volatility"
RIGIDITY = "rigid_negative_interpretation"

MOOD_CARRYOVER = 0.5  # of the last turn's mood: the autoregressive coefficient
JUMP_SHARE = 0.2  # of turns
JUMP = 1.8  # standard deviations, to the other side
SWING = (0.0, 0.25, 0.45, 0.7)  # one standard deviation of mood, by intensity
CALM_AROUSAL, HIGHEST_AROUSAL = 1, 4  # restless, collapse: the levels that the instruction names


@dataclass(frozen=True)
class Condition:
    """The condition of a seeker. `fixed_belief` and `trigger_word` are empty if their component is off or the profile
    has none."""

    name: Literal["average", "worst_case"]
    intensities: Mapping[str, int]  # of each of the five, 0 to 3
    fixed_belief: str = ""
    trigger_word: str = ""


def average(profile: Profile) -> Condition:
    """Return the condition with everything off, the twin of `worst_case` on the same profile."""
    return Condition("average", dict.fromkeys(components(), 0))


def worst_case(profile: Profile, *, without: Sequence[str] = ()) -> Condition:
    """Return the profile's `worst_case_default`, or all five marked if it has none. `without` leaves components out,
    one for each ablation. Raises ValueError for a component that is not known and for a profile too easy to be a worst
    case (seeker_behaviours.json wants two components at 2 or above before any is left out)."""
    if unknown := [key for key in without if key not in components()]:
        raise ValueError(f"There is no behaviour {', '.join(unknown)}; known are {', '.join(components())}.")
    default, whole = profile.worst_case_default, worst_case_intensities(profile)
    if is_mild(profile):
        raise ValueError(f"The profile {profile.id} is no worst case: fewer than two behaviours are at 2 or above.")
    intensities = {key: 0 if key in without else value for key, value in whole.items()}
    return Condition(
        "worst_case",
        intensities,
        fixed_belief=str(default.get("fixed_belief", "")) if intensities[RIGIDITY] else "",
        trigger_word=str(default.get("trigger_word", "")) if intensities[VOLATILITY] else "",
    )


def worst_case_intensities(profile: Profile) -> dict[str, int]:
    """Return the intensities of the profile's worst case, before any is left out."""
    default = profile.worst_case_default or preset(ALL_FIVE)
    return {key: int(default.get(key, 0)) for key in components()}


def is_mild(profile: Profile) -> bool:
    """Return whether the profile is too easy to be a worst case."""
    return not is_worst_case(worst_case_intensities(profile))


def mood(seed: str, turn: int, intensity: int) -> float:
    """Return the volatile part of the seeker's feeling before turn `turn` (from 1): −1 a deep dip, 0 as usual, 1 a
    lift.

    A first-order autoregressive process of unit variance, x[t] = φ·x[t−1] + √(1−φ²)·ε[t], that in one turn of five
    jumps to the other side of 0 instead; times the swing of `intensity`, cut off at ±1. Every draw comes from the seed
    and its turn alone, so any process finds the same state at once, and intensities differ in nothing but the swing.
    """
    if turn < 1:
        raise ValueError(f"There is no turn {turn}: turns are counted from 1.")
    if not 0 <= intensity <= STRONGEST:
        raise ValueError(f"There is no intensity {intensity}: it is 0 to {STRONGEST}.")
    if not intensity:
        return 0.0
    state = _normal(seed, "step", 1)
    for number in range(2, turn + 1):
        state = _next_state(state, seed, number)
    return max(-1.0, min(1.0, SWING[intensity] * state))


def arousal(mood: float) -> int:
    """Return the hidden level from 0 to 4 in the instruction for volatility: the deeper the dip, the higher."""
    above = mood * (HIGHEST_AROUSAL - CALM_AROUSAL)
    return max(0, min(HIGHEST_AROUSAL, round(CALM_AROUSAL - above)))


def instruction(condition: Condition, language: str, mood: float) -> str:
    """Return what the seeker's models are told of its behaviour at this turn; empty if everything is off.

    The last line is the only one that changes from turn to turn.
    """
    lines = [line for key in components() for line in _component_lines(key, condition, language)]
    if condition.intensities[VOLATILITY]:
        lines.append(OWN[language]["arousal"].format(level=arousal(mood)))
    return "\n".join(lines)


OWN = {
    "en": {
        "fixed_belief": "Your fixed belief: {text}",
        "trigger_word": "Your trigger word: {text}",
        "arousal": "Your arousal level, before you take in the latest reply: {level}",
    },
    "zh": {
        "fixed_belief": "您坚持的信念：{text}",
        "trigger_word": "您的触发词：{text}",
        "arousal": "在您读最新回复之前，您的激动水平：{level}",
    },
}


def head(key: str, intensity: int, language: str) -> str:
    """Return how the part on a component begins: `Resistance (marked: shows in about half of the turns)`."""
    words = levels(language)[intensity]
    return (
        f"{components()[key].label[language]}（{words}）"
        if language == "zh"
        else (f"{components()[key].label[language]} ({words})")
    )


def _component_lines(key: str, condition: Condition, language: str) -> list[str]:
    intensity = condition.intensities[key]
    if not intensity:
        return []
    line = f"{head(key, intensity, language)}{COLON[language]}{components()[key].instruction[language]}"
    own = {RIGIDITY: "fixed_belief", VOLATILITY: "trigger_word"}.get(key, "")
    text = " ".join(getattr(condition, own).split()) if own else ""
    return [line, OWN[language][own].format(text=text)] if text else [line]


def _next_state(state: float, seed: str, turn: int) -> float:
    if _uniform(seed, "jump", turn) < JUMP_SHARE:
        return -JUMP if state > 0 else JUMP
    return MOOD_CARRYOVER * state + sqrt(1 - MOOD_CARRYOVER**2) * _normal(seed, "step", turn)


def _normal(*parts: object) -> float:
    return NormalDist().inv_cdf(_uniform(*parts))


def _uniform(*parts: object) -> float:
    """Return a number between 0 and 1 that is the same for the same parts in every process."""
    number = int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:6])
    return (number + 0.5) / 2**48
