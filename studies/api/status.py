"""Health checks and metrics for monitoring."""

from ipaddress import ip_address

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe

from dialogue.chat import replies
from dialogue.models import Conversation
from dialogue.models.conversation import Status
from studies.models import Alarm

# Set by proxies: what has one comes from elsewhere, whoever handed it on.
PROXIED = ("Forwarded", "Via", "X-Real-IP", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto")


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return JsonResponse({"status": "the database does not answer"}, status=503)
    return JsonResponse({"status": "ok"})


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return metrics as Prometheus text, to holders of the token and to this machine. It names no arm and no model."""
    if not (has_token(request) or is_this_machine(request)):
        return HttpResponse("Set METRICS_TOKEN and send it: Authorization: Bearer …\n", "text/plain", status=403)
    values = {
        "emostudy_conversations_open": Conversation.objects.exclude(status=Status.CLOSED).count(),
        "emostudy_conversations_held": Conversation.objects.filter(status=Status.HELD).count(),
        "emostudy_replies_in_progress": len(replies.running),
        "emostudy_sockets_attached": sum(len(group) for group in replies.listeners.values()),
        "emostudy_oncall_mails_due": Alarm.objects.unsent().count(),
    }
    lines = [f"# TYPE {name} gauge\n{name} {value}\n" for name, value in values.items()]
    return HttpResponse("".join(lines), content_type="text/plain; version=0.0.4; charset=utf-8")


def has_token(request: HttpRequest) -> bool:
    sent = request.headers.get("Authorization", "")
    return bool(settings.METRICS_TOKEN) and constant_time_compare(sent, f"Bearer {settings.METRICS_TOKEN}")


def is_this_machine(request: HttpRequest) -> bool:
    if any(name in request.headers for name in PROXIED):
        return False
    try:
        peer = ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return False  # as over a Unix socket, behind which there is a proxy
    return (getattr(peer, "ipv4_mapped", None) or peer).is_loopback
