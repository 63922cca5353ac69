"""A form is taken once, and what is not sent yet is kept.

Each showing of a page gives its forms a key. The key and what the form changed are stored in one transaction, so that
a double click, a second tab or a resend after a lost line changes nothing, whatever the form is about.
"""

import secrets
from collections.abc import Callable, Mapping
from functools import wraps

from django.db import transaction
from django.http import HttpRequest, HttpResponse

from studies.models import Draft, Participation, Submission

FIELD = "idempotency"
LONGEST = 64
NOT_DRAFTED = (FIELD, "csrfmiddlewaretoken", "step", "checkpoint", "part", "next")
DRAFT_LIMIT = 50_000  # characters of one page's answers; the longest questionnaire has a tenth of it

View = Callable[..., HttpResponse]


def key_for_page(_request: HttpRequest) -> dict[str, str]:
    """Context processor: the key of this showing."""
    return {FIELD: secrets.token_urlsafe(16)}


def once(repeated: Callable[[HttpRequest], HttpResponse]) -> Callable[[View], View]:
    """For a view of a person's posts. A status from 400 on says that the form was not taken: its key stays free, and
    nothing that it did is kept. `repeated` answers a form that was taken before."""

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapped(request: HttpRequest, person: Participation, *args: str) -> HttpResponse:
            key = request.POST.get(FIELD, "")[:LONGEST]
            if not key:
                return view(request, person, *args)
            with transaction.atomic():
                if not Submission.objects.get_or_create(participation=person, key=key)[1]:
                    return repeated(request)
                response = view(request, person, *args)
                if response.status_code >= 400:
                    transaction.set_rollback(True)
            return response

        return wrapped

    return decorate


def keep_draft(person: Participation, place: str, posted: Mapping[str, str]) -> None:
    """Replace what was kept of this page. `place` is the step, with the checkpoint where it has several forms."""
    # No item has a dot in its name: those are the seconds, and answers to other pages.
    answers = {name: value for name, value in posted.items() if value and name not in NOT_DRAFTED and "." not in name}
    if sum(map(len, answers.values())) <= DRAFT_LIMIT:
        Draft.objects.update_or_create(participation=person, step=place, defaults={"answers": answers})


def draft_of(person: Participation, place: str) -> dict[str, str]:
    draft = person.drafts.filter(step=place).first()
    return draft.answers if draft else {}
