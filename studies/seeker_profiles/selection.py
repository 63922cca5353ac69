"""Select the profiles of a study's simulated seekers, and store them so that a judge finds them again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from django.db import transaction

from dialogue.seekers.behaviours import is_mild
from dialogue.seekers.profiles import Profile, as_content, from_content, load_profiles
from studies.models import SeekerProfile, Study
from studies.seeker_profiles.checking import check_row, profiles_of

DEMO_PROFILES = Path(__file__).resolve().parents[2] / "fixtures" / "instruments" / "seeker_profiles_demo.json"


class OtherProfiles(Exception):
    """Profiles of the same ids, with other content, are in the study already; the text has a line for each."""


@dataclass(frozen=True)
class KeptProfiles:
    """Counts of stored profiles.

    `refused`: how many of those added the automatic checks refused. `mild`: ids of all that are too mild for a worst
    case.
    """

    added: int = 0
    unchanged: int = 0
    refused: int = 0
    mild: tuple[str, ...] = ()


@dataclass(frozen=True)
class FoundProfiles:
    """The profiles that may be used.

    `not_played`: by id the state of the others, which are drafts or were refused. `origin`: where they come from, for
    the study to store.
    """

    profiles: list[Profile]
    origin: str
    not_played: dict[str, str] = field(default_factory=dict)


def find_profiles(study: Study, path: Path | None) -> FoundProfiles:
    """Return the profiles of a file; without one, the study's approved ones, else the demonstration's.

    Nothing is stored. Raises ProfilesRefused and OtherProfiles.
    """
    if path is None and (approved := get_approved_profiles(study)):
        return FoundProfiles(approved, "")
    file = path or DEMO_PROFILES
    profiles = list(load_profiles(file))
    new = {row.key: row.state for row in new_rows(study, profiles, origin=file.name)}
    states = dict(study.seeker_profiles.values_list("key", "state")) | new
    may = [profile for profile in profiles if states[profile.id] == SeekerProfile.State.APPROVED]
    not_played = {profile.id: states[profile.id] for profile in profiles if profile not in may}
    return FoundProfiles(may, file.name, not_played)


def get_approved_profiles(study: Study) -> list[Profile]:
    return [from_content(row.content) for row in study.seeker_profiles.filter(state=SeekerProfile.State.APPROVED)]


@transaction.atomic
def keep(study: Study, profiles: Sequence[Profile], *, origin: str) -> KeptProfiles:
    """Store new profiles. Raises OtherProfiles."""
    Study.objects.select_for_update().get(pk=study.pk)
    new = new_rows(study, profiles, origin=origin)
    SeekerProfile.objects.bulk_create(new)
    refused = sum(row.state == SeekerProfile.State.REFUSED for row in new)
    mild = tuple(profile.id for profile in profiles if is_mild(profile))
    return KeptProfiles(added=len(new), unchanged=len(profiles) - len(new), refused=refused, mild=mild)


def new_rows(study: Study, profiles: Sequence[Profile], *, origin: str) -> list[SeekerProfile]:
    """Return rows of the profiles that the study does not have, unsaved.

    Profiles from a file are approved unless the checks refuse them. Raises OtherProfiles.
    """
    existing = dict(study.seeker_profiles.values_list("key", "content"))
    others = [
        f"{origin}: the study has another profile {profile.id!r}; give this one an id of its own"
        for profile in profiles
        if profile.id in existing and existing[profile.id] != as_content(profile)
    ]
    if others:
        raise OtherProfiles("\n".join(others))
    all_profiles = [*profiles_of(study), *profiles]
    return [
        check_row(SeekerProfile(study=study, origin=origin), profile, all_profiles, usual=SeekerProfile.State.APPROVED)
        for profile in profiles
        if profile.id not in existing
    ]
