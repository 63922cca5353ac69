"""Checked choices by name: who plays the seekers, arms, profiles, judges. Raises Unfit for what cannot be had."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dialogue.providers.base import ModelSettings, ProviderError
from dialogue.providers.registry import model_for
from dialogue.seekers.behaviours import is_mild
from dialogue.seekers.profiles import Profile, ProfilesRefused
from studies.design.spec import ArmSpec, StudySpec
from studies.models import Study
from studies.participation.chats import freeze_supporter
from studies.seeker_profiles.selection import OtherProfiles, find_profiles
from studies.simulation.setup import Setup


class Unfit(Exception):
    """A choice that does not exist or cannot be asked; the text says what is wrong where, and what to do."""


class FittingProfiles(NamedTuple):
    profiles: list[Profile]
    origin: str
    others: int  # that are in languages which the study has not
    not_played: Mapping[str, str]  # by id the state of those that may not be
    mild: list[str]  # ids of those that are too mild for the worst case which is asked for


def seeker_setup(spec: StudySpec, **values: Any) -> Setup:
    """Return the setup with the study's seeker; `values` are its other fields. Raises Unfit if the study names none."""
    if spec.seeker is None:
        raise Unfit(
            f"The study file of {spec.key} names no model that plays the seeker. Add a table [seeker] with kind, "
            "base_url and model (see docs/simulation.md) and load it again."
        )
    return Setup(seeker=spec.seeker, evaluator=spec.evaluator, prompts=spec.own_prompts(), **values)


def get_arms(spec: StudySpec, keys: Sequence[str]) -> list[ArmSpec]:
    """Return each arm once; all of them if none is named."""
    arms = {arm.key: arm for arm in spec.arms}
    for key in keys or arms:
        if key not in arms:
            raise Unfit(f"--arms: the study {spec.key} has no arm {key!r}. It has: {', '.join(arms)}.")
    return [arms[key] for key in dict.fromkeys(keys or arms)]


def get_judge(spec: StudySpec, key: str) -> ArmSpec:
    judges = {judge.key: judge for judge in spec.judges}
    if key not in judges:
        raise Unfit(f"--judge: the study {spec.key} has no judge {key!r}. It has: {', '.join(judges) or 'none'}.")
    return judges[key]


def fitting_profiles(study: Study, spec: StudySpec, path: Path | None, setups: Sequence[Setup]) -> FittingProfiles:
    """Return the profiles in the study's languages: no one could rate, and few arms could answer, in another. If a
    worst case is asked for, no setup gets those too mild for it, so that each conversation has its twin. Stores
    nothing."""
    try:
        source = find_profiles(study, path)
    except (ProfilesRefused, OtherProfiles) as error:
        raise Unfit(str(error)) from error
    fitting = [profile for profile in source.profiles if profile.language in spec.languages]
    hard = any(setup.condition == "worst_case" for setup in setups)
    mild = [profile.id for profile in fitting if hard and is_mild(profile)]
    if not source.profiles:
        raise Unfit(f"None of the profiles may be played: {describe_states(source.not_played)}.")
    if not fitting:
        languages = ", ".join(spec.languages)
        raise Unfit(f"None of the {len(source.profiles)} profiles is in a language of the study ({languages}).")
    if len(mild) == len(fitting):
        raise Unfit(f"None of the profiles can be a worst case: {', '.join(mild)}. {MILD}")
    suitable = [profile for profile in fitting if profile.id not in mild]
    return FittingProfiles(suitable, source.origin, len(source.profiles) - len(fitting), source.not_played, mild)


MILD = (
    "Fewer than two of their behaviours are at 2 or above. Put two at 2 or 3 in worst_case_default, or leave "
    "worst_case_default out: then all five are at 2. What has been played needs another id then."
)
STATES = {"refused": "refused, as what speaks of danger to life is", "draft": "a draft that no one has approved"}


def describe_states(states: Mapping[str, str]) -> str:
    return "; ".join(f"{key} ({STATES[state]})" for key, state in states.items())


def refuse_unreachable(name: str, settings: ModelSettings) -> None:
    """Raise Unfit if the model cannot be asked from here, as without its key. An estimate asks no one, and does
    without."""
    try:
        model_for(settings)
    except ProviderError as error:
        raise Unfit(f"{name}: {error.detail}") from error


def supporter_settings(arm: ArmSpec, spec: StudySpec) -> ModelSettings:
    return freeze_supporter(arm, spec.languages[0]).settings()
