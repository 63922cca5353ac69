"""End a study's collection of data: nobody new can begin, and people who have begun may finish.

Test people come and go as before, because a rehearsal is in no result.

Once nobody is taking part, the results by arm are open, because they can no longer influence new data. If the study is
reopened after that, staff who may have seen the results meet new people. Whether anybody has looked is unknown, so each
such reopening counts: it is stored as an unblinding with its reason, and the study does not become blind again. Before
that, reopening leaves no trace.

Nobody begins in a closed study, and timed-out people are let back only before the results are open (timeouts.py). So
the current state tells whether results were ever open.
"""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from studies.models import Study, Unblinding
from studies.participation.unblinding import is_kept_blind, unblind


def close(study: Study, user: AbstractBaseUser) -> None:
    """Close the study. Closing it again changes nothing."""
    told = {"closed_at": timezone.now(), "closed_by": user, "closed_by_name": user.get_username()}
    Study.objects.filter(pk=study.pk, closed_at=None).update(**told)
    study.refresh_from_db()


def has_opened_results(study: Study) -> bool:
    """Return whether the results by arm are open because of the closing alone."""
    return study.is_finished() and is_kept_blind(study)


@transaction.atomic
def reopen(study: Study, user: AbstractBaseUser, *, reason: str) -> None:
    """Reopen the study. `reason` is stored if the closing has opened the results."""
    fresh = Study.objects.select_for_update().get(pk=study.pk)
    if has_opened_results(fresh):
        unblind(fresh, user, when=Unblinding.When.REOPENED, reason=reason)
    Study.objects.filter(pk=study.pk).update(closed_at=None, closed_by=None, closed_by_name="")
    study.refresh_from_db()
