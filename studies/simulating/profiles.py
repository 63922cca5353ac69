"""The profiles that simulated seekers of a study are given, kept with the study so that a judge finds them again."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction

from dialogue.seekers.profiles import Profile, as_content, from_content, load_profiles
from studies.models import SeekerProfile, Study
from studies.seeker_profiles.checking import checked, profiles_of

DEMO_PROFILES = Path(__file__).resolve().parents[2] / "fixtures" / "instruments" / "seeker_profiles_demo.json"


class OtherProfiles(Exception):
    """Profiles of the same ids, with other content, are in the study already; the text has a line for each."""


@dataclass(frozen=True)
class Kept:
    """How many profiles. `refused`: of those added, what the automatic checks refused."""

    added: int = 0
    unchanged: int = 0
    refused: int = 0


def stored_profiles(study: Study, path: Path | None) -> list[Profile]:
    """Of a file, kept with the study; without one, all of the study's, else the demonstration's. Approved ones only.
    Raises ProfilesRefused and OtherProfiles."""
    if path is None and (approved := approved_profiles(study)):
        return approved
    profiles = list(load_profiles(path or DEMO_PROFILES))
    keep(study, profiles, origin=(path or DEMO_PROFILES).name)
    known = {profile.id for profile in approved_profiles(study)}
    return [profile for profile in profiles if profile.id in known]


def approved_profiles(study: Study) -> list[Profile]:
    return [from_content(row.content) for row in study.seeker_profiles.filter(state=SeekerProfile.State.APPROVED)]


@transaction.atomic
def keep(study: Study, profiles: Sequence[Profile], *, origin: str) -> Kept:
    """Whoever brings a file answers for it: what the checks do not refuse is approved. Raises OtherProfiles."""
    Study.objects.select_for_update().get(pk=study.pk)
    known = dict(study.seeker_profiles.values_list("key", "content"))
    others = [
        f"{origin}: the study has another profile {profile.id!r}; give this one an id of its own"
        for profile in profiles
        if profile.id in known and known[profile.id] != as_content(profile)
    ]
    if others:
        raise OtherProfiles("\n".join(others))
    all_profiles = [*profiles_of(study), *profiles]
    new = [
        checked(SeekerProfile(study=study, origin=origin), profile, all_profiles, usual=SeekerProfile.State.APPROVED)
        for profile in profiles
        if profile.id not in known
    ]
    SeekerProfile.objects.bulk_create(new)
    refused = sum(row.state == SeekerProfile.State.REFUSED for row in new)
    return Kept(added=len(new), unchanged=len(profiles) - len(new), refused=refused)
