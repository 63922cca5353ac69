"""Stops between two steps: the study or they are paused, an amendment asks for their consent again, or a counsellor is
asked about a sign of danger that they left without an answer.

A conversation that has begun is not cut off by a paused study or an amendment: they stop no one before the ratings of
it are done. Where the team pauses one person, their conversation rests as soon as its reply has come.
"""

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dialogue.models import RiskEvent
from dialogue.safety.resources import resources_for
from studies.care import answers
from studies.design.plan import Step
from studies.design.spec import StudySpec
from studies.instruments.forms import form_for
from studies.models import Amendment, Participation
from studies.models.participation import Status
from studies.participation.consent import Form, form_of
from studies.participation.language import instrument_language
from studies.participation.signing import amendment_to_sign, sign_again
from studies.participation.step_kinds import Visit
from studies.participation.submissions import NeedsCorrection, draft_of

CONSENT_AGAIN = "consent_again"  # the name of this page among the steps
PAUSED = Step(kind="paused", key="paused")
WHOSE = Step(kind="whose", key="whose")


def is_in_conversation(visit: Visit) -> bool:
    """Return whether this step belongs to a conversation in which something was said, or the person is held in one."""
    if visit.participation.status == Status.HELD:
        return True
    runs = visit.participation.runs.filter(position=visit.step.run, conversation__turns__isnull=False)
    return bool(visit.step.run) and runs.exists()


def is_stopped_by_pause(visit: Visit) -> bool:
    person = visit.participation
    return person.study.is_paused() and not (person.is_test or person.is_over() or is_in_conversation(visit))


def amendment_to_ask(visit: Visit) -> Amendment | None:
    """Return the amendment for which this person is asked again now."""
    if not visit.participation.study.was_opened():
        return None
    amendment = amendment_to_sign(visit.participation)
    return amendment if amendment and not is_in_conversation(visit) else None


def ask_again(
    request: HttpRequest, person: Participation, amendment: Amendment, context: dict[str, object]
) -> HttpResponse:
    """Show the consent form of the amended study with what has changed."""
    text = form_to_sign_again(person, amendment.protocol.spec())
    draft = draft_of(person, CONSENT_AGAIN)
    data = draft.answers if draft.faults is not None else None
    form = form_for(text.questionnaire(), language=text.language, data=data)
    form_context = {"consent": text, "form": form, "hash": text.hash(), "amendment": amendment, "again": CONSENT_AGAIN}
    return render(request, "studies/consent_again.html", {**context, **form_context})


def form_to_sign_again(person: Participation, spec: StudySpec) -> Form:
    """Return the amended form in the person's language; in the study's first where it has lost theirs."""
    language = person.language or instrument_language()
    language = language if language in spec.languages else spec.languages[0]
    return form_of(spec, language=language, track=person.track)


@transaction.atomic
def accept_again(request: HttpRequest, person: Participation, amendment: Amendment) -> None:
    """Store the new consent. Raise NeedsCorrection while a box is missing that has to be ticked."""
    spec = amendment.protocol.spec()
    assert spec.consent is not None  # noqa: S101 - only a study with a consent form can ask again
    text = form_to_sign_again(person, spec)
    form = form_for(text.questionnaire(), language=text.language, data=request.POST)
    if not form.is_valid():
        raise NeedsCorrection
    fresh = Participation.objects.select_for_update(of=("self",)).get(pk=person.pk)
    if amendment_to_sign(fresh) != amendment:  # signed in another tab meanwhile
        return
    sign_again(person, text, form, spec.consent.providers)
    person.drafts.filter(step=CONSENT_AGAIN).delete()


def page_of_paused_person(request: HttpRequest, person: Participation, context: dict[str, object]) -> HttpResponse:
    return render(request, "studies/paused_person.html", {**context, "step": PAUSED, **help_for(person)})


def page_of_paused_study(request: HttpRequest, person: Participation, context: dict[str, object]) -> HttpResponse:
    return render(request, "studies/paused.html", {**context, **help_for(person), "begun": True})


def role_sign_to_ask(person: Participation) -> RiskEvent | None:
    """Return a grave sign of an earlier role-play about which this counsellor is asked now."""
    if person.track != Participation.Track.COUNSELLOR or person.is_over() or person.status == Status.HELD:
        return None
    return answers.get_unanswered_role_sign(person)


def ask_about_role(request: HttpRequest, sign: RiskEvent, context: dict[str, object]) -> HttpResponse:
    asked = {"number": sign.pk, "words": answers.get_words(sign)}
    return render(request, "studies/care/whose.html", {**context, "step": WHOSE, "care_page": asked})


def help_for(person: Participation) -> dict[str, object]:
    return {"resources": resources_for(person.country or person.design().country)}
