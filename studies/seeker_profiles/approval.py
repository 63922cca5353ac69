"""Decisions on a profile: approve, refuse with a reason, put back to draft, or rewrite.

Each act names the content that its person saw (`as_seen`). If someone has changed it since, nothing happens.
"""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from dialogue.models.conversation import SeekerKind
from dialogue.seekers.profiles import Profile
from studies.judging.settings import digest
from studies.models import SeekerProfile
from studies.seeker_profiles.checking import State, check_row, profiles_of

PERSON = "person"  # the rule of a finding that holds a person's reason for refusing


class DecisionRefused(Exception):
    """The act was refused; the reason is one of the class's names."""

    CHANGED = "changed"  # since it was looked at
    UNFIT = "unfit"  # the checks refuse it as it is
    PLAYED = "played"  # conversations have been held with it as it is
    KEY = "key"  # the text names another id


def fingerprint(row: SeekerProfile) -> str:
    """Return a hash that changes when someone changes the profile."""
    return digest([row.content, row.state])


def is_unfit(row: SeekerProfile) -> bool:
    return any(finding["refuses"] for finding in row.checks if finding["rule"] != PERSON)


def is_played(row: SeekerProfile) -> bool:
    return row.study.runs.filter(profile=row.key, conversation__seeker_kind=SeekerKind.SIMULATED).exists()


@transaction.atomic
def approve(row: SeekerProfile, *, by: AbstractBaseUser, as_seen: str) -> None:
    found = lock_profile(row, as_seen, State.DRAFT)
    decide(found, State.APPROVED, by)


@transaction.atomic
def refuse(row: SeekerProfile, *, by: AbstractBaseUser, reason: str, as_seen: str) -> None:
    found = lock_profile(row, as_seen, State.DRAFT)
    found.checks = [*found.checks, {"rule": PERSON, "where": "", "found": reason, "refuses": True}]
    decide(found, State.REFUSED, by)


@transaction.atomic
def back_to_draft(row: SeekerProfile, *, as_seen: str) -> None:
    """Take a decision back. A profile that the checks refuse stays refused until it is rewritten."""
    found = lock_profile(row, as_seen, *State)
    if is_unfit(found):
        raise DecisionRefused(DecisionRefused.UNFIT)
    found.checks = [finding for finding in found.checks if finding["rule"] != PERSON]
    decide(found, State.DRAFT, None)


@transaction.atomic
def rewrite(row: SeekerProfile, profile: Profile, *, as_seen: str) -> None:
    """Replace the content, check it again and put it back to draft."""
    found = lock_profile(row, as_seen, *State)
    if profile.id != found.key:
        raise DecisionRefused(DecisionRefused.KEY)
    if is_played(found):
        raise DecisionRefused(DecisionRefused.PLAYED)
    check_row(found, profile, profiles_of(found.study), usual=State.DRAFT)
    decide(found, State(found.state), None)


def lock_profile(row: SeekerProfile, as_seen: str, *states: State) -> SeekerProfile:
    found = SeekerProfile.objects.select_for_update(of=("self",)).select_related("made_of", "study").get(pk=row.pk)
    if fingerprint(found) != as_seen or found.state not in states:
        raise DecisionRefused(DecisionRefused.CHANGED)
    return found


def decide(row: SeekerProfile, state: State, by: AbstractBaseUser | None) -> None:
    row.state, row.decided_by, row.decided_at = state, by, timezone.now() if by else None
    row.save()
