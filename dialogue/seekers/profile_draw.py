"""A seeded draw of who further profiles are of, so that the spread of a set grows. Pure.

Each field gets a value of which the set has fewest so far for its weight. Age goes first; occupation and problem are
drawn among those that people of this age have.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple, get_args

from dialogue.seekers.gates import SAME_GENDER
from dialogue.seekers.profiles import Profile

VALUES = Path(__file__).resolve().parents[2] / "fixtures" / "profile_draw.json"
Varied = Literal["age", "occupation", "gender", "mbti", "problem"]
VARIED: tuple[Varied, ...] = get_args(Varied)
BANDS = ((18, 24), (25, 34), (35, 44), (45, 54), (55, 64), (65, 75))  # years
TYPES = tuple(map("".join, product("EI", "NS", "FT", "JP")))
FACTORS = ("E", "O", "A", "C")  # of which the letters of a type speak, in their order
HIGH = "ENFJ"  # the letters that speak of a high score
QUARTERS = {True: (13, 19), False: (5, 11), None: (6, 19)}  # of a point: scores of high, low and untold factors


class Option(NamedTuple):
    """A value, and the ages of those who can have it. `weight`: its share of a set, beside those of the others."""

    value: str
    least: int = BANDS[0][0]
    most: int = BANDS[-1][1]
    weight: int = 1


@dataclass(frozen=True)
class DrawnPart:
    """The settled part of a new profile: D and P so far, and the kind of problem."""

    demographics: Mapping[str, Any]
    personality: Mapping[str, Any]
    problem: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Spread:
    """How often each value is in the profiles of one language, by field."""

    def __init__(self, language: str, profiles: Iterable[Profile]) -> None:
        self.options = get_options(language)
        self.counts: dict[str, Counter[str]] = {name: Counter() for name in (*VARIED, "alias")}
        for profile in profiles:
            if profile.language == language:
                self.add(settled_part_of(profile))

    def add(self, drawn: DrawnPart) -> None:
        """Count one more profile."""
        for name, value in values_of(drawn).items():
            if value:
                self.counts[name][value] += 1

    def draw(self, seed: Profile, vary: Collection[str], random: Random) -> DrawnPart:
        """Return the person of the next profile, and count it. Fields that do not vary are the seed's."""
        settled = settled_part_of(seed)
        before = values_of(settled)
        person = {
            name: settled.demographics[name] for name in ("age", "gender", "occupation") if name in settled.demographics
        }
        person["alias"] = self.choose("alias", before, random).value
        ages = [person["age"]] if isinstance(person.get("age"), int) else []
        if "age" in vary:
            first, last = BANDS[int(self.choose("age", before, random).value)]
            ages = list(range(first, last + 1))
        if "occupation" in vary:
            occupation = self.choose("occupation", before, random, ages)
            person["occupation"] = occupation.value
            ages = [age for age in ages if occupation.least <= age <= occupation.most] or ages
        if "age" in vary:
            person["age"] = random.choice(ages)
        if "gender" in vary:
            person["gender"] = self.choose("gender", before, random).value
        personality = {name: settled.personality[name] for name in ("big5", "mbti") if name in settled.personality}
        if "mbti" in vary:
            personality = draw_personality(self.choose("mbti", before, random).value, random)
        problem = settled.problem
        if "problem" in vary:
            problem = self.choose("problem", before, random, [person["age"]] if "age" in person else []).value
        drawn = DrawnPart(person, personality, problem)
        self.add(drawn)
        return drawn

    def choose(self, name: str, before: Mapping[str, str], random: Random, ages: Collection[int] = ()) -> Option:
        """Return an option other than the seed's, of which the set has fewest for its weight, and which people of one
        of these ages can have."""
        options = fitting(self.options[name], ages)
        others = [option for option in options if fold_value(option.value) != before[name]] or options
        due = {option: (self.counts[name][fold_value(option.value)] + 1) / option.weight for option in others}
        least = min(due.values())
        return random.choice([option for option in others if due[option] == least])


def fitting(options: Sequence[Option], ages: Collection[int]) -> Sequence[Option]:
    """Return the options that people of one of these ages can have; all of them where no age is known or none fits."""
    return [option for option in options if any(option.least <= age <= option.most for age in ages)] or options


def draw_personality(mbti: str, random: Random) -> dict[str, Any]:
    """Return the type with Big Five scores that do not contradict it."""
    high = dict(zip(FACTORS, (letter in HIGH for letter in mbti), strict=True))
    scores = {factor: random.randint(*QUARTERS[high.get(factor)]) / 4 for factor in "EACNO"}
    return {"big5": scores, "mbti": mbti}


def settled_part_of(profile: Profile) -> DrawnPart:
    """Return the part of a profile that a draw settles."""
    return DrawnPart(profile.demographics, profile.personality, str(profile.concern.get("problem_category", "")))


def values_of(drawn: DrawnPart) -> dict[str, str]:
    """Return what is counted of a profile, by field; "" for what it does not say. Ages count by their band."""
    person = {name: fold_value(drawn.demographics.get(name, "")) for name in ("alias", "occupation", "gender")}
    age = drawn.demographics.get("age")
    bands = [str(number) for number, (first, last) in enumerate(BANDS) if isinstance(age, int) and first <= age <= last]
    return {
        **person,
        "gender": SAME_GENDER.get(person["gender"], person["gender"]),
        "age": bands[0] if bands else "",
        "mbti": fold_value(drawn.personality.get("mbti", "")),
        "problem": fold_value(drawn.problem),
    }


def fold_value(value: Any) -> str:
    """Return a value as it is counted: without regard to case and spaces around it."""
    return str(value).strip().casefold()


@cache
def get_options(language: str) -> Mapping[str, Sequence[Option]]:
    """Return the values that can be drawn in this language, by field."""
    values = json.loads(VALUES.read_text(encoding="utf-8"))[language]
    return {
        "age": [Option(str(number)) for number in range(len(BANDS))],
        "occupation": [Option(*each) for each in values["occupations"]],
        "gender": [Option(value, weight=weight) for value, weight in values["genders"].items()],
        "mbti": [Option(each) for each in TYPES],
        "problem": [Option(*each) for each in values["problems"]],
        "alias": [Option(each) for each in values["aliases"]],
    }
