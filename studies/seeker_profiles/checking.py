"""A profile as a row of a study, with what the automatic checks found in it. What they refuse is not played."""

from collections.abc import Iterable

from dialogue.seekers.profile_checks import OwnAnswers, check_profile, is_refused
from dialogue.seekers.profiles import Profile, as_content, from_content
from studies.models import SeekerProfile, Study
from studies.seeker_profiles.answers import of_person

State = SeekerProfile.State


def checked(row: SeekerProfile, profile: Profile, others: Iterable[Profile], *, usual: State) -> SeekerProfile:
    """The row with this content, not saved yet. `usual`: its state, unless the checks refuse it."""
    found = check_profile(profile, own=own_of(row), others=others)
    row.key, row.language, row.content = profile.id, profile.language, as_content(profile)
    row.checks = [finding.as_json() for finding in found]
    row.state = State.REFUSED if is_refused(found) else usual
    return row


def own_of(row: SeekerProfile) -> OwnAnswers | None:
    """What the person gave of whom it was made; None where it was not made of anybody."""
    return of_person(row.made_of).own if row.made_of else None


def profiles_of(study: Study) -> list[Profile]:
    return [from_content(content) for content in study.seeker_profiles.values_list("content", flat=True)]
