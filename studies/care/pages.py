"""The safety desk: what waits for a person on call, what can be done about it, and how safe each arm is."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from dialogue.input_checks import int_from
from dialogue.models import RiskEvent
from studies.access.table import Act
from studies.care import desk, stopping_rules
from studies.care.levels import LEVELS, describe_level
from studies.care.sign_words import describe_findings, describe_role_answer
from studies.models import Study
from studies.models.safety import MOST_ROUNDS, name_contact
from studies.participation import counts
from studies.workbench import labels
from studies.workbench.access import navigation, show, study_page
from studies.workbench.lists import page_of, paging

LONGEST_TEXT = 4000  # characters of a message, a reason or a note


@require_GET
@study_page
def risks(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the desk: open events, real people's first, and all others below."""
    test = request.GET.get("test", "")
    page = page_of(desk.get_settled_events(study, test=test), request)
    context = {
        "test": test,
        "state": desk.get_state(study),
        "waiting": [
            (event, describe_findings(event), describe_role_answer(event))
            for event in desk.get_open_events(study, test=test)
        ],
        "page": page,
        "risks": [(event, describe_findings(event)) for event in page],
        "levels": LEVELS.items(),
        "is_safety_officer": request.access.may(Act.SEE_ALL_SAFETY),
        "zone": get_zone(study),
        **paging(page, request),
    }
    return show(request, study, "risks", context)


@require_GET
@study_page
def risk(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Show one event: the conversation around the sign, what the person answered, what was done."""
    return show_sign(request, study, get_object_or_404(counts.risks_of(study), pk=number))


def show_sign(
    request: HttpRequest, study: Study, event: RiskEvent, unsent: dict[str, str] | None = None
) -> HttpResponse:
    """Show one event. `unsent`: by form, texts that were not taken because the page was out of date."""
    sign = desk.get_sign(RiskEvent.objects.select_related("conversation").get(pk=event.pk))
    context = {
        "sign": sign,
        "risk": sign.event,
        "person": sign.person,
        "longest": LONGEST_TEXT,
        "level": describe_level(sign.event.level),
        "country": labels.country_name(sign.person.country) if sign.person else "",
        "zone": get_zone(study),
        "unsent": unsent or {},
    }
    return show(request, study, "risk", context, status=409 if unsent else 200)


def get_zone(study: Study) -> str:
    """Return the name of the time zone in which the desk shows times, as alarms do."""
    return study.current().spec().safety.time_zone


def risk_act(act: Callable[[HttpRequest, RiskEvent, str], str]) -> Callable[..., HttpResponse]:
    """Return the view for a form of an event's page.

    `act(request, event, text)` does what the form is for and returns the words that tell so.
    """

    @require_POST
    @study_page
    def view(request: HttpRequest, study: Study, number: int) -> HttpResponse:
        event = get_object_or_404(counts.risks_of(study), pk=number)
        text = request.POST.get("text", "").strip()
        if len(text) > LONGEST_TEXT:
            messages.error(request, _("This text is too long. Nothing was stored."))
        else:
            try:
                messages.success(request, act(request, event, text))
            except Refused as error:
                messages.error(request, str(error))
            except desk.HasNews:
                return show_news(request, study, event, act.__name__, text)
        return redirect("research-risk", study.key, event.pk)

    return view


def show_news(request: HttpRequest, study: Study, event: RiskEvent, form: str, text: str) -> HttpResponse:
    """Show the event as it is now, with the text in the same form, or where that is gone, in the one for notes."""
    message = _(
        "Nothing was changed, because something has happened since you opened this page. Please read what the person "
        "answered and “What was done”, and decide again. Your text is still here."
    )
    messages.error(request, message)
    event.refresh_from_db()
    sign = desk.get_sign(event)
    is_there = sign.is_open() if form == "release" else sign.can_be_ended()
    return show_sign(request, study, event, {form if is_there else "note": text})


class Refused(Exception):
    """The error that an act was not done; the message says why."""


def require_text(text: str, message: str) -> str:
    if not text:
        raise Refused(message)
    return text


@risk_act
def acknowledge(request: HttpRequest, event: RiskEvent, text: str) -> str:
    newest = int_from(request.POST.get("newest", ""), 1, MOST_ROUNDS)
    is_theirs = desk.acknowledge(event, by=request.user, newest=newest)
    sign = desk.get_sign(event)
    if sign.acknowledged is None:
        raise Refused(
            _("Something new has happened since you opened this page. Please read it before you acknowledge.")
        )
    if not is_theirs and sign.holder() != request.user.get_username():
        message = _("%(name)s is taking care of this already. Please agree on who does what.")
        raise Refused(message % {"name": name_contact(sign.holder())})
    return _("Acknowledged. No one else will be alerted.")


@risk_act
def write(request: HttpRequest, event: RiskEvent, text: str) -> str:
    message = require_text(text, _("Please write the message first. Nothing was sent."))
    desk.write_to_person(event, message, by=request.user)
    return _("Sent. The person sees it on their page.")


@risk_act
def note(request: HttpRequest, event: RiskEvent, text: str) -> str:
    desk.add_note(event, require_text(text, _("Please write the note first. Nothing was stored.")), by=request.user)
    return _("Note stored.")


@risk_act
def release(request: HttpRequest, event: RiskEvent, text: str) -> str:
    reason = require_text(text, _("Please say what was done. Nothing was released."))
    desk.release(event, by=request.user, reason=reason, seen=request.POST.get("seen", ""))
    return _("Released. If the person was waiting, they can continue now.")


@risk_act
def end(request: HttpRequest, event: RiskEvent, text: str) -> str:
    reason = require_text(text, _("Please give the reason. The study was not ended."))
    if not desk.end_kindly(event, by=request.user, reason=reason, seen=request.POST.get("seen", "")):
        return _("The study was over for this person already. Nothing was changed.")
    return _("The study has ended for this person. Their page shows help, and that their time counts in full.")


@require_GET
@study_page
def arms(request: HttpRequest, study: Study) -> HttpResponse:
    """Show how safe each arm has been."""
    context = {
        "arms": stopping_rules.get_arm_safety(study),
        "rules": study.current().spec().safety.stopping_rules,
        "stops": study.stopped_arms.select_related("arm"),
        "navigation": navigation(request, study),
    }
    return show(request, study, "arm_safety", context)
