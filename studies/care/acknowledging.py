"""The page behind the link of an alarm. Its button acknowledges; opening it changes nothing, because mail scanners and
previews of links open it too."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import translation
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from dialogue.input_checks import int_from
from studies.care import alarms, drills
from studies.care.levels import describe_level
from studies.care.messages import is_in_role
from studies.care.sign_words import show_act_to_stranger
from studies.models import Alarm
from studies.models.participation import digest
from studies.models.safety import MOST_ROUNDS, UNNAMED
from studies.participation.language import CODES


@csrf_exempt  # no one is signed in here: only who has the link can send the form, with cookies or without
@require_http_methods(["GET", "HEAD", "POST"])
def alarm_page(request: HttpRequest, token: str) -> HttpResponse:
    """Show an alarm, and acknowledge it when its button is pressed."""
    alarm = Alarm.objects.select_related("study", "event").filter(token_hash=digest(token)).first()
    if alarm is None:
        raise Http404
    language = request.GET.get("language", "")
    with translation.override(CODES.get(language, translation.get_language())):
        response = answer(request, alarm) if request.method == "POST" else show_alarm(request, alarm)
    response["Referrer-Policy"] = "no-referrer"  # the address is the key
    response["X-Robots-Tag"] = "noindex"
    return response


def answer(request: HttpRequest, alarm: Alarm) -> HttpResponse:
    """Acknowledge what the page showed; a round that began since stays open and is shown.

    Where the contact has no name, because the study has no rota, an account that is signed in gives its own.
    """
    if alarm.event is None:
        drills.acknowledge(alarm)
    else:
        newest = int_from(request.POST.get("newest", ""), 1, MOST_ROUNDS) or alarm.round
        has_account = alarm.contact == UNNAMED and request.user.is_authenticated
        who = {"by": request.user} if has_account else {"by_name": alarm.contact}
        alarms.acknowledge(alarm.event, **who, newest=newest)
    return redirect(request.get_full_path())


def show_alarm(request: HttpRequest, alarm: Alarm) -> HttpResponse:
    """Show what an alarm is about, whether someone has acknowledged it, and what has happened since."""
    event = alarm.event
    rows = list(event.alarms.order_by("acknowledged_at", "pk") if event else [alarm])
    acknowledged = [row for row in rows if row.acknowledged_at]
    context = {
        "alarm": alarm,
        "event": event,
        "level": describe_level(event.level) if event else "",
        "in_role": event is not None and is_in_role(event),
        "at": event.created_at if event else alarm.created_at,
        "zone": alarm.study.current().spec().safety.time_zone,
        "newest": max(row.round for row in rows),
        "waits": len(acknowledged) < len(rows) and not (event and event.released_at),
        "acknowledged": acknowledged[-1] if acknowledged else None,
        "acts": [show_act_to_stranger(act, event) for act in event.acts.all()] if event else [],
    }
    return render(request, "studies/alarm.html", context)
