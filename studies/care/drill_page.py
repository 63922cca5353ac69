"""The page that asks before it sends a drill to the people on call, and says what came back."""

from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from studies.care import rota
from studies.care.drills import send_drill
from studies.care.sending import Outcome
from studies.models import Study
from studies.workbench.access import navigation, show, study_page
from studies.workbench.delivery_faults import describe_fault

THIS_MACHINE = ("127.0.0.1", "::1", "localhost")


@require_http_methods(["GET", "POST"])
@study_page
def drill(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask, then send a drill to the contact who is first now, or to all."""
    contacts = rota.get_order(study.current().spec(), timezone.now())
    if request.method == "POST" and contacts:
        for outcome in send_drill(study, to_all=request.POST.get("to") == "all"):
            tell(request, outcome)
        return redirect("research-drill", study.key)
    last = study.alarms.filter(event=None).last()
    context = {
        "contacts": contacts,
        "last": last,
        "fault": describe_fault(last.fault) if last else "",
        "local_links": has_local_links(),
        "navigation": navigation(request, study, here=reverse("research-risks", args=[study.key])),
    }
    return show(request, study, "drill", context)


def has_local_links() -> bool:
    """Return whether links in messages open on this machine alone, or are not whole."""
    host = urlsplit(settings.BASE_URL).hostname
    return not host or host in THIS_MACHINE


def tell(request: HttpRequest, outcome: Outcome) -> None:
    """Say what came back. Addresses of webhooks are not shown: their paths may be secrets."""
    alarm = outcome.alarm
    named = {"name": alarm.contact_name(), "channel": alarm.get_channel_display(), "error": outcome.fault}
    if outcome.fault:
        messages.error(request, _("The drill to %(name)s (%(channel)s) was not sent: %(error)s") % named)
    else:
        messages.success(
            request,
            _("The drill to %(name)s (%(channel)s) was sent. It counts once they press the button behind its link.")
            % named,
        )
