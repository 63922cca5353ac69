"""Accept each form once, and keep drafts of forms that were not accepted.

Each display of a page gives its forms a key. The key and the form's changes are stored in one transaction, so that a
double click, a second tab or a resend after a lost line changes nothing.

A form with faults raises `NeedsCorrection`. Only the draft of its page is stored, and the browser is redirected to that
page, which shows the answers and the faults of the draft. So no address stands for a form that was sent, and Back and
reload send nothing again.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import wraps

from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from studies.models import Draft, Participation, Submission
from studies.participation.enrolment import is_forgotten

FIELD = "idempotency"
LONGEST = 64
NOT_DRAFTED = (FIELD, "csrfmiddlewaretoken", "step", "checkpoint", "part", "next")
LONGEST_STEP = 100  # characters of the step in a draft's place; those of our own have fewer
DRAFT_LIMIT = 50_000  # characters of one page's answers; the longest questionnaire has a tenth of it
REFUSED_LIMIT = 4 * DRAFT_LIMIT  # of a form that was sent, such as one with a text that is too long
MOST_DRAFTS = 100  # of one person; whoever sends more made them up
SUMMARY = "#error-summary"  # where a page shows the faults

View = Callable[..., HttpResponse]


class NeedsCorrection(Exception):
    """The form is refused; `faults` are those that the form itself does not find.

    `answers`: what the page shows then; by default, what was sent. `counts`: the form's changes so far and its key are
    stored nevertheless, as for an attempt at the quiz.
    """

    def __init__(
        self, faults: Sequence[str] = (), *, answers: Mapping[str, str] | None = None, counts: bool = False
    ) -> None:
        super().__init__(*faults)
        self.faults = list(faults)
        self.answers = answers
        self.counts = counts


class SeeOther(HttpResponseRedirect):
    status_code = 303


def key_for_page(_request: HttpRequest) -> dict[str, str]:
    """Return the key of this display of a page (a context processor)."""
    return {FIELD: secrets.token_urlsafe(16)}


def accept_once(repeated: Callable[[HttpRequest], HttpResponse]) -> Callable[[View], View]:
    """Make a view accept each form once; `repeated` answers a form that was accepted before.

    `NeedsCorrection` and a status from 400 on mean that the form was refused: its key stays free, and its changes are
    rolled back.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapper(request: HttpRequest, person: Participation, *args: str) -> HttpResponse:
            try:
                return take(request, person, *args)
            except NeedsCorrection as refusal:
                return redirect_to_faults(request, person, refusal)

        def take(request: HttpRequest, person: Participation, *args: str) -> HttpResponse:
            key = request.POST.get(FIELD, "")[:LONGEST]
            if not key:
                return view(request, person, *args)
            was_there = not is_forgotten(person)
            with transaction.atomic():
                submission, is_new = Submission.objects.get_or_create(participation=person, key=key)
                if not is_new:
                    return repeated(request)
                try:
                    response = view(request, person, *args)
                except NeedsCorrection as refusal:
                    if not refusal.counts:
                        raise
                    return redirect_to_faults(request, person, refusal)
                is_too_late = was_there and was_forgotten_meanwhile(submission)
                if is_too_late or response.status_code >= 400:
                    transaction.set_rollback(True)
            return repeated(request) if is_too_late else response

        return wrapper

    return decorate


def was_forgotten_meanwhile(submission: Submission) -> bool:
    """Return whether another request has erased the person's data since this one read their row.

    The row is locked: an erasure that comes later waits, and finds what the form has stored. One that the form itself
    asked for has deleted the form's key with all else.
    """
    person = Participation.objects.select_for_update(of=("self",)).get(pk=submission.participation_id)
    return is_forgotten(person) and Submission.objects.filter(pk=submission.pk).exists()


def redirect_to_faults(request: HttpRequest, person: Participation, refusal: NeedsCorrection) -> HttpResponse:
    answers = request.POST if refusal.answers is None else refusal.answers
    keep_draft(person, place_in(request), answers, faults=refusal.faults)
    # A fragment is given, because the browser would otherwise keep that of the previous page.
    return SeeOther(request.get_full_path() + SUMMARY)


def place_in(request: HttpRequest) -> str:
    """Return the key of a form's page: the step, and its checkpoint or part if it has several pages."""
    part = request.POST.get("checkpoint") or request.POST.get("part", "")
    return place_of((request.POST.get("step") or request.path)[:LONGEST_STEP], part[:8])


def place_of(step: str, part: str) -> str:
    return f"{step}.{part}" if part else step


@transaction.atomic
def keep_draft(
    person: Participation, place: str, posted: Mapping[str, str], *, faults: Sequence[str] | None = None
) -> None:
    """Replace the draft of this page.

    `place` is the step, with the checkpoint if it has several forms. `faults`: of a form that was sent; without them,
    those of the last one stay.
    """
    # Names with a dot are seconds and answers to other pages; items have none.
    answers = {name: value for name, value in posted.items() if value and name not in NOT_DRAFTED and "." not in name}
    size = sum(len(name) + len(value) for name, value in answers.items())
    if faults is None and size > DRAFT_LIMIT:
        return
    if size > REFUSED_LIMIT:
        answers = {}
    # The lock prevents a draft of a person whose participation ends at the same moment.
    if Participation.objects.select_for_update().get(pk=person.pk).is_over():
        return
    values = {"answers": answers} if faults is None else {"answers": answers, "faults": faults}
    Draft.objects.update_or_create(participation=person, step=place, defaults=values)
    for oldest in person.drafts.order_by("-saved_at", "-pk")[MOST_DRAFTS:]:
        oldest.delete()


def draft_of(person: Participation, place: str) -> Draft:
    return person.drafts.filter(step=place).first() or Draft()
