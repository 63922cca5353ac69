"""The end of a study's collection of data: nobody new comes in, and who has begun may finish.

Test people come and go as before: a rehearsal is in no result.

Once nobody is under way the results by arm are open, for no datum to come can be swayed by them. Opening the study
again after that lets people in whom somebody meets who may have seen the results. Whether anybody has looked is not
known, so that they could is what counts: such a reopening is kept as an unblinding, with its reason, and the study does
not become blind again. Before that it costs nothing and leaves no trace.

Nobody begins in a closed study. Who is over stays so, or was timed out and is let back before the results are open
(silence.py). Hence what is open now tells whether it ever was.
"""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from studies.models import Study, Unblinding
from studies.participation.unblinding import is_kept_blind, unblind


def close(study: Study, user: AbstractBaseUser) -> None:
    """Twice is once: the first stays."""
    told = {"closed_at": timezone.now(), "closed_by": user, "closed_by_name": user.get_username()}
    Study.objects.filter(pk=study.pk, closed_at=None).update(**told)
    study.refresh_from_db()


def has_opened_results(study: Study) -> bool:
    """That the results by arm are open is due to the closing alone."""
    return study.is_finished() and is_kept_blind(study)


@transaction.atomic
def reopen(study: Study, user: AbstractBaseUser, *, reason: str) -> None:
    """`reason` is kept where the closing has opened the results."""
    fresh = Study.objects.select_for_update().get(pk=study.pk)
    if has_opened_results(fresh):
        unblind(fresh, user, when=Unblinding.When.REOPENED, reason=reason)
    Study.objects.filter(pk=study.pk).update(closed_at=None, closed_by=None, closed_by_name="")
    study.refresh_from_db()
