"""Blinding of results: from its first real person on, a study shows no results by arm.

Results are shown after it is closed and no one is under way, or after a researcher unblinds it.
"""

from django.contrib.auth.models import AbstractBaseUser

from studies.models import Study, Unblinding
from studies.models.participation import Status


def is_blinded(study: Study) -> bool:
    return is_kept_blind(study) and not study.is_finished()


def is_kept_blind(study: Study) -> bool:
    """Return whether only the end of the study opens the results.

    The demonstration and studies without real people (a rehearsal, a benchmark, an import) are never blind.
    """
    real = study.participations.real().exclude(status=Status.INVITED)
    return not study.is_demo() and real.exists() and unblinding_of(study) is None


def unblinding_of(study: Study) -> Unblinding | None:
    return Unblinding.objects.filter(study=study).first()


def unblind(study: Study, user: AbstractBaseUser | None, *, when: str, reason: str, name: str = "") -> Unblinding:
    """Store the unblinding, by an account or, at a command line, by a name. Later calls return the first one."""
    values = {"by": user, "by_name": name or (user.get_username() if user else ""), "when": when, "reason": reason}
    return Unblinding.objects.get_or_create(study=study, defaults=values)[0]
