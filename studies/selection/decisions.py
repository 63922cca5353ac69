"""Admit or decline people who wait for a researcher. Of applicants, the decision is stored with its reason."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from studies.models import Participation, SelectionDecision, SelectionDraw
from studies.models.participation import Status
from studies.participation import progress
from studies.selection.applicants import is_applicant

STAND_IN = "stand-in"  # the name of whoever decides on bots


@transaction.atomic
def decide(
    person: Participation,
    *,
    admits: bool,
    by: AbstractBaseUser | None = None,
    reason: str = "",
    draw: SelectionDraw | None = None,
) -> bool:
    """Let a person continue, or end their wait kindly; return False if they no longer wait."""
    fresh = Participation.objects.select_for_update().get(pk=person.pk)
    if fresh.status != Status.IN_REVIEW:
        return False
    if is_applicant(fresh):
        name = by.get_username() if by else STAND_IN
        values = {"admitted": admits, "reason": reason, "draw": draw, "by": by, "by_name": name}
        SelectionDecision.objects.create(participation=fresh, **values)
    (progress.admit if admits else progress.decline)(fresh)
    return True


def decide_many(people: Iterable[Participation], **decision: Any) -> int:
    """Decide on each person who still waits, as `decide` does; return how many these were."""
    return sum(decide(person, **decision) for person in people)


def admit(person: Participation, by: AbstractBaseUser) -> None:
    decide(person, admits=True, by=by)


def decline(person: Participation, by: AbstractBaseUser) -> None:
    decide(person, admits=False, by=by)
