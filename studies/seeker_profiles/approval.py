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
    fresh = lock_profile(row, as_seen, State.DRAFT)
    decide(fresh, State.APPROVED, by)


@transaction.atomic
def refuse(row: SeekerProfile, *, by: AbstractBaseUser, reason: str, as_seen: str) -> None:
    fresh = lock_profile(row, as_seen, State.DRAFT)
    fresh.checks = [*fresh.checks, {"rule": PERSON, "where": "", "found": reason, "refuses": True}]
    decide(fresh, State.REFUSED, by)


@transaction.atomic
def back_to_draft(row: SeekerProfile, *, as_seen: str) -> None:
    """Take a decision back. A profile that the checks refuse stays refused until it is rewritten."""
    fresh = lock_profile(row, as_seen, *State)
    if is_unfit(fresh):
        raise DecisionRefused(DecisionRefused.UNFIT)
    fresh.checks = [finding for finding in fresh.checks if finding["rule"] != PERSON]
    decide(fresh, State.DRAFT, None)


@transaction.atomic
def rewrite(row: SeekerProfile, profile: Profile, *, as_seen: str) -> None:
    """Replace the content, check it again and put it back to draft."""
    fresh = lock_profile(row, as_seen, *State)
    if profile.id != fresh.key:
        raise DecisionRefused(DecisionRefused.KEY)
    if is_played(fresh):
        raise DecisionRefused(DecisionRefused.PLAYED)
    check_row(fresh, profile, profiles_of(fresh.study), usual=State.DRAFT)
    decide(fresh, State(fresh.state), None)


def lock_profile(row: SeekerProfile, as_seen: str, *states: State) -> SeekerProfile:
    fresh = SeekerProfile.objects.select_for_update(of=("self",)).select_related("made_of", "study").get(pk=row.pk)
    if fingerprint(fresh) != as_seen or fresh.state not in states:
        raise DecisionRefused(DecisionRefused.CHANGED)
    return fresh


def decide(row: SeekerProfile, state: State, by: AbstractBaseUser | None) -> None:
    row.state, row.decided_by, row.decided_at = state, by, timezone.now() if by else None
    row.save()
