"""The profiles that simulated seekers of a study are given, kept with the study so that a judge finds them again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from django.db import transaction

from dialogue.seekers.behaviours import is_mild
from dialogue.seekers.profiles import Profile, as_content, from_content, load_profiles
from studies.models import SeekerProfile, Study
from studies.seeker_profiles.checking import checked, profiles_of

DEMO_PROFILES = Path(__file__).resolve().parents[2] / "fixtures" / "instruments" / "seeker_profiles_demo.json"


class OtherProfiles(Exception):
    """Profiles of the same ids, with other content, are in the study already; the text has a line for each."""


@dataclass(frozen=True)
class Kept:
    """How many profiles. `refused`: of those added, what the automatic checks refused. `mild`: ids of all that are too
    mild for a worst case."""

    added: int = 0
    unchanged: int = 0
    refused: int = 0
    mild: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """What may be played, and by id the state of what may not: the checks or a person refused it, or it is a draft.
    `origin`: what the study is told of where they come from, once it keeps them."""

    profiles: list[Profile]
    origin: str
    not_played: dict[str, str] = field(default_factory=dict)


def found_profiles(study: Study, path: Path | None) -> Found:
    """Of a file; without one, all that the study has approved, else the demonstration's. Nothing is stored. Raises
    ProfilesRefused and OtherProfiles."""
    if path is None and (approved := approved_profiles(study)):
        return Found(approved, "")
    file = path or DEMO_PROFILES
    profiles = list(load_profiles(file))
    new = {row.key: row.state for row in new_rows(study, profiles, origin=file.name)}
    states = dict(study.seeker_profiles.values_list("key", "state")) | new
    may = [profile for profile in profiles if states[profile.id] == SeekerProfile.State.APPROVED]
    not_played = {profile.id: states[profile.id] for profile in profiles if profile not in may}
    return Found(may, file.name, not_played)


def approved_profiles(study: Study) -> list[Profile]:
    return [from_content(row.content) for row in study.seeker_profiles.filter(state=SeekerProfile.State.APPROVED)]


@transaction.atomic
def keep(study: Study, profiles: Sequence[Profile], *, origin: str) -> Kept:
    """Raises OtherProfiles."""
    Study.objects.select_for_update().get(pk=study.pk)
    new = new_rows(study, profiles, origin=origin)
    SeekerProfile.objects.bulk_create(new)
    refused = sum(row.state == SeekerProfile.State.REFUSED for row in new)
    mild = tuple(profile.id for profile in profiles if is_mild(profile))
    return Kept(added=len(new), unchanged=len(profiles) - len(new), refused=refused, mild=mild)


def new_rows(study: Study, profiles: Sequence[Profile], *, origin: str) -> list[SeekerProfile]:
    """Of those that the study has not yet, not stored. Whoever brings a file answers for it: what the checks do not
    refuse is approved. Raises OtherProfiles."""
    known = dict(study.seeker_profiles.values_list("key", "content"))
    others = [
        f"{origin}: the study has another profile {profile.id!r}; give this one an id of its own"
        for profile in profiles
        if profile.id in known and known[profile.id] != as_content(profile)
    ]
    if others:
        raise OtherProfiles("\n".join(others))
    all_profiles = [*profiles_of(study), *profiles]
    return [
        checked(SeekerProfile(study=study, origin=origin), profile, all_profiles, usual=SeekerProfile.State.APPROVED)
        for profile in profiles
        if profile.id not in known
    ]
