"""For machines: does the process live, and can it serve?"""

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from dialogue import replies
from dialogue.models import Conversation, RiskEvent
from dialogue.models.conversation import Status


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
    """Prometheus text. No arm and no model is named: this page asks for no sign-in."""
    values = {
        "emostudy_conversations_open": Conversation.objects.exclude(status=Status.CLOSED).count(),
        "emostudy_conversations_held": Conversation.objects.filter(status=Status.HELD).count(),
        "emostudy_replies_in_progress": len(replies.running),
        "emostudy_sockets_attached": sum(len(group) for group in replies.listeners.values()),
        "emostudy_oncall_mails_due": RiskEvent.objects.filter(mail_due=True, mailed_at=None).count(),
    }
    lines = [f"# TYPE {name} gauge\n{name} {value}\n" for name, value in values.items()]
    return HttpResponse("".join(lines), content_type="text/plain; version=0.0.4; charset=utf-8")
