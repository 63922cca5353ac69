"""Profiles as rows of a study, with the findings of the automatic checks. A refused profile is not used."""

from collections.abc import Iterable
from dataclasses import replace

from dialogue.seekers.profile_checks import OwnAnswers, check_profile, is_refused
from dialogue.seekers.profiles import Profile, as_content, from_content
from studies.models import SeekerProfile, Study
from studies.seeker_profiles.source import profile_source

State = SeekerProfile.State
EXPANDED = "expanded"  # the origin of what a model wrote after another profile


def check_row(row: SeekerProfile, profile: Profile, others: Iterable[Profile], *, usual: State) -> SeekerProfile:
    """Fill the row with this content and its findings, without saving it. `usual`: its state, unless the checks refuse
    it."""
    findings = check_profile(profile, own=own_answers(row), others=others)
    row.key, row.language, row.content = profile.id, profile.language, as_content(profile)
    row.checks = [finding.as_json() for finding in findings]
    row.state = State.REFUSED if is_refused(findings) else usual
    return row


def own_answers(row: SeekerProfile) -> OwnAnswers | None:
    """Return the answers of the person from whom the profile was made, or its seed; None if there is no person."""
    if row.made_of:
        return profile_source(row.made_of).own
    seed = row.study.seeker_profiles.filter(key=row.seed, made_of__isnull=False).first() if row.seed else None
    return seed_answers(seed) if seed else None


def seed_answers(seed: SeekerProfile) -> OwnAnswers:
    """Return the answers behind a seed that may not be in a profile made after it: names and texts."""
    own = own_answers(seed) or OwnAnswers()
    return replace(own, demographics={}, big_five={}, ages=None)


def profiles_of(study: Study) -> list[Profile]:
    return [from_content(content) for content in study.seeker_profiles.values_list("content", flat=True)]
